"""The methods of the literature by name: short compositions of kernel, penalty and solver."""

from __future__ import annotations

import numpy as np

from polycomplete.completers import Completer
from polycomplete.kernels import Kernel, Polynomial
from polycomplete.penalties import Equal, Ramp, Schatten, Skip, Weights
from polycomplete.solvers import AdamPlus, Exact, Solver


class _InFeatureSpace(Completer):
    """What the named methods share: a Schatten-p penalty, with weights that make the method."""

    def __init__(
        self,
        kernel: Kernel | None = None,
        p: float | str = "auto",
        scale: str | None = "auto",
        smoothing: float | str = "auto",
        noise: float | None = None,
        solver: Solver | None = None,
        missing_values: float = np.nan,
        add_indicator: bool = False,
        keep_empty_features: bool = False,
        n_jobs: int = -1,
        device: str | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.p = p
        super().__init__(
            kernel=kernel,
            solver=solver,
            scale=scale,
            smoothing=smoothing,
            noise=noise,
            missing_values=missing_values,
            add_indicator=add_indicator,
            keep_empty_features=keep_empty_features,
            n_jobs=n_jobs,
            device=device,
            random_state=random_state,
            verbose=verbose,
        )

    def _weights(self) -> Weights:
        raise NotImplementedError

    def _penalty(self, solver: Solver) -> Schatten:
        if self.p != "auto":
            return Schatten(self.p, self._weights())  # type: ignore[arg-type]
        return Schatten(0.5 if isinstance(solver, AdamPlus) else -0.5, self._weights())


class NLMC(_InFeatureSpace):
    """Nonlinear matrix completion: the plain Schatten-p penalty in feature space.

    Fan & Chow (2018). The paper's R₁, PMC without weights. Parameters that are not listed here
    are those of :class:`~polycomplete.Completer`, as are the attributes.

    Parameters
    ----------
    kernel : Kernel, optional
        What "close" means; ``RBF()`` by default.
    p : "auto" or float, default="auto"
        The power of the penalty, at most 1. "auto" is −½, or the paper's ½ with
        :class:`~polycomplete.solvers.AdamPlus`.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.linspace(-1, 1, 60)
    >>> X = np.c_[t, t**2, t**3]
    >>> X[::3, 1] = np.nan
    >>> bool(np.abs(NLMC(random_state=0).fit_transform(X)[:, 1] - t**2).max() < 0.02)
    True
    """

    def _weights(self) -> Weights:
        return Equal()


class PMC(_InFeatureSpace):
    """Polynomial matrix completion: charge the small singular values in feature space most.

    Fan, Zhang & Udell (2020). Fills the holes of data whose rows lie on one or several curved
    surfaces of low dimension. Nothing has to be said about their number or dimension. Parameters
    that are not listed here are those of :class:`~polycomplete.Completer`, as are the attributes.

    Parameters
    ----------
    variant : {"W", "S"}, default="W"
        "W" weighs the singular values in increasing order (PMC-W, the paper's ramp w₂); "S"
        leaves the largest out (PMC-S). How many is estimated from the observed entries. The
        paper leaves out as many as there are columns, which harms its algorithm where the matrix
        itself has a lower rank: ``Completer(penalty=Schatten(0.5, Skip(X.shape[1])))``.
    kernel : Kernel, optional
        What "close" means; ``RBF()`` by default.
    p : "auto" or float, default="auto"
        The power of the penalty, at most 1. "auto" is −½, or the paper's ½ with
        :class:`~polycomplete.solvers.AdamPlus`.

    Examples
    --------
    >>> from polycomplete import PMC, datasets, masks, metrics
    >>> X = datasets.make_polynomial_manifold(100, 20, random_state=0)
    >>> mask = masks.uniform(X.shape, 0.6, random_state=0)
    >>> completed = PMC(random_state=0).fit_transform(masks.apply(X, mask))
    >>> metrics.rse(X, completed, mask) < 0.01
    True
    """

    def __init__(
        self,
        variant: str = "W",
        kernel: Kernel | None = None,
        p: float | str = "auto",
        scale: str | None = "auto",
        smoothing: float | str = "auto",
        noise: float | None = None,
        solver: Solver | None = None,
        missing_values: float = np.nan,
        add_indicator: bool = False,
        keep_empty_features: bool = False,
        n_jobs: int = -1,
        device: str | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.variant = variant
        super().__init__(
            kernel=kernel,
            p=p,
            scale=scale,
            smoothing=smoothing,
            noise=noise,
            solver=solver,
            missing_values=missing_values,
            add_indicator=add_indicator,
            keep_empty_features=keep_empty_features,
            n_jobs=n_jobs,
            device=device,
            random_state=random_state,
            verbose=verbose,
        )

    def _weights(self) -> Weights:
        if self.variant == "W":
            return Ramp()
        if self.variant == "S":
            return Skip("auto")
        raise ValueError(f'variant must be "W" or "S", got {self.variant!r}.')


class VMC(Completer):
    """Variety-based matrix completion: rows that satisfy polynomial equations of low degree.

    Ongie, Willett, Nowak & Balzano (2017). The Schatten-½ penalty of the monomials up to a degree,
    minimized under a shrinking smoothing. Parameters that are not listed here are those of
    :class:`~polycomplete.Completer`, as are the attributes.

    Parameters
    ----------
    degree : {2, 3}, default=2
        The degree of the monomials.
    offset : float, default=10.0
        c of the kernel (x·y + c)^degree, in units of the mean squared length of a row; larger
        values give the lower degrees more say. 0 for subspaces through the origin, then with
        ``scale=None``.
    p : float, default=0.5
        The power of the penalty, at most 1.

    Examples
    --------
    >>> import numpy as np
    >>> t = np.linspace(0, 6, 60)
    >>> X = np.c_[np.cos(t), np.sin(t), np.cos(t) + np.sin(t)]
    >>> X[::3, 1] = np.nan
    >>> bool(np.abs(VMC(random_state=0).fit_transform(X)[:, 1] - np.sin(t)).max() < 0.05)
    True
    """

    def __init__(
        self,
        degree: int = 2,
        offset: float = 10.0,
        p: float = 0.5,
        scale: str | None = "auto",
        smoothing: float | str = "auto",
        noise: float | None = None,
        solver: Solver | None = None,
        missing_values: float = np.nan,
        add_indicator: bool = False,
        keep_empty_features: bool = False,
        n_jobs: int = -1,
        device: str | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ):
        self.degree = degree
        self.offset = offset
        self.p = p
        super().__init__(
            solver=solver,
            scale=scale,
            smoothing=smoothing,
            noise=noise,
            missing_values=missing_values,
            add_indicator=add_indicator,
            keep_empty_features=keep_empty_features,
            n_jobs=n_jobs,
            device=device,
            random_state=random_state,
            verbose=verbose,
        )

    def _kernel(self) -> Kernel:
        return Polynomial(self.degree, self.offset, relative=True)

    def _solver(self, n_rows: float) -> Solver:
        return Exact(blend=False) if self.solver is None else self.solver

    def _penalty(self, solver: Solver) -> Schatten:
        return Schatten(self.p, Equal())
