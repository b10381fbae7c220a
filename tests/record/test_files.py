import json
from pathlib import Path
from typing import Any

import pytest

from fanal.record.files import DamagedError, canonical, json_pieces, read_document, seal, unseal, write_whole


def test_a_document_reads_back_what_was_sealed(tmp_path: Path) -> None:
    fields = {"b": 1, "a": ["x", 2.0, None], "ü": "\ud800"}
    write_whole(tmp_path / "d.json", seal(fields))
    assert read_document(tmp_path / "d.json") == fields


def test_every_changed_byte_of_a_document_shows(tmp_path: Path) -> None:
    sealed = seal({"format": 1, "kind": "x", "number": 0.5, "text": "a b"})
    for position in range(len(sealed)):
        for bit in (1, 32):
            changed = bytearray(sealed)
            changed[position] ^= bit
            assert isinstance(unseal(bytes(changed)), str), (position, bytes(changed))


def test_spaces_that_mean_nothing_show_too() -> None:
    sealed = seal({"a": 1})
    assert isinstance(unseal(sealed + b"\n"), str)
    assert isinstance(unseal(sealed.replace(b":", b": ")), str)


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b"1", b"\xff", b'{"self":1}', b'{"a":NaN,"self":""}'])
def test_what_is_no_document_is_damaged(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "d.json").write_bytes(data)
    with pytest.raises(DamagedError, match=r"d\.json"):
        read_document(tmp_path / "d.json")


def test_canonical_bytes_do_not_depend_on_the_order_of_keys() -> None:
    assert canonical({"b": 1, "a": {"d": 2, "c": 3}}) == canonical({"a": {"c": 3, "d": 2}, "b": 1})


def test_writing_replaces_the_whole_file_and_leaves_nothing_beside(tmp_path: Path) -> None:
    write_whole(tmp_path / "f", b"long before")
    write_whole(tmp_path / "f", b"now")
    assert (tmp_path / "f").read_bytes() == b"now"
    assert [p.name for p in tmp_path.iterdir()] == ["f"]


@pytest.mark.parametrize(
    "value",
    [
        *(1.5, "text", None, [], {}, [[]], {"a": {}}, {"a": [1, {"b": []}], "c": 2}),
        *(list(range(40_000)), [[1]] * 40_000, {f"k{n}": n for n in range(40_000)}),
        {"big": list(range(20_000)), "small": {"x": [None, True]}},
    ],
)
def test_pieces_of_json_are_together_the_value(value: Any) -> None:
    pieces = list(json_pieces(value))
    assert json.loads(b"".join(pieces)) == value
    assert b"".join(pieces) == json.dumps(value, separators=(",", ":")).encode()


def test_a_long_list_is_never_one_piece() -> None:
    assert max(map(len, json_pieces({"x": [0.5] * 1_000_000}))) < 100_000
