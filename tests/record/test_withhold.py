import json
from pathlib import Path

import pytest

import fanal
from fanal.record import layout
from fanal.record.attempt import Start, Withhold, start
from fanal.record.files import read_document
from fanal.record.layout import OWNER_FILE
from fanal.record.proof.verify import verify
from fanal.record.reading.read import Record
from fanal.record.withhold import BY_DEFAULT, parts, reason_for, reason_for_pattern
from tests.worlds.processes import python

RULES = (
    Withhold("private/*", "a partner's figures"),
    Withhold("event:note", "names people"),
    Withhold("config:path*", "names people"),
)


def reasons(folder: Path) -> dict[str, str | None]:
    return {w.writer: read_document(w.folder / OWNER_FILE).get("withheld") for w in layout.all_writers(folder)}


def test_the_first_rule_that_matches_says_why() -> None:
    assert reason_for(RULES, "private/x") == "a partner's figures"
    assert reason_for(RULES, "public/private/x") is None
    assert reason_for(BY_DEFAULT, "event:process") is not None
    assert parts(RULES, ((k, k) for k in ("a", "private/b", "c"))) == {
        None: ["a", "c"],
        "a partner's figures": ["private/b"],
    }


def test_nothing_withheld_makes_no_second_writer(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a", config={"lr": 1}, withhold=RULES))
    run.log({"a": 1.0})
    run.finish()
    assert list(reasons(tmp_path / "r").values()) == [None]


def test_rows_events_and_configs_are_divided_and_read_back_as_one(tmp_path: Path) -> None:
    config = {"lr": 0.1, "path_of_data": "/data/x", 3: "three"}
    run = start(tmp_path / "r", Start(id="a", config=config, withhold=RULES))  # pyright: ignore[reportArgumentType]
    for step in range(5):
        run.log({"a": step / 2, "private/b": step, "private/text": f"t{step}"}, step)
        run.log({"a": 9.0}, 100 + step)
    run.event("note", text="who", step=2)
    run.finish()
    found = reasons(tmp_path / "r")
    assert sorted(str(reason) for reason in found.values()) == ["None", "a partner's figures", "names people"]
    view = fanal.open(tmp_path / "r").runs["a"]
    assert view.series("a").values.tolist() == [0.0, 0.5, 1.0, 1.5, 2.0] + [9.0] * 5
    assert view.exact("private/b") == list(range(5))
    assert [other.value for other in view.others() if other.key == "private/text"] == [f"t{n}" for n in range(5)]
    assert view.config == config
    of = {found[event.writer]: event.kind for event in view.events() if event.kind in ("note", "attempt.end")}
    assert of == {"names people": "note", None: "attempt.end"}
    report = verify(tmp_path / "r")
    assert report.ok, report.words


def test_a_public_writers_files_hold_nothing_of_what_is_withheld(tmp_path: Path) -> None:
    secret = "4d1f-withheld-word"
    run = start(tmp_path / "r", Start(id="a", config={"path": secret}, withhold=RULES))
    run.log({f"private/{secret}": 1.0, "private/t": secret, "a": 1.0})
    run.event("note", text=secret)
    public = next(
        w for w in layout.all_writers(tmp_path / "r") if "withheld" not in read_document(w.folder / OWNER_FILE)
    )
    before = b"".join(p.read_bytes() for p in public.folder.rglob("*") if p.is_file())
    run.finish()
    after = b"".join(p.read_bytes() for p in public.folder.rglob("*") if p.is_file())
    assert secret.encode() not in before + after
    names = json.dumps(fanal.open(tmp_path / "r").runs["a"].keys())
    assert secret in names


def test_a_forked_child_withholds_too(tmp_path: Path) -> None:
    code = """
        import os, sys
        from pathlib import Path
        from fanal.record.attempt import Start, Withhold, start
        run = start(Path(sys.argv[1]), Start(id="a", withhold=(Withhold("private/*", "a reason"),)))
        run.log({"private/b": 1.0}, 0)
        if os.fork() == 0:
            run.log({"private/b": 2.0, "a": 1.0}, 1)
            sys.exit()
        os.wait()
        run.finish()
    """
    done = python(code, tmp_path / "r")
    assert done.returncode == 0, done.stderr
    assert sorted(str(r) for r in reasons(tmp_path / "r").values()) == ["None"] * 2 + ["a reason"] * 2
    assert fanal.open(tmp_path / "r").runs["a"].series("private/b").values.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("reason", ["", "  "])
def test_a_rule_without_a_reason_is_refused(reason: str) -> None:
    with pytest.raises(ValueError, match=r"withhold 'private/\*' has no reason"):
        Withhold("private/*", reason)


def test_what_speaks_of_a_pattern_is_withheld_where_it_and_a_rule_meet() -> None:
    for pattern in ("private/x", "private/*", "priv*", "*"):
        assert reason_for_pattern(RULES, pattern) == "a partner's figures", pattern
    for pattern in ("loss", "public/*"):
        assert reason_for_pattern(RULES, pattern) is None, pattern


def test_facts_that_name_withheld_keys_are_withheld_too(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a", withhold=RULES))
    run.event("metric", pattern="private/x", text="a word of x")
    run.event("metric", pattern="private/*", text="a word of all")
    run.event("metric", pattern="loss", step_metric="private/step")
    run.event("metric", pattern="accuracy", text="for everybody", step_metric="samples")
    run.event("summary", values={"private/x": 424242.5, "loss": 0.5, 3: 4})
    run.event("summary", values={"private/y": 1.0})
    run.event("summary", values={})
    run.log([("private/pair", 987654.5)])  # pyright: ignore[reportArgumentType]
    run.finish()
    everything, public = Record(tmp_path / "r").runs["a"], Record(tmp_path / "r", public=True).runs["a"]
    assert [event.fields["pattern"] for event in public.events("metric")] == ["accuracy"]
    assert len(everything.events("metric")) == 4
    assert [event.fields["values"] for event in public.events("summary")] == [{"loss": 0.5, 3: 4}, {}]
    found = [event.fields["values"] for event in everything.events("summary")]
    assert sorted(map(str, found)) == sorted(
        map(str, [{"loss": 0.5, 3: 4}, {}, {"private/x": 424242.5}, {"private/y": 1.0}])
    )
    assert not public.others()
    assert [other.value for other in everything.others()] == [[["private/pair", 987654.5]]]


def test_without_rules_on_keys_facts_stay_whole(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    run.event("metric", pattern="*", text="all of them")
    run.event("summary", values={"a": 1, "b": 2})
    run.log([1.0])  # pyright: ignore[reportArgumentType]
    run.finish()
    public = Record(tmp_path / "r", public=True).runs["a"]
    assert [event.fields["values"] for event in public.events("summary")] == [{"a": 1, "b": 2}]
    assert len(public.events("metric")) == len(public.others()) == 1
