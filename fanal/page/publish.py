"""`fanal publish`: the page of a record, and what of the record is public, at a folder or a bucket, as it is now.

The same files as the server's. A second call sends only what is new; a first one that was cut off goes on.
"""

from pathlib import Path

from fanal.errors import RecordError
from fanal.page.publication import Publication
from fanal.page.published import PublishOptions, PublishReport
from fanal.record.copies.publishing import alone, work_of
from fanal.record.files import DamagedError
from fanal.record.layout import find_record


def publish(path: Path | str, dest: Path | str, options: PublishOptions | None = None) -> PublishReport:
    """Publish the record at `path` to the folder or bucket prefix `dest`, as it is now.

    Raises:
        RecordError: no record at `path`, or the destination cannot be written.
        RefusedError: `dest` holds other things than a page of this record, or lies inside the record; or a secret that
            nobody allowed would be published: nothing was written.
    """
    source = find_record(Path(path))
    with alone(work_of(source, str(dest))):
        try:
            publication = Publication(source, str(dest), options or PublishOptions())
            if options and options.dry_run:
                return publication.look()
            try:
                return publication.round()
            except FileNotFoundError:  # a log was closed into a segment, or a blob redacted, just now
                return publication.round()
        except DamagedError as error:
            raise RecordError(f"{error}: run `fanal verify {source}`, then restore it from a copy") from error
