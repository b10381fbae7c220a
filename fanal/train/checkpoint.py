"""States on disk: saved whole, found by number, loaded bit for bit or refused.

Guarantees that a checkpoint is either complete (its manifest, written last and by one rename, names every
file and every leaf with its SHA-256) or named as incomplete and never chosen, wherever the process was
killed; that loading casts nothing. Orbax holds the arrays. Costs about 0.1 s for 10 MB. It saves in the
foreground and on one host; it keeps no more than one temporary checkpoint beside the kept ones.
"""

import re
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeVar, cast

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp

from fanal import __version__
from fanal.errors import CheckpointError
from fanal.model.names import named
from fanal.record.files import DamagedError, read_document, seal, sha256, sync_folder, write_whole
from fanal.train.state import with_leaves

FORMAT = 1
MANIFEST = "manifest.json"
ARRAYS = "arrays"
FOLDER_NAME = re.compile(r"(?:step-)?(\d+)")
_GO_BACK = "the checkpoint is damaged: remove its folder to go on from the one before"

State = TypeVar("State")


@dataclass(frozen=True)
class CheckpointInfo:
    """What a checkpoint says of itself, beside its arrays."""

    run: str
    """Id of the run in the record."""
    fingerprint: str
    """SHA-256 of everything that decides the numbers of this run; a resume with another is refused."""
    step: int
    """Updates attempted."""
    position: int
    """Sequences drawn."""
    updates: int
    """Updates applied."""
    keep: bool = True
    """False where the next checkpoint replaces it."""
    progress: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Last evals and seconds by part, so that a finished run's result is found beside its state."""


@dataclass(frozen=True)
class CheckpointRef:
    """A complete checkpoint on disk; its arrays are not loaded."""

    path: Path
    info: CheckpointInfo
    leaves: tuple[dict[str, Any], ...]
    """By leaf: name, shape, dtype, sha256 of its bytes."""
    files: tuple[dict[str, Any], ...]
    """By file of the arrays' folder: path, bytes, sha256."""
    sha256: str
    """Of the manifest."""

    @property
    def step(self) -> int:
        return self.info.step

    @property
    def num_bytes(self) -> int:
        return sum(file["bytes"] for file in self.files)


@dataclass(frozen=True)
class Checkpoints:
    """What a folder holds."""

    complete: tuple[CheckpointRef, ...]
    """In order of step."""
    incomplete: tuple[Path, ...]
    """Left by a process that died while it saved; never chosen, replaced when that step is saved again."""


def list_checkpoints(folder: Path) -> Checkpoints:
    """Every checkpoint in `folder`, by number; names that are no step are ignored.

    Raises:
        CheckpointError: a manifest that is there and cannot be read.
    """
    found = [(int(match[1]), path) for path in _subfolders(folder) if (match := FOLDER_NAME.fullmatch(path.name))]
    found.sort()
    complete = tuple(_read_ref(path) for _, path in found if (path / MANIFEST).is_file())
    incomplete = tuple(path for _, path in found if not (path / MANIFEST).is_file())
    return Checkpoints(complete, incomplete)


def latest(folder: Path) -> CheckpointRef | None:
    """The complete checkpoint with the highest number, or None."""
    complete = list_checkpoints(folder).complete
    return complete[-1] if complete else None


def save(folder: Path, state: Any, info: CheckpointInfo) -> CheckpointRef:
    """Write `state` to `folder/step-<n>`, whole or not at all; an incomplete one of that step is replaced.

    Raises:
        CheckpointError: a complete checkpoint of that step is there already.
    """
    path = folder / f"step-{info.step}"
    if (path / MANIFEST).exists():
        raise CheckpointError(
            f"{path} is complete already; a checkpoint is never written over: load it or move it away"
        )
    if path.exists():
        shutil.rmtree(path)
    arrays = {name: np.asarray(leaf) for name, leaf in named(state).items()}
    path.mkdir(parents=True)
    _write_arrays(path / ARRAYS, arrays)
    leaves = [_leaf_entry(name, array) for name, array in arrays.items()]
    files = [_file_entry(file, path) for file in _files(path / ARRAYS)]
    document = {"format": FORMAT, "fanal": __version__, **asdict(info), "leaves": leaves, "files": files}
    write_whole(path / MANIFEST, seal(document))
    sync_folder(folder)
    return _read_ref(path)


