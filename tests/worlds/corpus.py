"""A small seeded corpus with everything planted that a stage should find, and a built one for who needs batches.

`tiny_corpus()` has three domains of unrelated texts, exact copies across and within domains, near copies
(one word in forty changed), and a training text that holds most of another: each with the answer beside it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from fanal.campaign.spec import Campaign, Mixture, Phase
from fanal.data.build import build_corpus
from fanal.data.corpus import Corpus
from fanal.data.documents import Document, make_document
from fanal.data.keyed import Stream, key64
from fanal.data.mixture import make_stretches
from fanal.data.order import Order
from tests.worlds.campaign import tiny_campaign

DOMAINS = ("prose", "notes", "code")
TEXTS_PER_DOMAIN = 40
WORDS_PER_TEXT = 120


@dataclass(frozen=True)
class TinyCorpus:
    """Documents, and what is wrong with them: each planted document's id to that of its original."""

    documents: list[Document]
    exact: Mapping[str, str]
    near: Mapping[str, str]
    excerpts: Mapping[str, str]

    def one(self, own: str) -> Document:
        return next(d for d in self.documents if d.id == own)


def tiny_corpus(seed: int = 0) -> TinyCorpus:
    """The same corpus for the same seed, on every machine."""
    stream = Stream(key64("tiny corpus", seed))
    words = ["".join(chr(97 + stream.below(26)) for _ in range(3 + stream.below(6))) for _ in range(2000)]
    texts = {
        f"{domain}/t{number:02d}": " ".join(stream.pick(words) for _ in range(WORDS_PER_TEXT)) + "\n"
        for domain in DOMAINS
        for number in range(TEXTS_PER_DOMAIN)
    }
    exact = {f"{domain}/x{n}": f"prose/t{n:02d}" for n, domain in enumerate((*DOMAINS, *DOMAINS))}
    near = {f"{domain}/y{n}": f"{domain}/t{n + 10:02d}" for n, domain in enumerate((*DOMAINS, *DOMAINS))}
    excerpts = {f"{domain}/z{n}": f"{domain}/t{n + 20:02d}" for n, domain in enumerate(DOMAINS)}
    planted = {own: texts[of] for own, of in exact.items()}
    planted |= {own: _change(texts[of], stream) for own, of in near.items()}
    planted |= {own: _excerpt(texts[of], words, stream) for own, of in excerpts.items()}
    documents = [make_document(*own.split("/"), text)[0] for own, text in (texts | planted).items()]
    return TinyCorpus(documents, exact, near, excerpts)


def built_corpus(folder: Path, campaign: Campaign | None = None) -> Corpus:
    """The tiny campaign's corpus of made texts, built in `folder`: a second, no download."""
    asked = campaign or tiny_campaign()
    return build_corpus(asked, cache=folder / "cache", out=folder / "data", on_stage=lambda name, report: None)


def plain_order(sizes: Mapping[str, int], total_seqs: int, seed: int = 0, **weights: float) -> Order:
    """An order over domains of these sizes with one phase; equal weights where none are given."""
    names = tuple(sizes)
    shares = weights or dict.fromkeys(names, 1 / len(names))
    stretches = make_stretches(Mixture((Phase(1.0, shares),)), names, total_seqs)
    return Order(names, tuple(sizes.values()), stretches, seed)


def _change(text: str, stream: Stream) -> str:
    words = text.split()
    for start in range(0, len(words), 60):
        words[start + stream.below(60)] = "altered"
    return " ".join(words) + "\n"


def _excerpt(text: str, words: list[str], stream: Stream) -> str:
    taken = text.split()[: 3 * WORDS_PER_TEXT // 4]
    return " ".join([*taken, *(stream.pick(words) for _ in range(WORDS_PER_TEXT))]) + "\n"
