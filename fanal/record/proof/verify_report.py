"""What a verification found, in words and for programs, and the exit code."""

from dataclasses import asdict, dataclass, field
from typing import Any

from fanal.record.proof.sealed import ForecastCheck
from fanal.record.proof.verify_writer import Finding

ANOTHER_KEY = 3


@dataclass(frozen=True)
class Withheld:
    """A writer of which only the owner file is here, by declaration."""

    writer: str
    """Its folder inside the record."""
    reason: str


@dataclass(frozen=True)
class VerifyReport:
    """What a verification found."""

    path: str
    bad: tuple[Finding, ...]
    """Files that are altered, missing or no part of the record, the first one first."""
    notes: tuple[str, ...]
    """What is worth knowing and nothing wrong: torn tails, leftovers, open logs."""
    forecasts: tuple[ForecastCheck, ...]
    counts: dict[str, int] = field(default_factory=dict[str, int])
    withheld: tuple[Withheld, ...] = ()
    redacted: tuple[tuple[str, str], ...] = ()
    """Blobs whose bytes an event says were removed, and why."""
    size: int | None = None
    """Segments in the tree; None where the record has none."""
    root: str | None = None
    key: str | None = None
    """Public key of the valid signature, base64; None where nothing is signed."""
    signed_segments: int | None = None
    """How many segments the signature covers, where it is older than the manifest."""
    refused: str | None = None
    """The key that was remembered or given, where the valid signature is by another."""

    @property
    def ok(self) -> bool:
        """Whole, signed by no other key than the known one, and every forecast where it claims to be."""
        return not self.bad and self.refused is None and all(forecast.ok for forecast in self.forecasts)

    @property
    def exit_code(self) -> int:
        """0 whole, 1 not, 3 signed by another key."""
        if self.bad or not all(forecast.ok for forecast in self.forecasts):
            return 1
        return 0 if self.refused is None else ANOTHER_KEY

    @property
    def first_bad(self) -> str | None:
        """The first bad file, inside the record."""
        return self.bad[0].file if self.bad else None

    @property
    def words(self) -> str:
        """The result for people, a line each."""
        lines = [self._headline(), *(f"{finding.file}: {finding.what}" for finding in self.bad)]
        if self.refused is not None:
            lines.append(
                f"the key is not the known one: {self.refused} was known, {self.key} signs, and none leads to it"
            )
        lines += [f"{one.writer}: withheld by declaration: {one.reason}" for one in self.withheld]
        lines += [f"blobs/{name}: redacted: {reason}" for name, reason in self.redacted]
        return "\n".join([*lines, *(forecast.words for forecast in self.forecasts), *self.notes])

    def to_json(self) -> dict[str, Any]:
        """The result for programs."""
        said = {"ok": self.ok, "first_bad": self.first_bad, "signed": self.key is not None, "words": self.words}
        return asdict(self) | said | {"exit_code": self.exit_code}

    def _headline(self) -> str:
        counts = self.counts
        plural = "" if counts["runs"] == 1 else "s"
        size = f"{counts['runs']} run{plural}, {counts['files']} files, {counts['bytes']:,} bytes"
        if self.bad:
            return f"{self.path}: not whole, {len(self.bad)} of its files altered, missing or strange; {size}"
        parts = ["whole"]
        if self.withheld:
            parts.append(f"{len(self.withheld)} withheld by declaration")
        if self.redacted:
            parts.append(f"redacted: {len(self.redacted)}")
        parts.append(self._signed())
        if not all(forecast.ok for forecast in self.forecasts):
            parts.append("but a forecast is not what it claims")
        return f"{self.path}: {', '.join(parts)}; {size}"

    def _signed(self) -> str:
        if self.key is None:
            return "unsigned"
        who = f"signed by {self.key}" if self.refused is None else f"signed by another key ({self.key})"
        if self.signed_segments is None:
            return who
        return f"{who} up to segment {self.signed_segments} of {self.size}, what came after is not signed yet"
