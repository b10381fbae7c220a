"""Commands about a campaign: plan it, build its corpus, train its ladder and hero, tune its laws."""

import argparse
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fanal.cli.shared import (
    INTERRUPTED,
    PORT,
    WELL,
    group_parser,
    port,
    report_parser,
    say,
    show,
    wait_for_interrupt,
)


def add(commands: Any) -> None:
    """The arguments of these commands."""
    demo_parser = campaign_parser(commands, "demo", demo, named="lantern")
    demo_parser.add_argument("--headless", action="store_true", help="no page: train, print the result and end")
    demo_parser.add_argument("--port", type=port, default=PORT, help="port of the page (the next free one where taken)")
    campaign_parser(commands, "run", run)
    campaign_parser(commands, "plan", plan)

    data = group_parser(commands, "data", "documents, tokens, provenance")
    campaign_parser(data, "build", data_build)
    campaign_parser(data, "show", data_show)
    trace = report_parser(data, "trace", data_trace)
    trace.add_argument("record", type=Path, help="a campaign's folder, or its record")
    trace.add_argument("--run", default="hero", help="run id")
    trace.add_argument("--step", type=int, required=True, help="row of the record: step 1 read the first batch")

    ladder = group_parser(commands, "ladder", "rungs and what they foretell")
    campaign_parser(ladder, "tune", ladder_tune)


def demo(args: argparse.Namespace) -> int:
    """Train the packaged lantern and show its page while it trains."""
    if args.headless:
        return run(args)
    from fanal.page.process import page_process

    folder = run_folder(args, load_campaign(args))
    with page_process(folder, args.port) as address:
        say(f"watch it at {address}")
        code = run(args)
        if code == WELL:
            say(f"the page stays at {address} until Ctrl-C; `fanal serve {folder}` opens it again")
            wait_for_interrupt()
        return code


def run(args: argparse.Namespace) -> int:
    """Do all that a campaign names; goes on where an earlier call stopped."""
    os.environ.update(xla_environment())
    from fanal.pipeline import RunOptions, run_campaign

    campaign = load_campaign(args)
    outcome = run_campaign(campaign, RunOptions(folder=run_folder(args, campaign), quiet=args.quiet))
    if outcome is None:
        say("stopped; the same command goes on from here")
        return INTERRUPTED
    show(outcome.text, outcome.summary, args)
    return WELL


def ladder_tune(args: argparse.Namespace) -> int:
    """Sweep the rates on the two smallest rungs and fit the campaign's laws."""
    os.environ.update(xla_environment())
    from fanal.pipeline import RunOptions, tune_campaign

    campaign = load_campaign(args)
    folder = run_folder(args, campaign)
    options = RunOptions(folder=folder.with_name(f"{folder.name}-tune"), quiet=args.quiet)
    found = tune_campaign(campaign, options)
    show(found.text, found.to_json(), args)
    return WELL


def plan(args: argparse.Namespace) -> int:
    """What a campaign will train, every number with its law."""
    from fanal.campaign.plan import plan_campaign
    from fanal.campaign.show import plan_json, plan_text

    campaign = load_campaign(args)
    planned, measured = plan_campaign(campaign), measured_seconds(run_folder(args, campaign))
    show(plan_text(planned, measured), plan_json(planned, measured), args)
    return WELL


def measured_seconds(folder: Path) -> Mapping[int, float] | None:
    """Seconds of a step by width, where the campaign has a record here."""
    if not (folder / "record").is_dir():
        return None
    from fanal.record.pace import seconds_per_step
    from fanal.record.reading.read import open_record

    return seconds_per_step(open_record(folder))


def data_build(args: argparse.Namespace) -> int:
    """Documents to token shards, stage by stage."""
    from fanal.data.build import build_corpus
    from fanal.data.fetch import default_cache
    from fanal.record.stages import alone

    def on_stage(name: str, report: Any) -> None:
        if report is not None and not args.quiet:
            say(f"{name}: {report.left.documents:,} documents left after {report.seconds:.1f} s")

    campaign = load_campaign(args)
    folder = run_folder(args, campaign)
    with alone(folder):
        build_corpus(campaign, cache=default_cache(), out=folder / "data", on_stage=on_stage)
    return data_show(args)


def data_show(args: argparse.Namespace) -> int:
    """What each stage kept and removed, and what the mixture plans."""
    from fanal.campaign.plan import plan_campaign
    from fanal.data.corpus import load_corpus
    from fanal.data.order import make_order
    from fanal.data.show import corpus_table, corpus_text

    campaign = load_campaign(args)
    corpus = load_corpus(run_folder(args, campaign) / "data")
    hero = plan_campaign(campaign).hero
    orders = {hero.run: make_order(campaign, hero, corpus)}
    show(corpus_text(corpus, orders), corpus_table(corpus, orders), args)
    return WELL


def data_trace(args: argparse.Namespace) -> int:
    """Which documents a step read."""
    from fanal.data.recorded import trace_step

    traced = trace_step(args.record, args.run, args.step)
    show(traced.text, traced.to_json(), args)
    return WELL


def load_campaign(args: argparse.Namespace) -> Any:
    """The campaign that was named, with `--seed` in place of its own seed."""
    from fanal.campaign.read import load, with_seed

    campaign = load(args.campaign, trust_recipe=args.trust_recipe)
    return campaign if args.seed is None else with_seed(campaign, args.seed)


def run_folder(args: argparse.Namespace, campaign: Any) -> Path:
    """`runs/<campaign>` under the current folder, or under `--dir`; with another seed, `<campaign>-seed<seed>`."""
    other_seed = "" if args.seed is None else f"-seed{args.seed}"
    return Path(args.dir) / f"{campaign.name}{other_seed}"


def xla_environment() -> Mapping[str, str]:
    """What JAX's compiler reads from the environment, before JAX is loaded."""
    from fanal.train.environment import environment

    return environment(os.environ)


def campaign_parser(
    commands: Any, name: str, command: Callable[[argparse.Namespace], int], named: str | None = None
) -> argparse.ArgumentParser:
    """A command about one campaign, given by the name of a packaged one or by its file."""
    made = report_parser(commands, name, command)
    if named is None:
        made.add_argument("campaign", help="a packaged campaign (lantern, firefly) or a TOML file")
    made.set_defaults(campaign=named)
    made.add_argument("--dir", default="runs", help="folder of all campaigns' folders")
    made.add_argument("--seed", type=int, help="another seed, in a folder of its own")
    made.add_argument("--trust-recipe", action="store_true", help="run a recipe from outside the package")
    made.add_argument("--quiet", action="store_true", help="no progress bars")
    return made
