"""Reading: a packaged name or a TOML file becomes a checked `Campaign`, or an error that lists every mistake.

Unknown keys, wrong types and missing keys come first, all at once; when the file decodes, the values are judged, all
at once too. Nothing is run or imported that the file names; a file that names code of others is refused here, once,
unless the caller trusts it, so that everything after may run what a campaign says.
"""

import tomllib
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from fanal.campaign.check import problems
from fanal.campaign.decode import decode
from fanal.campaign.sheet import is_own, nearest
from fanal.campaign.spec import Campaign
from fanal.errors import CampaignError, RefusedError

_PACKAGED = files("fanal.campaigns")

FORMAT = 1
"""The version of the format that `spec.py` describes."""


def packaged() -> tuple[str, ...]:
    """The names of the campaigns that come with Fanal."""
    names = (entry.name for entry in _PACKAGED.iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


def load(name_or_path: str | Path, *, trust_recipe: bool = False) -> Campaign:
    """The campaign of that packaged name, or of that file (a path with a folder or the ending `.toml`).

    Raises:
        CampaignError: no such campaign, no TOML, or mistakes in it; names file, key path and nearest known key.
        RefusedError: it names a recipe or law outside `fanal.campaign` and `trust_recipe` is false.
    """
    if isinstance(name_or_path, str) and name_or_path in packaged():
        file = f"{name_or_path}.toml"
        return parse((_PACKAGED / file).read_text(encoding="utf-8"), file, trust_recipe=trust_recipe)
    path = Path(name_or_path)
    if isinstance(name_or_path, str) and path.suffix != ".toml" and not path.is_file():
        known = packaged()
        raise CampaignError(
            f"no campaign {name_or_path!r}: it is neither a file nor one of {', '.join(known)}; "
            f"nearest: {nearest(name_or_path, list(known))}"
        )
    try:
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise CampaignError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CampaignError(f"{path}: is not UTF-8 at byte {error.start}") from error
    return parse(text, str(path), trust_recipe=trust_recipe)


def parse(text: str, file: str, *, trust_recipe: bool = False) -> Campaign:
    """The campaign that `text` holds; `file` names it in errors.

    Raises:
        CampaignError, RefusedError: as `load`.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise CampaignError(f"{file}: is not TOML: {error}") from error
    version = table.get("format")
    if isinstance(version, int) and version != FORMAT:
        raise CampaignError(f"{file}: format: this version of Fanal reads format {FORMAT}, found {version}")
    campaign = decode(Campaign, table, file)
    found = list(problems(campaign))
    if found:
        raise CampaignError("\n".join(f"{file}: {problem}" for problem in found))
    foreign = [] if trust_recipe else [f"{path} = {name!r}" for path, name in _code(campaign) if not is_own(name)]
    if foreign:
        lines = (f"{file}: {line} would run code that is not Fanal's own; read it" for line in foreign)
        raise RefusedError("\n".join(lines) + ", then pass --trust-recipe")
    return campaign


def with_seed(campaign: Campaign, seed: int) -> Campaign:
    """The same campaign from another seed; a rung's further seeds count on from it, so choose seeds far apart."""
    if seed < 0:
        raise CampaignError(f"ladder.seed: must be at least 0, found {seed}")
    return replace(campaign, ladder=replace(campaign.ladder, seed=seed))


def _code(campaign: Campaign) -> Iterator[tuple[str, str]]:
    """Every place where the campaign names a function, and the function."""
    yield "trainer.recipe", campaign.trainer.recipe
    for name, setting in campaign.trainer.set.items():
        if setting.law is not None:
            yield f"trainer.set.{name}.law", setting.law
