"""The built corpus as a value: what runs draw from, what they are scored on, and the hash of it all.

`build.py` makes it, `corpus.json` in the build's folder holds it, `load_corpus` reads it back. It names
files and holds no text and no tokens.
"""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from fanal.data.store import write_atomically
from fanal.errors import DataError

CORPUS_FILE = "corpus.json"
FORMAT = 1


@dataclass(frozen=True)
class Domain:
    """One domain's training text, as tokens."""

    name: str
    licence: str
    origin: str
    """Where its text came from, as the campaign says."""
    documents: int
    """Training documents, after every stage."""
    bytes: int
    """Their UTF-8."""
    tokens: int
    """Their tokens, a separator after each document included."""
    num_seqs: int
    """Sequences to draw: stretches of seq_tokens + 1 tokens at a stride of seq_tokens."""
    bytes_per_token: float
    """`bytes / tokens`."""
    text_sha256: str
    """Of the whole source's documents in their order, before anything is sampled or removed."""
    shard: Path
    """The tokens; beside it `<name>.json` says which documents they are."""
    shard_sha256: str


@dataclass(frozen=True)
class HeldOut:
    """What one eval set holds of one domain."""

    eval_set: str
    """`pulse` or `full`."""
    name: str
    """The domain."""
    documents: int
    bytes: int
    """UTF-8 of the scored tokens."""
    tokens: int
    """Scored tokens."""
    sha256: str
    """Of what is scored: the tokens of each row and which of them count."""


@dataclass(frozen=True)
class Corpus:
    """What a campaign's runs draw from and are scored on."""

    path: Path
    """The build's folder."""
    domains: tuple[Domain, ...]
    evals: tuple[HeldOut, ...]
    vocab: int
    """Ids of the campaign's vocabulary; the model's size, which a small corpus may not fill."""
    seq_tokens: int
    pulse_tokens: int
    """Scored tokens a domain of the eval set `pulse`."""
    tokenizer_path: Path
    tokenizer_sha256: str
    fingerprint: str
    """SHA-256 over tokenizer, shards and eval sets."""
    stages: tuple[str, ...]
    """Folders of the stages, in order; each holds its `manifest.json`."""

    def event_fields(self) -> dict[str, Any]:
        """The fields of the `corpus` event."""
        hidden = {"shard", "shard_sha256", "num_seqs"}
        domains = [
            {k: v for k, v in asdict(d).items() if k not in hidden} | {"sequences": d.num_seqs} for d in self.domains
        ]
        return {
            "fingerprint": self.fingerprint,
            "tokenizer_sha256": self.tokenizer_sha256,
            "domains": domains,
            "evals": [asdict(e) for e in self.evals],
        }

    def domain(self, name: str) -> Domain:
        """The domain of that name.

        Raises:
            KeyError: no such domain.
        """
        for domain in self.domains:
            if domain.name == name:
                return domain
        raise KeyError(f"{name!r}; the corpus holds {', '.join(d.name for d in self.domains)}")


def save_corpus(corpus: Corpus) -> None:
    """Write `corpus.json`; the last act of a build."""
    document: dict[str, Any] = {**asdict(corpus), "format": FORMAT}
    del document["path"]
    document["tokenizer_path"] = str(corpus.tokenizer_path.relative_to(corpus.path))
    for written, domain in zip(document["domains"], corpus.domains, strict=True):
        written["shard"] = str(domain.shard.relative_to(corpus.path))
    text = json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    write_atomically(corpus.path / CORPUS_FILE, text.encode("utf-8"))


def load_corpus(path: Path) -> Corpus:
    """Read a built corpus from its folder.

    Raises:
        DataError: no finished build there, or one of another format.
    """
    file = path / CORPUS_FILE
    if not file.is_file():
        raise DataError(f"{file}: no finished corpus here; `fanal data build` makes one")
    try:
        document = json.loads(file.read_bytes())
    except ValueError as error:
        raise DataError(f"{file}: not JSON ({error}); delete it and build again") from error
    if document.get("format") != FORMAT:
        raise DataError(f"{file}: format {document.get('format')!r}, this Fanal reads {FORMAT}; build again")
    return Corpus(
        path=path,
        domains=tuple(Domain(**d | {"shard": path / d["shard"]}) for d in document["domains"]),
        evals=tuple(HeldOut(**e) for e in document["evals"]),
        vocab=document["vocab"],
        seq_tokens=document["seq_tokens"],
        pulse_tokens=document["pulse_tokens"],
        tokenizer_path=path / document["tokenizer_path"],
        tokenizer_sha256=document["tokenizer_sha256"],
        fingerprint=document["fingerprint"],
        stages=tuple(document["stages"]),
    )
