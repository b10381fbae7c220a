import json
from dataclasses import replace

import pytest

from fanal.data.documents import make_document
from fanal.data.report import (
    Removed,
    StageReport,
    Tally,
    alarms,
    keep_books,
    read_report,
    tally,
    with_rewritten,
)


def books(stage: str, came: int, gone: int) -> StageReport:
    removed = [Removed(f"a/{i}", "a", 10, "near_duplicate") for i in range(gone)]
    return keep_books(stage, {"a": Tally(came, 10 * came)}, {"a": Tally(came - gone, 10 * (came - gone))}, removed)


def test_what_came_is_what_left_and_what_was_removed() -> None:
    report = books("near_duplicates", 10, 3)
    report.check()
    assert (report.came, report.left) == (Tally(10, 100), Tally(7, 70))
    assert report.domains["a"].removed == {"near_duplicate": Tally(3, 30)}


def test_books_that_do_not_balance_are_our_mistake() -> None:
    report = keep_books("x", {"a": Tally(10, 100)}, {"a": Tally(9, 100)}, [])
    with pytest.raises(AssertionError, match="x: a: "):
        report.check()


def test_the_rewriting_of_kept_documents_is_a_cause_of_its_own() -> None:
    removed = [Removed("a/1", "a", 5, "empty")]
    report = with_rewritten(keep_books("normalise", {"a": Tally(3, 100)}, {"a": Tally(2, 97)}, removed))
    report.check()
    assert report.domains["a"].removed == {"empty": Tally(1, 5), "rewritten": Tally(0, -2)}


def test_a_report_survives_json_and_is_marked_as_reused() -> None:
    report = replace(books("near_duplicates", 10, 3), details={"pairs": 3}, alarms=("a lost much",), seconds=1.5)
    document = json.loads(json.dumps(report.to_json()))
    assert read_report(document) == replace(report, reused=True)
    assert (document["documents_in"], document["bytes_out"]) == (10, 70)


def test_a_source_that_loses_too_much_over_all_cleaning_is_an_alarm_once() -> None:
    first, second, third = (
        books("exact_duplicates", 10, 4),
        books("near_duplicates", 6, 3),
        books("decontaminate", 3, 0),
    )
    assert alarms(first, [], 0.6) == ()
    assert alarms(second, [first], 0.6) == ("a has lost 70% of its bytes to cleaning by near_duplicates, limit 60%",)
    assert alarms(third, [first, second], 0.6) == ()


def test_sampling_and_holding_out_raise_no_alarm() -> None:
    assert alarms(books("parse", 10, 9), [], 0.6) == ()
    assert alarms(books("held_out", 10, 9), [], 0.6) == ()


def test_documents_are_tallied_by_domain() -> None:
    documents = [make_document(*own.split("/"), text)[0] for own, text in [("a/1", "é"), ("a/2", "x"), ("b/1", "")]]
    assert tally(documents) == {"a": Tally(2, 3), "b": Tally(1, 0)}
