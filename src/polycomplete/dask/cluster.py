"""Where the work is done: the workers of this machine, or those of a scheduler elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from polycomplete._optional import need


@contextmanager
def connected(workers: int | None = None, scheduler: str | None = None) -> Iterator[Any]:
    """Use worker processes of this machine, or the scheduler of a cluster.

    Parameters
    ----------
    workers : int, optional
        Start so many processes here, with one thread each, and end them afterwards.
    scheduler : str, optional
        The address of a running scheduler, such as ``tcp://10.0.0.1:8786``. Without either,
        whatever Dask uses by itself.

    Returns
    -------
    context manager
        Gives the client of :mod:`distributed`; None without workers and scheduler.

    Examples
    --------
    >>> with connected() as client:
    ...     print(client)
    None
    """
    if workers is not None and scheduler is not None:
        raise ValueError("Give workers or scheduler, not both: a scheduler has its own workers.")
    if workers is None and scheduler is None:
        yield None
        return
    distributed = need("distributed", "dask", "Working with several processes")
    if scheduler is not None:
        with distributed.Client(scheduler) as client:
            yield client
        return
    # Any free port for the dashboard, which several jobs on a machine would fight for.
    with (
        distributed.LocalCluster(
            n_workers=workers, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def compute(tasks: Sequence[Any], progress: bool = False) -> list[Any]:
    """Do tasks where Dask is set to do them, with a bar that shows how far they are.

    Parameters
    ----------
    tasks : sequence of Delayed
        What to do.
    progress : bool
        Show the bar.

    Returns
    -------
    list

    Examples
    --------
    >>> from dask import delayed
    >>> compute([delayed(sum)([1, 2]), delayed(sum)([3, 4])])
    [3, 7]
    """
    dask = need("dask", "dask", "Computing with Dask")
    if not progress:
        return list(dask.compute(*tasks))
    distributed = need("distributed", "dask", "Working with several processes")
    try:
        client = distributed.get_client()
    except ValueError:  # there is none
        with need("dask.diagnostics", "dask", "A progress bar").ProgressBar():
            return list(dask.compute(*tasks))
    futures = client.compute(list(tasks))
    distributed.progress(futures, notebook=False)
    return list(client.gather(futures))
