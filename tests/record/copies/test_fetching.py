"""Files from an address: whole or not at all, asked for again when it may help, and said plainly when it does not."""

import hashlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import fanal.record.copies.fetching
from fanal.errors import RecordError
from fanal.record.copies.fetching import AbsentError, Address, AlteredError, UnreachableError, is_address
from tests.worlds.site import Fault, faulty_host, file_server

BODY = bytes(range(256)) * 400
SHA256 = hashlib.sha256(BODY).hexdigest()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fanal.record.copies.fetching, "FIRST_PAUSE_SECONDS", 0.001)


@pytest.fixture
def upstream(tmp_path: Path) -> Iterator[str]:
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "file.bin").write_bytes(BODY)
    (tmp_path / "site" / "a b&c.bin").write_bytes(b"odd name")
    with file_server(tmp_path / "site") as address:
        yield address


def once(what: str) -> Fault:
    """The first two requests go wrong."""
    return lambda method, path, number: what if number <= 2 else None


@pytest.mark.parametrize("what", ["cut", "403", "503", "lost", "slow", "date"])
def test_an_answer_in_trouble_is_asked_for_again(upstream: str, tmp_path: Path, what: str) -> None:
    with faulty_host(upstream, once(what)) as (url, _), closing(Address(url)) as address:
        assert address.checked("file.bin", SHA256) == BODY
    with faulty_host(upstream, once(what)) as (url, _), closing(Address(url)) as address:
        address.download("file.bin", SHA256, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == BODY


@pytest.mark.parametrize("what", ["cut", "403", "503", "lost"])
def test_one_that_stays_in_trouble_is_said_with_its_address_and_leaves_nothing(
    upstream: str, tmp_path: Path, what: str
) -> None:
    with faulty_host(upstream, lambda method, path, number: what) as (url, host), closing(Address(url, 4)) as address:
        with pytest.raises(UnreachableError, match=r"file\.bin cannot be fetched"):
            address.checked("file.bin", SHA256)
        with pytest.raises(UnreachableError):
            address.download("file.bin", SHA256, tmp_path / "copy")
    assert host.number == 8
    assert [p.name for p in tmp_path.iterdir()] == ["site"]


def test_a_missing_file_is_asked_for_once(upstream: str) -> None:
    with faulty_host(upstream) as (url, host), closing(Address(url)) as address:
        with pytest.raises(AbsentError, match="is not there"):
            address.get("none")
        assert host.number == 1
        assert address.checked("file.bin", SHA256) == BODY


def test_other_bytes_are_refused_and_asked_for_once_more_past_the_caches(upstream: str, tmp_path: Path) -> None:
    with faulty_host(upstream) as (url, host), closing(Address(url)) as address:
        host.stale["/file.bin"] = (200, b"other bytes")
        with pytest.raises(AlteredError, match="has changed since it was written"):
            address.checked("file.bin", SHA256)
        with pytest.raises(AlteredError):
            address.download("file.bin", SHA256, tmp_path / "copy")
        assert host.number == 4
    assert not (tmp_path / "copy").exists()


def test_names_are_quoted_and_a_folder_is_named_in_any_way(upstream: str) -> None:
    odd = hashlib.sha256(b"odd name").hexdigest()
    for url in (upstream, upstream.rstrip("/"), f"{upstream}index.html", f"{upstream}manifest.json"):
        with closing(Address(url)) as address:
            assert address.url == upstream
            assert address.checked("a b&c.bin", odd) == b"odd name"


@pytest.mark.parametrize("url", ["ftp://host/x", "folder", "https://", "https://host/x?y=1", "https://host/#a"])
def test_what_is_no_address_is_said(url: str) -> None:
    with pytest.raises(RecordError, match="is no address of a record"):
        Address(url)


def test_a_password_in_an_address_is_neither_sent_nor_shown() -> None:
    assert Address("https://me:" + "pw@host/run").url == "https://host/run/"


def test_an_address_is_known_by_its_scheme() -> None:
    assert [is_address(one) for one in ("http://a", "https://a", "/a/b", "a", Path("a"))] == [True, True] + 3 * [False]
