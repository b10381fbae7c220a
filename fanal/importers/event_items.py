"""Events that are no plain scalars, as items: tensors of one number, histograms, texts, images, audio, hyperparameters.

A scalar of an integer or half type keeps its type. A tensor that no plugin explains is kept as its shape and numbers.
"""

from collections.abc import Mapping
from typing import Any

from fanal.importers import protobuf
from fanal.importers.event_values import Event, Tensor, Value
from fanal.importers.items import Content, Item, Odd, Row
from fanal.importers.media import Kept
from fanal.importers.protobuf import fields, message, text
from fanal.importers.times import from_seconds

SOUNDS = "audio/wav"
_SIGNATURES = ((b"\x89PNG", "image/png"), (b"\xff\xd8", "image/jpeg"), (b"GIF8", "image/gif"), (b"RIFF", SOUNDS))


def items_of(event: Event) -> list[Item]:
    """The items of one event."""
    items: list[Item] = []
    for value in event.values:
        if value.plugin == "hparams":
            continue
        found = _number(value)
        time_ns = from_seconds(event.wall_time)
        if found is not None:
            items.append(Row(event.step, time_ns, {value.tag: found}))
        elif (medium := _medium(value)) is not None:
            items.append(Odd(event.step, time_ns, {value.tag: medium}))
    return items


def _number(value: Value) -> float | None:
    if value.scalar is not None:
        return value.scalar
    tensor = value.tensor
    if tensor is None or tensor.shape not in ((), (1,)) or len(tensor.numbers) != 1:
        return None
    return tensor.numbers[0] if value.plugin in ("", "scalars") else None


def _medium(value: Value) -> Any:
    if value.histogram is not None:
        return _histogram(value.histogram)
    if value.image is not None:
        data = value.image.get("data", b"")
        size = {"width": value.image.get("width"), "height": value.image.get("height")}
        return Kept("image", {"file": Content(data, _type(data)), **size, "caption": None})
    if value.audio is not None:
        sound = Content(value.audio.get("data", b""), value.audio.get("type") or SOUNDS)
        return Kept("audio", {"file": sound, "sample_rate": value.audio.get("rate"), "caption": None})
    return None if value.tensor is None else _tensor(value.plugin, value.tensor)


def _histogram(said: Mapping[str, Any]) -> Kept:
    limits: list[float] = said.get("limits", [])
    counts: list[float] = said.get("counts", [])
    edges = [min(said.get("min", 0.0), limits[0]), *limits] if limits else []
    rest = {name: said.get(name, 0.0) for name in ("min", "max", "num", "sum", "sum_squares")}
    return Kept("histogram", {"counts": counts, "edges": edges, **rest})


def _tensor(plugin: str, tensor: Tensor) -> Any:
    if plugin == "histograms" and len(tensor.shape) == 2 and tensor.shape[1] == 3:
        lefts, rights, counts = tensor.numbers[0::3], tensor.numbers[1::3], tensor.numbers[2::3]
        return Kept("histogram", {"counts": counts, "edges": lefts[:1] + rights})
    if plugin == "images" and len(tensor.strings) >= 2:
        width, height = (int(side) if side.isdigit() else None for side in tensor.strings[:2])
        files = [Content(data, _type(data)) for data in tensor.strings[2:]]
        items = [Kept("image", {"file": f, "width": width, "height": height, "caption": None}) for f in files]
        return items[0] if len(items) == 1 else Kept("image", {"items": items})
    if plugin == "audio" and tensor.strings:
        return Kept("audio", {"file": Content(tensor.strings[0], SOUNDS), "sample_rate": None, "caption": None})
    if tensor.strings:
        words = [Kept("text", {"file": Content(words, "text/plain")}) for words in tensor.strings]
        return words[0] if len(words) == 1 else Kept("text", {"items": words})
    return {"plugin": plugin, "shape": list(tensor.shape), "numbers": tensor.numbers}


def _type(data: bytes) -> str:
    return next((kind for start, kind in _SIGNATURES if data.startswith(start)), "application/octet-stream")


def hyperparameters(content: bytes) -> dict[str, Any]:
    """What the plugin of hyperparameters says of a session's start; nothing for its other messages."""
    found: dict[str, Any] = {}
    try:
        for number, raw in fields(content):
            if number == 3:
                entries = [dict(fields(message(inner))) for n, inner in fields(message(raw)) if n == 1]
                found |= {text(entry.get(1, b"")): _plain(message(entry.get(2, b""))) for entry in entries}
    except ValueError:
        return {}
    return found


def _plain(data: bytes) -> Any:
    for number, raw in fields(data):
        if number == 2:
            return protobuf.float64(raw)
        if number == 3:
            return text(raw)
        if number == 4:
            return bool(raw)
    return None
