"""The whole path on the firefly campaign: run, verified, published, killed and resumed, bit for bit."""

import json
import shutil
import signal
from pathlib import Path

import pytest

import fanal as library
from fanal.record.metrics import describe
from fanal.record.proof.verify import verify
from tests.data.golden import read_golden
from tests.e2e.golden import loss_lines
from tests.tolerances import REASSOCIATED, assert_close
from tests.worlds.firefly import Finished, fanal, final_leaves, start_until

pytestmark = pytest.mark.e2e
FIREFLY = Path(library.__file__).parent / "campaigns" / "firefly.toml"


def test_the_summary_holds_rungs_forecast_and_hero(firefly: Finished) -> None:
    summary = firefly.summary
    assert [r["name"] for r in summary["rungs"]] == ["d16", "d20", "d24", "d32"]
    assert all({"params_total", "params_active", "tokens", "flops", "loss"} <= set(r) for r in summary["rungs"])
    assert summary["forecast"]["sealed_before_step_0"] is True
    assert summary["forecast"]["p10"] < summary["forecast"]["p50"] < summary["forecast"]["p90"]
    assert summary["hero"]["inside"] == (
        summary["forecast"]["p10"] <= summary["hero"]["loss"] <= summary["forecast"]["p90"]
    )


def test_the_rungs_losses_are_the_means_of_their_seeds(firefly: Finished) -> None:
    runs = library.open(firefly.folder).runs
    assert list(runs) == ["d16", "d16-s1", "d20", "d20-s1", "d24", "d32", "hero"]
    pair = [runs[name].series("eval/full/macro").values[-1] for name in ("d16", "d16-s1")]
    assert firefly.summary["rungs"][0]["loss"] == pytest.approx(sum(pair) / 2, rel=1e-12)
    assert pair[0] != pair[1]


def test_the_first_losses_are_the_golden_ones(firefly: Finished) -> None:
    found, golden = list(loss_lines(firefly)), read_golden("firefly_losses.txt")
    assert [line.rpartition(" ")[0] for line in found] == [line.rpartition(" ")[0] for line in golden]
    losses = [[float(line.rpartition(" ")[2]) for line in lines] for lines in (found, golden)]
    assert_close(losses[0], losses[1], REASSOCIATED["float32"])


def test_every_logged_key_is_described(firefly: Finished) -> None:
    views = library.open(firefly.folder).runs.values()
    keys = {key for view in views for key in view.keys()}  # noqa: SIM118  (a view is no mapping)
    assert [key for key in keys if describe(key) is None] == []


def test_verify_says_whole_and_sealed_first(firefly: Finished) -> None:
    done = fanal("verify", str(firefly.folder), "--json", cwd=firefly.folder)
    assert done.returncode == 0, done.stdout + done.stderr


def test_one_byte_of_any_file_of_the_record_is_found(firefly: Finished, tmp_path: Path) -> None:
    record = shutil.copytree(firefly.record, tmp_path / "record")
    files = sorted(p for p in record.rglob("*") if p.is_file())
    assert len(files) > 30
    for path in files:
        whole = path.read_bytes()
        place = len(whole) // 2
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        report = verify(record)
        assert not report.ok, f"{path.relative_to(record)}: the changed byte {place} was not found"
        assert path.relative_to(record).as_posix() == report.first_bad
        path.write_bytes(whole)
    assert verify(record).ok


