"""What `log` and `event` keep of what they are given: numbers of any library, odd keys and values, configs, secrets."""

import enum
import math
import threading
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import fanal
from fanal.record.attempt import Start, Withhold, start
from fanal.record.blobs import read_blob
from fanal.record.given import MAX_ODD_BYTES
from fanal.record.logs import MAX_GROUPS
from fanal.record.proof.verify import verify
from fanal.record.reading.read import Record
from fanal.record.run import Run
from tests.worlds.processes import python


def test_odd_values_and_keys_are_kept_and_never_raise(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    class Hostile:
        def item(self) -> float:
            raise RuntimeError("no")

    keys = ["", "length", "__proto__", "a.b", "a/b", "a", "[x] y", "损失/训练", "../../etc", "k" * 10_000, "x "]
    keys += ["\ud800", "\u00e9", "e\u0301", "\x00\x1b", "\u202e", "$float"]
    run = start(tmp_path / "r", Start(id="odd"))
    run.log({key: float(n) for n, key in enumerate(keys)}, 0)
    run.log({"t": "text", "none": None, "arr": np.arange(3), "h": Hostile(), "ok": 1.0, 3: 2.0}, 1)  # pyright: ignore
    for value in (np.float16(0.5), np.float32("nan"), np.int64(7), np.bool_(True), np.array(0.25), np.float64("inf")):
        run.log({"np": value})
    run.log({"mixed": 1})
    run.log({"mixed": 1.0})
    run.log({"mixed": True})
    run.log({"huge": 10**5000, "neg": -(2**63) - 1})
    run.log({})
    run.log(5.0)  # pyright: ignore[reportArgumentType]
    run.log({"s": 1.0}, step=np.int32(500))  # pyright: ignore[reportArgumentType]
    run.log({"s": 2.0}, step="soon")  # pyright: ignore[reportArgumentType]
    run.log({"s": 3.0}, step=2**62 - 1)
    run.finish()
    view = fanal.open(tmp_path / "r").runs["odd"]
    assert [view.series(key).values.tolist() for key in keys] == [[float(n)] for n in range(len(keys))]
    others = {other.key: other.value for other in view.others()}
    assert others["t"] == "text"
    assert others["none"] is None
    assert others["arr"] == [0, 1, 2]
    assert "$repr" in others["h"]
    assert view.series("ok").values.tolist() == [1.0]
    assert view.series("3").values.tolist() == [2.0]
    found = view.exact("np")
    assert (found[0], found[2:]) == (0.5, [7, True, 0.25, math.inf])
    assert math.isnan(found[1])
    assert [type(value) for value in view.exact("mixed")] == [int, float, bool]
    assert view.exact("huge") == [10**5000]
    assert view.exact("neg") == [-(2**63) - 1]
    assert view.series("s").steps.tolist() == [500, 501, 2**62 - 1]
    assert verify(tmp_path / "r").ok
    said = capfd.readouterr().err
    assert said.count("'h' is Hostile") == 1
    assert not [p for p in (tmp_path / "r").rglob("*") if "etc" in p.name]


def test_numbers_of_every_library_are_one_series(tmp_path: Path) -> None:
    kinds = [float, np.float16, np.float32, np.float64, np.array, ml_dtypes.bfloat16, jnp.bfloat16, jnp.float32]
    run = start(tmp_path / "r", Start(id="a"))
    for value in (math.nan, math.inf, -math.inf, -0.0, 1.5):
        for kind in kinds:
            run.log({"v": kind(value)})
    run.finish()
    values = fanal.open(tmp_path / "r").runs["a"].series("v").values.reshape(5, len(kinds))
    assert [{str(v) for v in row.tolist()} for row in values] == [{"nan"}, {"inf"}, {"-inf"}, {"-0.0"}, {"1.5"}]
    assert len({np.float64(v).tobytes() for v in values[1:].flat}) == 4


def test_a_row_of_jax_arrays_is_one_transfer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    fetch = jax.device_get
    monkeypatch.setattr(jax, "device_get", lambda values: (calls.append(len(values)), fetch(values))[1])
    run = start(tmp_path / "r", Start(id="a"))
    for step in range(3):
        run.log({f"k{n}": jnp.float32(n + step) for n in range(50)} | {"plain": 1.0}, step)
    run.finish()
    assert calls == [50] * 3
    assert fanal.open(tmp_path / "r").runs["a"].series("k7").values.tolist() == [7.0, 8.0, 9.0]


def test_long_odd_values_go_into_blobs_and_short_ones_stay(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    run.log({"long": np.arange(200_000.0), "short": [1.5, {"deep": math.nan}], "text": "x" * (MAX_ODD_BYTES + 1)}, 0)
    run.finish()
    others = {other.key: other.value for other in fanal.open(tmp_path / "r").runs["a"].others()}
    assert others["short"][0] == 1.5
    assert math.isnan(others["short"][1]["deep"])
    data = read_blob(tmp_path / "r", others["long"])
    assert data.startswith(b"[0.0,1.0,2.0,")
    assert others["long"]["type"] == "application/json"
    assert read_blob(tmp_path / "r", others["text"]).startswith(b'"xxx')
    assert verify(tmp_path / "r").ok


def test_media_say_themselves_how_they_are_kept(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    class Picture:
        def to_record(self, run: Run) -> dict[str, Any]:
            return {"$media": "image", "width": 3, "data": run.blob(b"png", "image/png")}

    class Broken:
        def to_record(self, run: Run) -> dict[str, Any]:
            raise ValueError("no pixels")

    run = start(tmp_path / "r", Start(id="a"))
    run.log({"img": Picture(), "bad": Broken(), "x": 1.0, "fake": {"$media": "image"}}, 4)
    run.finish()
    view = fanal.open(tmp_path / "r").runs["a"]
    others = {other.key: other.value for other in view.others()}
    assert (others["img"]["$media"], others["img"]["width"]) == ("image", 3)
    assert read_blob(tmp_path / "r", others["img"]["data"]) == b"png"
    assert "$repr" in others["bad"]
    assert others["fake"] == {"$media": "image"}
    assert view.series("x").values.tolist() == [1.0]
    assert "'bad' cannot be kept as Broken: no pixels" in capfd.readouterr().err


def test_a_dict_that_another_thread_changes_raises_nothing(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    shared: dict[str, Any] = {f"k{n}": float(n) for n in range(50)}
    stop = threading.Event()

    def change() -> None:
        n = 0
        while not stop.is_set():
            shared.pop(f"k{n % 50}", None)
            shared[f"k{n % 50}"] = n / 2 if n % 3 else "text"
            n += 1

    changer = threading.Thread(target=change)
    changer.start()
    for step in range(1000):
        run.log(shared, step)
    stop.set()
    changer.join()
    run.finish()
    assert verify(tmp_path / "r").ok


def test_ever_new_sets_of_keys_are_kept_and_forgotten(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    for n in range(MAX_GROUPS + 200):
        run.log({f"k{n}": 1.0}, n)
    for n in range(50):
        run.log({f"k{n}": 2.0}, MAX_GROUPS + 200 + n)
    writer = run._writers.get()
    assert writer is not None
    assert len(writer._logs.groups) <= MAX_GROUPS
    run.finish()
    view = fanal.open(tmp_path / "r").runs["a"]
    assert len(view.keys()) == MAX_GROUPS + 200
    assert view.series("k7").values.tolist() == [1.0, 2.0]


def test_times_of_the_source_are_kept_and_odd_ones_are_now(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    times = [0, 10**18, 5, -1, 2**63 - 1, 2**63, "noon"]
    for step, time_ns in enumerate(times):
        run.log({"x": 1.0, "t": "text"}, step, time_ns)  # pyright: ignore[reportArgumentType]
    run.event("note", text="then", time_ns=0)
    run.finish()
    view = fanal.open(tmp_path / "r").runs["a"]
    found = view.series("x").times_ns.tolist()
    assert found[:5] == times[:5]
    assert all(abs(t - found[5]) < 60e9 and t > 1.7e18 for t in found[5:])
    assert [other.time_ns for other in view.others()][:5] == times[:5]
    assert view.events("note")[0].time_ns == 0


class Colour(enum.Enum):
    RED = 1


def test_a_config_of_millions_is_a_blob_that_reads_back(tmp_path: Path) -> None:
    array = np.arange(3_000_000, dtype=np.float32)
    run = start(tmp_path / "r", Start(id="a", config={"list": list(range(500_000)), "colour": Colour.RED}))
    run.event("config", config={"array": array, "names": {f"n{n}": n for n in range(100_000)}})
    assert run.place is not None
    assert sum(p.stat().st_size for p in run.place.folder.rglob("*.log")) < 100_000
    run.finish()
    configs = [event.fields["config"] for event in fanal.open(tmp_path / "r").runs["a"].events("config")]
    assert read_blob(tmp_path / "r", configs[0]).startswith(b'{"list":[0,1,2')
    data = read_blob(tmp_path / "r", configs[1])
    assert data.count(b",") == 3_000_000 - 1 + 100_000 - 1 + 1
    assert data.endswith(b'"n99999":99999}}')


def test_a_config_in_a_circle_or_deep_ends(tmp_path: Path) -> None:
    circle: dict[str, Any] = {"lr": 0.1}
    circle["self"] = circle
    deep: Any = 1
    for _ in range(5000):
        deep = [deep]
    run = start(tmp_path / "r", Start(id="a", config={"circle": circle, "deep": deep, "n": 3}))
    run.log({"deep": deep, "x": 1.0})
    run.finish()
    view = fanal.open(tmp_path / "r").runs["a"]
    assert view.config["n"] == 3
    assert view.config["circle"]["self"]["self"]["lr"] == 0.1
    assert view.series("x").values.tolist() == [1.0]


def test_secrets_in_what_people_supply_are_written_nowhere(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    token = "hf_" + "aB3" * 10
    run = start(tmp_path / "r", Start(id="a", config={"hub": {"t": token}, "api_key": "hunter2hunter2", "lr": 0.1}))
    run.event("note", text=f"my token is {token}")
    run.log({"sample": f"the answer: {token}", "x": 1.0})
    before = [path.read_bytes() for path in (tmp_path / "r").rglob("*") if path.is_file()]
    run.finish()
    after = [path.read_bytes() for path in (tmp_path / "r").rglob("*") if path.is_file()]
    assert not [data for data in before + after if token.encode() in data or b"hunter2hunter2" in data]
    assert fanal.open(tmp_path / "r").runs["a"].config["lr"] == 0.1
    said = capfd.readouterr().err
    assert "event config: secrets are not written: " in said
    assert token not in said


def test_a_multiprocessing_child_that_says_nothing_more_is_closed_by_its_parent(tmp_path: Path) -> None:
    code = """
        import multiprocessing, sys
        from pathlib import Path
        from fanal.record.attempt import Start, start
        run = start(Path(sys.argv[1]), Start(id="a"))
        def work(n):
            for i in range(10):
                run.log({f"child{n}": i}, i)
        children = [multiprocessing.get_context("fork").Process(target=work, args=(n,)) for n in range(2)]
        [child.start() for child in children], [child.join() for child in children]
        run.finish()
    """
    done = python(code, tmp_path / "r")
    assert (done.returncode, done.stderr) == (0, "")
    assert not list((tmp_path / "r").rglob("*.log"))
    view = fanal.open(tmp_path / "r").runs["a"]
    assert [view.exact(f"child{n}") for n in range(2)] == [list(range(10))] * 2


class OwnError(Exception):
    """Of no class that Python's own code raises."""


class Unhelpful:
    """Raises whatever it is asked; as a key it seems to be `x`."""

    def __getattr__(self, name: str) -> Any:
        raise OwnError(name)

    def __hash__(self) -> int:
        return hash("x")

    def __eq__(self, other: object) -> bool:
        raise OwnError("==")

    def __str__(self) -> str:
        raise OwnError("str")

    __repr__ = __str__


class Ambiguous(str):
    """A key whose comparison gives an array, and whose text cannot be had."""

    __hash__ = str.__hash__

    def __eq__(self, other: object) -> Any:
        return np.array([1, 2])

    def __str__(self) -> str:
        raise OwnError("str")


class Item:
    def __init__(self, error: Exception) -> None:
        self._error = error

    def item(self) -> float:
        raise self._error


class NoClass:
    @property
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        raise OwnError("class")


class NoValues(dict[str, float]):
    def values(self) -> Any:
        raise OwnError("values")


class NoItems(NoValues):
    def items(self) -> Any:
        raise OwnError("items")


HOSTILE: list[Any] = [
    *({"v": v, "y": 2.0} for v in (Item(OwnError()), Item(OSError("device")), Unhelpful(), NoClass())),
    *({k: 1.0, "y": 2.0} for k in (Unhelpful(), Ambiguous("x"))),
    {"v": {"deep": [Unhelpful(), 3]}, "y": 2.0},
]


@pytest.mark.parametrize("number", range(len(HOSTILE)))
def test_other_peoples_exceptions_raise_nothing_and_cost_nothing_else(tmp_path: Path, number: int) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    run.log({"x": 1.0, "y": 1.0})
    run.log(HOSTILE[number])
    run.log({"x": 3.0, "y": 3.0})
    run.finish()
    view = fanal.open(tmp_path / "r").runs["a"]
    assert view.series("y").values.tolist() == [1.0, 2.0, 3.0]
    assert verify(tmp_path / "r").ok
    if number == len(HOSTILE) - 1:
        (other,) = view.others()
        assert "$repr" in other.value["deep"][0]
        assert other.value["deep"][1] == 3


def test_mappings_and_steps_that_raise_are_kept_marked(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    run.log({"x": 1.0})
    run.log(NoValues(x=2.0))
    run.log(NoItems(x=3.0))
    run.log({"x": 4.0}, step=Unhelpful())  # pyright: ignore[reportArgumentType]
    run.finish()
    view = fanal.open(tmp_path / "r").runs["a"]
    others = [other.value for other in view.others()]
    assert others[0] == {"x": 2.0}
    assert "$repr" in others[1]
    assert view.series("x").steps.tolist() == [0, 3]
    said = capfd.readouterr().err
    assert "log: NoValues is no mapping" in said
    assert "is no step" in said


def test_keys_that_have_one_text_are_all_kept(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    rules = (Withhold("7", "a reason"),)
    run = start(tmp_path / "r", Start(id="a", withhold=rules))
    for _ in range(2):
        run.log({1: 1.0, "1": 2.0, Ambiguous("1 (int)"): 3.0, 7: 4.0, "7": 5.0})  # pyright: ignore[reportArgumentType]
    run.log({2: "two", "2": 2.0})  # pyright: ignore[reportArgumentType]
    run.finish()
    view = fanal.open(tmp_path / "r").runs["a"]
    kept = {"1": 2.0, "1 (int)": 1.0, "1 (int) (Ambiguous)": 3.0, "7": 5.0, "7 (int)": 4.0}
    assert {key: view.series(key).values.tolist() for key in kept} == {key: [value] * 2 for key, value in kept.items()}
    assert [(other.key, other.value) for other in view.others()] == [("2 (int)", "two")]
    public = Record(tmp_path / "r", public=True).runs["a"]
    assert sorted(public.keys()) == ["1", "1 (int)", "1 (int) (Ambiguous)", "2"]
    assert capfd.readouterr().err.count("two keys of a row have the text '1': one is '1 (int)'") == 1
