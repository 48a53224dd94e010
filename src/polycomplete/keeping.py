"""What users keep of a fitted estimator: the estimator itself in a file, and its report."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING

from sklearn.utils.validation import check_is_fitted

from polycomplete.persistence import save

if TYPE_CHECKING:
    from polycomplete.report import Report

__all__ = ["Reported", "Savable"]


class Savable:
    """An estimator that can be written into a file.

    Examples
    --------
    >>> from polycomplete import SubspaceClusterer
    >>> isinstance(SubspaceClusterer(), Savable)
    True
    """

    def save(self, path: str | PathLike[str]) -> None:
        """Write the estimator into a file, which :func:`polycomplete.load` reads.

        Parameters
        ----------
        path : str or path
            Where; a file of that name is replaced.
        """
        save(self, path)


class Reported(Savable):
    """An estimator that tells of its fit.

    Examples
    --------
    >>> from polycomplete import PMC
    >>> isinstance(PMC(), Reported)
    True
    """

    @property
    def report_(self) -> Report:
        """The report of the fit: shown as a page in notebooks, ``report_.write(path)`` keeps it."""
        from polycomplete.report import Report  # by need: it reads completers, and takes time

        check_is_fitted(self)
        return Report.of(self)