def test_a_second_call_does_nothing_twice(firefly: Finished, tmp_path: Path) -> None:
    copy = shutil.copytree(firefly.folder, tmp_path / "runs" / "firefly")
    done = fanal("run", "firefly", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len(library.open(copy).runs["hero"].attempts) == 1
    campaign = library.open(copy).campaign
    assert campaign is not None
    assert len(campaign.attempts) == 1
    assert final_leaves(copy) == final_leaves(firefly.folder)
    assert json.loads((copy / "summary.json").read_text("utf-8")) == firefly.summary


def test_checkpoints_without_their_record_are_refused(firefly: Finished, tmp_path: Path) -> None:
    copy = shutil.copytree(firefly.folder, tmp_path / "runs" / "firefly")
    shutil.rmtree(copy / "record")
    done = fanal("run", "firefly", "--quiet", cwd=tmp_path)
    assert done.returncode == 3
    assert "belongs to no run of" in done.stderr


def test_a_changed_campaign_is_refused_in_the_same_folder(firefly: Finished, tmp_path: Path) -> None:
    shutil.copytree(firefly.record, tmp_path / "runs" / "firefly" / "record")
    text = (FIREFLY.read_text("utf-8")).replace("seed = 0", "seed = 7")
    (tmp_path / "changed.toml").write_text(text, "utf-8")
    done = fanal("run", "changed.toml", "--quiet", cwd=tmp_path)
    assert done.returncode == 3
    assert "it was changed since" in done.stderr


def test_a_step_is_traced_to_its_documents(firefly: Finished) -> None:
    done = fanal("data", "trace", str(firefly.folder), "--run", "hero", "--step", "1", "--json", cwd=firefly.folder)
    assert done.returncode == 0, done.stderr
    traced = json.loads(done.stdout)
    assert [seq["position"] for seq in traced["sequences"]] == list(range(8))
    drawn = library.open(firefly.folder).runs["hero"]
    for domain in ("verse", "code", "ledger"):
        tokens = 64 * sum(seq["domain"] == domain for seq in traced["sequences"])
        assert drawn.series(f"data/tokens/{domain}").values[0] == tokens
    assert all(sum(d["num_tokens"] for d in seq["documents"]) == 64 for seq in traced["sequences"])


@pytest.mark.parametrize("step", ["0", "121"])
def test_a_step_that_is_not_there_is_named(firefly: Finished, step: str) -> None:
    done = fanal("data", "trace", str(firefly.folder), "--step", step, cwd=firefly.folder)
    assert done.returncode == 2
    assert f"steps 1 to 120, got {step}" in done.stderr


def test_a_site_is_written_and_verifies(firefly: Finished, tmp_path: Path) -> None:
    done = fanal("publish", str(firefly.folder), "site", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert fanal("verify", "site", cwd=tmp_path).returncode == 0
    assert (tmp_path / "site" / "index.html").is_file()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=lambda n: n.name)
def test_stopped_in_the_heros_middle_it_ends_bitwise_the_same(
    firefly: Finished, tmp_path: Path, number: signal.Signals
) -> None:
    folder = tmp_path / "runs" / "firefly"
    middle = firefly_steps(firefly) // 2

    def in_the_middle() -> bool:
        if not (folder / "ckpt" / "hero").is_dir():
            return False
        series = library.open(folder).runs["hero"].series("train/loss")
        return bool(len(series.steps)) and series.steps[-1] >= middle

    process = start_until(("run", "firefly", "--quiet"), tmp_path, in_the_middle)
    process.send_signal(number)
    process.wait(timeout=60)
    assert not (folder / "summary.json").exists(), "it ended before it could be stopped"
    done = fanal("run", "firefly", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert final_leaves(folder) == final_leaves(firefly.folder)
    hero = library.open(folder).runs["hero"]
    assert len(hero.attempts) == 2
    assert hero.series("train/loss").steps.tolist() == list(range(1, firefly_steps(firefly) + 1))
    undisturbed = library.open(firefly.folder).runs["hero"]
    assert hero.series("train/loss").values.tolist() == undisturbed.series("train/loss").values.tolist()
    assert json.loads((folder / "summary.json").read_text("utf-8"))["hero"] == firefly.summary["hero"]
    assert fanal("verify", str(folder), cwd=tmp_path).returncode == 0


def firefly_steps(firefly: Finished) -> int:
    return int(library.open(firefly.folder).runs["hero"].config["num_steps"])
