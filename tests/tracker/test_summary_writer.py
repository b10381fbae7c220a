"""A script that writes event files writes a record: scalars, text, pictures, histograms, hyperparameters."""

import io
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as Pillow

import fanal
from fanal.record.blobs import read_blob
from tests.tracker.conftest import read


def others(run: str = "a") -> dict[str, Any]:
    return {other.key: other.value for other in read(run).others()}


def pixels(found: dict[str, Any]) -> Any:
    return np.asarray(Pillow.open(io.BytesIO(read_blob(Path("r"), found["file"]))))


def test_everything_that_is_written_is_in_the_current_run() -> None:
    fanal.init(dir="r", id="a")
    image = (np.arange(3 * 4 * 5) * 4).astype(np.uint8).reshape(3, 4, 5)
    with fanal.SummaryWriter("runs/x") as writer:
        for step in range(3):
            writer.add_scalar("loss", np.float32(1 / (step + 1)), step)
        writer.add_scalar("timed", 1.0, 3, walltime=1700000000.0)
        writer.add_scalars("losses", {"train": 1.0, "eval": 2.0}, 4)
        writer.add_histogram("weights", np.linspace(0, 1, 11), 5, bins="tensorflow")
        writer.add_text("config", "|a|b|", 0)
        writer.add_image("picture", image, 1)
        writer.add_image("hwc", image.transpose(1, 2, 0), 1, dataformats="HWC")
        writer.add_images("pictures", np.stack([image, image]), 1)
        writer.add_hparams({"lr": 0.1}, {"hparam/accuracy": 0.9})
        writer.add_graph(None)
        writer.flush()
    assert fanal.run is not None, "a run that was open before stays open"
    fanal.finish()
    view = read()
    assert view.series("loss").values.tolist() == [1.0, 0.5, float(np.float32(1 / 3))]
    assert view.series("loss").steps.tolist() == [0, 1, 2]
    assert view.series("timed").times_ns.tolist() == [1_700_000_000_000_000_000]
    assert view.exact("losses/train") == [1.0]
    assert view.config == {"lr": 0.1}
    assert view.summary["hparam/accuracy"] == 0.9
    found = others()
    assert len(found["weights"]["counts"]) == 64
    assert read_blob(Path("r"), found["config"]["file"]) == b"|a|b|"
    for key in ("picture", "hwc"):
        assert np.array_equal(pixels(found[key]), image.transpose(1, 2, 0))
    assert len(found["pictures"]["items"]) == 2


def test_without_a_run_a_writer_has_one_of_its_own_which_it_ends(monkeypatch: Any) -> None:
    monkeypatch.setenv("FANAL_DIR", "r")
    first = fanal.SummaryWriter("runs/first")
    second = fanal.SummaryWriter()
    first.add_scalar("x", 1.0, 0)
    second.add_scalar("y", 2.0, 0)
    second.close()
    assert fanal.run is not None
    first.close()
    assert fanal.run is None
    assert (read("first").exact("x"), read("first").exact("y")) == ([1.0], [2.0])
    assert first.get_logdir() == "runs/first"
