"""wandb's offline runs as the record keeps them: rows, config, what was set by hand, restarts, files, hosts."""

import json
from pathlib import Path
from typing import Any

import pytest

from fanal.errors import RecordError
from fanal.importers.source import import_source
from fanal.record.blobs import read_blob
from fanal.record.reading.read import RunView, open_record
from tests.worlds.wandb_files import ended, field, history, item, run, write_wandb


def folder_of(base: Path, run_id: str, day: int = 1) -> Path:
    return base / "wandb" / f"offline-run-2026010{day}_000000-{run_id}" / f"run-{run_id}.wandb"


def imported(base: Path) -> RunView:
    import_source("wandb", base / "wandb", base / "record")
    return next(iter(open_record(base / "record").runs.values()))


def test_a_run_comes_with_its_name_config_rows_and_times(tmp_path: Path) -> None:
    rows = [history(s, {"loss": s / 2, ("a", "b"): s}) for s in range(5)]
    write_wandb(folder_of(tmp_path, "abc"), [run("abc", "nice", {"lr": 0.1, "_wandb": {}}), *rows, ended()])
    view = imported(tmp_path)
    assert (view.id, view.name, view.config) == ("abc", "nice", {"lr": 0.1})
    assert view.series("loss").times_ns.tolist() == [(1_700_000_000 + s) * 10**9 for s in range(5)]
    assert view.series("a.b").steps.tolist() == list(range(5))
    assert view.attempts[0].outcome == "finished"
    assert set(view.keys()) == {"loss", "a.b"}


@pytest.mark.parametrize(("end", "outcome"), [([], "interrupted"), ([ended(1)], "failed"), ([ended()], "finished")])
def test_the_outcome_is_the_sources(tmp_path: Path, end: list[bytes], outcome: str) -> None:
    write_wandb(folder_of(tmp_path, "abc"), [run("abc"), history(0, {"a": 1}), *end])
    assert imported(tmp_path).attempts[0].outcome == outcome


def test_a_resumed_run_of_two_folders_is_one_run_of_two_attempts(tmp_path: Path) -> None:
    late = [run("abc", "nice", {"lr": 0.05}, start=1_800_000_000), *(history(s, {"loss": 2.0}) for s in range(6, 12))]
    early = [run("abc", "nice", {"lr": 0.1}), *(history(s, {"loss": 1.0}) for s in range(10)), ended(1)]
    write_wandb(folder_of(tmp_path, "abc", 1), late)  # the folder's name is not what orders them
    write_wandb(folder_of(tmp_path, "abc", 2), early)
    view = imported(tmp_path)
    assert view.series("loss").values.tolist() == [1.0] * 6 + [2.0] * 6
    assert len(view.series("loss", attempt=1)) == 10
    assert [attempt.config for attempt in view.attempts] == [{"lr": 0.1}, {"lr": 0.05}]
    assert [attempt.outcome for attempt in view.attempts] == ["failed", "interrupted"]
    assert import_source("wandb", tmp_path / "wandb", tmp_path / "record").runs[0].added_rows == 0


def test_summary_holds_what_rows_do_not_say(tmp_path: Path) -> None:
    summary = field(3, field(1, item("loss", 1.5)) + field(1, item("best", 7)))
    write_wandb(folder_of(tmp_path, "abc"), [run("abc"), history(0, {"loss": 1.5}), summary])
    view = imported(tmp_path)
    assert [event.fields["values"] for event in view.events("summary")] == [{"best": 7}]
    assert view.summary == {"loss": 1.5, "best": 7}


def test_metrics_alerts_and_artifacts_are_events(tmp_path: Path) -> None:
    metric = field(12, field(2, b"eval/*") + field(4, b"epoch") + field(7, b"\x10\x01") + b"\x40\x01")
    alert = field(10, field(1, b"Title") + field(2, b"words") + field(3, b"WARN"))
    entry = field(4, field(1, b"model.bin") + field(2, b"bWQ1") + b"\x20\x07")
    artifact = field(
        8, field(4, b"model") + field(5, b"m") + field(8, b'{"k": 1}') + field(11, b"best") + field(12, entry)
    )
    write_wandb(folder_of(tmp_path, "abc"), [run("abc"), history(0, {"a": 1}), metric, alert, artifact])
    view = imported(tmp_path)
    told: dict[str, Any] = {kind: view.events(kind)[0].fields for kind in ("metric", "alert", "artifact")}
    assert (told["metric"]["pattern"], told["metric"]["summary"], told["metric"]["goal"]) == (
        "eval/*",
        "max",
        "minimize",
    )
    assert (told["alert"]["title"], told["alert"]["level"]) == ("Title", "warn")
    assert read_blob(tmp_path / "record", told["alert"]["text"]) == b"words"
    assert told["artifact"]["files"] == [{"name": "model.bin", "bytes": 7, "md5_base64": "bWQ1"}]
    assert told["artifact"]["metadata"] == {"k": 1}


