"""Which documents are held out: whole components of near duplicates and whole works, chosen by hash.

Guarantees: no two documents that are linked, even through a removed one, and no two pieces of one work
lie on different sides; the choice depends on ids alone, not on order. It does not see text: what is left
in common with the training documents is `decontaminate`'s business.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fanal.data.dedup import Components, Link
from fanal.data.documents import Document
from fanal.data.keyed import key64
from fanal.errors import DataError

MOST_HELD_OUT_FRAC = 0.5
"""A domain that would give more than this share of its bytes is too small, and says so."""
FIRST_TOKEN_BYTES = 16
"""Set aside for each document's first token, which is context and not scored."""
LARGEST_GROUP_FRAC = 0.25
"""Largest part of what a domain needs that one group may be."""


@dataclass(frozen=True)
class Group:
    """Documents that stay together."""

    id: str
    documents: tuple[Document, ...]

    @property
    def scored_by_domain(self) -> dict[str, int]:
        """Bytes by domain that will be scored at least: all but the first token of each document."""
        found: dict[str, int] = {}
        for document in self.documents:
            scored = max(document.num_bytes - FIRST_TOKEN_BYTES, 0)
            found[document.domain] = found.get(document.domain, 0) + scored
        return found


def group(documents: Sequence[Document], links: Sequence[Link]) -> list[Group]:
    """The documents by component, where pieces of one work and linked documents are joined."""
    components = Components()
    for document in documents:
        components.join(document.id, document.work)
    for link in links:
        components.join(link.one, link.other)
    members: dict[str, list[Document]] = {}
    for document in documents:
        members.setdefault(components.root(document.id), []).append(document)
    return [Group(root, tuple(found)) for root, found in members.items()]


def held_out(documents: Sequence[Document], links: Sequence[Link], need_bytes: int) -> list[Document]:
    """Documents to hold out: at least `need_bytes` of each domain, group by group in the order of their ids' hash.

    A group with more than a quarter of `need_bytes` in one domain is passed over: an eval set of one long
    document, or of one chain of licences, would say little about the domain.

    Raises:
        DataError: a domain that has too little.
    """
    total = Group("", tuple(documents)).scored_by_domain
    have = dict.fromkeys(total, 0)
    chosen: list[Document] = []
    for item in sorted(group(documents, links), key=lambda g: (key64("held_out", g.id), g.id)):
        sizes = item.scored_by_domain
        wanted = any(have[name] < need_bytes for name in sizes)
        if wanted and max(sizes.values()) <= LARGEST_GROUP_FRAC * need_bytes:
            chosen += item.documents
            for name, size in sizes.items():
                have[name] += size
    _hold_enough(total, have, need_bytes)
    return sorted(chosen, key=lambda d: (d.domain, key64("held_out", d.id), d.id))


def _hold_enough(total: Mapping[str, int], have: Mapping[str, int], need_bytes: int) -> None:
    for name, size in total.items():
        if have[name] < need_bytes or have[name] > MOST_HELD_OUT_FRAC * size:
            raise DataError(
                f"domain {name}: {size} bytes are left after cleaning, of which {have[name]} could be held out; "
                f"{need_bytes} are asked for, and at most half may go: "
                "raise its sample_bytes or lower evals.full.bytes_per_domain"
            )
