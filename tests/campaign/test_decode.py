import pytest

from fanal.campaign.decode import decode
from fanal.campaign.read import parse
from fanal.campaign.spec import Campaign, PlainStage, Setting, Stages
from fanal.errors import CampaignError
from tests.worlds.campaign import TINY_TOML


def spoiled(old: str, new: str) -> str:
    """The message that the tiny file gives with `old` replaced by `new` once."""
    assert TINY_TOML.count(old) >= 1
    with pytest.raises(CampaignError) as caught:
        parse(TINY_TOML.replace(old, new, 1), "tiny.toml")
    return str(caught.value)


def test_sections_arrays_of_tables_and_mappings_become_the_classes_of_the_spec() -> None:
    campaign = parse(TINY_TOML, "tiny.toml")
    assert campaign.ladder.rungs == (16, 20, 24)
    assert campaign.ladder.extra_seeds == {16: 1}
    assert [source.origin for source in campaign.corpus.source] == [
        "made:made_verse",
        "made:made_code",
        "made:made_ledger",
    ]
    assert campaign.corpus.stages.normalise == PlainStage()
    assert campaign.trainer.set["num_layers"] == Setting(why="seconds", value=2)
    assert campaign.watch.rule[0].means == ""


def test_an_absent_stage_is_not_run_and_a_stage_without_settings_is() -> None:
    campaign = parse(TINY_TOML.replace("normalise = {}\n", ""), "tiny.toml")
    assert campaign.corpus.stages.normalise is None
    assert Stages() == Stages(normalise=None, exact_duplicates=None, near_duplicates=None, decontaminate=None)


def test_an_integer_may_stand_for_a_number_and_becomes_one() -> None:
    campaign = parse(TINY_TOML.replace("tokens_per_active_param = 0.5", "tokens_per_active_param = 2"), "tiny.toml")
    assert type(campaign.ladder.tokens_per_active_param) is float


def test_a_setting_keeps_the_type_it_was_written_in() -> None:
    assert type(parse(TINY_TOML, "tiny.toml").trainer.set["num_layers"].value) is int


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("hero = 32", 'hero = "32"', "ladder.hero: must be an integer, found a string ('32')"),
        ("hero = 32", "hero = true", "ladder.hero: must be an integer, found true or false (True)"),
        ("hero = 32", "hero = 32.0", "ladder.hero: must be an integer, found a number (32.0)"),
        ("hero = 32", "hero = 2026-01-01", "ladder.hero: must be an integer, found a date"),
        ("until = 0.75", "until = false", "mixture.phase[0].until: must be a number, found true or false (False)"),
        ("until = 0.75", "until = nan", "mixture.phase[0].until: must be a finite number, found nan"),
        ("at = [1.0]", "at = 1.0", "evals.full.at: must be an array, found a number (1.0)"),
        ("[[metrics]]", "[metrics]", "metrics: must be an array, found a table"),
        ("{ 16 = 1 }", "{ d16 = 1 }", "ladder.extra_seeds: its keys must be whole numbers, found 'd16'"),
        ("{ 16 = 1 }", "3", "ladder.extra_seeds: must be a table, found an integer (3)"),
        ("code = 0.3", 'code = "0.3"', "mixture.phase[0].weights.code: must be a number, found a string ('0.3')"),
        (
            "value = 2, ",
            "value = [2], ",
            "trainer.set.num_layers.value: must be an integer or a number or a string or true or false, found an array",
        ),
    ],
)
def test_a_wrong_type_names_the_path_what_was_expected_and_what_was_found(old: str, new: str, message: str) -> None:
    assert f"tiny.toml: {message}" in spoiled(old, new)


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("hero = 32\n", "", "ladder.hero: missing, must be an integer"),
        ('licence = "CC0-1.0"\n', "", "corpus.source[0].licence: missing, must be a string"),
        ("pulse = { tokens_per_domain = 64, every = 0.25 }\n", "", "evals.pulse: missing, must be a table"),
        ("rungs = [16, 20, 24]\n", "", "ladder.rungs: missing, must be an array"),
    ],
)
def test_a_missing_key_is_named_with_its_path(old: str, new: str, path: str) -> None:
    assert path in spoiled(old, new)


@pytest.mark.parametrize(
    ("old", "new", "path", "near"),
    [
        ("[ladder]", "[ladder]\nbatch_sqs = 8", "ladder.batch_sqs", "ladder.batch_seqs"),
        ("[samples]", "[sampels]", "sampels", "samples"),
        (
            'name = "verse"',
            'name = "verse"\nsample_byte = 1',
            "corpus.source[0].sample_byte",
            "corpus.source.sample_bytes",
        ),
        ("value = 2, ", "vlaue = 2, ", "trainer.set.num_layers.vlaue", "trainer.set.*.value"),
        ("[mixture]\nmax_epochs", "[mixture]\nmax-epochs", "mixture.max-epochs", "mixture.max_epochs"),
    ],
)
def test_an_unknown_key_names_its_path_and_the_nearest_known_key(old: str, new: str, path: str, near: str) -> None:
    assert f"tiny.toml: {path}: unknown key; the nearest known one is {near};" in spoiled(old, new)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[ladder]", "[ladder]\nvocab = 300", "ladder.vocab: 'vocab' is no key of [ladder]; it belongs in [tokenizer]"),
        (
            "[ladder]",
            "[ladder]\nbeta2 = 0.9",
            "ladder.beta2: 'beta2' is no key of [ladder]; it belongs in [trainer.set]",
        ),
        ("[corpus.stages]", "[stages]", "stages: 'stages' is no key of the top level; it belongs in [corpus]"),
        ("[ladder]", "[ladder]\nevery = 1.0", "it belongs in [evals.pulse] or [samples]"),
    ],
)
def test_a_known_key_in_the_wrong_section_is_told_its_own(old: str, new: str, message: str) -> None:
    assert message in spoiled(old, new)


def test_every_key_of_a_section_that_is_not_known_is_named() -> None:
    message = spoiled("[ladder]", "[optim]\nlearning_rte = 1\nbeta = { one = 0.9 }\n[ladder]")
    assert "tiny.toml: optim.learning_rte: unknown key" in message
    assert "tiny.toml: optim.beta.one: unknown key" in message
    assert "there is no section [optim]" in message


def test_a_stage_without_settings_takes_none() -> None:
    assert "corpus.stages.normalise.form: unknown key" in spoiled("normalise = {}", 'normalise = { form = "NFC" }')


def test_all_mistakes_are_reported_at_once() -> None:
    text = TINY_TOML.replace("hero = 32", 'heroe = 32\nseed = "x"').replace('kind = "byte_bpe"', "kind = 3\nsize = 1")
    with pytest.raises(CampaignError) as caught:
        parse(text, "tiny.toml")
    lines = str(caught.value).splitlines()
    expected = ("ladder.heroe", "ladder.seed", "ladder.hero", "tokenizer.kind", "tokenizer.size")
    assert sorted(line.split(": ")[1] for line in lines) == sorted(expected)


def test_a_table_that_is_none_is_refused() -> None:
    with pytest.raises(CampaignError, match=r"tiny\.toml: corpus: must be a table, found a string"):
        decode(Campaign, {"format": 1, "corpus": "here"}, "tiny.toml")
