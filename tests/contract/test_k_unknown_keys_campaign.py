"""Class K of the pains: a key that is not known stops everything, with its full path and the nearest known key."""

from pathlib import Path

import pytest

from fanal.campaign.plan import plan_campaign
from fanal.campaign.read import load
from fanal.errors import CampaignError
from tests.worlds.campaign import TINY_TOML

SPOILED = {
    "a slip in a section": (
        "[ladder]\n",
        "[ladder]\nlearning_rte = 1\n",
        "ladder.learning_rte: unknown key",
        "ladder.",
    ),
    "a section that is not known": (
        "[tokenizer]\n",
        "[optim]\nweigth_decay = 0\n[tokenizer]\n",
        "optim.weigth_decay: unknown key",
        "mixture.phase.weights",
    ),
    "a hyphen": ("[mixture]\n", "[mixture]\nnum-epochs = 3\n", "mixture.num-epochs: unknown key", "mixture.max_epochs"),
    "a known key in the wrong section": (
        "[ladder]\n",
        "[ladder]\nprompts = []\n",
        "ladder.prompts: 'prompts' is no key of [ladder]",
        "[samples]",
    ),
    "a number of the recipe in the wrong section": (
        "[ladder]\n",
        "[ladder]\nmuonh_lr = 0.04\n",
        "ladder.muonh_lr: 'muonh_lr' is no key of [ladder]",
        "[trainer.set]",
    ),
    "a slip at the top": ("format = 1\n", "format = 1\nquestoin = 'x'\n", "questoin: unknown key", "question"),
}


@pytest.mark.parametrize(("old", "new", "path", "near"), SPOILED.values(), ids=SPOILED)
def test_k1_an_unknown_key_stops_the_reading(tmp_path: Path, old: str, new: str, path: str, near: str) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(TINY_TOML.replace(old, new, 1), "utf-8")
    with pytest.raises(CampaignError) as caught:
        load(file)
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"{file}: {path}")
    assert near in line.partition(path)[2]


def test_k1_every_unknown_key_is_named_at_once(tmp_path: Path) -> None:
    text = TINY_TOML
    for old, new, _, _ in SPOILED.values():
        text = text.replace(old, new, 1)
    file = tmp_path / "mine.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(CampaignError) as caught:
        load(file)
    for _, _, path, _ in SPOILED.values():
        assert path in str(caught.value)
    assert len(str(caught.value).splitlines()) == len(SPOILED)


def test_k1_a_number_that_the_recipe_does_not_have_stops_the_plan(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(TINY_TOML.replace("adam_lr =", "adam_rate =", 1), "utf-8")
    with pytest.raises(
        CampaignError, match=r"trainer\.set\.adam_rate: the recipe has no such number; nearest: adam_lr"
    ):
        plan_campaign(load(file))


def test_k1_the_file_without_the_slips_is_read(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(TINY_TOML, "utf-8")
    assert plan_campaign(load(file)).runs
