"""What users keep of an estimator: a fit that went through, the estimator in a file, its report."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from os import PathLike
from typing import TYPE_CHECKING, Any, TypeVar, cast

from sklearn.utils.validation import check_is_fitted

from polycomplete.persistence import save

if TYPE_CHECKING:
    from polycomplete.report import Report

Fit = TypeVar("Fit", bound=Callable[..., Any])


def all_or_nothing(fit: Fit) -> Fit:
    """Make a method leave its estimator as it was if it is interrupted or raises.

    Parameters
    ----------
    fit : callable
        A method that sets attributes of its estimator, and changes none in place.

    Returns
    -------
    callable

    Examples
    --------
    >>> class Broken:
    ...     @all_or_nothing
    ...     def fit(self):
    ...         self.mean_ = 0.0
    ...         raise KeyboardInterrupt
    >>> broken = Broken()
    >>> try:
    ...     broken.fit()
    ... except KeyboardInterrupt:
    ...     print(hasattr(broken, "mean_"))
    False
    """

    @wraps(fit)
    def guarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = vars(self).copy()
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return cast(Fit, guarded)


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
    """An estimator that tells of what it completed.

    Examples
    --------
    >>> from polycomplete import PMC
    >>> isinstance(PMC(), Reported)
    True
    """

    def report(self, X: Any, completed: Any, **options: Any) -> Report:
        """Return the report of a completion: a page in notebooks, ``write(path)`` keeps it.

        Parameters
        ----------
        X, completed : array-like or data frame
            The table before and after; rows of the fit, or others.
        **options
            As :class:`polycomplete.report.Report` takes them.

        Returns
        -------
        Report
        """
        from polycomplete.report import Report  # by need: it reads completers, and takes time

        check_is_fitted(self)
        return Report(self, X, completed, **options)
