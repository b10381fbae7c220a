"""Every error that Fanal raises on purpose; each says what was asked, what was found and what to do.

    FanalError               exit code
    ├── CampaignError        2   a campaign file or the sizes it asks for
    ├── DataError            2   a source, a corpus, a tokenizer, a shard
    ├── RecordError          2   a record that cannot be opened, read or written
    ├── CheckpointError      2   a checkpoint that is missing, torn or of another shape
    └── RefusedError         3   what was asked is possible and would be wrong

`ValueError` and `KeyError` are for a caller's wrong argument, `assert` for our own mistakes.
"""


class FanalError(Exception):
    """The root: `cli.py` prints its message as one line and exits with `exit_code`."""

    exit_code = 2


class CampaignError(FanalError):
    """A campaign that cannot be read, or that asks for sizes that cannot be."""


class DataError(FanalError):
    """A source, corpus, tokenizer or shard that is missing, changed or of the wrong kind."""


class RecordError(FanalError):
    """A record that cannot be opened, read or written."""


class CheckpointError(FanalError):
    """A checkpoint that is missing, incomplete, damaged or made for another shape."""


class RefusedError(FanalError):
    """Something possible that would make the record or a result untrue."""

    exit_code = 3
