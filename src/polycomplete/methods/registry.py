"""Every method by name: its label, its publication, and how to make it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from sklearn.ensemble import ExtraTreesRegressor
from sklearn.impute import KNNImputer, SimpleImputer

from polycomplete.kernels import RBF, Polynomial
from polycomplete.methods.feature_space import NLMC, PMC, VMC
from polycomplete.methods.kfmc import KFMC
from polycomplete.methods.ladmc import LADMC
from polycomplete.methods.lrmc import LRMC
from polycomplete.methods.srmc import SRMC
from polycomplete.penalties import Inverse
from polycomplete.solvers import AdamPlus


@dataclass(frozen=True)
class Method:
    """An entry of the registry.

    Attributes
    ----------
    name, label : str
        Key in the registry; name in tables and figures.
    make : callable
        The estimator's class, or a function from parameters to an estimator.
    citation : str
        The publication.
    defaults : mapping, default={}
        Parameters that make it this method.
    kind : {"completer", "published", "baseline", "rival"}, default="completer"
        A method of this library, one with published settings, one of scikit-learn, or one that was
        added by :func:`register`.

    Examples
    --------
    >>> METHODS["pmc-w"].label
    'PMC-W'
    """

    name: str
    label: str
    make: Callable[..., Any]
    citation: str
    defaults: Mapping[str, Any] = field(default_factory=dict)
    kind: str = "completer"

    def __call__(self, **params: Any) -> Any:
        """Return an unfitted estimator."""
        return self.make(**{**self.defaults, **params})


def _iterative(**params: Any) -> Any:
    # scikit-learn requires this import before that of the class.
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    return IterativeImputer(**params)


def _forest(random_state: Any = None, **params: Any) -> Any:
    """Return an imputer like missForest: each column is predicted by trees from the others."""
    trees = ExtraTreesRegressor(n_estimators=100, random_state=random_state)
    settings = {"estimator": trees, "max_iter": 5, "random_state": random_state}
    return _iterative(**{**settings, **params})


PMC_2020 = (
    "J. Fan, Y. Zhang and M. Udell (2020). Polynomial matrix completion for missing data "
    "imputation and transductive learning. AAAI."
)
NLMC_2018 = "J. Fan and T. W. S. Chow (2018). Non-linear matrix completion. Pattern Recognition 77."
VMC_2017 = (
    "G. Ongie, R. Willett, R. D. Nowak and L. Balzano (2017). Algebraic variety models for "
    "high-rank matrix completion. ICML."
)
LADMC_2021 = (
    "G. Ongie, D. Pimentel-Alarcón, L. Balzano, R. Willett and R. D. Nowak (2021). Tensor methods "
    "for nonlinear matrix completion. SIAM Journal on Mathematics of Data Science 3."
)
KFMC_2019 = "J. Fan and M. Udell (2019). Online high rank matrix completion. CVPR."
SRMC_2017 = (
    "J. Fan and T. W. S. Chow (2017). Matrix completion by least-square, low-rank, and sparse "
    "self-representations. Pattern Recognition 71."
)
LRMC_2009 = (
    "E. J. Candès and B. Recht (2009). Exact matrix completion via convex optimization. "
    "Foundations of Computational Mathematics 9."
)
SCIKIT_LEARN = (
    "F. Pedregosa et al. (2011). Scikit-learn: machine learning in Python. Journal of Machine "
    "Learning Research 12."
)
MISS_FOREST = (
    "D. J. Stekhoven and P. Bühlmann (2012). MissForest: non-parametric missing value imputation "
    "for mixed-type data. Bioinformatics 28."
)


def _by_adam(make: Callable[..., Any], **adam: Any) -> Callable[..., Any]:
    """Return what makes an estimator with Adam+, from λ and ε in the paper's units."""

    def made(**params: Any) -> Any:
        estimator = make(**{"scale": None, **params})
        factor = estimator._penalty(AdamPlus()).factor()
        if estimator.solver is None:
            estimator.solver = AdamPlus(epsilon=factor * 1e-8, **adam)
        if estimator.noise is not None:
            estimator.noise *= factor
        return estimator

    return made


#: How the code of the paper's authors differs from the paper.
AUTHORS = {"init": "row-column", "correct_bias": False}
AUTHORS_DATA = {"kernel": RBF(unit="zero-filled"), "smoothing": 1e-7}
SKIP = {"weights": "skip", "s": "columns"}
QUADRATIC = {"kernel": Polynomial(2, 1.0)}

