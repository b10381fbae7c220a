"""`Table`: rows under named columns, kept as JSON lines in a blob; cells may be media."""

from collections.abc import Iterator
from typing import Any

from fanal.record.files import line
from fanal.record.values import Media, encode
from fanal.tracker.errors import UsageError

DEFAULT_COLUMNS = ("Input", "Output", "Expected")
JSON_LINES = "application/jsonl"


class Table:
    """Rows under named columns."""

    def __init__(
        self,
        columns: Any = None,
        data: Any = None,
        rows: Any = None,
        dataframe: Any = None,
        dtype: Any = None,
        optional: Any = True,
        allow_mixed_types: bool = False,
        **ignored: Any,
    ) -> None:
        del dtype, optional, allow_mixed_types, ignored  # a cell is kept with its own type
        frame = dataframe if dataframe is not None else data if _is_frame(data) else _as_frame(columns)
        if frame is not None:
            self.columns: list[Any] = list(frame.columns)
            self.data: list[list[Any]] = [list(row) for row in frame.itertuples(index=False, name=None)]
            return
        given = data if data is not None else rows
        given = given.tolist() if hasattr(given, "tolist") else list(given or ())
        width = len(given[0]) if given else None
        self.columns = list(columns) if columns is not None else _columns(width)
        self.data = []
        for row in given:
            self.add_data(*row)

    def add_data(self, *data: Any) -> None:
        """Add a row.

        Raises:
            UsageError: it has more or fewer cells than there are columns.
        """
        if len(data) != len(self.columns):
            raise UsageError(f"a row of this table has {len(self.columns)} cells, got {len(data)}")
        self.data.append(list(data))

    def add_row(self, *row: Any) -> None:
        """Add a row."""
        self.add_data(*row)

    def add_column(self, name: Any, data: Any) -> None:
        """Add a column.

        Raises:
            UsageError: it has more or fewer cells than there are rows.
        """
        cells = list(data)
        if self.data and len(cells) != len(self.data):
            raise UsageError(f"a column of this table has {len(self.data)} cells, got {len(cells)}")
        self.data = [[*row, cell] for row, cell in zip(self.data or [[] for _ in cells], cells, strict=True)]
        self.columns.append(name)

    def get_column(self, name: Any, convert_to: str | None = None) -> list[Any]:
        """The cells of a column.

        Raises:
            KeyError: there is none of that name.
        """
        del convert_to
        if name not in self.columns:
            raise KeyError(f"table has no column {name!r}; it has {self.columns}")
        place = self.columns.index(name)
        return [row[place] for row in self.data]

    def iterrows(self) -> Iterator[tuple[int, list[Any]]]:
        """Number and cells of each row."""
        yield from enumerate(self.data)

    def to_record(self, run: Any) -> Media:
        """Columns, number of rows, and the blob with a row a line."""
        lines = b"".join(line([_cell(cell, run) for cell in row]) for row in self.data)
        blob = run.blob(lines, JSON_LINES)
        return Media({"$media": "table", "columns": self.columns, "num_rows": len(self.data), "rows": blob})


def _cell(cell: Any, run: Any) -> Any:
    return encode(cell.to_record(run) if callable(getattr(cell, "to_record", None)) else cell)


def _columns(width: int | None) -> list[Any]:
    if width is None or width == len(DEFAULT_COLUMNS):
        return list(DEFAULT_COLUMNS)
    return [f"column {number}" for number in range(width)]


def _is_frame(value: Any) -> bool:
    return hasattr(value, "itertuples") and hasattr(value, "columns")


def _as_frame(value: Any) -> Any:
    return value if _is_frame(value) else None
