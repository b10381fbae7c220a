"""The words, the exit code and the JSON of a verification."""

import json

import pytest

from fanal.record.proof.sealed import ForecastCheck
from fanal.record.proof.verify_report import VerifyReport, Withheld
from fanal.record.proof.verify_writer import Finding

COUNTS = {"runs": 1, "attempts": 1, "writers": 2, "segments": 3, "files": 9, "bytes": 12_345}
LATE = ForecastCheck("hero", 1, 5, "ab" * 32, sealed_before_step_0=False, late=False, hash_fits=True)
BAD = (Finding("runs/a", "is missing"),)


def report(**fields: object) -> VerifyReport:
    return VerifyReport("r", **{"bad": (), "notes": (), "forecasts": (), "counts": COUNTS, **fields})  # type: ignore


@pytest.mark.parametrize(
    ("fields", "code", "headline"),
    [
        ({}, 0, "r: whole, unsigned; 1 run, 9 files, 12,345 bytes"),
        ({"key": "K"}, 0, "r: whole, signed by K; 1 run"),
        ({"key": "K", "size": 5, "signed_segments": 3}, 0, "signed by K up to segment 3 of 5, what came after is not"),
        ({"withheld": (Withheld("w", "why"),) * 2}, 0, "r: whole, 2 withheld by declaration, unsigned; "),
        ({"redacted": (("b", "why"),)}, 0, "r: whole, redacted: 1, unsigned; "),
        ({"key": "K", "refused": "L"}, 3, "r: whole, signed by another key (K); "),
        ({"key": "K", "refused": "L", "bad": BAD}, 1, "r: not whole, 1 of its files altered, missing or strange; "),
        ({"forecasts": (LATE,)}, 1, "r: whole, unsigned, but a forecast is not what it claims; "),
        ({"forecasts": (LATE,), "key": "K", "refused": "L"}, 1, "but a forecast is not what it claims; "),
    ],
)
def test_each_result_has_its_headline_and_code(fields: dict[str, object], code: int, headline: str) -> None:
    made = report(**fields)
    assert headline in made.words.splitlines()[0]
    assert made.exit_code == code
    assert made.ok == (code == 0)


def test_the_reasons_follow_a_line_each() -> None:
    made = report(
        withheld=(Withheld("runs/a/1/w", "why"),), redacted=(("ab", "asked"),), key="K", refused="L", notes=("noted",)
    )
    assert made.words.splitlines()[1:] == [
        "the key is not the known one: L was known, K signs, and none leads to it",
        "runs/a/1/w: withheld by declaration: why",
        "blobs/ab: redacted: asked",
        "noted",
    ]


def test_programs_read_the_same() -> None:
    said = json.loads(json.dumps(report(bad=BAD, key="K").to_json()))
    assert (said["ok"], said["exit_code"], said["first_bad"], said["signed"]) == (False, 1, "runs/a", True)
    assert said["bad"] == [{"file": "runs/a", "what": "is missing"}]
