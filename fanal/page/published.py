"""What publishing is asked to do and what it did, in words and as JSON."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from fanal.page.words import counted, figure
from fanal.record.secrets import Finding


@dataclass(frozen=True)
class PublishReport:
    """What a call of `publish` did, or with `dry_run` would do."""

    dest: str
    """The folder or prefix."""
    view: str | None
    """The view that the manifest names now."""
    files: int
    """Files of the site."""
    written: int
    """Files that were new or had changed."""
    written_bytes: int
    """Their size."""
    address: str | None = None
    """Where people find it."""
    missing: tuple[str, ...] = ()
    """Blobs that public facts refer to and the record has lost."""
    withheld: tuple[str, ...] = ()
    """Writers of which only the owner file is published, with reasons."""
    signed: str | None = None
    """Public key of the signature, base64; None where it is not signed."""
    note: str | None = None
    """Why it is not signed, where there is a key."""
    unused: tuple[str, ...] = ()
    """Fingerprints that were allowed and are of nothing that was found."""
    dry_run: bool = False
    would_write: tuple[tuple[str, int], ...] = ()
    """With `dry_run`: name and bytes of each."""
    secrets: tuple[Finding, ...] = ()
    """With `dry_run`: what would stop it."""

    @property
    def exit_code(self) -> int:
        """0 well, 3 where secrets stop it."""
        return 3 if self.secrets else 0

    @property
    def words(self) -> str:
        """The report for people."""
        size = f"{counted(self.written, 'file')} {'to write' if self.dry_run else 'written'}"
        wrote = f"{size} ({figure(self.written_bytes, 0)} bytes)" if self.written else "nothing changed"
        lines = [f"{self.dest}: {counted(self.files, 'file')}, {wrote}; {self._where}"]
        lines += [f"{name}  {num_bytes:,} bytes" for name, num_bytes in self.would_write]
        lines += [self.note] if self.note else []
        lines += _said_of_unused(self.unused)
        lines += [f"withheld: {name}" for name in self.withheld]
        lines += [f"missing: {name}: the record has lost it; restore it from a copy" for name in self.missing]
        lines += [blocked(self.secrets)] if self.secrets else []
        return "\n".join(lines)

    @property
    def _where(self) -> str:
        if self.dry_run:
            return "nothing was written"
        return f"see it at {self.address}" if self.address else "serve it with any file server"

    def to_json(self) -> dict[str, Any]:
        """The report as JSON."""
        return asdict(self)


@dataclass(frozen=True)
class PublishOptions:
    """How a record is published."""

    dry_run: bool = False
    allow: tuple[str, ...] = ()
    """Fingerprints of secrets that may be published."""
    address: str | None = None
    """Where people will find it; derived from the destination where it can be."""


def blocked(secrets: Iterable[Finding], unused: Iterable[str] = (), taken: int = 0) -> str:
    """What to say where secrets stop a publish; never the secrets. `taken`: redacted blobs that went all the same."""
    found = list(secrets)
    lines = [f"  {one.words}" for one in found[:20]]
    allow = " ".join(f"--allow {one}" for one in dict.fromkeys(finding.fingerprint for finding in found[:20]))
    went = f" ({counted(taken, 'redacted blob')} taken away there all the same)" if taken else ""
    first = f"{counted(len(found), 'secret')} would be published; nothing was written{went}:"
    last = f"revoke it and begin a clean record, or redact it (`fanal redact`); if it is none: {allow}"
    return "\n".join([first, *lines, last, *_said_of_unused(unused)])


def _said_of_unused(unused: Iterable[str]) -> list[str]:
    return [f"--allow {one} matches no secret that was found" for one in unused]
