"""`Labels`: what a run is called, to whom it belongs and where it is, under the names that scripts ask for it by.

What is set after the beginning is recorded as a `settings` event; what `init` said stays in `attempt.start`.
"""

from typing import Any

from fanal.record.attempt import Run as Attempt
from fanal.tracker.asked import Asked
from fanal.tracker.nowhere import Nowhere
from fanal.tracker.settings import Settings


class Labels:
    """What a run is called, and where it is."""

    sweep_id = None
    sweep_url = None
    project_url = None

    def __init__(self, record: Attempt | Nowhere, asked: Asked) -> None:
        self.record = record
        self.asked = asked
        self.address = asked.publish
        """Where it is published: as given, until the publisher has said the public address."""
        self._labels: dict[str, Any] = {"name": asked.name, "notes": asked.notes, "tags": asked.tags}

    @property
    def id(self) -> str:
        """The run's id: a folder's name in the record."""
        return self.record.id

    @property
    def attempt(self) -> int:
        """Which attempt of the run this is."""
        return self.record.attempt

    @property
    def place(self) -> Any:
        """Where this process writes."""
        return self.record.place

    @property
    def name(self) -> str:
        """The run's name for people; its id where none was given."""
        return self._labels["name"] or self.id

    @name.setter
    def name(self, name: str) -> None:
        self._relabel("name", name)

    @property
    def notes(self) -> str | None:
        """A person's words about the run."""
        return self._labels["notes"]

    @notes.setter
    def notes(self, notes: str) -> None:
        self._relabel("notes", notes)

    @property
    def tags(self) -> tuple[str, ...]:
        """Tags."""
        return self._labels["tags"]

    @tags.setter
    def tags(self, tags: Any) -> None:
        self._relabel("tags", tuple(tags))

    @property
    def project(self) -> str:
        """The project; the record's folder where none was given."""
        return self.asked.project or self.record.path.name

    @property
    def entity(self) -> str:
        """Whose it is, as given; empty where nobody said."""
        return self.asked.entity or ""

    @property
    def group(self) -> str:
        """The group of runs; empty where none was given."""
        return self.asked.group or ""

    @property
    def job_type(self) -> str:
        """The kind of work; empty where none was given."""
        return self.asked.job_type or ""

    @property
    def path(self) -> str:
        """Entity, project and id."""
        return "/".join(part for part in (self.entity, self.project, self.id) if part)

    @property
    def url(self) -> str | None:
        """Where the run is published; None where it is not."""
        return self.address

    @property
    def settings(self) -> Settings:
        """The settings as given."""
        return self.asked.settings

    @property
    def disabled(self) -> bool:
        """Whether the run keeps nothing."""
        return isinstance(self.record, Nowhere)

    @property
    def offline(self) -> bool:
        """Whether nothing leaves this machine."""
        return self.asked.publish is None

    @property
    def sync_dir(self) -> str:
        """The record's folder."""
        return str(self.record.path)

    def _relabel(self, name: str, value: Any) -> None:
        self._labels[name] = value
        self.record.event("settings", call=f"run.{name}", given={name: value})
