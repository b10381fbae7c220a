"""Destinations: a folder takes files whole, keeps what is a stranger's, and says what it cannot do."""

import os
from pathlib import Path

import pytest

import fanal.page.buckets
import fanal.page.stores
from fanal.errors import RefusedError
from fanal.page.stores import FolderStore, StoreError, open_store


def test_a_folder_lists_gets_puts_and_deletes(tmp_path: Path) -> None:
    store = FolderStore(tmp_path / "new" / "site")
    store.put("a/b.json", b"{}", {"Content-Type": "application/json"})
    (tmp_path / "large").write_bytes(os.urandom(3 << 20))
    store.put_file("a/large", tmp_path / "large", {})
    assert {name: one.num_bytes for name, one in store.listed().items()} == {"a/b.json": 2, "a/large": 3 << 20}
    assert store.get("a/large") == (tmp_path / "large").read_bytes()
    assert store.get("a/none") is None
    assert store.get("a/b.json/c") is None
    store.delete("a/b.json")
    store.delete("a/b.json")
    assert list(store.listed()) == ["a/large"]


def test_what_a_killed_process_left_is_taken_away_and_is_no_file_of_the_site(tmp_path: Path) -> None:
    (tmp_path / ".tmp-abc").write_bytes(b"half")
    (tmp_path / "whole").write_bytes(b"whole")
    assert list(FolderStore(tmp_path).listed()) == ["whole"]
    assert [p.name for p in tmp_path.iterdir()] == ["whole"]


def test_a_put_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FolderStore(tmp_path)
    store.put("a", b"old", {})
    (tmp_path / "large").write_bytes(b"x" * 100)

    def full(path: Path, body: bytes) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fanal.page.stores, "write_whole", full)
    monkeypatch.setattr(fanal.page.stores, "copyfileobj", lambda source, copy, size: full(tmp_path, b""))
    with pytest.raises(StoreError, match="a cannot be written: No space left"):
        store.put("a", b"new", {})
    with pytest.raises(StoreError, match="a cannot be written: No space left"):
        store.put_file("a", tmp_path / "large", {})
    assert store.get("a") == b"old"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "large"]


def test_a_folder_that_cannot_be_deleted_from_is_said(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(StoreError, match="a cannot be removed"):
        FolderStore(tmp_path).delete("a")


@pytest.mark.parametrize("dest", ["ftp://host/x", "https://host/x", "file:///x"])
def test_an_address_that_cannot_be_written_to_is_refused(dest: str) -> None:
    with pytest.raises(RefusedError, match="is no place to publish to"):
        open_store(dest)


@pytest.mark.parametrize(("dest", "form"), [("s3://", "s3://BUCKET/PREFIX"), ("az:///x", "az://CONTAINER/PREFIX")])
def test_an_address_without_a_bucket_is_told_its_form(dest: str, form: str) -> None:
    with pytest.raises(RefusedError, match=f"names no bucket: write {form}"):
        open_store(dest)


@pytest.mark.parametrize(
    ("dest", "names"),
    [
        ("s3://bucket/run", ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")),
        ("az://container/run", ("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT_KEY")),
    ],
)
def test_missing_variables_are_named(dest: str, names: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith(("AWS_", "AZURE_"))]:
        monkeypatch.delenv(name)
    nobody = "http://127.0.0.1:9/"
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", nobody)
    monkeypatch.setenv("AWS_ENDPOINT_URL", nobody)
    monkeypatch.setattr(fanal.page.buckets, "_RETRY", {"max_retries": 0})
    with pytest.raises(StoreError, match=f"the environment has no {' and '.join(names)}"):
        open_store(dest).listed()


def test_without_the_client_for_buckets_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError("No module named 'obstore'", name="obstore")

    monkeypatch.setattr(fanal.page.stores, "import_module", absent)
    with pytest.raises(StoreError, match=r"pip install 'fanal\[s3\]'"):
        open_store("s3://bucket/run")
