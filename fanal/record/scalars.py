"""Numbers of other libraries become Python's: numpy, torch, JAX and whoever else has `item`.

NaN, infinities and −0.0 of every type come out the same. A row's JAX arrays come from their devices in one transfer;
JAX is used where the process has loaded it already and never imported from here.
"""

import sys
from typing import Any

from fanal.record.values import CONVERSION_ERRORS


def as_number(value: Any) -> float | None:
    """A Python int, float or bool that is `value`, or None where it is no single number."""
    try:
        if not isinstance(value, bool | int | float):
            value = value.item()
            if not isinstance(value, bool | int | float):
                value = float(value) if _is_wide_float(value) else value
        for plain in (bool, int, float):
            if isinstance(value, plain):
                return value if type(value) is plain else plain(value)
    except CONVERSION_ERRORS:
        return None
    return None


def on_host(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """The values, those that are JAX arrays fetched together."""
    jax = sys.modules.get("jax")
    array = getattr(jax, "Array", None)
    if jax is None or not isinstance(array, type):
        return values
    try:
        places = [place for place, value in enumerate(values) if isinstance(value, array)]
        if not places:
            return values
        fetched = jax.device_get([values[place] for place in places])
    except CONVERSION_ERRORS:  # one of them was deleted, or stands for a value to come: each is then asked alone
        return values
    found = list(values)
    for place, value in zip(places, fetched, strict=True):
        found[place] = value
    return tuple(found)


def _is_wide_float(value: Any) -> bool:
    """Whether `item` gave numpy's long double, which Python has no type for: kept as the nearest float."""
    return type(value).__name__ == "longdouble" and type(value).__module__ == "numpy"
