"""Which sequence is drawn at which position: a function of (mixture, seed, position) and of nothing else.

Guarantees: the same order for every batch size, host count, kill and resume; within a domain every
sequence is read once before any is read again, in a new shuffle each epoch; after each block of
`BLOCK_SEQS` positions the counts of the domains are exact to within `mixture.MAX_ERROR`.
Costs integer arithmetic, about 15 µs a draw; it reads no file and keeps nothing but a small cache.
"""

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

from fanal.campaign.derived import RunPlan
from fanal.campaign.spec import Campaign
from fanal.data.corpus import Corpus
from fanal.data.keyed import Permutation, Stream, key64
from fanal.data.mixture import Stretch, make_stretches
from fanal.errors import CampaignError, RefusedError

BLOCK_SEQS = 64
"""Positions whose domains are shuffled among themselves, so that batches are not periodic."""


@dataclass(frozen=True)
class Draw:
    """What stands at one position."""

    domain: int
    """Index of the domain, in the campaign's order."""
    epoch: int
    """How often the whole domain was read before."""
    index: int
    """Which of the domain's sequences."""


@dataclass(frozen=True)
class _Block:
    """Positions [first, first + len(domains)) of one stretch."""

    first: int
    domains: tuple[int, ...]
    before: tuple[int, ...]
    """Draws of each domain before this block."""


class Order:
    """The order of one run."""

    def __init__(
        self, domains: tuple[str, ...], num_seqs: tuple[int, ...], stretches: tuple[Stretch, ...], seed: int
    ) -> None:
        self.domains = domains
        self.num_seqs = num_seqs
        self.stretches = stretches
        self.seed = seed
        self._starts = self._counts_at_starts()
        self._blocks: dict[int, _Block] = {}
        self._shuffles: dict[tuple[int, int], Permutation] = {}

    @property
    def total_seqs(self) -> int:
        """Positions of the run."""
        return self.stretches[-1].end_seq

    def draw(self, position: int) -> Draw:
        """What is drawn at `position`.

        Raises:
            ValueError: a position outside the run.
        """
        if not 0 <= position < self.total_seqs:
            raise ValueError(f"position must be in [0, {self.total_seqs}), got {position}")
        block = self._block(position)
        offset = position - block.first
        domain = block.domains[offset]
        turn = block.before[domain] + block.domains[:offset].count(domain)
        epoch, place = divmod(turn, self.num_seqs[domain])
        return Draw(domain, epoch, self._shuffle(domain, epoch).forward(place))

    def counts(self, position: int) -> tuple[int, ...]:
        """Sequences drawn of each domain at the positions before `position`."""
        if position == self.total_seqs:
            return self._starts[-1]
        if not 0 <= position < self.total_seqs:
            raise ValueError(f"position must be in [0, {self.total_seqs}], got {position}")
        block = self._block(position)
        head = block.domains[: position - block.first]
        return tuple(n + head.count(d) for d, n in enumerate(block.before))

    def positions_of(self, domain: int, index: int) -> tuple[int, ...]:
        """Every position at which sequence `index` of `domain` is drawn."""
        size, drawn = self.num_seqs[domain], self._starts[-1][domain]
        turns = (e * size + self._shuffle(domain, e).inverse(index) for e in range(-(-drawn // size)))
        return tuple(self._position_of(domain, turn) for turn in turns if turn < drawn)

    def _position_of(self, domain: int, turn: int) -> int:
        return bisect_left(range(self.total_seqs), turn + 1, key=lambda p: self.counts(p + 1)[domain])

    def _counts_at_starts(self) -> tuple[tuple[int, ...], ...]:
        counts = [0] * len(self.domains)
        found = [tuple(counts)]
        for stretch in self.stretches:
            more = stretch.shares.counts(stretch.num_seqs, len(counts))
            counts = [a + b for a, b in zip(counts, more, strict=True)]
            found.append(tuple(counts))
        return tuple(found)

    def _block(self, position: int) -> _Block:
        number = next(i for i, s in enumerate(self.stretches) if position < s.end_seq)
        stretch = self.stretches[number]
        first = position - (position - stretch.first_seq) % BLOCK_SEQS
        if first not in self._blocks:
            if len(self._blocks) > 8:
                self._blocks.clear()
            self._blocks[first] = self._make_block(number, first)
        return self._blocks[first]

    def _make_block(self, number: int, first: int) -> _Block:
        stretch = self.stretches[number]
        done = first - stretch.first_seq
        size = min(BLOCK_SEQS, stretch.end_seq - first)
        inside = stretch.shares.counts(done, len(self.domains))
        before = tuple(a + b for a, b in zip(self._starts[number], inside, strict=True))
        domains = [stretch.shares.pick(done + i) for i in range(size)]
        stream = Stream(key64("block", self.seed, first))
        for i in range(size - 1, 0, -1):
            j = stream.below(i + 1)
            domains[i], domains[j] = domains[j], domains[i]
        return _Block(first, tuple(domains), before)

    def _shuffle(self, domain: int, epoch: int) -> Permutation:
        # The key holds the domain's name, not its number: another domain beside it changes no shuffle.
        if (domain, epoch) not in self._shuffles:
            key = key64("epoch", self.seed, self.domains[domain], epoch)
            self._shuffles[domain, epoch] = Permutation(self.num_seqs[domain], key)
        return self._shuffles[domain, epoch]


def make_order(campaign: Campaign, run: RunPlan, corpus: Corpus) -> Order:
    """The order in which `run` draws from `corpus`.

    Raises:
        CampaignError: a phase that weights a domain the corpus does not hold.
        RefusedError: a domain that would be read more often than `mixture.max_epochs`.
    """
    domains = tuple(d.name for d in corpus.domains)
    for number, phase in enumerate(campaign.mixture.phase):
        for name in phase.weights:
            if name not in domains:
                raise CampaignError(f"mixture.phase[{number}].weights.{name}: the corpus holds {', '.join(domains)}")
    stretches = make_stretches(campaign.mixture, domains, run.num_steps * run.batch_seqs)
    order = Order(domains, tuple(d.num_seqs for d in corpus.domains), stretches, run.seed)
    _hold_epochs(campaign, run, order)
    return order


def _hold_epochs(campaign: Campaign, run: RunPlan, order: Order) -> None:
    cap = campaign.mixture.max_epochs
    for name, size, drawn in zip(order.domains, order.num_seqs, order.counts(order.total_seqs), strict=True):
        if drawn > cap * size:
            raise RefusedError(
                f"run {run.run} would read domain {name} {drawn / max(size, 1):.2f} times ({drawn} sequences drawn, "
                f"{size} held); mixture.max_epochs is {cap:g}: lower its weight, take a larger sample or raise the cap"
            )


def mixture_event_fields(order: Order) -> dict[str, Any]:
    """The fields of the `mixture` event: what each phase plans, by domain."""
    phases: list[dict[str, object]] = []
    for stretch in order.stretches:
        before, after = order.counts(stretch.first_seq), order.counts(stretch.end_seq)
        drawn = {n: b - a for n, a, b in zip(order.domains, before, after, strict=True)}
        sizes = dict(zip(order.domains, order.num_seqs, strict=True))
        phases.append(
            {
                "first_seq": stretch.first_seq,
                "last_seq": stretch.end_seq - 1,
                "weights": dict(zip(order.domains, stretch.weights, strict=True)),
                "sequences": drawn,
                "epochs": {n: drawn[n] / max(sizes[n], 1) for n in drawn},
            }
        )
    return {"phases": phases}
