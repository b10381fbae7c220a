"""`Image`: a picture logged under a key: a file, pixels, an image of Pillow or a figure of matplotlib.

A file is kept byte for byte; pixels become PNG. Masks are PNG too, boxes and classes are kept as given.
"""

import io
from collections.abc import Mapping
from mimetypes import guess_type
from pathlib import Path
from typing import Any, cast

from fanal.record.blobs import PLAIN_BYTES
from fanal.record.values import Media
from fanal.tracker.errors import UsageError
from fanal.tracker.pixels import mask_pixels, pixels_of
from fanal.tracker.png import png, size_of


class Image:
    """A picture."""

    def __init__(
        self,
        data_or_path: Any,
        mode: str | None = None,
        caption: str | None = None,
        grouping: int | None = None,
        classes: Any = None,
        boxes: Mapping[str, Any] | None = None,
        masks: Mapping[str, Any] | None = None,
        file_type: str | None = None,
        **ignored: Any,
    ) -> None:
        del ignored
        self.caption = caption
        self.format = "image/png"
        self._given = {"mode": mode, "grouping": grouping, "classes": _listed(classes), "boxes": boxes}
        self._masks = {name: _mask(mask) for name, mask in (masks or {}).items()}
        self.data = self._read(data_or_path, file_type)
        self.size = size_of(self.data)

    def to_record(self, run: Any) -> Media:
        """The picture's file, its size where known, caption, masks and boxes."""
        masks = {name: {**about, "file": run.blob(file, "image/png")} for name, (file, about) in self._masks.items()}
        width, height = self.size or (None, None)
        given = {name: value for name, value in self._given.items() if value is not None}
        return Media(
            {
                "$media": "image",
                "file": run.blob(self.data, self.format),
                "width": width,
                "height": height,
                "caption": self.caption,
                **given,
                **({"masks": masks} if masks else {}),
            }
        )

    def _read(self, given: Any, file_type: str | None) -> bytes:
        if isinstance(given, Image):
            self.format = given.format
            return given.data
        if isinstance(given, str | Path):
            self.format = guess_type(str(given))[0] or PLAIN_BYTES
            return file_bytes("Image", given)
        if callable(draw := getattr(given, "savefig", None) or _figure_of(given)):
            return _drawn(draw, format="png")
        if callable(save := getattr(given, "save", None)):
            kind = (file_type or "png").lower()
            self.format = f"image/{'jpeg' if kind == 'jpg' else kind}"
            return _drawn(save, format="jpeg" if kind == "jpg" else kind)
        return png(pixels_of(given))


def file_bytes(what: str, path: Any) -> bytes:
    """The bytes of a file that a medium is made of.

    Raises:
        UsageError: it cannot be read.
    """
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise UsageError(f"{what}: the file {str(path)!r} cannot be read: {error.strerror or error}") from error


def _figure_of(given: Any) -> Any:
    """Of axes, or of the module that holds a figure, how the figure is drawn."""
    figure = getattr(given, "figure", None) or getattr(given, "fig", None)
    return getattr(figure, "savefig", None)


def _drawn(draw: Any, format: str) -> bytes:
    buffer = io.BytesIO()
    draw(buffer, format=format)
    return buffer.getvalue()


def _mask(given: Any) -> tuple[bytes, dict[str, Any]]:
    """A mask's file, and what is said of it."""
    if not isinstance(given, Mapping):
        raise UsageError(f"a mask is a dict with 'mask_data' or 'path', got {type(given).__name__}")
    about = dict(cast("Mapping[str, Any]", given))
    if (data := about.pop("mask_data", None)) is not None:
        return png(mask_pixels(data)), about
    if (path := about.pop("path", None)) is not None:
        return file_bytes("Image: a mask", path), about
    raise UsageError("a mask is a dict with 'mask_data' or 'path', got neither")


def _listed(classes: Any) -> Any:
    return getattr(classes, "class_set", classes)
