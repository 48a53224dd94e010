"""Numbers that users pass and that do not do: one sentence that names the place and the value."""

from __future__ import annotations

import math
from numbers import Real


def check_numbers(owner: object, *names: str, zero: bool = False) -> None:
    """Raise unless these attributes of an object are finite numbers above zero (or zero)."""
    for name in names:
        value = getattr(owner, name)
        good = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
        if not good or value < 0 or (value == 0 and not zero):
            kind = "a number that is not negative" if zero else "a positive number"
            raise ValueError(f"{type(owner).__name__}({name}=...) must be {kind}, got {value!r}.")


class FarCellError(ValueError):
    """A row that cannot be completed, because an entry is too far from what was learned."""

    def __init__(self, owner: object, row: int, column: int, value: object):
        names = getattr(owner, "feature_names_in_", None)
        self.row, self.column = int(row), int(column)
        named = self.column if names is None else repr(names[column])
        super().__init__(self.said(named, value))

    def said(self, name: object, value: object) -> str:
        """Return the message with the name of the column and the entry."""
        return (
            f"Row {self.row} cannot be completed: its {value} in column {name} is too far from "
            "the rows that were learned; correct it, or make it missing to have it completed."
        )