def test_system_metrics_are_by_time(tmp_path: Path) -> None:
    stats = [field(7, field(2, b"\x08" + b"\x05") + field(3, item("cpu", float(n)))) for n in range(3)]
    write_wandb(folder_of(tmp_path, "abc"), [run("abc"), history(0, {"a": 1}), *stats])
    view = imported(tmp_path)
    assert view.series("system/cpu").values.tolist() == [0.0, 1.0, 2.0]
    assert view.series("system/cpu").num_overwritten == 0


def test_media_and_saved_files_beside_the_run_are_kept_and_none_outside(tmp_path: Path) -> None:
    path = folder_of(tmp_path, "abc")
    image = {"_type": "image-file", "path": "media/i.png", "width": 2}
    outside = {"_type": "image-file", "path": "../../../../secret.png"}
    packed = {"_type": "histogram", "packedBins": {"min": 0, "size": 0.5, "count": 2}, "values": [3, 4]}
    names = b"".join(field(1, field(1, n)) for n in (b"code.py", b"../run-abc.wandb", b"absent"))
    row = history(0, {"a": 1, "i": image, "o": outside, "h": packed})
    write_wandb(path, [run("abc"), row, field(6, names)])
    (tmp_path / "secret.png").write_bytes(b"secret")
    (path.parent / "files" / "media").mkdir(parents=True)
    (path.parent / "files" / "media" / "i.png").write_bytes(b"\x89PNG")
    (path.parent / "files" / "code.py").write_bytes(b"print()")
    view = imported(tmp_path)
    kept = {other.key: other.value for other in view.others()}
    assert read_blob(tmp_path / "record", kept["i"]["file"]) == b"\x89PNG"
    assert (kept["o"]["file"], kept["o"]["path"]) == (None, "../../../../secret.png")
    assert kept["h"]["edges"] == [0, 0.5, 1.0]
    assert [event.fields["name"] for event in view.events("file")] == ["code.py"]


def test_hosts_paths_and_arguments_are_withheld_and_secrets_are_not_written(tmp_path: Path) -> None:
    environment = field(26, field(1, b"Linux") + field(2, b"3.11") + field(5, b"--lr") + field(12, b"host-1"))
    config = {"lr": 0.1, "api_key": "hf_abcdefghijklmnopqrstuvwxyz0123456789"}
    write_wandb(folder_of(tmp_path, "abc"), [run("abc", config=config), environment, history(0, {"a": 1})])
    view = imported(tmp_path)
    (event,) = view.events("process")
    assert (event.fields["host"], event.fields["argv"][1:]) == ("host-1", ["--lr"])
    assert event.writer in view.withheld
    found = [p for p in (tmp_path / "record").rglob("*") if p.is_file() and b"hf_abcdefgh" in p.read_bytes()]
    assert found == []


def test_a_corrupt_file_is_named_every_time(tmp_path: Path) -> None:
    path = write_wandb(folder_of(tmp_path, "abc"), [run("abc"), *(history(s, {"a": s}) for s in range(20))])
    data = bytearray(path.read_bytes())
    data[200] ^= 1
    path.write_bytes(data)
    for _ in range(2):
        report = import_source("wandb", path, tmp_path / "record")
        assert (report.exit_code, report.runs[0].num_unreadable, report.runs[0].rows) == (1, 1, 19)
    assert json.dumps(report.to_json())


def test_another_file_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "a.wandb").write_bytes(b"something else")
    with pytest.raises(RecordError, match=r"is no \.wandb file"):
        import_source("wandb", tmp_path / "a.wandb", tmp_path / "record")
