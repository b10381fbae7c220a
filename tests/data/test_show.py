import json

from fanal.data.corpus import Corpus
from fanal.data.order import Order
from fanal.data.show import corpus_table, corpus_text, trace_text
from fanal.data.trace import trace


def test_the_table_holds_what_the_corpus_and_its_stages_say(corpus: Corpus, hero_order: Order) -> None:
    table = json.loads(json.dumps(corpus_table(corpus, {"hero": hero_order})))
    verse = table["domains"][0]
    parsed = table["stages"][0]
    assert (verse["name"], verse["tokens"]) == ("verse", corpus.domain("verse").tokens)
    assert parsed["documents_in"] == sum(
        d["documents"] + sum(d["removed_documents"].values()) for d in table["domains"]
    )
    assert verse["held_out"]["full"]["bytes"] >= 2000
    sequences = sum(sum(phase["sequences"].values()) for phase in table["phases"]["hero"])
    assert sequences == hero_order.total_seqs


def test_the_text_shows_domains_causes_stages_and_epochs(corpus: Corpus, hero_order: Order) -> None:
    text = corpus_text(corpus, {"hero": hero_order})
    lines = text.splitlines()
    assert lines[0] == f"corpus {corpus.fingerprint[:16]}"
    assert lines[2].split()[:2] == ["domain", "documents"]
    assert "near duplicate" in lines[2]
    assert {"verse", "code", "ledger", "parse", "shards"} <= {line.split()[0] for line in lines if line.strip()}
    assert "epochs planned for hero" in lines
    table = lines[2:6]
    assert len({len(line) for line in table}) == 1


def test_a_trace_is_a_line_a_sequence_and_a_line_a_document(corpus: Corpus, hero_order: Order) -> None:
    found = trace(corpus, hero_order, range(3))
    lines = trace_text(found).splitlines()
    assert len(lines) == sum(1 + len(seq.documents) for seq in found)
    drawn = hero_order.draw(0)
    assert lines[0] == f"position 0: {hero_order.domains[drawn.domain]}, epoch {drawn.epoch}, sequence {drawn.index}"
    assert found[0].documents[0].id in lines[1]
