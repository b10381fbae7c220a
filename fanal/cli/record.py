"""Commands about a record: check it, look at it, publish it, follow somebody else's, take in other tools' files."""

import argparse
import tempfile
from pathlib import Path
from typing import Any

from fanal.cli.shared import PORT, WELL, group_parser, port, report_parser, say, show
from fanal.errors import RecordError

RECORD_HELP = "a record, or a folder that holds one"


def add(commands: Any) -> None:
    """The arguments of these commands."""
    _add_reading(commands)
    _add_publishing(commands)
    _add_writing(commands)


# ------------------------------------------------------------------------------------- reading


def _add_reading(commands: Any) -> None:
    verify_parser = report_parser(commands, "verify", verify)
    verify_parser.add_argument("path", help=f"{RECORD_HELP}, or its address")
    verify_parser.add_argument("--key", help="the public key that must have signed, or a file that holds it")
    verify_parser.add_argument("--since", metavar="ROOT", help="a root seen earlier: a file, or SIZE:HASH")
    verify_parser.add_argument("--deep", action="store_true", help="also compute what is derived again, by value")
    report_parser(commands, "report", report).add_argument("path", type=Path, help=RECORD_HELP)
    serve_parser = report_parser(commands, "serve", serve)
    serve_parser.add_argument("path", type=Path, help="a record, or a folder that will hold one")
    serve_parser.add_argument("--port", type=port, default=PORT, help="the next free one where taken")
    views = report_parser(commands, "sql", sql)
    views.add_argument("path", type=Path, help=RECORD_HELP)


def verify(args: argparse.Namespace) -> int:
    """Whether a record is whole, who signed it, and what was sealed before what."""
    from fanal.record.proof.verify import verify as verify_record

    if not args.path.startswith(("http://", "https://")):
        found = verify_record(args.path, key=args.key, since=args.since, deep=args.deep)
        show(found.words, found.to_json(), args)
        return found.exit_code
    from fanal.record.copies.follow import FollowOptions
    from fanal.record.copies.follow import follow as follow_record

    with tempfile.TemporaryDirectory(prefix="fanal-verify-") as folder:
        copied = follow_record(args.path, Path(folder) / "copy", FollowOptions(once=True))
        if copied.exit_code:
            show(copied.words, copied.to_json(), args)
            return copied.exit_code
        found = verify_record(Path(folder) / "copy", key=args.key, since=args.since, deep=args.deep)
        words = found.words.replace(str(Path(folder) / "copy"), args.path)
    show(words, found.to_json() | {"path": args.path, "words": words}, args)
    return found.exit_code


def report(args: argparse.Namespace) -> int:
    """The result in words and pictures."""
    from fanal.page.report import write_report

    written = write_report(args.path)
    show(written.text, written.to_json(), args)
    return WELL


def serve(args: argparse.Namespace) -> int:
    """The page over HTTP, read-only."""
    from fanal.page.server import serve as serve_page

    serve_page(args.path, port=args.port)
    return WELL


def sql(args: argparse.Namespace) -> int:
    """Views and macros over a record's Parquet files, for DuckDB."""
    from fanal.record.layout import find_record
    from fanal.record.reading.views import views_sql

    made = views_sql(find_record(args.path))
    show(made.text, made.to_json(), args)
    return WELL


# ------------------------------------------------------------------------------------- publishing and following


def _add_publishing(commands: Any) -> None:
    publish_parser = report_parser(commands, "publish", publish)
    publish_parser.add_argument("path", type=Path, help=RECORD_HELP)
    publish_parser.add_argument("dest", help="a folder, or s3://BUCKET/PREFIX, gs://…, az://…")
    publish_parser.add_argument("--dry-run", action="store_true", help="say what would go where, and what blocks it")
    publish_parser.add_argument("--estimate", action="store_true", help="objects, bytes, requests and cost a month")
    publish_parser.add_argument(
        "--allow", action="append", default=[], metavar="FINGERPRINT", help="no secret after all"
    )
    publish_parser.add_argument("--address", help="where people will find it")
    publish_parser.add_argument("--watch", action="store_true", help="go on while the record grows, until Ctrl-C")
    publish_parser.add_argument("--every", type=float, metavar="SECONDS", help="with --watch: how often at most")
    follow_parser = report_parser(commands, "follow", follow)
    follow_parser.add_argument("url", help="address of a published page or record")
    follow_parser.add_argument("copy", type=Path, help="a folder: new, empty, or followed into before")
    follow_parser.add_argument("--once", action="store_true", help="end when the copy is up to date")
    follow_parser.add_argument(
        "--interval", type=float, metavar="SECONDS", help="how often to ask; else by the run's pace"
    )


def publish(args: argparse.Namespace) -> int:
    """The page and the record as plain files, in a folder or a bucket."""
    from fanal.page.estimate import estimate
    from fanal.page.publish import publish as publish_once
    from fanal.page.published import PublishOptions
    from fanal.page.publisher import EVERY_SECONDS, WatchOptions, watch

    options = PublishOptions(dry_run=args.dry_run, allow=tuple(args.allow), address=args.address)
    if args.estimate:
        found = estimate(args.path)
    elif args.watch and not args.dry_run:
        found = watch(args.path, args.dest, options, WatchOptions(True, args.every or EVERY_SECONDS))
    else:
        found = publish_once(args.path, args.dest, options)
    show(found.words, found.to_json(), args)
    return getattr(found, "exit_code", WELL)