def load(ref: CheckpointRef, template: State) -> State:
    """The saved state in the structure of `template` (arrays or `jax.ShapeDtypeStruct`s), bit for bit.

    Raises:
        CheckpointError: a damaged file, or a leaf whose name, shape or dtype is not the template's.
    """
    for entry in ref.files:
        _check_file(ref.path / entry["path"], entry)
    restored = ocp.PyTreeCheckpointer().restore((ref.path / ARRAYS).absolute())
    arrays = {entry["name"]: _checked_leaf(ref, entry, restored) for entry in ref.leaves}
    try:
        state = with_leaves(cast("Any", template), arrays)
    except CheckpointError as error:
        raise CheckpointError(f"{ref.path}: {error}") from error
    return jax.tree.map(_to_device, state)


def remove_replaced(folder: Path, newest: CheckpointRef) -> None:
    """Remove what `newest` replaces: older temporary checkpoints and older incomplete leftovers."""
    found = list_checkpoints(folder)
    for ref in found.complete:
        if ref.step < newest.step and not ref.info.keep:
            (
                ref.path / MANIFEST
            ).unlink()  # first, so that a kill in between leaves an incomplete one, never a torn one
            shutil.rmtree(ref.path)
    for path in found.incomplete:
        if int(path.name.removeprefix("step-")) < newest.step:
            shutil.rmtree(path)


def _write_arrays(folder: Path, arrays: Mapping[str, np.ndarray]) -> None:
    # Orbax takes no empty array and gives a scalar back as a Python number: the manifest alone holds the one, and the
    # other is written with one axis.
    written = {name: np.atleast_1d(array) for name, array in arrays.items() if array.size}
    ocp.PyTreeCheckpointer().save(folder.absolute(), written)
    for place in (folder, *folder.rglob("*")):
        sync_folder(place)


def _to_device(array: np.ndarray) -> jax.Array:
    placed = jnp.array(array)  # a copy: the device may share a host array's memory, and the next step gives it away
    assert placed.dtype == array.dtype, (placed.dtype, array.dtype)
    return placed


def _checked_leaf(ref: CheckpointRef, entry: Mapping[str, Any], restored: Mapping[str, np.ndarray]) -> np.ndarray:
    if 0 in entry["shape"]:
        return np.empty(entry["shape"], np.dtype(entry["dtype"]))
    array = np.asarray(restored[entry["name"]]).reshape(entry["shape"])
    if str(array.dtype) != entry["dtype"] or sha256(array.tobytes()) != entry["sha256"]:
        raise CheckpointError(f"{ref.path}: leaf {entry['name']!r} is not what was saved (SHA-256 differs); {_GO_BACK}")
    return array


def _check_file(path: Path, entry: Mapping[str, Any]) -> None:
    if not path.is_file():
        raise CheckpointError(f"{path} is missing; {_GO_BACK}")
    if sha256(path.read_bytes()) != entry["sha256"]:
        raise CheckpointError(f"{path} is not what was saved (SHA-256 differs); {_GO_BACK}")


def _read_ref(path: Path) -> CheckpointRef:
    try:
        document = read_document(path / MANIFEST)
    except DamagedError as error:
        raise CheckpointError(f"{error}; {_GO_BACK}") from error
    if document["format"] != FORMAT:
        raise CheckpointError(f"{path / MANIFEST} has format {document['format']}; this fanal reads {FORMAT}")
    info = CheckpointInfo(**{name: document[name] for name in CheckpointInfo.__dataclass_fields__})
    digest = sha256((path / MANIFEST).read_bytes())
    return CheckpointRef(path, info, tuple(document["leaves"]), tuple(document["files"]), digest)


def _leaf_entry(name: str, array: np.ndarray) -> dict[str, Any]:
    return {"name": name, "shape": list(array.shape), "dtype": str(array.dtype), "sha256": sha256(array.tobytes())}


def _file_entry(file: Path, base: Path) -> dict[str, Any]:
    content = file.read_bytes()
    return {"path": str(file.relative_to(base)), "bytes": len(content), "sha256": sha256(content)}


def _subfolders(folder: Path) -> Iterable[Path]:
    return (path for path in folder.iterdir() if path.is_dir()) if folder.is_dir() else ()


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())
