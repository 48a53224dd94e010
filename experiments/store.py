"""Results on disk: one line of JSON each, written as it is found.

A line with ``machine`` tells of a run; every other line is a result and names its run, and a trial
the commit of the code. Whatever ends a run, the lines before stay; stores of several machines are
merged by concatenating them.
"""

from __future__ import annotations

import json
import os
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from experiments import machine


class Store:
    """The results in a file, which is made when the first run begins."""

    def __init__(self, path: Path):
        self.path = path
        self.run = self.commit = ""

    def begin(self, **about: Any) -> None:
        """Note that a run begins, and on which machine; results that are added belong to it."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if self.path.exists():
            self._cut_half_a_line()
        self.run = uuid.uuid4().hex[:12]
        started = datetime.now(UTC).isoformat(timespec="seconds")
        facts = machine.facts()
        self.commit = facts["commit"]
        self.add(started=started, **about, machine=facts)

    def add(self, **result: Any) -> None:
        """Append a result; when this returns it is on disk."""
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"run": self.run, **result}, default=float) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def results(self) -> list[dict[str, Any]]:
        """Return the results, in the order in which they were added."""
        return [line for line in self._lines() if "machine" not in line]

    def runs(self) -> list[dict[str, Any]]:
        """Return the runs, in the order in which they began."""
        return [line for line in self._lines() if "machine" in line]

    def _lines(self) -> list[dict[str, Any]]:
        if not self.path.exists():
            return []
        # What a killed run left behind its last line break is no result.
        whole = self.path.read_bytes().split(b"\n")[:-1]
        return [self._parsed(number, line) for number, line in enumerate(whole, start=1)]

    def _parsed(self, number: int, line: bytes) -> dict[str, Any]:
        try:
            return dict(json.loads(line))
        except ValueError:
            raise ValueError(
                f"Line {number} of {self.path} is not a result; remove it, or choose another file."
            ) from None

    def _cut_half_a_line(self) -> None:
        content = self.path.read_bytes()
        os.truncate(self.path, content.rfind(b"\n") + 1)


def benchmark_store(path: Path, resume: bool = False) -> Store:
    """Begin a benchmark, with the speed of the machine; results of earlier calls go, or stay."""
    if not resume:
        path.unlink(missing_ok=True)
    store = Store(path)
    store.begin(speed=machine.speed())
    return store


def save(path: Path, results: list[dict[str, Any]]) -> None:
    """Write all results of a benchmark."""
    store = benchmark_store(path)
    for result in results:
        store.add(**result)
    print(f"results and machine facts in {path}")
