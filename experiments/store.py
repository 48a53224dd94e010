"""Trials on disk, one by one as they finish: what was committed survives whatever ends the run."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from experiments.experiment import Family, Task
from experiments.results import Results, Trial

__all__ = ["Store", "read_csv"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS session (
    id INTEGER PRIMARY KEY, started TEXT NOT NULL, facts TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS trial (
    family TEXT NOT NULL, version INTEGER NOT NULL, setting TEXT NOT NULL, method TEXT NOT NULL,
    seed INTEGER NOT NULL, measures TEXT NOT NULL, session INTEGER REFERENCES session (id),
    PRIMARY KEY (family, version, setting, method, seed));
"""
_KEY = ("family", "version", "setting", "method", "seed")
_ORDER = f"ORDER BY {', '.join(_KEY)}"


class Store:
    """The trials of an output folder, in an SQLite file.

    Parameters
    ----------
    path : Path
        The file, which is made where it is not there.
    """

    def __init__(self, path: Path):
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        try:
            with closing(self._open()) as base:
                base.executescript(_SCHEMA)
        except sqlite3.DatabaseError as error:
            raise ValueError(f"{path} is not a file of trials; choose another folder.") from error

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=60)

    def begin(self, started: str, facts: Mapping[str, Any]) -> int:
        """Note that a run begins, on which machine and with which versions; return its number."""
        with closing(self._open()) as base, base:
            row = base.execute(
                "INSERT INTO session (started, facts) VALUES (?, ?)", (started, json.dumps(facts))
            )
            return int(row.lastrowid or 0)

    def sessions(self) -> list[dict[str, Any]]:
        """Return when the runs began that left trials here, and the facts of their machines."""
        used = "SELECT session FROM trial"
        query = f"SELECT started, facts FROM session WHERE id IN ({used}) ORDER BY id"
        with closing(self._open()) as base:
            rows = base.execute(query)
            return [{"started": started, **json.loads(facts)} for started, facts in rows]

    def add(self, task: Task, measures: Mapping[str, float], session: int) -> None:
        """Write one trial down; when this returns it is on disk."""
        with closing(self._open()) as base, base:
            base.execute(
                "INSERT OR REPLACE INTO trial VALUES (?, ?, ?, ?, ?, ?, ?)",
                (*task, json.dumps(measures), session),
            )

    def done(self) -> set[Task]:
        """Return the trials that need not be run again."""
        with closing(self._open()) as base:
            return {Task(*row) for row in base.execute(f"SELECT {', '.join(_KEY)} FROM trial")}

    def rows(self) -> list[tuple[Task, dict[str, float]]]:
        """Return all trials with what was measured."""
        query = f"SELECT {', '.join(_KEY)}, measures FROM trial {_ORDER}"
        with closing(self._open()) as base:
            return [(Task(*row[:5]), json.loads(row[5])) for row in base.execute(query)]

    def results(self, family: Family) -> Results:
        """Return the trials of a family, of its present version."""
        return results_of(self.rows(), family)

    def csv(self) -> str:
        """Return all trials as comma-separated values."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow([*_KEY, "measures"])
        writer.writerows((*task, json.dumps(measures)) for task, measures in self.rows())
        return text.getvalue()


def results_of(rows: Iterable[tuple[Task, dict[str, float]]], family: Family) -> Results:
    """Pick the trials of a family, of its present version."""
    wanted = (family.name, family.version)
    return Results(
        Trial(task.values, task.method, task.seed, measures)
        for task, measures in rows
        if (task.family, task.version) == wanted
    )


def read_csv(path: Path) -> Sequence[tuple[Task, dict[str, float]]]:
    """Read trials that were exported as comma-separated values.

    Parameters
    ----------
    path : Path
        A file that :meth:`Store.csv` wrote.

    Returns
    -------
    list of (Task, dict)
        The trials with what was measured.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     store = Store(Path(folder, "trials.sqlite"))
    ...     store.add(Task("toy", 1, '{"n": 2}', "mean", 0), {"rse": 0.5}, session=1)
    ...     _ = Path(folder, "trials.csv").write_text(store.csv())
    ...     read_csv(Path(folder, "trials.csv"))
    [(Task(family='toy', version=1, setting='{"n": 2}', method='mean', seed=0), {'rse': 0.5})]
    """
    with path.open(newline="") as file:
        return [
            (
                Task(row["family"], int(row["version"]), row["setting"], row["method"],
                     int(row["seed"])),
                json.loads(row["measures"]),
            )
            for row in csv.DictReader(file)
        ]  # fmt: skip
