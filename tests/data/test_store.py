from pathlib import Path

import pytest

from fanal.data import store
from fanal.data.store import StageFolder, canonical, chain_key, sweep, write_atomically

FILES = {"a.bin": b"0123456789", "b.txt": b""}
REPORT = {"documents": 3}


def written(root: Path, key: str = "k" * 64) -> StageFolder:
    folder = StageFolder(root, "parse", key)
    folder.write(FILES, {"some": "settings"}, REPORT)
    return folder


def test_a_whole_folder_gives_back_its_report(tmp_path: Path) -> None:
    folder = written(tmp_path)
    assert folder.verified() == REPORT
    assert folder.read("a.bin") == FILES["a.bin"]
    assert [p.name for p in tmp_path.iterdir()] == ["parse-kkkkkkkkkkkk"]


@pytest.mark.parametrize("file", [*FILES, "manifest.json"])
def test_a_missing_file_is_noticed(tmp_path: Path, file: str) -> None:
    folder = written(tmp_path)
    (folder.path / file).unlink()
    assert folder.verified() is None


@pytest.mark.parametrize("spoil", ["truncated", "changed", "longer"])
def test_a_damaged_file_is_noticed(tmp_path: Path, spoil: str) -> None:
    folder = written(tmp_path)
    data = {"truncated": b"012345678", "changed": b"0123456780", "longer": b"01234567890"}[spoil]
    (folder.path / "a.bin").write_bytes(data)
    assert folder.verified() is None


def test_a_torn_manifest_is_noticed(tmp_path: Path) -> None:
    folder = written(tmp_path)
    manifest = folder.path / "manifest.json"
    manifest.write_bytes(manifest.read_bytes()[:-20])
    assert folder.verified() is None


def test_a_folder_of_another_key_is_not_mistaken_for_this_one(tmp_path: Path) -> None:
    folder = written(tmp_path, "k" * 12 + "1" * 52)
    assert StageFolder(tmp_path, "parse", "k" * 12 + "2" * 52).path == folder.path
    assert StageFolder(tmp_path, "parse", "k" * 12 + "2" * 52).verified() is None


def test_a_kill_while_writing_leaves_no_folder_that_counts_and_can_be_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(file: Path, data: bytes) -> None:
        file.write_bytes(data[:3])
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(store, "write_synced", killed)
        with pytest.raises(KeyboardInterrupt):
            written(tmp_path)
    assert StageFolder(tmp_path, "parse", "k" * 64).verified() is None
    assert written(tmp_path).verified() == REPORT
    assert [p.name for p in tmp_path.iterdir()] == ["parse-kkkkkkkkkkkk"]


def test_a_damaged_folder_is_written_over(tmp_path: Path) -> None:
    (written(tmp_path).path / "a.bin").write_bytes(b"")
    assert written(tmp_path).verified() == REPORT


def test_a_key_holds_what_came_before_the_code_and_the_settings() -> None:
    base = chain_key("p", "parse", 1, {"a": 1, "b": 2})
    assert chain_key("p", "parse", 1, {"b": 2, "a": 1}) == base
    others = [
        chain_key("q", "parse", 1, {"a": 1, "b": 2}),
        chain_key("p", "shards", 1, {"a": 1, "b": 2}),
        chain_key("p", "parse", 2, {"a": 1, "b": 2}),
        chain_key("p", "parse", 1, {"a": 1, "b": 3}),
    ]
    assert len({base, *others}) == 5


def test_canonical_json_refuses_what_json_has_no_word_for() -> None:
    assert canonical({"b": [1, "é"], "a": None}) == '{"a":null,"b":[1,"é"]}'.encode()
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical(float("nan"))


def test_sweeping_deletes_other_stages_and_nothing_else(tmp_path: Path) -> None:
    kept, old = written(tmp_path, "a" * 64), written(tmp_path, "b" * 64)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("stays")
    (tmp_path / "parse-0123.partial").mkdir()
    sweep(tmp_path, (kept.name,))
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine", kept.name]
    assert not old.path.exists()


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    write_atomically(tmp_path / "sub" / "x.json", b"one")
    write_atomically(tmp_path / "sub" / "x.json", b"two")
    assert [(p.name, p.read_bytes()) for p in (tmp_path / "sub").iterdir()] == [("x.json", b"two")]
