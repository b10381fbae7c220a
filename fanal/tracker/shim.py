"""`shim()`: from then on `import wandb` gives Fanal, for trainers and libraries that say so themselves.

The module says what it is: its version is that of the interface with Fanal's after a plus (`0.31.0+fanal.…`), which
version checks of other libraries accept, and its file is this one. Where the real wandb is imported already it is left
alone and the call is refused. Modules of it that Fanal does not have fail as absent ones do.
"""

import sys
from collections.abc import Iterable
from importlib import import_module
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from pathlib import Path
from types import ModuleType
from typing import Any

import fanal
from fanal.errors import RefusedError

INTERFACE = "0.31.0"
"""The version of wandb whose calls these are."""
_MEDIA = ("Image", "Audio", "Video", "Html", "Plotly", "Object3D", "Molecule", "Table", "Histogram")
_MODULES: dict[str, dict[str, str]] = {
    "wandb.sdk": {},
    "wandb.sdk.wandb_run": {"Run": "tracker.run:Run"},
    "wandb.wandb_run": {"Run": "tracker.run:Run"},
    "wandb.sdk.wandb_settings": {"Settings": "tracker.settings:Settings"},
    "wandb.sdk.wandb_config": {"Config": "tracker.names:Config"},
    "wandb.sdk.wandb_summary": {"Summary": "tracker.names:Summary"},
    "wandb.sdk.wandb_alerts": {"AlertLevel": "tracker.alert:AlertLevel"},
    "wandb.sdk.lib": {"RunDisabled": "tracker.shim:RunDisabled"},
    "wandb.sdk.lib.disabled": {"RunDisabled": "tracker.shim:RunDisabled"},
    "wandb.sdk.lib.config_util": {"ConfigError": "tracker.errors:UsageError"},
    "wandb.sdk.lib.runid": {"generate_id": "tracker.util:generate_id"},
    "wandb.sdk.data_types": {},
    "wandb.sdk.data_types.base_types": {},
    "wandb.sdk.data_types.base_types.media": {"Media": "record.values:Media"},
    "wandb.sdk.artifacts": {},
    "wandb.sdk.artifacts.artifact": {"Artifact": "tracker.artifact:Artifact"},
    "wandb.data_types": {name: f"tracker.shim:{name}" for name in _MEDIA},
    "wandb.util": {"generate_id": "tracker.util:generate_id"},
    "wandb.errors": {},
    "wandb.plot": {},
    "wandb.env": {},
    "wandb.apis": {"PublicApi": "tracker.calls:Api"},
    "wandb.apis.public": {"Api": "tracker.calls:Api"},
    "wandb.integration": {},
}
"""The modules that scripts and libraries import, and where each name of theirs is found."""
_OURS = {"wandb.errors": "fanal.tracker.errors", "wandb.plot": "fanal.tracker.plot"}
"""Those that are modules of the tracker."""
_TOP = {"wandb_run": "wandb.sdk.wandb_run", "wandb_sdk": "wandb.sdk"}


class RunDisabled:
    """No run is ever one: a disabled run here is a `Run`."""


class Shim(ModuleType):
    """A module named as wandb's, whose names are found in Fanal."""

    def __init__(self, name: str, places: dict[str, str]) -> None:
        super().__init__(name, __doc__)
        self.__file__ = __file__
        self.__path__ = []
        self.__version__ = version()
        self.__spec__ = ModuleSpec(name, None, origin=__file__, is_package=True)
        self._places = places

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        own = self.__dict__.get("_places", {}).get(name)
        if own is not None and not own.startswith("tracker.shim:"):
            module, _, inner = own.partition(":")
            return getattr(import_module(f"fanal.{module}"), inner)
        if own == "tracker.shim:RunDisabled":
            return RunDisabled
        if own is not None or self.__name__ == "wandb":
            return getattr(fanal, name)
        raise AttributeError(f"fanal's {self.__name__} has no {name!r}")


class ShimDistribution(Distribution):
    """What `importlib.metadata` says of the shim."""

    def read_text(self, filename: str) -> str | None:
        """The metadata, which say what this is."""
        if filename not in ("METADATA", "PKG-INFO"):
            return None
        return f"Metadata-Version: 2.1\nName: wandb\nVersion: {version()}\nSummary: wandb's calls, recorded by Fanal\n"

    def locate_file(self, path: Any) -> Path:
        """Where a file of it would be."""
        return Path(__file__).parent / path


class Finder(DistributionFinder):
    """Finds the shim's metadata."""

    def find_spec(self, *_: Any, **__: Any) -> None:
        """No module: those of the shim are there already."""
        return

    def find_distributions(self, context: DistributionFinder.Context | None = None) -> Iterable[Distribution]:
        """The shim, where it is asked for by name."""
        name = context.name if context is not None else None
        return [ShimDistribution()] if name is not None and name.lower() == "wandb" else []


def version() -> str:
    """The interface's version, and Fanal's after a plus."""
    return f"{INTERFACE}+fanal.{fanal.__version__.replace('+', '.')}"


def shim() -> ModuleType:
    """Have `import wandb` give Fanal from now on; the module.

    Raises:
        RefusedError: the real wandb is imported already.
    """
    there = sys.modules.get("wandb")
    if isinstance(there, Shim):
        return there
    if there is not None:
        raise RefusedError("fanal.shim(): wandb is imported already: call it before anything that imports wandb")
    top = Shim("wandb", {})
    sys.modules["wandb"] = top
    for name, places in _MODULES.items():
        module = import_module(_OURS[name]) if name in _OURS else Shim(name, places)
        sys.modules[name] = module
        above, _, last = name.rpartition(".")
        setattr(sys.modules[above], last, module)
    for name, target in _TOP.items():
        setattr(top, name, sys.modules[target])
    sys.meta_path.insert(0, Finder())
    return top
