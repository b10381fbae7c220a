"""Media are kept whole, readable by other programs, and say what they are."""

import io
import struct
import wave
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as Pillow

import fanal
from tests.tracker.conftest import blob, logged, read

PIXELS = (np.arange(12 * 16 * 3) % 256).astype(np.uint8).reshape(12, 16, 3)


def opened(ref: dict[str, Any]) -> Any:
    return np.asarray(Pillow.open(io.BytesIO(blob(ref))))


def test_sound_is_a_wav_that_holds_every_sample(tmp_path: Path) -> None:
    samples = np.linspace(-1, 1, 50, dtype=np.float32)
    found = logged(fanal.Audio(samples, sample_rate=8000, caption="a sweep"))
    data = blob(found["file"])
    assert struct.unpack("<HHI", data[20:28]) == (3, 1, 8000)
    assert np.array_equal(np.frombuffer(data[44:], "<f4"), samples)
    assert (found["sample_rate"], found["caption"]) == (8000, "a sweep")
    whole = np.arange(-5, 5, dtype=np.int16).reshape(5, 2)
    (tmp_path / "x.wav").write_bytes(fanal.Audio(whole, sample_rate=8000).data)
    with wave.open(str(tmp_path / "x.wav")) as file:
        assert (file.getnchannels(), file.getframerate(), file.readframes(5)) == (2, 8000, whole.tobytes())


def test_moving_pictures_are_an_animated_png() -> None:
    frames = np.stack([PIXELS.transpose(2, 0, 1), PIXELS[::-1].transpose(2, 0, 1), PIXELS.transpose(2, 0, 1)])
    found = logged(fanal.Video(frames, fps=5))
    image = Pillow.open(io.BytesIO(blob(found["file"])))
    assert image.n_frames == 3  # pyright: ignore[reportAttributeAccessIssue]
    image.seek(1)
    assert np.array_equal(np.asarray(image.convert("RGB")), PIXELS[::-1])
    assert image.info["duration"] == 200


def test_pages_figures_things_and_words_are_kept(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<h1>file</h1>", "utf-8")

    class Plotted:
        def to_json(self) -> str:
            return '{"data": []}'

    with (tmp_path / "page.html").open(encoding="utf-8") as file:
        rows = {
            "html": (fanal.Html("<p>words</p>"), b"<p>words</p>"),
            "path": (fanal.Html(tmp_path / "page.html"), b"<h1>file</h1>"),
            "file": (fanal.Html(file), b"<h1>file</h1>"),
            "plotly": (fanal.Plotly(Plotted()), b'{"data": []}'),
            "points": (fanal.Object3D(np.zeros((1, 3))), b"[[0.0,0.0,0.0]]\n"),
            "molecule": (fanal.Molecule("CCO"), b"CCO"),
            "text": (fanal.Text("long words"), b"long words"),
        }
    fanal.init(dir="r", id="a")
    fanal.log({name: value for name, (value, _) in rows.items()})
    fanal.finish()
    found = {other.key: other.value for other in read().others()}
    assert {name: blob(found[name]["file"]) for name in rows} == {name: data for name, (_, data) in rows.items()}
    assert {name: found[name]["$media"] for name in ("path", "points", "text")} == {
        "path": "html",
        "points": "object3d",
        "text": "text",
    }


def test_a_medium_that_cannot_be_made_is_kept_as_its_words_and_the_row_stands() -> None:
    class Broken:
        def to_record(self, _: Any) -> dict[str, Any]:
            raise ValueError("no such thing")

    assert "Broken" in logged(Broken())["$repr"]
