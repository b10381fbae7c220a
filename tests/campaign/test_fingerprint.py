import json
import subprocess
import sys

import pytest

from fanal.campaign.fingerprint import canonical_json, plain, sha256_hex
from fanal.campaign.plan import plan_campaign
from fanal.campaign.read import load, parse
from tests.worlds.campaign import TINY_TOML, tiny_campaign


def fingerprint(text: str) -> str:
    return plan_campaign(parse(text, "tiny.toml")).fingerprint


def test_canonical_json_sorts_keys_leaves_no_space_and_keeps_text() -> None:
    assert canonical_json({"b": (1, 2.5), "a": {2: "é", 10: None}}) == '{"a":{"10":null,"2":"é"},"b":[1,2.5]}'


def test_floats_survive_exactly() -> None:
    values = [0.1, 1 / 3, 1e-07, 5e-324, 1.7976931348623157e308, -0.0]
    assert [repr(x) for x in json.loads(canonical_json(values))] == [repr(x) for x in values]


def test_a_value_that_json_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        canonical_json({"loss": float("nan")})


def test_keys_that_were_numbers_are_sorted_as_the_strings_they_become() -> None:
    text = canonical_json({"extra_seeds": {8: 1, 16: 2}})
    assert canonical_json(json.loads(text)) == text


def test_format_comments_and_order_of_keys_do_not_count() -> None:
    spaced = TINY_TOML.replace(" = ", "   =   ").replace("\n[", "\n\n# a comment\n[").replace("60_000", "60000")
    swapped = TINY_TOML.replace("rungs = [16, 20, 24]\nhero = 32\n", "hero = 32\nrungs = [\n  16,\n  20,\n  24,\n]\n")
    assert spaced != TINY_TOML != swapped
    assert fingerprint(spaced) == fingerprint(swapped) == fingerprint(TINY_TOML)


def test_a_default_counts_like_the_same_value_written_out() -> None:
    assert fingerprint(TINY_TOML.replace("hero = 32", "hero = 32\nseed = 0")) == fingerprint(TINY_TOML)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('title = "Tiny"', 'title = "Tinier"'),
        ("until = 0.75", "until = 0.7500000000000001"),
        ('why = "narrow"', 'why = "thin"'),
        ("hero = 32", "hero = 40"),
        ("hero = 32", "hero = 32\nseed = 1"),
    ],
)
def test_any_other_value_gives_another_fingerprint(old: str, new: str) -> None:
    assert fingerprint(TINY_TOML.replace(old, new, 1)) != fingerprint(TINY_TOML)


def test_the_resolved_campaign_holds_what_was_written_and_every_run_and_hashes_to_the_fingerprint() -> None:
    campaign = tiny_campaign()
    plan = plan_campaign(campaign)
    assert sha256_hex(plan.resolved) == plan.fingerprint
    assert json.loads(plan.resolved) == {"campaign": plain(campaign), "runs": plain(plan.runs)}


def test_another_process_finds_the_same_fingerprint() -> None:
    code = "from fanal.campaign.plan import plan_campaign as p; from fanal.campaign.read import load as l"
    shown = subprocess.run(
        [sys.executable, "-c", f"{code}; print(p(l('lantern')).fingerprint)"],
        capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": "7", "PYTHONPATH": ":".join(sys.path)},
    )  # fmt: skip
    assert shown.stdout.strip() == plan_campaign(load("lantern")).fingerprint
