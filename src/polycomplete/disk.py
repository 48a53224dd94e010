"""From file to file in bounded memory."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from polycomplete.base import BaseCompleter
from polycomplete.files.whole import refuse_taken, written_whole
from polycomplete.gathering import naming
from polycomplete.rowfiles import rows_of

__all__ = ["complete_block", "complete_file", "is_fitted"]


def complete_file(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    completer: Any,
    *,
    force: bool = False,
) -> Any:
    """Complete the rows of a file into another file, in bounded memory.

    The file is read twice: to learn, and to complete. The other one appears when it is whole.

    Parameters
    ----------
    source : str or path
        A two-dimensional array (``.npy``) or a table (``.parquet``).
    target : str or path
        A file of the same kind.
    completer : completer
        One that is fitted is used as it is; others learn from the file, by ``fit_blocks``.
    force : bool, default=False
        Replace a file of that name.

    Returns
    -------
    completer
        Fitted.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from polycomplete import PMC, Landmark, datasets, masks
    >>> X = datasets.make_polynomial_manifold(1000, 6, random_state=0)
    >>> pmc = PMC(solver=Landmark(max_samples=100), smoothing=1e-4, random_state=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     given, result = Path(folder) / "given.npy", Path(folder) / "result.npy"
    ...     np.save(given, masks.apply(X, masks.uniform(X.shape, 0.8, random_state=0)))
    ...     pmc = complete_file(given, result, pmc)
    ...     int(np.isnan(np.load(given)).sum()), int(np.isnan(np.load(result)).sum())
    (1200, 0)
    """
    source, target = Path(source), Path(target)
    rows = rows_of(source)
    if target.suffix.lower() != source.suffix.lower():
        raise ValueError(f"{target} must be a {source.suffix} file, as {source} is.")
    refuse_taken(target, force)
    fitted = is_fitted(completer)
    if not fitted and not hasattr(completer, "fit_blocks"):
        raise TypeError(
            f"{type(completer).__name__} cannot learn from blocks of rows; fit it on rows that fit "
            "into memory first, or use PMC."
        )
    with naming(str(source)):
        if not fitted:
            completer.fit_blocks(rows)
        with written_whole(target, force=force) as file:
            rows.write(partial(complete_block, completer), file)
    return completer


def complete_block(completer: Any, block: Any) -> Any:
    """Complete the rows of a block, which may have none.

    Parameters
    ----------
    completer : completer
        Fitted.
    block : array or data frame
        Rows with holes.

    Returns
    -------
    array or data frame

    Examples
    --------
    >>> import numpy as np
    >>> from polycomplete import LRMC
    >>> lrmc = LRMC().fit([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    >>> complete_block(lrmc, np.empty((0, 2))).shape
    (0, 2)
    """
    if isinstance(completer, BaseCompleter):
        return completer._transform(block, fewest=0)
    return completer.transform(block)


def is_fitted(completer: Any) -> bool:
    """Return whether an estimator has learned.

    Parameters
    ----------
    completer : estimator
        Any.

    Returns
    -------
    bool

    Examples
    --------
    >>> from polycomplete import LRMC
    >>> is_fitted(LRMC()), is_fitted(LRMC().fit([[1.0, 2.0], [2.0, 1.0]]))
    (False, True)
    """
    try:
        check_is_fitted(completer)
    except NotFittedError:
        return False
    return True
