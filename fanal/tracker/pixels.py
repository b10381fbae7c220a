"""Arrays and tensors as pixels: shapes, ranges and types that people hand to an image.

H×W, H×W×C or, for tensors of PyTorch, C×H×W; C is 1 to 4. Integers are taken as they are, cut to 0–255; floats in 0–1,
or in −1–1, are stretched to it, others cut. NumPy is there where an array is.
"""

from importlib import import_module
from typing import Any

from fanal.tracker.errors import UsageError
from fanal.tracker.png import Pixels

MAX_CHANNELS = 4


def pixels_of(value: Any) -> Pixels:
    """An array or tensor as pixels.

    Raises:
        UsageError: its shape is no image's.
    """
    numpy: Any = import_module("numpy")
    if is_tensor(value):
        array = value.detach().cpu()
        array = array.float().numpy() if array.is_floating_point() else array.numpy()
        array = numpy.moveaxis(array, 0, -1) if array.ndim == 3 and array.shape[0] <= MAX_CHANNELS else array
    else:
        array = numpy.asarray(value)
    array = array[..., None] if array.ndim == 2 else array
    if array.ndim == 4 and array.shape[0] == 1:
        array = array[0]
    if array.ndim != 3 or not 1 <= array.shape[-1] <= MAX_CHANNELS or 0 in array.shape:
        raise UsageError(f"an image is H×W, H×W×1 to 4 (a tensor C×H×W), got shape {tuple(array.shape)}")
    height, width, channels = map(int, array.shape)
    return Pixels(width, height, channels, numpy.ascontiguousarray(_bytes(numpy, array)).tobytes())


def mask_pixels(value: Any) -> Pixels:
    """A mask of class numbers as grey pixels, of 16 bits where 8 are too few.

    Raises:
        UsageError: it is not H×W of 0 to 65,535.
    """
    numpy: Any = import_module("numpy")
    array = numpy.asarray(value.detach().cpu() if is_tensor(value) else value)
    if array.ndim != 2 or array.size == 0 or array.min() < 0 or array.max() > 0xFFFF:
        raise UsageError(f"a mask is H×W of class numbers from 0 to 65535, got shape {tuple(array.shape)}")
    height, width = map(int, array.shape)
    wide = bool(array.max() > 0xFF)
    return Pixels(width, height, 1, array.astype(">u2" if wide else "u1").tobytes(), 16 if wide else 8)


def is_tensor(value: Any) -> bool:
    """Whether a value is a tensor of PyTorch."""
    return type(value).__module__.split(".", 1)[0] == "torch" and hasattr(value, "detach")


def _bytes(numpy: Any, array: Any) -> Any:
    if array.dtype == numpy.bool_:
        return array.astype(numpy.uint8) * 255
    if array.dtype.kind in "iu":
        return numpy.clip(array, 0, 255).astype(numpy.uint8)
    array = numpy.nan_to_num(array.astype(float), nan=0.0, posinf=numpy.inf, neginf=-numpy.inf)
    low, high = array.min(), array.max()
    if low >= 0 and high <= 1:
        array = array * 255
    elif low >= -1 and high <= 1:
        array = (array + 1) * 127.5
    return numpy.clip(numpy.rint(array), 0, 255).astype(numpy.uint8)