def follow(args: argparse.Namespace) -> int:
    """A verified copy of a published record, which goes on while that one does."""
    from fanal.record.copies.follow import FollowOptions
    from fanal.record.copies.follow import follow as follow_record

    def said(round_report: Any) -> None:
        say(round_report.words.splitlines()[0])

    options = FollowOptions(
        once=args.once, interval_seconds=args.interval, on_round=None if args.once else said, on_trouble=say
    )
    found = follow_record(args.url, args.copy, options)
    show(found.words, found.to_json(), args)
    return found.exit_code


# ------------------------------------------------------------------------------------- writing


def _add_writing(commands: Any) -> None:
    imports = report_parser(commands, "import", import_files)
    imports.add_argument("kind", help="wandb, wandb-online, tensorboard, csv, jsonl or hf")
    imports.add_argument("source", help="file, folder, or for wandb-online ENTITY/PROJECT[/RUN]")
    imports.add_argument("--into", type=Path, required=True, metavar="RECORD", help="made where there is none")
    imports.add_argument("--live", action="store_true", help="go on while the source grows, until Ctrl-C")
    imports.add_argument(
        "--until-idle", type=float, metavar="SECONDS", help="with --live: end after so long without news"
    )
    stitch_parser = report_parser(commands, "stitch", stitch)
    stitch_parser.add_argument("path", type=Path, help=RECORD_HELP)
    stitch_parser.add_argument("runs", nargs="+", help="run ids, in the order in which they go on from each other")
    stitch_parser.add_argument(
        "--as", dest="as_id", required=True, metavar="ID", help="id of the run that shows them as one"
    )
    redact_parser = report_parser(commands, "redact", redact)
    redact_parser.add_argument("path", type=Path, help=RECORD_HELP)
    redact_parser.add_argument("blob", help="SHA-256 of the blob, or its beginning")
    redact_parser.add_argument("--reason", required=True, help="why, for everybody")
    redact_parser.add_argument("--replace", type=Path, metavar="FILE", help="what stands in its place")
    anchor_parser = report_parser(commands, "anchor", anchor)
    anchor_parser.add_argument("path", type=Path, help=RECORD_HELP)
    anchor_parser.add_argument("--git", type=Path, required=True, metavar="FOLDER", help="a git repository")
    anchor_parser.add_argument("--push", action="store_true", help="also push it")
    keys = group_parser(commands, "key", "the key that signs records")
    report_parser(keys, "new", key_new).add_argument("path", type=Path, nargs="?", help=RECORD_HELP)
    report_parser(keys, "show", key_show).add_argument("path", type=Path, nargs="?", help=RECORD_HELP)
    rotate = report_parser(keys, "rotate", key_rotate)
    rotate.add_argument("path", type=Path, help=RECORD_HELP)
    rotate.add_argument("--reason", help="why, for everybody")


def import_files(args: argparse.Namespace) -> int:
    """Take another tool's files into a record, and say what is complete and what is not."""
    from fanal.importers.source import import_source

    found = import_source(args.kind, args.source, args.into, args.live, args.until_idle)
    show(found.text, found.to_json(), args)
    return found.exit_code


def stitch(args: argparse.Namespace) -> int:
    """Show runs that go on from each other as one."""
    from fanal.record.layout import find_record
    from fanal.record.reading.stitch import stitch as stitch_runs

    try:
        made = stitch_runs(find_record(args.path), args.runs, args.as_id)
    except ValueError as error:  # an id that cannot be a folder's name
        raise RecordError(str(error)) from error
    show(made.text, made.to_json(), args)
    return WELL


def redact(args: argparse.Namespace) -> int:
    """Remove bytes from a record and leave their hash, with the reason."""
    from fanal.record.proof.redact import redact as redact_blob

    done = redact_blob(args.path, args.blob, args.reason, args.replace)
    show(done.words, done.to_json(), args)
    return WELL


def anchor(args: argparse.Namespace) -> int:
    """Write a record's root down where others keep it: in a git repository."""
    from fanal.record.proof.anchor import anchor as anchor_root

    done = anchor_root(args.path, args.git, args.push)
    show(done.words, done.to_json(), args)
    return WELL


def key_new(args: argparse.Namespace) -> int:
    """Make a signing key; with a record, sign that record with it."""
    from fanal.record.proof.key_commands import key_new as make_key

    made = make_key(args.path)
    show(made.words, made.to_json(), args)
    return made.exit_code


def key_show(args: argparse.Namespace) -> int:
    """The public key, of this user or of a record."""
    from fanal.record.proof.key_commands import key_show as show_key

    found = show_key(args.path)
    show(found.words, found.to_json(), args)
    return found.exit_code


def key_rotate(args: argparse.Namespace) -> int:
    """Put a new key in the old one's place, signed by the old one."""
    from fanal.record.proof.key_commands import key_rotate as rotate_key

    done = rotate_key(args.path, args.reason)
    show(done.words, done.to_json(), args)
    return done.exit_code
