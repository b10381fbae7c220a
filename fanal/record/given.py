"""What scripts give to `log` and `event`, made into what a record keeps: nothing raises, nothing is dropped in silence.

Keys and steps of odd types, values that are no numbers, media, words with secrets in them: each is kept as well as it
can be, marked where it lost something, and said once by name.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fanal.record.blobs import Blobs
from fanal.record.files import json_pieces, line
from fanal.record.notice import Notices
from fanal.record.scalars import as_number
from fanal.record.secrets import redact
from fanal.record.values import CONVERSION_ERRORS, BlobRef, Media, encode, text_of, type_name

if TYPE_CHECKING:
    from fanal.record.run import Run

STEP_BOUND = 1 << 62
TIME_BOUND_NS = 1 << 63
MAX_ODD_BYTES = 64 << 10
"""A value that is no number and longer than this goes into a blob."""
JSON_TYPE = "application/json"
OF_PEOPLE = frozenset({"attempt.start", "alert", "artifact", "code", "config", "environment", "file"}) | frozenset(
    {"metric", "note", "process", "sample", "settings", "summary"}
)
"""Events with words and values that people supply: secrets in them are replaced before anything is written."""


class Given:
    """Converts what one run is given."""

    def __init__(self, notices: Notices, blobs: Blobs) -> None:
        self._notices = notices
        self._blobs = blobs

    def key(self, key: Any) -> str:
        """A key as text."""
        if issubclass(type(key), str):
            return text_of(key)
        text = str(encode(key))
        self._notices.once(f"key {text}", f"log: key {text} is {type_name(key)}, not str: kept by its text")
        return text

    def names(self, keys: list[Any]) -> dict[str, str]:
        """The name of each key of a row, in order, and its text: another than the name where two have one text."""
        texts = [self.key(key) for key in keys]
        if len(set(texts)) == len(texts):
            return dict(zip(texts, texts, strict=True))
        strings = {text for key, text in zip(keys, texts, strict=True) if type(key) is str}
        found: dict[str, str] = {}
        for key, text in zip(keys, texts, strict=True):
            name, number = text, 1
            while name in found or (type(key) is not str and name in strings):
                name = f"{text} ({type_name(key)})" if number == 1 else f"{text} ({type_name(key)} {number})"
                number += 1
            if name != text:
                self._notices.once(f"name {name}", f"log: two keys of a row have the text {text!r}: one is {name!r}")
            found[name] = text
        return found

    def step(self, step: Any, following: int) -> int:
        """A step as an integer; `following` where it is none."""
        number = as_number(step)
        if number is not None and number == number // 1 and abs(number) < STEP_BOUND:
            return int(number)
        self._notices.once("step", f"log: step {str(encode(step))[:100]} is no step: the next one is used")
        return following

    def time(self, time_ns: Any) -> int | None:
        """A time as it was given; None where it cannot be kept."""
        if type(time_ns) is int and -TIME_BOUND_NS <= time_ns < TIME_BOUND_NS:
            return time_ns
        self._notices.once("time", f"log: time {str(encode(time_ns))[:100]} is no int64 of nanoseconds: now is used")
        return None

    def value(self, name: str, value: Any, run: "Run") -> Any:
        """A value that is no number, encoded; media say themselves how they are kept."""
        try:
            if callable(to_record := getattr(value, "to_record", None)):
                medium: Any = to_record(run)
                return encode(Media(medium))
        except CONVERSION_ERRORS as error:
            self._notices.once(f"media {name}", f"log: {name!r} cannot be kept as {type_name(value)}: {text_of(error)}")
        self._notices.once(f"value {name}", f"log: {name!r} is {type_name(value)}, no number: kept as such")
        encoded = self.without_secrets(f"log: {name!r}", encode(value))
        return self.as_blob(encoded) if len(line(encoded)) > MAX_ODD_BYTES else encoded

    def mapping(self, given: Any) -> Any:
        """What was logged and is no mapping, encoded."""
        self._notices.once("mapping", f"log: {type_name(given)} is no mapping: kept as such")
        return self.without_secrets("log", encode(given))

    def fields(self, kind: str, fields: Mapping[Any, Any]) -> Any:
        """The fields of an event, encoded."""
        lossy: list[str] = []
        encoded = encode(fields, lossy)
        if lossy:
            self._notices.once(f"event {kind}", f"event {kind}: kept only as text: {', '.join(lossy[:5])}")
        return self.without_secrets(f"event {kind}", encoded) if kind in OF_PEOPLE else encoded

    def as_blob(self, encoded: Any) -> BlobRef:
        """Encoded JSON as a blob."""
        return self._blobs.write(json_pieces(encoded), JSON_TYPE)

    def without_secrets(self, what: str, encoded: Any) -> Any:
        """Encoded JSON with every secret replaced."""
        kept, paths = redact(encoded)
        if paths:
            where = ", ".join(filter(None, paths[:5])) or "its text"
            self._notices.once(f"secret {what}", f"{what}: secrets are not written: {where}")
        return kept
