"""TensorBoard folders: runs by folder, files by their own time, and what no scalar column holds."""

import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fanal.errors import RecordError
from fanal.importers.source import import_source
from fanal.importers.tensorboard import find_runs
from fanal.record.blobs import read_blob
from fanal.record.reading.read import RunView, open_record
from tests.worlds.event_files import (
    event,
    field,
    name,
    record,
    simple,
    tensor_scalar,
    varint,
    version,
    write_events,
)


def imported(folder: Path) -> dict[str, RunView]:
    import_source("tensorboard", folder / "log", folder / "record")
    return open_record(folder / "record").runs


def others(view: RunView) -> dict[str, Any]:
    return {other.key: other.value for other in view.others()}


def one_event(folder: Path, *values: bytes) -> RunView:
    path = folder / "log" / name(1)
    path.parent.mkdir()
    path.write_bytes(version(1.7e9) + b"".join(record(event(1.7e9, 4, [value])) for value in values))
    return imported(folder)["log"]


def test_folders_are_runs_and_the_root_has_the_log_folders_name(tmp_path: Path) -> None:
    for below in ("", "a/train", "a/eval"):
        write_events(tmp_path / "log" / below / name(1), [("loss", 0, 1.7e9, 1.0)])
    runs = imported(tmp_path)
    assert {view.id: view.name for view in runs.values()} == {"log": ".", "a-train": "a/train", "a-eval": "a/eval"}


def test_wall_times_are_kept_to_the_bit(tmp_path: Path) -> None:
    walls = np.nextafter(1.7e9, 2e9) + np.arange(500) / 7
    write_events(tmp_path / "log" / name(1), [("loss", s, w, 0.1) for s, w in enumerate(walls.tolist())])
    series = imported(tmp_path)["log"].series("loss")
    seconds, rest = np.divmod(series.times_ns, 10**9)
    assert (seconds + rest / 1e9 == walls).all()
    assert set(series.values.tolist()) == {float(np.float32(0.1))}


def test_a_later_file_with_keys_of_its_own_is_no_restart(tmp_path: Path) -> None:
    write_events(tmp_path / "log" / name(1), [("loss", s, 1.7e9 + s, 1.0) for s in range(50)])
    write_events(tmp_path / "log" / name(2), [("test/accuracy", 0, 1.8e9, 0.5)])
    view = imported(tmp_path)["log"]
    assert len(view.attempts) == 1
    assert (len(view.series("loss")), view.series("test/accuracy").steps.tolist()) == (50, [0])


def test_a_restart_begins_where_its_main_key_does_and_says_what_lies_before(tmp_path: Path) -> None:
    write_events(
        tmp_path / "log" / name(1), [("hp_metric", 0, 1.7e9, -1.0)] + [("loss", s, 1.7e9, 1.0) for s in range(50)]
    )
    write_events(
        tmp_path / "log" / name(2), [("hp_metric", 0, 1.8e9, -1.0)] + [("loss", s, 1.8e9, 2.0) for s in range(40, 60)]
    )
    report = import_source("tensorboard", tmp_path / "log", tmp_path / "record")
    view = open_record(tmp_path / "record").runs["log"]
    assert view.series("loss").values.tolist() == [1.0] * 40 + [2.0] * 20
    assert "goes on at step 40; 1 of its keys have earlier points" in report.text


def test_a_file_that_appears_later_goes_on_and_nothing_comes_twice(tmp_path: Path) -> None:
    first = tmp_path / "log" / name(1)
    write_events(first, [("loss", s, 1.7e9 + s, 1.0) for s in range(10)])
    imported(tmp_path)
    data = first.read_bytes()
    write_events(first, [("loss", s, 1.7e9 + s, 1.0) for s in range(20)])
    assert first.read_bytes().startswith(data)
    imported(tmp_path)
    write_events(tmp_path / "log" / name(2), [("loss", s, 1.8e9 + s, 2.0) for s in range(15, 25)])
    imported(tmp_path)
    view = imported(tmp_path)["log"]
    assert view.series("loss").values.tolist() == [1.0] * 15 + [2.0] * 10
    assert [len(view.series("loss", attempt=n)) for n in (1, 2)] == [20, 10]


def test_numbers_of_every_type_are_numbers(tmp_path: Path) -> None:
    contents = {1: "<f", 2: "<d", 3: "<i", 4: "<B", 5: "<h", 6: "<b", 9: "<q", 19: "<e", 22: "<I", 23: "<Q"}
    values = [tensor_scalar(f"t{n}", 0, n, struct.pack(form, 3)) for n, form in contents.items()]
    half = b"\x08\x13" + field(2, b"") + field(13, varint(0x3E00))
    repeated = b"\x08\x03" + field(2, b"") + b"\x38" + varint(-7)
    for tag, tensor in (("half", half), ("int", repeated)):
        values.append(field(1, tag.encode()) + field(8, tensor) + field(9, field(1, field(1, b"scalars"))))
    view = one_event(tmp_path, *values)
    assert {key: view.exact(key) for key in view.keys()} == {  # noqa: SIM118
        **{f"t{n}": [3] for n in contents},
        "half": [1.5],
        "int": [-7],
    }


