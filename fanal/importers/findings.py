"""What a source found wrong, left waiting, or says that it has: the material of an import's report."""

from dataclasses import dataclass, field


@dataclass
class Unreadable:
    """What could not be read, and where: a byte, or a line."""

    where: str
    what: str


@dataclass
class Expected:
    """What a source says that it has, to be held against the record."""

    points: dict[str, int] = field(default_factory=dict[str, int])
    """By key."""
    missing: list[str] = field(default_factory=list[str])
    """What the source itself knows not to have come."""


@dataclass
class Findings:
    """What a source found wrong or worth saying, for the report."""

    unreadable: list[Unreadable] = field(default_factory=list[Unreadable])
    torn_bytes: int = 0
    notes: list[str] = field(default_factory=list[str])
    expected: Expected = field(default_factory=Expected)
