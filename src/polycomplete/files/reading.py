"""What a reader of files has to be told."""

from __future__ import annotations

from dataclasses import dataclass

from polycomplete.files.cells import MARKERS


@dataclass(frozen=True)
class Reading:
    """What a reader has to be told where a file does not speak for itself.

    Attributes
    ----------
    delimiter : str or None
        What stands between the cells of a text file; None for the usual, or what the header
        suggests.
    missing : tuple of str
        What stands for a missing cell, besides :data:`~polycomplete.files.cells.MARKERS`.
    encoding, decimal : str
        Of a text file: how bytes become letters; what stands before decimals.
    header : bool
        Whether a text file begins with the names of its columns.
    sheet : str or None
        The sheet of an Excel file; None for the first.
    variable : str or None
        The array of a .mat or .npz file; None for the only one, or the one called X.

    Examples
    --------
    >>> "-999" in Reading(missing=("-999",)).markers
    True
    """

    delimiter: str | None = None
    missing: tuple[str, ...] = ()
    encoding: str = "utf-8"
    decimal: str = "."
    header: bool = True
    sheet: str | None = None
    variable: str | None = None

    @property
    def markers(self) -> tuple[str, ...]:
        """All that stands for a missing cell."""
        return (*MARKERS, *self.missing)
