from pathlib import Path

import pytest

from fanal.campaign.plan import plan_campaign
from fanal.campaign.read import load, packaged, parse, with_seed
from fanal.errors import CampaignError, RefusedError
from tests.worlds.campaign import TINY_TOML, tiny_campaign

EVIL = """\
from pathlib import Path
Path(__file__).with_suffix(".ran").touch()
from fanal.campaign.recipes import fine_grained_moe
def recipe(sheet):
    fine_grained_moe(sheet)
"""


def test_packaged_campaigns_are_found_by_name() -> None:
    assert set(packaged()) >= {"firefly", "lantern"}
    for name in packaged():
        assert load(name).name == name


def test_a_file_is_read_by_its_path(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(TINY_TOML, "utf-8")
    assert load(file) == load(str(file)) == tiny_campaign()


def test_an_unknown_name_is_told_the_nearest() -> None:
    with pytest.raises(
        CampaignError, match=r"no campaign 'lanterm': it is neither a file nor one of .*; nearest: lantern"
    ):
        load("lanterm")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"name = ", r"mine\.toml: is not TOML: .*end of document"),
        (b"a = 1\na = 2\n", r"mine\.toml: is not TOML: .*line 2"),
        (b'name = "\xff"', r"mine\.toml: is not UTF-8 at byte 8"),
        (TINY_TOML.replace("format = 1", "format = 2\nnovelty = 3").encode(), r"reads format 1, found 2$"),
    ],
)
def test_what_cannot_be_read_is_said_with_the_file(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_bytes(content)
    with pytest.raises(CampaignError, match=message):
        load(file)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(CampaignError, match=r"none\.toml: cannot be read: No such file"):
        load(tmp_path / "none.toml")


@pytest.mark.parametrize("place", ["recipe", "law"])
def test_code_of_others_is_refused_and_not_even_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (tmp_path / f"evil_{place}.py").write_text(EVIL, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    old = {"recipe": "fanal.campaign.recipes:fine_grained_moe", "law": "fanal.campaign.recipes:lantern_beta2"}[place]
    text = TINY_TOML.replace(old, f"evil_{place}:recipe")
    with pytest.raises(
        RefusedError, match=r"trainer\..* = 'evil_\w+:recipe' would run code .*, then pass --trust-recipe"
    ):
        parse(text, "tiny.toml")
    assert RefusedError.exit_code == 3
    assert not (tmp_path / f"evil_{place}.ran").exists()
    assert parse(text, "tiny.toml", trust_recipe=True).name == "tiny"


def test_a_trusted_recipe_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trusted.py").write_text(EVIL, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "mine.toml"
    file.write_text(TINY_TOML.replace("fanal.campaign.recipes:fine_grained_moe", "trusted:recipe"), "utf-8")
    assert plan_campaign(load(file, trust_recipe=True)).runs == plan_campaign(tiny_campaign()).runs


def test_another_seed_changes_the_seed_alone() -> None:
    campaign = with_seed(tiny_campaign(), 100)
    assert campaign == tiny_campaign(ladder__seed=100)
    with pytest.raises(CampaignError, match=r"ladder\.seed: must be at least 0, found -1"):
        with_seed(campaign, -1)
