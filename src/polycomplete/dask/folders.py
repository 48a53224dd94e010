"""A folder of Parquet files in, one out: each file by itself, whole or not at all."""

from __future__ import annotations

import json
import os
from functools import partial
from itertools import accumulate
from numbers import Integral
from pathlib import Path
from typing import Any

import joblib
from sklearn.base import clone
from sklearn.utils import check_random_state

from polycomplete._optional import need
from polycomplete.dask.cluster import compute, connected
from polycomplete.dask.partitions import complete, lean, summed
from polycomplete.dask.tables import look_for
from polycomplete.disk import is_fitted
from polycomplete.files.whole import written_whole
from polycomplete.rowfiles import ParquetRows

__all__ = ["complete_parquet"]

LABEL = "_polycomplete.json"  # readers of Parquet folders skip names with an underscore


def complete_parquet(
    source: str | os.PathLike[str],
    target: str | os.PathLike[str],
    completer: Any,
    *,
    resume: bool = False,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: bool = False,
) -> Any:
    """Complete a folder of Parquet files into another folder, with the same names.

    Each file is completed in bounded memory by one worker and appears when it is whole; so a job
    that was killed can be resumed, with the identical result.

    Parameters
    ----------
    source : str or path
        A folder with ``.parquet`` files, in folders of their own if need be.
    target : str or path
        Another folder, which must be empty or not there yet.
    completer : completer
        One that is fitted is used as it is; others learn from all files, as :func:`fit` does it.
    resume : bool, default=False
        Go on with a job that was stopped: files that are in the target already are not done again.
        The source and the parameters must be those of that job.
    workers : int, optional
        Work with so many processes on this machine.
    scheduler : str, optional
        Work on the cluster of this scheduler, whose workers must see both folders. Without
        either, by what Dask is set to: a client that is open, or threads.
    progress : bool, default=False
        Show how far the work is.

    Returns
    -------
    completer
        Fitted: the given one where it was fitted before, else a copy of it.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from polycomplete import PMC, datasets, masks
    >>> X = datasets.make_polynomial_manifold(60, 5, random_state=0)
    >>> X = masks.apply(X, masks.uniform(X.shape, 0.8, random_state=0))
    >>> X = pd.DataFrame(X, columns=list("abcde"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     given, result = Path(folder) / "given", Path(folder) / "result"
    ...     given.mkdir()
    ...     X[:40].to_parquet(given / "a.parquet")
    ...     X[40:].to_parquet(given / "b.parquet")
    ...     pmc = complete_parquet(given, result, PMC(smoothing=1e-3, random_state=0))
    ...     sorted(path.name for path in result.iterdir())
    ...     int(pd.read_parquet(result).isna().sum().sum())
    ['_polycomplete.json', 'a.parquet', 'b.parquet']
    0
    """
    source, target = Path(source), Path(target)
    rows = _rows(source)
    label = _label(completer, rows)
    if resume and (target / LABEL).exists():
        label = _resumed(target, label)
    _begin(target, label, resume)
    delayed = need("dask", "dask", "Computing with Dask").delayed
    with connected(workers, scheduler):
        if not is_fitted(completer):
            completer = clone(completer).set_params(random_state=label["seed"])
            _learn(completer, rows, progress)
        sent = delayed(lean(completer), traverse=False)
        pairs = [(each.path, target / each.path.relative_to(source)) for each in rows]
        todo = [pair for pair in pairs if not pair[1].exists()]
        compute([delayed(_complete_file)(*pair, sent) for pair in todo], progress)
    _tidy(target)
    return completer


def _rows(source: Path) -> list[ParquetRows]:
    """Return the files of a folder, which must have the same columns."""
    if not source.is_dir():
        raise NotADirectoryError(f"{source} is no folder; complete_file takes a single file.")
    paths = sorted(path for path in source.rglob("*.parquet") if path.name[0] not in "._")
    if not paths:
        raise FileNotFoundError(f"There is no .parquet file in {source}.")
    rows = [ParquetRows(path) for path in paths]
    first = rows[0].names
    for each in rows[1:]:
        names = each.names
        if names != first:
            lacking, extra = sorted(set(first) - set(names)), sorted(set(names) - set(first))
            said = [f"lacks {', '.join(map(repr, lacking))}"] if lacking else []
            said += [f"has {', '.join(map(repr, extra))} besides"] if extra else []
            said = said or ["has them in another order"]
            raise ValueError(
                f"{each.path} does not have the columns of {rows[0].path}: it "
                f"{' and '.join(said)}; make the files alike first."
            )
    return rows


def _label(completer: Any, rows: list[ParquetRows]) -> dict[str, Any]:
    """Return what tells a job from another: what it does, with what, and its seed."""
    if is_fitted(completer):  # it is what it does
        some = complete(next(iter(rows[0])).slice(0, 100), completer, str(rows[0].path)).to_pydict()
        work, seed = joblib.hash(some), None
    else:
        given = getattr(completer, "random_state", None)
        work = repr(sorted(completer.get_params().items(), key=str))
        seed = int(
            given if isinstance(given, Integral) else check_random_state(given).randint(2**31)
        )
    files = [[each.path.name, each.count, each.path.stat().st_size] for each in rows]
    return {"job": joblib.hash([type(completer).__name__, work, files]), "seed": seed}


def _resumed(target: Path, label: dict[str, Any]) -> dict[str, Any]:
    """Return the label of the job that is to go on, which must be this one."""
    there: dict[str, Any] = json.loads((target / LABEL).read_text())
    if there["job"] != label["job"]:
        raise ValueError(
            f"{target} was begun with another completer or other source files and cannot be "
            "resumed with these; choose another folder."
        )
    return there


def _begin(target: Path, label: dict[str, Any], resume: bool) -> None:
    """Make the folder ready."""
    target.mkdir(parents=True, exist_ok=True)
    begun = any(target.iterdir())
    if begun and not (resume and (target / LABEL).exists()):
        raise FileExistsError(
            f"{target} is not empty; choose another folder"
            + (", this one holds no job to resume." if resume else ", or resume the job in it.")
        )
    _tidy(target)
    with written_whole(target / LABEL, force=True) as file:
        file.write(json.dumps(label).encode())


def _tidy(target: Path) -> None:
    """Remove what processes left that were killed."""
    for path in target.rglob(".*.part"):
        path.unlink()


def _learn(completer: Any, rows: list[ParquetRows], progress: bool) -> None:
    """Learn from a sample of all files."""
    delayed = need("dask", "dask", "Computing with Dask").delayed
    look = look_for(completer, next(iter(rows[0])).schema.empty_table())  # a slice keeps all
    worker, counts = delayed(look, traverse=False), [each.count for each in rows]
    firsts = accumulate(counts[:-1], initial=0)
    found = [
        delayed(_look)(worker, each.path, first) for each, first in zip(rows, firsts, strict=True)
    ]
    look.fit(completer, compute([summed(found)], progress)[0])


def _look(look: Any, path: Path, first: int) -> Any:
    return look(ParquetRows(path), first, str(path))


def _complete_file(source: Path, target: Path, completer: Any) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(target, force=True) as file:
        ParquetRows(source).write(partial(complete, completer=completer, place=str(source)), file)
