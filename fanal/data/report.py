"""What a stage did, in numbers that add up: documents and bytes in, out, and removed by domain and cause.

Guarantees: for every domain, in = out + the sum of what was removed (`check` holds it; a stage whose
books do not balance does not finish). Bytes are UTF-8.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from fanal.data.documents import Document

CLEANING = ("normalise", "exact_duplicates", "near_duplicates", "decontaminate")
"""Stages whose removals count towards `alarm_if_source_loses`; sampling and holding out do not."""


@dataclass(frozen=True)
class Tally:
    """Documents and bytes."""

    documents: int = 0
    bytes: int = 0

    def plus(self, documents: int, num_bytes: int) -> "Tally":
        return Tally(self.documents + documents, self.bytes + num_bytes)


@dataclass(frozen=True)
class Removed:
    """One document that a stage took out, and why."""

    id: str
    domain: str
    bytes: int
    cause: str
    because_of: str = ""
    """The document it duplicates or covers, where there is one."""
    value: float = 1.0
    """How much: similarity, or share covered."""


@dataclass(frozen=True)
class DomainReport:
    """One domain's books in one stage."""

    came: Tally
    left: Tally
    removed: Mapping[str, Tally] = field(default_factory=dict[str, Tally])
    """By cause. `rewritten` has no documents: the bytes by which kept documents shrank (or grew, below 0)."""


@dataclass(frozen=True)
class StageReport:
    """One stage's books, time and findings."""

    stage: str
    domains: Mapping[str, DomainReport] = field(default_factory=dict[str, DomainReport])
    details: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Findings of this kind of stage, each a number or a table, JSON-able."""
    alarms: tuple[str, ...] = ()
    """Sentences for a person: a source that lost too much."""
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    """Of this process and its finished children."""
    reused: bool = False
    """Found and verified, not done again; the seconds are those of the time it was done."""

    @property
    def came(self) -> Tally:
        return _total(d.came for d in self.domains.values())

    @property
    def left(self) -> Tally:
        return _total(d.left for d in self.domains.values())

    def check(self) -> None:
        """Assert that the books balance."""
        for name, books in self.domains.items():
            gone = _total(books.removed.values())
            balanced = books.left.plus(gone.documents, gone.bytes)
            assert books.came == balanced, f"{self.stage}: {name}: {books.came} came, {balanced} left or removed"

    def to_json(self) -> dict[str, Any]:
        """Plain dicts and lists, with the totals beside the domains."""
        document = asdict(self)
        document["alarms"] = list(self.alarms)
        document["documents_in"], document["bytes_in"] = self.came.documents, self.came.bytes
        document["documents_out"], document["bytes_out"] = self.left.documents, self.left.bytes
        return document


def read_report(document: Mapping[str, Any]) -> StageReport:
    """The report that `to_json` wrote, marked as reused."""
    domains = {
        name: DomainReport(
            Tally(**books["came"]), Tally(**books["left"]), {c: Tally(**t) for c, t in books["removed"].items()}
        )
        for name, books in document["domains"].items()
    }
    return StageReport(
        stage=document["stage"],
        domains=domains,
        details=document["details"],
        alarms=tuple(document["alarms"]),
        seconds=document["seconds"],
        cpu_seconds=document["cpu_seconds"],
        reused=True,
    )


def tally(documents: Iterable[Document]) -> dict[str, Tally]:
    """Documents and bytes by domain."""
    found: dict[str, Tally] = {}
    for document in documents:
        found[document.domain] = found.get(document.domain, Tally()).plus(1, document.num_bytes)
    return found


def keep_books(
    stage: str, came: Mapping[str, Tally], left: Mapping[str, Tally], removed: Iterable[Removed]
) -> StageReport:
    """The report of a stage that got `came`, passed on `left` and took out `removed`."""
    causes: dict[str, dict[str, Tally]] = {name: {} for name in came}
    for item in removed:
        of_domain = causes[item.domain]
        of_domain[item.cause] = of_domain.get(item.cause, Tally()).plus(1, item.bytes)
    domains = {n: DomainReport(t, left.get(n, Tally()), causes[n]) for n, t in came.items()}
    return StageReport(stage, domains)


def with_rewritten(report: StageReport) -> StageReport:
    """The same report, where what the books lack in bytes alone is the rewriting of kept documents."""
    domains = dict(report.domains)
    for name, books in domains.items():
        gone = _total(books.removed.values())
        lack = books.came.bytes - books.left.bytes - gone.bytes
        if lack:
            domains[name] = replace(books, removed={**books.removed, "rewritten": Tally(0, lack)})
    return replace(report, domains=domains)


def alarms(report: StageReport, earlier: Iterable[StageReport], limit: float) -> tuple[str, ...]:
    """Sentences on the domains that this stage brought to a loss of more than `limit` of their bytes to cleaning."""
    if report.stage not in CLEANING:
        return ()
    cleaning = [*(r for r in earlier if r.stage in CLEANING), report]
    found: list[str] = []
    for name, books in report.domains.items():
        first = cleaning[0].domains[name].came.bytes
        lost = sum(_total(r.domains[name].removed.values()).bytes for r in cleaning)
        if lost > limit * first and _total(books.removed.values()).bytes > 0:
            share = f"{lost / first:.0%} of its bytes to cleaning by {report.stage}"
            found.append(f"{name} has lost {share}, limit {limit:.0%}")
    return tuple(found)


def _total(tallies: Iterable[Tally]) -> Tally:
    total = Tally()
    for item in tallies:
        total = total.plus(item.documents, item.bytes)
    return total
