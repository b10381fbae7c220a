from pathlib import Path

import numpy as np
import pytest

from fanal.data.shards import as_tokens, make_shard, num_seqs, open_index, open_shard
from fanal.errors import DataError


def write(folder: Path, ids: list[str], documents: list[list[int]], vocab: int) -> Path:
    for ending, data in make_shard(ids, documents, vocab).items():
        (folder / f"d{ending}").write_bytes(data)
    return folder / "d.npy"


def test_documents_lie_end_to_end_each_with_its_separator(tmp_path: Path) -> None:
    shard = write(tmp_path, ["a", "b", "c"], [[5, 6, 7], [], [8, 9]], 300)
    assert open_shard(shard, 300).tolist() == [5, 6, 7, 0, 0, 8, 9, 0]
    index = open_index(shard)
    assert (index.ids, index.starts.tolist(), index.tokens) == (("a", "b", "c"), [0, 4, 5, 8], 8)


def test_the_documents_of_a_span_are_found_from_stored_borders(tmp_path: Path) -> None:
    index = open_index(write(tmp_path, ["a", "b", "c"], [[5, 6, 7], [], [8, 9]], 300))
    spans = {(0, 3): [0], (3, 4): [0], (3, 5): [0, 1], (4, 5): [1], (2, 8): [0, 1, 2], (7, 9): [2]}
    assert {span: list(index.documents_in(*span)) for span in spans} == spans


@pytest.mark.parametrize(("vocab", "kind"), [(300, "u2"), (65_536, "u2"), (65_537, "u4"), (119_547, "u4")])
def test_the_array_is_as_wide_as_the_vocabulary_needs(tmp_path: Path, vocab: int, kind: str) -> None:
    shard = write(tmp_path, ["a"], [[1, vocab - 1]], vocab)
    assert open_shard(shard, vocab).dtype == np.dtype(kind)
    assert open_shard(shard, vocab).tolist() == [1, vocab - 1, 0]


@pytest.mark.parametrize("bad", [-1, 300, 70_000, 2**40])
def test_an_id_outside_the_vocabulary_is_refused(bad: int) -> None:
    with pytest.raises(DataError, match=rf"token id {bad} is not in \[0, 300\)"):
        as_tokens([1, bad], 300)


def test_a_document_that_holds_the_separator_is_our_mistake() -> None:
    with pytest.raises(AssertionError, match="a document holds the separator"):
        make_shard(["a"], [[1, 0, 2]], 300)


def test_a_shard_of_another_kind_or_a_torn_one_is_refused(tmp_path: Path) -> None:
    shard = write(tmp_path, ["a"], [[1, 2]], 300)
    with pytest.raises(DataError, match="expected uint32 tokens of a vocabulary of 70000, found uint16"):
        open_shard(shard, 70_000)
    shard.write_bytes(shard.read_bytes()[:-1])
    with pytest.raises(DataError, match=r"d\.npy: no readable shard"):
        open_shard(shard, 300)
    shard.with_suffix(".json").unlink()
    with pytest.raises(DataError, match=r"d\.json: no readable index of documents"):
        open_index(shard)


def test_offsets_beyond_two_to_the_31_do_not_wrap() -> None:
    lengths = np.array([2**30] * 3, np.int64)
    assert np.cumsum(lengths).tolist() == [2**30, 2**31, 3_221_225_472]
    assert num_seqs(3_221_225_472, 128) == 25_165_823


@pytest.mark.parametrize(("tokens", "expected"), [(0, 0), (1, 0), (8, 0), (9, 1), (16, 1), (17, 2)])
def test_a_sequence_takes_one_token_more_than_it_advances(tokens: int, expected: int) -> None:
    assert num_seqs(tokens, 8) == expected
