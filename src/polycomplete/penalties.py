"""Penalties of a spectrum: smooth surrogates of the rank.

With ``λ₁ ≥ … ≥ λₙ`` the eigenvalues of the Gram matrix, all three relaxations of the paper are

    R = (2/p) Σᵢ wᵢ [(λᵢ + γ)^(p/2) − γ^(p/2)],      ∂R/∂λᵢ = wᵢ (λᵢ + γ)^(p/2 − 1),

for any p ≤ 2; at p = 0 it is ``Σ wᵢ log(1 + λᵢ/γ)``. The smoothing γ makes it differentiable; the
factor 2/p keeps the slope positive and the limit p → 0 finite. The weights distinguish the methods:
equal (Schatten-p, NLMC), zero for the s largest (PMC-S), increasing (PMC-W). With p = 2 and zero
weights for the R largest, it is the squared distance of the features from the best subspace of R
dimensions (LADMC).

The paper's sum has no factor 2/p and its weights are not divided by their largest. So R here is
``Schatten.factor`` times the paper's, and what is weighed against R takes the same factor: λ of
the noisy formulation (``noise``), and the ε of Adam+. ``polycomplete.methods.get("pmc-w-paper")``
and the other published forms take the paper's λ and ε, and convert both.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real

import numpy as np
from array_api_compat import array_namespace, device
from sklearn.base import BaseEstimator

from polycomplete._devices import Array
from polycomplete._messages import check_numbers

__all__ = [
    *("Equal", "Inverse", "Ramp", "Schatten", "Skip", "Weights"),
    *("lemma_3", "lemma_4", "linear_rank"),
]


class Weights(BaseEstimator):
    """A rule that gives each eigenvalue, largest first, a weight between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> spectrum = np.array([8.0, 1.0, 0.0])
    >>> for rule in Equal(), Skip(1), Ramp(), Inverse(epsilon=0.5):
    ...     print(rule, rule.of(spectrum, p=1.0).round(2))
    Equal() [1. 1. 1.]
    Skip(s=1) [0. 1. 1.]
    Ramp() [0.33 0.67 1.  ]
    Inverse(epsilon=0.5) [0.15 0.33 1.  ]
    """

    #: Whether the weights depend on the spectrum, so that each round of a solver updates them.
    adaptive = False

    def resolve(self, X: np.ndarray, mask: np.ndarray) -> Weights:
        """Return the rule with every "auto" replaced by a number from the observed entries."""
        return self

    def of(self, eigenvalues: Array, p: float) -> Array:
        """Return the weights for a descending spectrum."""
        raise NotImplementedError


class Equal(Weights):
    """Weight 1 for all: the plain Schatten-p penalty.

    Examples
    --------
    >>> Equal().of(np.array([4.0, 1.0]), p=0.5)
    array([1., 1.])
    """

    def of(self, eigenvalues: Array, p: float) -> Array:
        """Return ones."""
        return eigenvalues * 0 + 1


class Skip(Weights):
    """Weight 0 for the s largest eigenvalues, 1 for the rest (PMC-S).

    Parameters
    ----------
    s : "auto", "columns" or int, default="auto"
        "columns" is the paper's s = m. If rank(X) < m, the paper's algorithm then leaves directions
        unpenalized that should vanish (``make bench-skip``); "auto" uses :func:`linear_rank` of
        the observed entries instead, a conservative estimate.

    Examples
    --------
    >>> Skip(1).of(np.array([4.0, 1.0]), p=0.5)
    array([0., 1.])
    """

    def __init__(self, s: int | str = "auto"):
        self.s = s

    def resolve(self, X: np.ndarray, mask: np.ndarray) -> Skip:
        """Return the rule with a number for s."""
        if self.s == "auto":
            return Skip(linear_rank(X, mask))
        if self.s == "columns":
            return Skip(X.shape[1])
        if isinstance(self.s, str) or int(self.s) != self.s or self.s < 0:
            raise ValueError(
                f'Skip(s=...) must be "auto", "columns" or a non-negative integer, got {self.s!r}.'
            )
        return self

    def of(self, eigenvalues: Array, p: float) -> Array:
        """Return zeros, then ones."""
        return eigenvalues * 0 + _positions(eigenvalues, lambda i: i > self.s)


class Ramp(Weights):
    """Weight i/n for the i-th of n (PMC-W, the paper's w₂).

    Examples
    --------
    >>> Ramp().of(np.array([4.0, 1.0]), p=0.5)
    array([0.5, 1. ])
    """

    def of(self, eigenvalues: Array, p: float) -> Array:
        """Return 1/n, 2/n, …, 1."""
        return _positions(eigenvalues, lambda i: i / eigenvalues.shape[0])


class Inverse(Weights):
    """Weight 1/(σᵢᵖ + ε) with σᵢ = √λᵢ, divided by the largest (PMC-W, the paper's w₁).

    If frozen, as in the paper, the first round of a solver uses equal weights, which is the
    Schatten-p fit that the paper starts from; each later round fixes the weights by the spectrum at
    its start. If the penalty's p is not positive, the weights use the paper's ½.

    Parameters
    ----------
    epsilon : float, default=0.1
        Bounds the ratio of the weights. The paper gives no number; its authors' code has .1.
    power : float, default=1
        Weigh by σ^(power p): 2 for 1/(λᵖ + ε), as in the code of the paper's authors.
    frozen : bool, default=True
        False for the weights of the current spectrum in every evaluation, constant in its gradient
        only, as in the code of the paper's authors. The objective is then not what the gradient
        descends: use it with :class:`~polycomplete.AdamPlus`.

    Examples
    --------
    >>> Inverse(epsilon=0.5).of(np.array([4.0, 0.25]), p=1.0)
    array([0.4, 1. ])
    """

    def __init__(self, epsilon: float = 0.1, power: float = 1.0, frozen: bool = True):
        self.epsilon = epsilon
        self.power = power
        self.frozen = frozen

    @property
    def adaptive(self) -> bool:  # type: ignore[override]
        """Whether each round of a solver fixes the weights."""
        return self.frozen

    def resolve(self, X: np.ndarray, mask: np.ndarray) -> Inverse:
        """Check the numbers."""
        check_numbers(self, "epsilon", "power")
        return self

    def of(self, eigenvalues: Array, p: float) -> Array:
        """Return the weights of this spectrum."""
        xp = array_namespace(eigenvalues)
        power = self.power * (p if p > 0 else 0.5) / 2
        w = 1 / (xp.clip(eigenvalues, 0.0, None) ** power + float(self.epsilon))
        return w / xp.max(w)


def _positions(eigenvalues: Array, rule: Callable[[Array], Array]) -> Array:
    xp = array_namespace(eigenvalues)
    i = xp.arange(1, eigenvalues.shape[0] + 1, device=device(eigenvalues))
    return xp.astype(rule(i), eigenvalues.dtype)


def linear_rank(X: np.ndarray, mask: np.ndarray) -> int:
    """Estimate the linear rank of the data from the observed entries, conservatively.

    It is the rounded participation ratio ``(Σμ)²/Σμ²`` of the eigenvalues μ of the second moments
    of pairs of observed entries. It is rather too small than too large, which is safe for
    :class:`Skip`.

    Parameters
    ----------
    X, mask : array of shape (n, m)
        The data, any finite number where missing; True where observed.

    Returns
    -------
    int

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).standard_normal((50, 2)) @ np.ones((2, 5))
    >>> linear_rank(X, np.ones(X.shape, dtype=bool))
    1
    """
    seen = np.where(mask, X, 0.0)
    pairs = mask.T.astype(float) @ mask
    moments = (seen.T @ seen) / np.maximum(pairs, 1)
    total, squares = float(np.trace(moments)), float(np.sum(moments * moments))
    return max(1, round(total**2 / squares)) if squares > 0 else 1


class Schatten(BaseEstimator):
    """The (weighted, truncated) Schatten-p penalty of a spectrum.

    Parameters
    ----------
    p : float, default=-0.5
        At most 2, the sum of the eigenvalues, which is useful with :class:`Skip` only. Smaller
        values are closer to the rank; 0 is the logarithm, and negative values are allowed.
    weights : Weights, optional
        The weight rule; :class:`Equal` by default.

    Examples
    --------
    >>> import numpy as np
    >>> nuclear = Schatten(p=1.0)
    >>> spectrum = np.array([9.0, 4.0])
    >>> round(nuclear.value(spectrum, nuclear.weigh(spectrum), gamma=1e-12) / 2, 5)
    5.0
    """

    def __init__(self, p: float = -0.5, weights: Weights | None = None):
        self.p = p
        self.weights = weights

    @property
    def adaptive(self) -> bool:
        """Whether the weights depend on the spectrum."""
        return self.weights is not None and self.weights.adaptive

    def resolve(self, X: np.ndarray, mask: np.ndarray) -> Schatten:
        """Return the penalty with its parameters checked and every "auto" replaced."""
        if not isinstance(self.p, Real) or not -math.inf < float(self.p) <= 2:
            raise ValueError(f"p must be a number, at most 2, got {self.p!r}.")
        if self.weights is not None and not isinstance(self.weights, Weights):
            raise TypeError(
                f"Schatten(weights=...) must be an object such as Ramp(), got {self.weights!r}."
            )
        return Schatten(self.p, (self.weights or Equal()).resolve(X, mask))

    def factor(self) -> float:
        """Return R divided by the paper's sum, whose p is in (0, 1]: 2/p.

        With :class:`Inverse` it is 2ε/p, since the weight of a vanishing eigenvalue is 1/ε there.
        """
        if not 0 < self.p <= 1:
            raise ValueError(f"The paper's penalties have 0 < p <= 1, got {self.p!r}.")
        return 2 / self.p * (self.weights.epsilon if isinstance(self.weights, Inverse) else 1.0)

    def weigh(self, eigenvalues: Array) -> Array:
        """Return the weights for a descending spectrum."""
        return (self.weights or Equal()).of(eigenvalues, self.p)

    def value(self, eigenvalues: Array, weights: Array, gamma: float) -> float:
        """Return R."""
        xp = array_namespace(eigenvalues)
        growth = xp.log1p(eigenvalues / gamma)  # accurate for λ far below γ
        if self.p != 0:
            growth = gamma ** (self.p / 2) * xp.expm1(self.p / 2 * growth) * (2 / self.p)
        return float(xp.sum(weights * growth))

    def slope(self, eigenvalues: Array, weights: Array, gamma: float) -> Array:
        """Return ∂R/∂λ."""
        return weights * (eigenvalues + gamma) ** (self.p / 2 - 1)


def lemma_3(Phi: np.ndarray, s: int, p: float, P: np.ndarray | None = None) -> tuple[float, float]:
    """Evaluate both sides of the paper's Lemma 3, R₂ in terms of the kernel matrix.

    Parameters
    ----------
    Phi : ndarray of shape (n, l)
        φ(X), with samples as rows.
    s : int
        Number of largest singular values that do not count.
    p : float
        Power, in (0, 1].
    P : ndarray of shape (n, s), optional
        Orthonormal columns; the maximizer V_s by default.

    Returns
    -------
    left, right : float
        The sum of the p-th powers of all but the s largest singular values of φ(X), and
        Tr K^(p/2) − Tr (Pᵀ K P)^(p/2), which is equal for the maximizer and larger otherwise.

    Examples
    --------
    >>> Phi = np.diag([2.0, 1.0])
    >>> lemma_3(Phi, 1, 1.0), lemma_3(Phi, 1, 1.0, np.array([[0.0], [1.0]]))
    ((1.0, 1.0), (1.0, 2.0))
    """
    K, V, sigma = _spectra(Phi)
    P = V[:, :s] if P is None else P
    return float(np.sum(sigma[s:] ** p)), _trace(K, p) - _trace(P.T @ K @ P, p)


def lemma_4(
    Phi: np.ndarray, w: np.ndarray, p: float, Q: np.ndarray | None = None
) -> tuple[float, float]:
    """Evaluate both sides of the paper's Lemma 4, R₃ in terms of the kernel matrix.

    Parameters
    ----------
    Phi : ndarray of shape (n, l)
        φ(X), with samples as rows.
    w : ndarray of shape (n,)
        Weights that do not decrease.
    p : float
        Power, in (0, 1].
    Q : ndarray of shape (n, n), optional
        An orthogonal matrix; the minimizer V by default.

    Returns
    -------
    left, right : float
        The weighted sum of the p-th powers of the singular values of φ(X), and
        Tr (W^(1/p) Qᵀ K Q W^(1/p))^(p/2), which is equal for the minimizer and larger otherwise.

    Examples
    --------
    >>> Phi, w = np.diag([2.0, 1.0]), np.array([0.5, 1.0])
    >>> lemma_4(Phi, w, 1.0), lemma_4(Phi, w, 1.0, np.eye(2)[::-1])
    ((2.0, 2.0), (2.0, 2.5))
    """
    K, V, sigma = _spectra(Phi)
    half = (V if Q is None else Q) * np.asarray(w) ** (1 / p)
    return float(np.sum(w[: len(sigma)] * sigma**p)), _trace(half.T @ K @ half, p)


def _spectra(Phi: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return K, its eigenvectors by descending eigenvalues, and the singular values of φ(X)."""
    K = Phi @ Phi.T
    return K, np.linalg.eigh(K)[1][:, ::-1], np.linalg.svd(Phi, compute_uv=False)


def _trace(A: np.ndarray, p: float) -> float:
    """Return Tr A^(p/2) for a positive semidefinite A."""
    return float(np.sum(np.linalg.eigvalsh(A).clip(0) ** (p / 2)))
