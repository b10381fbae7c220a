"""In which proportions domains are drawn: exact counts at every position, without a counter.

Guarantees: after any n draws the count of each domain differs from n·weight by less than `MAX_ERROR`,
whatever the weights, so a cell of a millionth is drawn when its turn comes and never rounds to nothing;
the k-th draw is found by integer arithmetic alone, in the depth of a small tree.
Costs about a microsecond a level. It does not know about epochs or shuffles: see `order.py`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from heapq import heapify, heappop, heappush
from math import lcm

from fanal.campaign.spec import Mixture

MAX_ERROR = 1.7
"""Bound on |count − n·weight|: half a draw a level, times the share of that level's subtree."""


@dataclass(frozen=True)
class Shares:
    """A tree over the domains that splits every stretch of draws in two, again and again.

    The left child of a node has had floor(n·left/weight + 1/2) of the node's first n draws. The tree
    is Huffman's, so weights grow at least like Fibonacci's numbers towards the root and the errors of
    the levels, each scaled by the leaf's share of that level, add up to less than `MAX_ERROR`.
    """

    weight: int
    domain: int = -1
    left: "Shares | None" = None
    right: "Shares | None" = None

    def pick(self, draw: int) -> int:
        """The domain of the draw number `draw`, from 0."""
        node = self
        while node.left is not None and node.right is not None:
            before = node.left_count(draw)
            if node.left_count(draw + 1) > before:
                node, draw = node.left, before
            else:
                node, draw = node.right, draw - before
        return node.domain

    def counts(self, draws: int, num_domains: int) -> list[int]:
        """How often each domain is among the first `draws` draws."""
        found = [0] * num_domains
        open_nodes: list[tuple[Shares, int]] = [(self, draws)]
        while open_nodes:
            node, n = open_nodes.pop()
            if node.left is None or node.right is None:
                found[node.domain] = n
                continue
            to_left = node.left_count(n)
            open_nodes += [(node.left, to_left), (node.right, n - to_left)]
        return found

    def left_count(self, draws: int) -> int:
        """How many of this node's first `draws` draws go to its left child."""
        assert self.left is not None
        return (2 * draws * self.left.weight + self.weight) // (2 * self.weight)


def make_shares(weights: Sequence[int]) -> Shares:
    """The tree of these weights; a domain of weight 0 is not in it.

    Raises:
        ValueError: a negative weight, or no positive one.
    """
    if any(w < 0 for w in weights) or not any(weights):
        raise ValueError(f"weights must be non-negative and not all zero, got {list(weights)}")
    heap = [(w, i, Shares(weight=w, domain=i)) for i, w in enumerate(weights) if w > 0]
    heapify(heap)
    while len(heap) > 1:
        light, first, left = heappop(heap)
        heavy, second, right = heappop(heap)
        heappush(heap, (light + heavy, min(first, second), Shares(light + heavy, left=left, right=right)))
    return heap[0][2]


@dataclass(frozen=True)
class Stretch:
    """The positions of one run in which one mixture holds."""

    first_seq: int
    """First position."""
    end_seq: int
    """The position after the last."""
    weights: tuple[float, ...]
    """As the campaign says, by domain."""
    shares: Shares

    @property
    def num_seqs(self) -> int:
        return self.end_seq - self.first_seq


def make_stretches(mixture: Mixture, domains: Sequence[str], total_seqs: int) -> tuple[Stretch, ...]:
    """The phases of a run of `total_seqs` sequences; a phase ends before position floor(until·total_seqs), exactly.

    A phase without a position of its own (a run too short) is left out.
    """
    stretches: list[Stretch] = []
    first = 0
    for phase in mixture.phase:
        end = int(_exact(phase.until) * total_seqs)
        weights = tuple(float(phase.weights.get(name, 0.0)) for name in domains)
        if end > first:
            stretches.append(Stretch(first, end, weights, make_shares(_integers(phase.weights, domains))))
        first = end
    return tuple(stretches)


def _integers(weights: Mapping[str, float], domains: Sequence[str]) -> list[int]:
    exact = [_exact(weights.get(name, 0.0)) for name in domains]
    scale = lcm(*(w.denominator for w in exact))
    return [int(w * scale) for w in exact]


def _exact(number: float) -> Fraction:
    """The decimal that a person wrote: 0.1 is one tenth, not the nearest binary fraction."""
    return Fraction(repr(float(number)))
