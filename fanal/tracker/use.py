"""Artifacts in a record: logged with a version counted by name, found again by `name:version` or `name:alias`."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fanal.record import layout
from fanal.record.events import Event, nearest
from fanal.tracker import earlier
from fanal.tracker.artifact import Artifact, Entry
from fanal.tracker.errors import UsageError
from fanal.tracker.keep import kept_file

if TYPE_CHECKING:
    from fanal.tracker.run import Run

LATEST = "latest"


def as_artifact(run: "Run", given: Any, name: str | None, type: str | None) -> Artifact:
    """An artifact, or one of a file or folder."""
    if isinstance(given, Artifact):
        return given
    path = Path(str(given).removeprefix("file://"))
    artifact = Artifact(name or f"run-{run.id}-{path.name}", type or "unspecified")
    if path.is_dir():
        artifact.add_dir(path)
    elif path.is_file():
        artifact.add_file(path)
    elif "://" in str(given):
        artifact.add_reference(str(given))
    else:
        raise UsageError(f"log_artifact: {path} is not there")
    return artifact


def log_artifact(run: "Run", artifact: Artifact, aliases: Any, tags: Any) -> Artifact:
    """Record a version; the artifact, which knows it then."""
    _say_unused(run, artifact)
    extra = [aliases] if isinstance(aliases, str) else list(aliases or ())
    artifact.aliases = list(dict.fromkeys([*artifact.aliases, *extra, LATEST]))
    artifact.tags = list(tags or artifact.tags)
    artifact.kept = [file for entry in artifact.entries.values() if (file := _kept(run, artifact, entry))]
    artifact.number = _next_version(run, artifact.base_name)
    artifact.record = run.record.path
    run.record.event("artifact", **_fields(artifact, "logged"))
    return artifact


def use_artifact(run: "Run", given: Any, type: str | None, aliases: Any, use_as: str | None) -> Artifact:
    """Record that an artifact is used; the artifact."""
    if aliases or use_as:
        run.note("use_artifact", {"aliases": aliases, "use_as": use_as})
    if isinstance(given, Artifact):
        artifact = given if given.number is not None else log_artifact(run, given, aliases, None)
    else:
        artifact = _found(run, str(given))
    if type is not None and artifact.type != type:
        raise UsageError(f"use_artifact: {artifact.name} is a {artifact.type!r}, not a {type!r}")
    run.record.event("artifact", **_fields(artifact, "used"))
    return artifact


def _found(run: "Run", wanted: str) -> Artifact:
    name, _, alias = wanted.rsplit("/", 1)[-1].partition(":")
    logged = list(_logged(run, name))
    alias = alias or LATEST
    matching = [e for e in logged if alias in e.fields["aliases"] or alias == f"v{e.fields['version']}"]
    if not matching:
        known = sorted({f"{e.fields['name']}:v{e.fields['version']}" for e in _logged(run, None)})
        raise UsageError(f"use_artifact: this record has no {name}:{alias}; nearest: {nearest(wanted, known)}")
    fields = max(matching, key=lambda event: event.fields["version"]).fields
    artifact = Artifact(fields["name"], fields["type"], fields.get("description"), fields["metadata"])
    artifact.aliases, artifact.number = list(fields["aliases"]), fields["version"]
    artifact.kept, artifact.record = list(fields["files"]), run.record.path
    artifact.entries = {file["name"]: Entry(file["name"], ref=file.get("reference")) for file in artifact.kept}
    return artifact


def _logged(run: "Run", name: str | None) -> Iterator[Event]:
    """The versions of a name that this record holds, those of other runs and processes among them."""
    record = run.record.path
    for other in layout.runs_of(record):
        for attempt in layout.attempts_of(record, other):
            for event in earlier.events(record, other, attempt):
                if (
                    event.kind == "artifact"
                    and event.fields["direction"] == "logged"
                    and name in (None, event.fields["name"])
                ):
                    yield event


def _next_version(run: "Run", name: str) -> int:
    """Counted by name within the record; the record is looked through once a run and name."""
    known = run.versions.get(name)
    if known is None:
        known = max((event.fields["version"] for event in _logged(run, name)), default=-1)
    run.versions[name] = known + 1
    return known + 1


def _fields(artifact: Artifact, direction: str) -> dict[str, Any]:
    return {
        "name": artifact.base_name,
        "type": artifact.type,
        "version": artifact.number,
        "aliases": artifact.aliases,
        "direction": direction,
        "description": artifact.description,
        "metadata": dict(artifact.metadata),
        "files": artifact.kept,
    }


def _kept(run: "Run", artifact: Artifact, entry: Entry) -> dict[str, Any] | None:
    if entry.ref is not None:
        return {"name": entry.path, "bytes": 0, "blob": None, "sha256": None, "reference": entry.ref}
    if entry.obj is not None:
        return {"name": entry.path, "bytes": 0, "blob": None, "sha256": None, "media": entry.obj.to_record(run.record)}
    assert entry.local_path is not None, "an entry is a file, an address or a medium"
    try:
        return kept_file(run, entry.local_path, entry.path)
    except OSError as error:
        what = f"{artifact.base_name}: {entry.path} cannot be read: {error.strerror or error}"
        run.notices.once(f"artifact {artifact.base_name}/{entry.path}", f"log_artifact: {what}")
        return None


def _say_unused(run: "Run", artifact: Artifact) -> None:
    if given := {name: value for name, value in artifact.given.items() if value is not None}:
        run.note("Artifact", given)