_ENTRIES = [
    Method("pmc-w", "PMC-W", PMC, PMC_2020),
    Method("pmc-s", "PMC-S", PMC, PMC_2020, {"weights": "skip"}),
    Method("pmc-poly", "PMC, degree 2", PMC, PMC_2020,
           {"kernel": Polynomial(2, 1.0, relative=True)}),
    Method("nlmc", "NLMC", NLMC, NLMC_2018),
    Method("vmc-2", "VMC-2", VMC, VMC_2017, {"degree": 2}),
    Method("vmc-3", "VMC-3", VMC, VMC_2017, {"degree": 3}),
    Method("kfmc", "KFMC", KFMC, KFMC_2019),
    Method("ladmc", "LADMC", LADMC, LADMC_2021),
    Method("srmc", "SRMC", SRMC, SRMC_2017),
    Method("lrmc", "LRMC", LRMC, LRMC_2009),
    Method("pmc-w-paper", "PMC-W (paper)", _by_adam(PMC), PMC_2020, {"weights": Inverse()},
           "published"),
    Method("pmc-w2-paper", "PMC-W, w₂ (paper)", _by_adam(PMC), PMC_2020, {}, "published"),
    Method("pmc-w-authors", "PMC-W (authors)", _by_adam(PMC, **AUTHORS), PMC_2020,
           AUTHORS_DATA | {"weights": Inverse(power=2, frozen=False)}, "published"),
    Method("pmc-s-paper", "PMC-S (paper)", _by_adam(PMC), PMC_2020, SKIP, "published"),
    Method("pmc-s-authors", "PMC-S (authors)", _by_adam(PMC, **AUTHORS), PMC_2020,
           AUTHORS_DATA | SKIP, "published"),
    Method("pmc-poly-paper", "PMC, degree 2 (paper)", _by_adam(PMC), PMC_2020, QUADRATIC,
           "published"),
    Method("nlmc-paper", "NLMC (paper)", _by_adam(NLMC), NLMC_2018, {}, "published"),
    Method("nlmc-authors", "NLMC (authors)", _by_adam(NLMC, step=1e-3, **AUTHORS), NLMC_2018,
           AUTHORS_DATA | {"smoothing": 1e-6}, "published"),
    Method("kfmc-paper", "KFMC (paper)", KFMC, KFMC_2019,
           {"kernel": RBF(multiple=1.0, unit="zero-filled"), "beta": 1e-3, "max_iter": 500,
            "scale": None}, "published"),
    Method("lrmc-paper", "LRMC (paper)", LRMC, LRMC_2009, {"scale": None}, "published"),
    Method("mean", "mean", SimpleImputer, SCIKIT_LEARN, kind="baseline"),
    Method("knn", "KNN", KNNImputer, SCIKIT_LEARN, kind="baseline"),
    Method("iterative", "IterativeImputer", _iterative, SCIKIT_LEARN, kind="baseline"),
    Method("forest", "forest", _forest, MISS_FOREST, kind="baseline"),
]  # fmt: skip
#: Rivals' published algorithms, which are part of the experiments only.
ELSEWHERE = (
    *("lrmc-authors", "srmc-paper", "srmc-authors", "ladmc-paper"),
    *("vmc-2-paper", "vmc-3-paper", "vmc-3-authors"),
)
_methods = {entry.name: entry for entry in _ENTRIES}
#: The entries by name, in the order in which they are shown.
METHODS: Mapping[str, Method] = MappingProxyType(_methods)


def register(method: Method) -> Method:
    """Add a method, so that :func:`get` returns it by its name.

    Parameters
    ----------
    method : Method
        Its name is in lower case and not yet taken, unless by the same method.

    Returns
    -------
    Method

    Examples
    --------
    >>> from polycomplete import PMC
    >>> entry = register(Method("pmc-log", "PMC-log", PMC, PMC_2020, {"p": 0.0}, kind="rival"))
    >>> get("pmc-log")
    PMC(p=0.0)
    """
    if method.name != method.name.lower():
        raise ValueError(f"The name of a method must be in lower case, got {method.name!r}.")
    if _methods.get(method.name, method) != method:
        raise ValueError(f"There is a method {method.name!r} already; choose another name.")
    _methods[method.name] = method
    return method


def names(kind: str | None = None) -> list[str]:
    """Return the names of all methods, or of those of one kind.

    Parameters
    ----------
    kind : {"completer", "published", "baseline", "rival"}, optional
        Methods of this library, those with published settings, scikit-learn's, or registered ones.

    Returns
    -------
    list of str

    Examples
    --------
    >>> names("baseline")
    ['mean', 'knn', 'iterative', 'forest']
    """
    kinds = {entry.kind for entry in METHODS.values()}
    if kind is not None and kind not in kinds:
        raise ValueError(f"kind must be one of {sorted(kinds)} or None, got {kind!r}.")
    return [entry.name for entry in METHODS.values() if kind in (None, entry.kind)]


def get(name: str, **params: Any) -> Any:
    """Return a method by its name, as an unfitted estimator.

    Parameters
    ----------
    name : str
        One of :func:`names`, in lower or upper case.
    **params
        Parameters of the estimator, besides those that make it this method.

    Returns
    -------
    estimator
        With ``fit``, ``transform`` and ``fit_transform``.

    Examples
    --------
    >>> get("knn", n_neighbors=3)
    KNNImputer(n_neighbors=3)
    >>> get("PMC-S")
    PMC(weights='skip')
    """
    entry = METHODS.get(str(name).lower())
    if entry is None and str(name).lower() in ELSEWHERE:
        raise ValueError(
            f"The method {name!r} is a rival's published algorithm, which is not part of the "
            "package; clone the repository of polycomplete and, in its folder, import "
            "experiments.published first."
        )
    if entry is None:
        near = get_close_matches(str(name).lower(), METHODS, n=1, cutoff=0.5)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(f"There is no method {name!r}; there are {', '.join(METHODS)}.{hint}")
    return entry(**params)
