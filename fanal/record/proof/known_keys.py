"""The keys of records as they were seen: a text file in the user's own configuration, a line a record.

`<origin> <public key, base64> [<keys before it, newest first> …] [published]`; the last word stands where a signature
was seen in published copies alone. `FANAL_CONFIG` names another folder. Written whole, under a lock; a file that
cannot be written is said by the caller and hinders no verification.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from fanal.errors import RecordError
from fanal.record.files import write_whole
from fanal.record.lock import held

KNOWN_KEYS = "known_keys"
PUBLISHED = "published"


@dataclass(frozen=True)
class KnownKey:
    """What is remembered of a record's key."""

    key: str
    """The newest one, base64."""
    before: tuple[str, ...] = ()
    """Those that it came after by rotations, newest first."""
    only_published: bool = False
    """The record itself was never seen signed, only published copies of it."""

    @property
    def words(self) -> list[str]:
        """As its line holds it."""
        return [self.key, *self.before, *([PUBLISHED] if self.only_published else [])]


def config_folder() -> Path:
    """Where keys and what is remembered lie: `FANAL_CONFIG`, or `fanal` in the user's configuration."""
    if named := os.environ.get("FANAL_CONFIG"):
        return Path(named)
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "fanal"


def remembered(origin: str) -> KnownKey | None:
    """The key that was seen with a record, or None.

    Raises:
        RecordError: the file cannot be read, or a line of it is no line of ours; names it.
    """
    return _read(config_folder() / KNOWN_KEYS).get(origin)


def remember(origin: str, known: KnownKey) -> None:
    """Keep the key of a record, in place of what was kept before.

    Raises:
        RecordError: the file cannot be read.
        OSError: it cannot be written.
    """
    folder = config_folder()
    folder.mkdir(parents=True, exist_ok=True)
    with held(folder, KNOWN_KEYS):
        lines = _read(folder / KNOWN_KEYS) | {origin: known}
        text = "".join(f"{' '.join([name, *one.words])}\n" for name, one in lines.items())
        write_whole(folder / KNOWN_KEYS, text.encode())


def _read(path: Path) -> dict[str, KnownKey]:
    try:
        text = path.read_text("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except UnicodeDecodeError as error:
        raise RecordError(f"{path} cannot be read: it is no text") from error
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error}") from error
    known: dict[str, KnownKey] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not (words := line.split()):
            continue
        only_published = words[-1] == PUBLISHED
        origin, *keys = words[:-1] if only_published else words
        if not keys:
            raise RecordError(f"{path}, line {number}: must be a record's origin and its key, then those before it")
        known[origin] = KnownKey(keys[0], tuple(keys[1:]), only_published)
    return known
