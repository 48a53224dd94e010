"""What only the fit knows of its rows, and whether the rows of a report are those of the fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from polycomplete.report.cells import DAY, Cells, label_of
from polycomplete.tables.cells import SECONDS

__all__: list[str] = []

#: The rounding error of a mean, relative to the largest number.
ROUNDING = 1e-12


class Fit:
    """Held-out cells, deviations and undetermined rows of a completer.

    ``same`` says whether a report may use them. It becomes False with the first column that cannot
    be of the fit: cells are missing elsewhere, or their mean is another one.
    """

    def __init__(self, completer: Any, names: list[str], rows: int):
        self.names = names
        self.schema = {str(column.name): column for column in getattr(completer, "schema_", ())}
        known = [name for name, column in self.schema.items() if column.is_completed]
        own = [str(name) for name in getattr(completer, "feature_names_in_", ())]
        places = known if self.schema else own if set(names) <= set(own) else names
        self.places = {name: j for j, name in enumerate(places)}
        self.held = getattr(completer, "held_out_", None)
        self.std = getattr(completer, "cell_std_", None)
        self.determined = getattr(getattr(completer, "method_", completer), "row_determined_", None)
        self.knows = any(part is not None for part in (self.held, self.std, self.determined))
        rows_agree = getattr(completer, "n_samples_seen_", None) == rows
        self.same = self.knows and rows_agree and set(places) <= set(names)
        self._proba = getattr(completer, "proba_", {})
        usual: Any = [self.schema[name].usual for name in known]
        self._means = usual or getattr(completer, "statistics_", ())
        self._unit, self._origin = np.ones(len(places)), np.zeros(len(places))
        for j, name in enumerate(known):
            column = self.schema[name]
            self._unit[j] = SECONDS[column.unit] / DAY if column.unit else 1.0
            self._origin[j] = column.origin

    def is_text(self, name: str) -> bool:
        """Return whether a column is completed by labels, whatever its dtype."""
        column = self.schema.get(name)
        return column is not None and column.is_completed and not column.is_line

    def told(self, name: str, cells: Cells) -> np.ndarray:
        """Return which cells of a column are known to the fit: not labels that it never saw."""
        if not (self.is_text(name) and self.schema[name].levels):
            return cells.seen
        levels = {label_of(level) for level in self.schema[name].levels}
        return cells.seen & np.array([label in levels for label in cells.entries], dtype=bool)

    def deviation(self, name: str) -> np.ndarray | None:
        """Return the deviation of each cell of a column, in the units of the report."""
        if not self.same or self.std is None or name not in self.places:
            return None
        if name not in self.schema:
            return np.asarray(self.std[:, self.places[name]])
        column = self.schema[name]
        found = self.std.get(column.name)
        return None if found is None else found / (DAY if column.unit else 1.0)

    def compare(self, name: str, cells: Cells, told: np.ndarray, column: dict[str, Any]) -> None:
        """Note where a column cannot be one of the fit."""
        deviation = self.deviation(name)
        if deviation is not None and np.any(deviation[told] != 0):
            self.same = False
        if name in self.schema and self.schema[name].name in self._proba:
            rows = self._proba[self.schema[name].name].rows
            self.same = self.same and np.array_equal(rows, np.flatnonzero(~told))
        if self.same and cells.kind != "text" and name in self.places:
            j = self.places[name]
            mean = (self._means[j] + self._origin[j]) * self._unit[j]
            size = max(abs(column["lowest"]), abs(column["highest"]))
            self.same = bool(
                np.isclose(column["mean"], mean, 0, np.nan_to_num(size) * ROUNDING, equal_nan=True)
            )

    def hidden(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return column, truth and completion of each held-out cell; of labels, their codes."""
        if not self.same or self.held is None:
            return np.empty(0, dtype=int), np.empty(0), np.empty(0)
        columns, place = self.held.columns, np.array(list(map(self.names.index, self.places)))
        truth, found = (
            (part + self._origin[columns]) * self._unit[columns]
            for part in (self.held.truth, self.held.completed)
        )
        return place[columns], truth, found
