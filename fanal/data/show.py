"""A corpus in words: what came in, what went and why, what is left, and how often it will be read.

Guarantees: every figure comes from the stages' manifests, the corpus file and the order's arithmetic;
`corpus_table` is JSON-able, `corpus_text` prints the same, and `trace_text` what `trace.py` found. It
reads no text and no tokens.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fanal.data.build import read_reports
from fanal.data.corpus import Corpus, Domain
from fanal.data.order import Order, mixture_event_fields
from fanal.data.report import StageReport
from fanal.data.trace import TracedSeq


def corpus_table(corpus: Corpus, orders: Mapping[str, Order]) -> dict[str, Any]:
    """The corpus by domain and stage; `orders` names the runs whose planned epochs are shown."""
    reports = read_reports(corpus)
    phases = {run: mixture_event_fields(order)["phases"] for run, order in orders.items()}
    return {
        "fingerprint": corpus.fingerprint,
        "tokenizer_sha256": corpus.tokenizer_sha256,
        "domains": [_domain(domain, corpus, reports) for domain in corpus.domains],
        "stages": [_stage(report) for report in reports],
        "alarms": [alarm for report in reports for alarm in report.alarms],
        "phases": phases,
    }


def corpus_text(corpus: Corpus, orders: Mapping[str, Order]) -> str:
    """The same for a terminal."""
    table = corpus_table(corpus, orders)
    causes = list(dict.fromkeys(cause for d in table["domains"] for cause in d["removed_documents"]))
    head = ["domain", "documents", "MB", "tokens", "B/token", "held-out kB", *(c.replace("_", " ") for c in causes)]
    rows = [[*_figures(d), *(str(d["removed_documents"].get(c, 0)) for c in causes)] for d in table["domains"]]
    lines = [
        f"corpus {table['fingerprint'][:16]}",
        "",
        *_aligned([head, *rows]),
        "",
        "documents and MB in → out by stage",
    ]
    lines += _aligned([_stage_row(stage) for stage in table["stages"]])
    lines += [f"alarm: {alarm}" for alarm in table["alarms"]]
    for run, phases in table["phases"].items():
        lines += ["", f"epochs planned for {run}", *_aligned(_epochs(phases, [d["name"] for d in table["domains"]]))]
    return "\n".join(lines) + "\n"


def trace_text(found: Sequence[TracedSeq]) -> str:
    """Traced sequences for a terminal: one line a document, with its span of tokens."""
    lines: list[str] = []
    for seq in found:
        lines.append(f"position {seq.position}: {seq.domain}, epoch {seq.epoch}, sequence {seq.index}")
        for document in seq.documents:
            last = document.first_token + document.num_tokens - 1
            span = f"tokens {document.first_token}–{last} of {document.whole_tokens}"
            lines.append(f"  at {document.at:4d}  {document.id}  {span}")
    return "\n".join(lines) + "\n"


def _domain(domain: Domain, corpus: Corpus, reports: Sequence[StageReport]) -> dict[str, Any]:
    removed: dict[str, int] = {}
    removed_bytes: dict[str, int] = {}
    for report in reports:
        for cause, tally in report.domains[domain.name].removed.items():
            removed[cause] = removed.get(cause, 0) + tally.documents
            removed_bytes[cause] = removed_bytes.get(cause, 0) + tally.bytes
    return {
        "name": domain.name,
        "licence": domain.licence,
        "origin": domain.origin,
        "documents": domain.documents,
        "bytes": domain.bytes,
        "tokens": domain.tokens,
        "sequences": domain.num_seqs,
        "bytes_per_token": domain.bytes_per_token,
        "held_out": {
            e.eval_set: {"documents": e.documents, "bytes": e.bytes} for e in corpus.evals if e.name == domain.name
        },
        "removed_documents": {cause: count for cause, count in removed.items() if cause != "rewritten"},
        "removed_bytes": removed_bytes,
    }


def _stage(report: StageReport) -> dict[str, Any]:
    whole = report.to_json()
    kept = ("stage", "documents_in", "bytes_in", "documents_out", "bytes_out", "seconds", "cpu_seconds", "details")
    return {name: whole[name] for name in kept}


def _figures(domain: Mapping[str, Any]) -> list[str]:
    held = domain["held_out"].get("full", {"bytes": 0})["bytes"]
    return [
        domain["name"],
        f"{domain['documents']:,}",
        f"{domain['bytes'] / 1e6:.2f}",
        f"{domain['tokens']:,}",
        f"{domain['bytes_per_token']:.2f}",
        f"{held / 1e3:.1f}",
    ]


def _stage_row(stage: Mapping[str, Any]) -> list[str]:
    return [
        stage["stage"],
        f"{stage['documents_in']:,} → {stage['documents_out']:,}",
        f"{stage['bytes_in'] / 1e6:.2f} → {stage['bytes_out'] / 1e6:.2f}",
        f"{stage['seconds']:.2f} s",
    ]


def _epochs(phases: Iterable[Mapping[str, Any]], domains: Sequence[str]) -> list[list[str]]:
    found = list(phases)
    head = ["domain", *(f"positions {p['first_seq']}–{p['last_seq']}" for p in found), "all"]
    rows = [
        [d, *(f"{p['epochs'][d]:.2f}" for p in found), f"{sum(p['epochs'][d] for p in found):.2f}"] for d in domains
    ]
    return [head, *rows]


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
