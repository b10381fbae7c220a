"""One built corpus for the whole folder, and the order of the tiny campaign's hero over it."""

from pathlib import Path

import pytest

from fanal.campaign.plan import plan_campaign
from fanal.data.corpus import Corpus
from fanal.data.order import Order, make_order
from tests.worlds.campaign import tiny_campaign
from tests.worlds.corpus import built_corpus


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    return built_corpus(Path(tmp_path_factory.mktemp("corpus")))


@pytest.fixture(scope="session")
def hero_order(corpus: Corpus) -> Order:
    campaign = tiny_campaign()
    return make_order(campaign, plan_campaign(campaign).hero, corpus)
