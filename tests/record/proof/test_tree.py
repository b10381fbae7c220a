"""The tree against the published vectors of certificate transparency, and against the definition written out."""

import hashlib
import json
from pathlib import Path

import pytest

from fanal.record.proof import tree
from fanal.record.proof.leaves import TREE
from fanal.record.proof.manifest import read_manifest

# google/certificate-transparency, cpp/merkletree/merkle_tree_test.cc: eight leaves, their roots, and proofs over them.
DATA = ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"]
ROOTS = [
    "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
    "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
    "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
    "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
    "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
    "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
    "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
    "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
]
A = "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7"
B = "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e"
C = "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"
D = "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"
E = "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0"
F = "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a"
INCLUSION = {(0, 1): [], (0, 8): [A, B, C], (5, 8): [D, E, ROOTS[3]], (2, 3): [ROOTS[1]], (1, 5): [ROOTS[0], B, D]}
"""By leaf and size."""
CONSISTENCY = {(1, 1): [], (1, 8): [A, B, C], (6, 8): [F, E, ROOTS[3]], (2, 5): [B, D]}
"""By smaller and larger size."""

LEAVES = [tree.leaf_hash(bytes.fromhex(data)) for data in DATA]


def hexed(nodes: list[bytes]) -> list[str]:
    return [node.hex() for node in nodes]


def test_roots_are_those_of_the_published_vectors() -> None:
    assert tree.root([]).hex() == hashlib.sha256(b"").hexdigest()
    assert [tree.root(LEAVES[: n + 1]).hex() for n in range(8)] == ROOTS
    assert hexed(list(tree.roots(LEAVES))) == ROOTS


@pytest.mark.parametrize(("index", "size"), INCLUSION)
def test_inclusion_proofs_are_those_of_the_published_vectors(index: int, size: int) -> None:
    proof = tree.inclusion_proof(LEAVES[:size], index)
    assert hexed(proof) == INCLUSION[index, size]
    assert tree.is_included(LEAVES[index], index, size, proof, bytes.fromhex(ROOTS[size - 1]))


@pytest.mark.parametrize(("first", "second"), CONSISTENCY)
def test_consistency_proofs_are_those_of_the_published_vectors(first: int, second: int) -> None:
    proof = tree.consistency_proof(LEAVES[:second], first)
    assert hexed(proof) == CONSISTENCY[first, second]
    old, new = (bytes.fromhex(ROOTS[size - 1]) for size in (first, second))
    assert tree.is_consistent(first, old, second, new, proof)


def defined_root(leaves: list[bytes]) -> bytes:
    """RFC 6962, 2.1, as it is written there."""
    if len(leaves) <= 1:
        return leaves[0] if leaves else hashlib.sha256(b"").digest()
    k = 1
    while 2 * k < len(leaves):
        k *= 2
    return hashlib.sha256(b"\1" + defined_root(leaves[:k]) + defined_root(leaves[k:])).digest()


MANY = [hashlib.sha256(bytes([n])).digest() for n in range(70)]
MANY_ROOTS = [defined_root(MANY[:n]) for n in range(71)]


def test_roots_of_every_size_are_those_of_the_definition() -> None:
    peaks = tree.Peaks()
    for size in range(71):
        assert tree.root(MANY[:size]) == peaks.root() == MANY_ROOTS[size]
        assert tree.Peaks(size, peaks.hashes).root() == MANY_ROOTS[size]
        if size < 70:
            peaks.append(MANY[size])
    with pytest.raises(ValueError, match="a tree of 3 leaves has 2 peaks, got 1"):
        tree.Peaks(3, MANY[:1])


def test_every_inclusion_proof_holds_and_none_for_another_leaf_place_size_or_root() -> None:
    for size in range(1, 40):
        for index in range(size):
            proof = tree.inclusion_proof(MANY[:size], index)
            root = MANY_ROOTS[size]
            assert tree.is_included(MANY[index], index, size, proof, root)
            assert not tree.is_included(MANY[index + 1], index, size, proof, root)
            assert not tree.is_included(MANY[index], index + 1, size, proof, root) or size == 1
            assert not tree.is_included(MANY[index], index, size, proof, MANY_ROOTS[size + 1])
            assert not tree.is_included(MANY[index], index, size, [*proof, root], root)
            for at in range(len(proof)):
                changed = [*proof[:at], MANY[69], *proof[at + 1 :]]
                assert not tree.is_included(MANY[index], index, size, changed, root)
                assert not tree.is_included(MANY[index], index, size, proof[:at] + proof[at + 1 :], root)


def test_every_consistency_proof_holds_and_none_for_another_history() -> None:
    for second in range(1, 40):
        new = MANY_ROOTS[second]
        for first in range(1, second + 1):
            proof, old = tree.consistency_proof(MANY[:second], first), MANY_ROOTS[first]
            assert tree.is_consistent(first, old, second, new, proof)
            assert not tree.is_consistent(first, MANY[0][::-1], second, new, proof)
            assert not tree.is_consistent(first, old, second, MANY[0][::-1], proof)
            assert not tree.is_consistent(first, old, second, new, [*proof, old])
            for at in range(len(proof)):
                changed = [*proof[:at], MANY[69], *proof[at + 1 :]]
                assert not tree.is_consistent(first, old, second, new, changed)
        rewritten = [MANY[50], *MANY[1:second]]
        if second > 1:
            proof = tree.consistency_proof(rewritten, 1)
            assert not tree.is_consistent(1, MANY_ROOTS[1], second, tree.root(rewritten), proof)


@pytest.mark.parametrize("index", [-1, 8])
def test_a_proof_of_what_is_not_there_is_refused(index: int) -> None:
    with pytest.raises(ValueError, match=f"index must be 0 to 7, got {index}"):
        tree.inclusion_proof(LEAVES, index)
    with pytest.raises(ValueError, match="size must be 1 to 8"):
        tree.consistency_proof(LEAVES, 9 if index > 0 else 0)
    assert not tree.is_included(LEAVES[0], index, 8, [], LEAVES[0])
    assert not tree.is_consistent(0, LEAVES[0], 8, LEAVES[0], [])


def test_the_leaves_of_a_record_are_those_of_its_segments(tiny: Path) -> None:
    known = read_manifest(tiny)
    assert known is not None
    assert known.tree is not None
    lines = [json.loads(line) for line in (tiny / TREE / "partial").read_bytes().splitlines()]
    assert len(lines) == known.tree.size == len(list(tiny.glob("runs/*/*/*/seg/*.json")))
    leaves: list[bytes] = []
    for line in lines:
        data = (tiny / line["writer"] / "seg" / f"{line['segment']}.json").read_bytes()
        leaves.append(hashlib.sha256(b"\0" + data).digest())
        assert leaves[-1].hex() == line["leaf"]
    assert defined_root(leaves).hex() == known.tree.root
