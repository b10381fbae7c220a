"""Commands about a record: check it, look at it, publish it, follow somebody else's, take in other tools' files."""

import argparse
from pathlib import Path
from typing import Any

from fanal.cli.shared import PORT, WELL, port, report_parser, show


def add(commands: Any) -> None:
    """The arguments of these commands."""
    for name, command in (("verify", verify), ("report", report)):
        report_parser(commands, name, command).add_argument(
            "path", type=Path, help="a record, or a folder that holds one"
        )
    serve_parser = report_parser(commands, "serve", serve)
    serve_parser.add_argument("path", type=Path, help="a record, or a folder that will hold one")
    serve_parser.add_argument("--port", type=port, default=PORT, help="the next free one where taken")
    publish_parser = report_parser(commands, "publish", publish)
    publish_parser.add_argument("path", type=Path, help="a record, or a folder that holds one")
    publish_parser.add_argument("dest", type=Path, help="a folder: new, empty, or published to before")


def verify(args: argparse.Namespace) -> int:
    """Whether a record is whole, and what was sealed before what."""
    from fanal.record.verify import verify as verify_record

    report = verify_record(args.path)
    show(report.words, report.to_json(), args)
    return report.exit_code


def serve(args: argparse.Namespace) -> int:
    """The page over HTTP, read-only."""
    from fanal.page.server import serve as serve_page

    serve_page(args.path, port=args.port)
    return WELL


def publish(args: argparse.Namespace) -> int:
    """The page as plain files."""
    from fanal.page.publish import publish as publish_site

    report = publish_site(args.path, args.dest)
    show(report.words, report.to_json(), args)
    return WELL


def report(args: argparse.Namespace) -> int:
    """The result in words and pictures."""
    from fanal.page.report import write_report

    written = write_report(args.path)
    show(written.text, written.to_json(), args)
    return WELL
