"""The tree over a record's segments: roots and proofs of RFC 6962, on hashes alone.

A leaf is SHA-256(0x00 ‖ data), an inner node SHA-256(0x01 ‖ left ‖ right), the empty tree SHA-256(""). `Peaks` holds
a tree of any size in its few largest whole subtrees, so that appending costs O(log n) and needs no leaf before. About
a microsecond a leaf.

Source: RFC 6962, section 2.1; verification of proofs as in RFC 9162, sections 2.1.3.2 and 2.1.4.2.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence

EMPTY_ROOT = hashlib.sha256().digest()


def leaf_hash(data: bytes) -> bytes:
    """The leaf of some bytes."""
    return hashlib.sha256(b"\0" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """The node over two nodes."""
    return hashlib.sha256(b"\1" + left + right).digest()


class Peaks:
    """A tree as its largest whole subtrees, from left to right: one for each bit of its size."""

    def __init__(self, size: int = 0, hashes: Iterable[bytes] = ()) -> None:
        self.size = size
        self.hashes = list(hashes)
        if len(self.hashes) != size.bit_count():
            raise ValueError(f"a tree of {size} leaves has {size.bit_count()} peaks, got {len(self.hashes)}")

    def append(self, leaf: bytes) -> None:
        """Add a leaf behind the others."""
        node, size = leaf, self.size
        while size & 1:
            node = node_hash(self.hashes.pop(), node)
            size >>= 1
        self.hashes.append(node)
        self.size += 1

    def root(self) -> bytes:
        """The root of the tree so far."""
        if not self.hashes:
            return EMPTY_ROOT
        node = self.hashes[-1]
        for left in reversed(self.hashes[:-1]):
            node = node_hash(left, node)
        return node


def root(leaves: Sequence[bytes]) -> bytes:
    """The root over leaves."""
    if not leaves:
        return EMPTY_ROOT
    level, sha256 = list(leaves), hashlib.sha256
    while len(level) > 1:
        pairs = zip(level[::2], level[1::2], strict=False)
        odd = level[-1:] if len(level) % 2 else []
        level = [sha256(b"\1" + left + right).digest() for left, right in pairs] + odd
    return level[0]


def roots(leaves: Iterable[bytes]) -> Iterator[bytes]:
    """The root after each leaf."""
    peaks = Peaks()
    for leaf in leaves:
        peaks.append(leaf)
        yield peaks.root()


def inclusion_proof(leaves: Sequence[bytes], index: int) -> list[bytes]:
    """The nodes beside the path from leaf `index` to the root, from below.

    Raises:
        ValueError: there is no such leaf.
    """
    if not 0 <= index < len(leaves):
        raise ValueError(f"index must be 0 to {len(leaves) - 1}, got {index}")
    if len(leaves) == 1:
        return []
    split = _split(len(leaves))
    if index < split:
        return [*inclusion_proof(leaves[:split], index), root(leaves[split:])]
    return [*inclusion_proof(leaves[split:], index - split), root(leaves[:split])]


def consistency_proof(leaves: Sequence[bytes], size: int) -> list[bytes]:
    """The nodes that show that the tree over the first `size` leaves is the beginning of the tree over all.

    Raises:
        ValueError: `size` is not 1 to the number of leaves.
    """
    if not 1 <= size <= len(leaves):
        raise ValueError(f"size must be 1 to {len(leaves)}, got {size}")
    return _subproof(leaves, size, True)


def _subproof(leaves: Sequence[bytes], size: int, whole: bool) -> list[bytes]:
    """`whole`: the subtree is one that the old root was made of, and so is known."""
    if size == len(leaves):
        return [] if whole else [root(leaves)]
    split = _split(len(leaves))
    if size <= split:
        return [*_subproof(leaves[:split], size, whole), root(leaves[split:])]
    return [*_subproof(leaves[split:], size - split, False), root(leaves[:split])]


def is_included(leaf: bytes, index: int, size: int, proof: Sequence[bytes], of_root: bytes) -> bool:
    """Whether `proof` shows that `leaf` is number `index` of the tree of `size` leaves with root `of_root`."""
    if not 0 <= index < size:
        return False
    node, at, last = leaf, index, size - 1
    for beside in proof:
        if last == 0:
            return False
        if at & 1 or at == last:
            node = node_hash(beside, node)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            node = node_hash(node, beside)
        at, last = at >> 1, last >> 1
    return last == 0 and node == of_root


def is_consistent(first: int, first_root: bytes, second: int, second_root: bytes, proof: Sequence[bytes]) -> bool:
    """Whether `proof` shows that the tree of `first` leaves is the beginning of the tree of `second` leaves."""
    if not 0 < first <= second:
        return False
    if first == second:
        return not proof and first_root == second_root
    path = [first_root, *proof] if first & (first - 1) == 0 else list(proof)
    at, last = first - 1, second - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    if not path:
        return False
    old = new = path[0]
    for beside in path[1:]:
        if last == 0:
            return False
        if at & 1 or at == last:
            old, new = node_hash(beside, old), node_hash(beside, new)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            new = node_hash(new, beside)
        at, last = at >> 1, last >> 1
    return last == 0 and old == first_root and new == second_root


def _split(size: int) -> int:
    """The largest power of two below `size`."""
    return 1 << (size - 1).bit_length() - 1