def test_histograms_texts_and_images_are_kept_whole(tmp_path: Path) -> None:
    doubles = struct.pack("<3d", 1.0, 2.0, 3.0)
    histogram = field(6, doubles) + field(7, struct.pack("<3d", 4.0, 0.0, 5.0)) + b"\x09" + struct.pack("<d", 0.5)
    text = b"\x08\x07" + field(2, field(2, b"\x08\x01")) + field(8, "héllo".encode())
    image = b"\x08\x02\x10\x03" + field(4, b"\x89PNG and so on")
    view = one_event(
        tmp_path,
        field(1, b"h") + field(5, histogram),
        field(1, b"t") + field(8, text) + field(9, field(1, field(1, b"text"))),
        field(1, b"i") + field(4, image),
    )
    kept = others(view)
    assert (kept["h"]["counts"], kept["h"]["edges"]) == ([4.0, 0.0, 5.0], [0.5, 1.0, 2.0, 3.0])
    assert read_blob(tmp_path / "record", kept["t"]["file"]).decode() == "héllo"
    assert (kept["i"]["width"], kept["i"]["height"], kept["i"]["file"]["type"]) == (3, 2, "image/png")
    assert read_blob(tmp_path / "record", kept["i"]["file"]) == b"\x89PNG and so on"


def test_hyperparameters_are_the_config(tmp_path: Path) -> None:
    def entry(key: str, value: bytes) -> bytes:
        return field(1, field(1, key.encode()) + field(2, value))

    pairs = entry("lr", b"\x11" + struct.pack("<d", 0.1)) + entry("opt", field(3, b"adam")) + entry("f", b"\x20\x01")
    value = field(1, b"_hparams_/session_start_info") + field(
        9, field(1, field(1, b"hparams") + field(2, field(3, pairs)))
    )
    view = one_event(tmp_path, simple("loss", 1.0), value)
    assert view.config == {"lr": 0.1, "opt": "adam", "f": True}
    assert view.others() == []


def test_with_many_keys_points_of_a_step_share_a_row_and_its_time(tmp_path: Path) -> None:
    keys = [f"layer{number}/norm" for number in range(600)]
    points = [(key, s, 1.7e9 + s + n / 1000, n / 2 + s) for s in range(4) for n, key in enumerate(keys)]
    write_events(tmp_path / "log" / name(1), points)
    report = import_source("tensorboard", tmp_path / "log", tmp_path / "record")
    view = open_record(tmp_path / "record").runs["log"]
    assert (report.runs[0].rows, report.runs[0].values, report.runs[0].keys) == (4, 2400, 600)
    assert view.series(keys[-1]).values.tolist() == [599 / 2 + s for s in range(4)]
    assert view.series(keys[-1]).times_ns.tolist() == [(1_700_000_000 + s) * 10**9 for s in range(4)]
    assert "the first one's time" in report.text


def test_live_waits_until_a_new_file_shows_what_it_is(tmp_path: Path) -> None:
    log = tmp_path / "log"
    write_events(log / name(1), [("loss", s, 1.7e9 + s, 1.0) for s in range(10)])
    source = find_runs(log, live=True)[log.as_posix()]
    assert sum(len(batch.items) for batch in source.read()) == 10
    for num, rows in ((0, 0), (1, 0), (2, 2)):
        (log / name(2)).write_bytes(
            version(1.8e9) + b"".join(record(event(1.8e9, s, [simple("loss", 2.0)])) for s in range(5, 5 + num))
        )
        source.renew(find_runs(log, live=True)[log.as_posix()])
        batches = list(source.read())
        assert sum(len(batch.items) for batch in batches) == rows
        assert [batch.begin.from_step for batch in batches if batch.begin] == ([5] if rows else [])


@pytest.mark.parametrize("data", [b"a,b\n1,2\n", b"step,loss\n" + b"0,0.5\n" * 9])
def test_a_file_of_another_kind_is_bad_input(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.csv").write_bytes(data)
    with pytest.raises(RecordError, match=r"a\.csv is no event file: it does not begin with a record"):
        import_source("tensorboard", tmp_path / "a.csv", tmp_path / "record")
    assert not (tmp_path / "record").exists()


def test_a_file_that_has_only_begun_or_whose_first_record_is_damaged_is_an_event_file(tmp_path: Path) -> None:
    path = tmp_path / name(1)
    write_events(path, [("loss", s, 1.7e9 + s, 0.5) for s in range(3)])
    data = path.read_bytes()
    for part in (data[:7], data[:20], bytes(12) + data[12:]):
        path.write_bytes(part)
        assert len(import_source("tensorboard", path, tmp_path / "record").runs) == 1
