"""Media besides pictures, tables and histograms: audio, video, HTML, Plotly figures, 3D objects, molecules, text.

What comes as a file is kept byte for byte; arrays become WAV (float32 or 16 bit) and animated PNG, which lose nothing
that they hold. Nothing here is shown without the page's care: HTML and SVG are strangers' code.
"""

import struct
from collections.abc import Mapping
from importlib import import_module
from mimetypes import guess_type
from pathlib import Path
from typing import Any, cast

from fanal.record.blobs import PLAIN_BYTES
from fanal.record.files import line
from fanal.record.values import Media, encode
from fanal.tracker.errors import UsageError
from fanal.tracker.image import Image, file_bytes
from fanal.tracker.pixels import is_tensor, pixels_of
from fanal.tracker.png import apng

JSON = "application/json"
MAX_PATH_CHARS = 1024


class Audio:
    """Sound: a file, or samples with their rate."""

    def __init__(self, data_or_path: Any, sample_rate: int | None = None, caption: str | None = None) -> None:
        self.caption, self.sample_rate = caption, sample_rate
        if isinstance(data_or_path, str | Path):
            self.data, self.format = _file("Audio", data_or_path)
        elif sample_rate is None:
            raise UsageError("Audio: samples need their sample_rate")
        else:
            self.data, self.format = _wav(data_or_path, int(sample_rate)), "audio/wav"

    def to_record(self, run: Any) -> Media:
        """The file, its rate and caption."""
        file = run.blob(self.data, self.format)
        return Media({"$media": "audio", "file": file, "sample_rate": self.sample_rate, "caption": self.caption})


class Video:
    """Moving pictures: a file, or frames T×C×H×W."""

    def __init__(
        self, data_or_path: Any, caption: str | None = None, fps: int | None = None, format: str | None = None
    ) -> None:
        self.caption, self.fps = caption, fps
        if isinstance(data_or_path, str | Path):
            self.data, self.format = _file("Video", data_or_path)
        elif hasattr(data_or_path, "read"):
            self.data, self.format = data_or_path.read(), f"video/{format or 'mp4'}"
        else:
            self.data, self.format = _frames(data_or_path, float(fps or 4)), "image/apng"

    def to_record(self, run: Any) -> Media:
        """The file, its frames a second and caption."""
        file = run.blob(self.data, self.format)
        return Media({"$media": "video", "file": file, "fps": self.fps, "caption": self.caption})


class Html:
    """A page: words, a file or an open file."""

    def __init__(self, data: Any, inject: bool = True, data_is_not_path: bool = False) -> None:
        del inject  # the page that shows it brings its own looks
        self.html = _words(data, may_be_path=not data_is_not_path)

    def to_record(self, run: Any) -> Media:
        """The page's words."""
        return Media({"$media": "html", "file": run.blob(_utf8(self.html), "text/html")})


class Classes:
    """Names of the classes that a picture's boxes and masks number."""

    def __init__(self, class_set: Any) -> None:
        self.class_set = [dict(one) for one in class_set]


class Text:
    """Words under a key, too long for a label."""

    def __init__(self, text: str) -> None:
        self.text = text

    def to_record(self, run: Any) -> Media:
        """The words."""
        return Media({"$media": "text", "file": run.blob(_utf8(self.text), "text/plain")})


class Plotly:
    """A figure of Plotly; one of matplotlib is kept as its picture."""

    def __init__(self, val: Any) -> None:
        self.figure = val

    def to_record(self, run: Any) -> Media:
        """The figure as JSON."""
        if callable(as_json := getattr(self.figure, "to_json", None)):
            return Media({"$media": "plotly", "file": run.blob(_utf8(str(as_json())), JSON)})
        if isinstance(self.figure, Mapping):
            return Media(
                {"$media": "plotly", "file": run.blob(line(encode(cast("Mapping[Any, Any]", self.figure))), JSON)}
            )
        return Image(self.figure).to_record(run)


class Object3D:
    """A thing in space: a file, points N×3 (or with class or colour), or a scene as a dict."""

    def __init__(self, data_or_path: Any, caption: str | None = None, **given: Any) -> None:
        self.caption, self.given = caption, given
        if isinstance(data_or_path, str | Path):
            self.data, self.format = _file("Object3D", data_or_path)
        elif hasattr(data_or_path, "read"):
            self.data, self.format = _bytes(data_or_path.read()), PLAIN_BYTES
        else:
            self.data, self.format = line(encode(data_or_path)), JSON

    def to_record(self, run: Any) -> Media:
        """The file or points, and the caption."""
        file = run.blob(self.data, self.format)
        return Media({"$media": "object3d", "file": file, "caption": self.caption, **self.given})


class Molecule:
    """A molecule: a file, or its words in a usual format."""

    def __init__(self, data_or_path: Any, caption: str | None = None, **given: Any) -> None:
        self.caption, self.given = caption, given
        self.text = _words(data_or_path, may_be_path=True)

    def to_record(self, run: Any) -> Media:
        """The words, and the caption."""
        file = run.blob(_utf8(self.text), "text/plain")
        return Media({"$media": "molecule", "file": file, "caption": self.caption, **self.given})


def _utf8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _bytes(content: Any) -> bytes:
    return _utf8(content) if isinstance(content, str) else bytes(content)


def _file(what: str, path: Any) -> tuple[bytes, str]:
    return file_bytes(what, path), guess_type(str(path))[0] or PLAIN_BYTES


def _words(given: Any, may_be_path: bool) -> str:
    """The words of an open file, of a path that is there, or as given."""
    if hasattr(given, "read"):
        content = given.read()
        return content.decode("utf-8", "replace") if isinstance(content, bytes) else str(content)
    if isinstance(given, Path):
        return given.read_text("utf-8", "replace")
    text = str(given)
    short = may_be_path and len(text) < MAX_PATH_CHARS and "\n" not in text and "<" not in text
    return Path(text).read_text("utf-8", "replace") if short and Path(text).is_file() else text


def _wav(samples: Any, rate: int) -> bytes:
    """Samples, one channel or N×channels, as a WAV file: floats of 32 bits or integers of 16."""
    numpy: Any = import_module("numpy")
    array = numpy.asarray(samples.detach().cpu() if is_tensor(samples) else samples)
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2:
        raise UsageError(f"Audio: samples are N or N×channels, got shape {tuple(array.shape)}")
    whole = array.dtype == numpy.int16
    body = array.astype("<i2" if whole else "<f4").tobytes()
    channels, size = int(array.shape[1]), 2 if whole else 4
    layout = (1 if whole else 3, channels, rate, rate * channels * size, channels * size, 8 * size)
    head = b"WAVEfmt " + struct.pack("<IHHIIHH", 16, *layout)
    return b"RIFF" + struct.pack("<I", len(head) + 8 + len(body)) + head + b"data" + struct.pack("<I", len(body)) + body


def _frames(given: Any, fps: float) -> bytes:
    """Frames T×C×H×W (or one video of a batch of one) as an animated PNG."""
    numpy: Any = import_module("numpy")
    array = numpy.asarray(given.detach().cpu() if is_tensor(given) else given)
    if array.ndim == 5 and array.shape[0] == 1:
        array = array[0]
    if array.ndim != 4 or array.shape[1] not in (1, 2, 3, 4) or 0 in array.shape:
        raise UsageError(f"Video: frames are T×C×H×W, got shape {tuple(array.shape)}")
    return apng([pixels_of(numpy.moveaxis(frame, 0, -1)) for frame in array], fps)
