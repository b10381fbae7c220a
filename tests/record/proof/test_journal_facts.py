"""Facts about the record itself, wherever they lie, and only from the run that holds them."""

from pathlib import Path

from fanal.record import layout
from fanal.record.attempt import Start, journal, start
from fanal.record.files import read_document, seal
from fanal.record.proof.journal_facts import JOURNAL, journal_facts, redactions

BLOB = "ab" * 32


def test_facts_are_read_from_segments_and_from_logs(tmp_path: Path) -> None:
    record = tmp_path / "r"
    layout.open_record(record)
    assert journal_facts(record, "redaction") == []
    with journal(record) as run:
        run.event("redaction", blob=BLOB, reason="first", replacement=None)
    with journal(record) as run:
        run.event("redaction", blob="cd" * 32, reason="second", replacement=None)
        run.event("anchor", root="00", size=1, where="here")
        found = journal_facts(record, "redaction")
        assert [(fact.fields["reason"], fact.segment) for fact in found] == [("first", 1), ("second", None)]
        assert len(journal_facts(record, "redaction", "anchor")) == 3
    assert [fact.segment for fact in journal_facts(record, "redaction")] == [1, 1]
    assert redactions(record) == {BLOB: "first", "cd" * 32: "second"}
    assert all(fact.writer.startswith(f"runs/{JOURNAL}/") for fact in journal_facts(record, "anchor"))


def test_only_the_records_own_run_counts(tmp_path: Path) -> None:
    run = start(tmp_path / "r", Start(id="a"))
    run.event("redaction", blob=BLOB, reason="not mine to say", replacement=None)
    run.finish()
    assert redactions(tmp_path / "r") == {}


def test_damaged_and_forged_facts_are_left_out(tmp_path: Path) -> None:
    record = tmp_path / "r"
    layout.open_record(record)
    for reason in ("one", "two", "three"):
        with journal(record) as run:
            run.event("redaction", blob=BLOB, reason=reason, replacement=None)
    first, second, third = sorted(
        record.glob(f"runs/{JOURNAL}/1/*/seg/1.facts0.jsonl"), key=lambda p: p.stat().st_mtime
    )
    first.write_bytes(b"{")
    second.write_bytes(second.read_bytes().replace(b'"blob"', b'"blub"'))
    assert [fact.fields["reason"] for fact in journal_facts(record, "redaction")] == ["three"]
    fields = read_document(third.parent / "1.json")
    (third.parent / "1.json").write_bytes(seal(fields | {"last_sequence": "x"}))
    assert journal_facts(record, "redaction") == []
    (third.parent / "1.json").write_bytes(b"{}")
    assert journal_facts(record, "redaction") == []
