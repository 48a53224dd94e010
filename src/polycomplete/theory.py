"""The theory of polynomial matrix completion in numbers: ranks, parameter counts, bounds.

``n`` samples with ``m`` features lie on ``k`` surfaces, the images of ``d`` latent variables under
polynomials of degree ``alpha``. ``phi`` maps a sample to all its monomials of degree at most ``q``;
``rank_phi`` is the rank of ``phi(X)``. The paper (Fan, Zhang & Udell, AAAI 2020) also writes p for
alpha, and its matrices are the transposes of ours.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from itertools import combinations_with_replacement, product
from numbers import Integral

import numpy as np
from numpy.polynomial import chebyshev
from scipy.fft import dct

__all__ = [
    "approximation_constant",
    "information_limit",
    "mnp",
    "mnp_phi",
    "polynomial_features",
    "r_tilde",
    "rank_bound",
    "rank_phi_additive",
    "rank_phi_bound",
    "rbf_polynomial_bound",
    "samples_low_rank",
    "samples_polynomial",
    "sampling_bound",
]

_Map = Callable[[np.ndarray], np.ndarray]


def rank_bound(d: int, alpha: int, m: int, n: int, k: int = 1) -> int:
    """Bound the rank of X by min(k C(d + alpha, alpha), m, n), Lemma 1.

    Polynomials with random coefficients attain the bound.

    Parameters
    ----------
    d, alpha, m, n, k : int, k=1 by default
        Latent dimension, degree, features, samples on all surfaces together, surfaces.

    Returns
    -------
    int

    Examples
    --------
    The paper's Examples 1, 2 and 3:

    >>> rank_bound(d=2, alpha=3, m=10, n=50)
    10
    >>> rank_bound(d=3, alpha=2, m=100, n=1000), rank_bound(d=3, alpha=2, m=100, n=1000, k=3)
    (10, 30)
    """
    _check(0, d=d, alpha=alpha)
    _check(1, m=m, n=n, k=k)
    return min(k * math.comb(d + alpha, alpha), m, n)


def rank_phi_bound(d: int, alpha: int, q: int, m: int, n: int, k: int = 1) -> int:
    """Bound the rank of phi(X) by min(k C(d + alpha q, alpha q), C(m + q, q), n), Lemma 1.

    Parameters
    ----------
    d, alpha, q, m, n, k : int, k=1 by default
        Latent dimension, degrees of the map and of phi, features, total samples, surfaces.

    Returns
    -------
    int

    Examples
    --------
    The paper's Examples 1, 2 and 3; `r_tilde` continues the last two:

    >>> rank_phi_bound(d=2, alpha=3, q=2, m=10, n=50)
    28
    >>> [rank_phi_bound(d=3, alpha=2, q=3, m=100, n=1000, k=k) for k in (1, 3)]
    [84, 252]
    """
    _check(0, d=d, alpha=alpha)
    _check(1, q=q, m=m, n=n, k=k)
    return min(k * math.comb(d + alpha * q, d), math.comb(m + q, q), n)


def rank_phi_additive(d: int, alpha: int, q: int, k: int = 1) -> int:
    """Return the rank of phi(X) for maps without cross terms, such as the paper's generator.

    The monomial z_1^a_1 ... z_d^a_d occurs exactly if sum ceil(a_i / alpha) <= q, because z_i^a
    takes ceil(a / alpha) of the q factors of phi: that makes sum_t C(d, t) C(q, t) alpha^t.

    Parameters
    ----------
    d, alpha, q, k : int, k=1 by default
        Latent dimension, degrees of the map and of phi, surfaces.

    Returns
    -------
    int
        k times the count. For k = 1 this is the rank, if d alpha <= m and n is large enough; for
        k > 1 it is the paper's figure. Surfaces without constant terms meet in the origin, and
        the rank is k - 1 lower.

    Examples
    --------
    The paper's generator, for which Lemma 1 gives C(14, 2) = 91:

    >>> rank_phi_additive(d=2, alpha=4, q=3)
    73
    """
    _check(0, d=d, alpha=alpha)
    _check(1, q=q, k=k)
    return k * sum(math.comb(d, t) * math.comb(q, t) * alpha**t for t in range(min(d, q) + 1))


def r_tilde(rank_phi: int, q: int) -> int:
    """Return the smallest o with C(o + q, q) >= rank_phi, as in Theorem 2.

    Data of a lower rank than that cannot reach this rank of phi(X).

    Parameters
    ----------
    rank_phi, q : int
        Rank of phi(X) and degree of phi.

    Returns
    -------
    int

    Examples
    --------
    The paper's Examples 2 and 3, and its generator:

    >>> r_tilde(84, q=3), r_tilde(252, q=3), r_tilde(73, q=3)
    (6, 10, 6)
    """
    _check(1, rank_phi=rank_phi, q=q)
    q, rank_phi = int(q), int(rank_phi)
    # An upper bound of the answer, because o^q <= q! C(o + q, q).
    end = 2 ** ((math.factorial(q) * rank_phi).bit_length() // q + 1)
    return bisect_left(range(end), rank_phi, key=lambda o: math.comb(o + q, q))


def mnp(m: int, n: int, rank: int) -> int:
    """Return the number of parameters of a matrix of given rank, (m - r) r + n r, eq. (5).

    Parameters
    ----------
    m, n, rank : int
        Features, samples, rank of X.

    Returns
    -------
    int

    Examples
    --------
    >>> mnp(m=20, n=2000, rank=8)
    16096
    """
    _check(1, m=m, n=n)
    _check(0, rank=rank)
    if rank > min(m, n):
        raise ValueError(f"rank must not exceed min(m, n) = {min(m, n)}, but it is {rank}.")
    return (m - rank) * rank + n * rank


def mnp_phi(m: int, n: int, q: int, rank_phi: int) -> int:
    """Return the number of parameters of X given the rank of phi(X), Theorem 2 and eq. (4).

    Parameters
    ----------
    m, n, q, rank_phi : int
        Features, samples, degree of phi, rank of phi(X).

    Returns
    -------
    int
        (m - r_tilde) rank_phi + n r_tilde.

    Examples
    --------
    >>> mnp_phi(m=20, n=2000, q=3, rank_phi=73)
    13022
    """
    _check(1, m=m, n=n, q=q, rank_phi=rank_phi)
    if rank_phi > math.comb(m + q, q):
        raise ValueError(
            f"rank_phi must not exceed C(m + q, q) = {math.comb(m + q, q)}, but it is {rank_phi}."
        )
    r = r_tilde(rank_phi, q)
    return (m - r) * rank_phi + n * r


def sampling_bound(m: int, n: int, q: int, rank_phi: int) -> float:
    """Return the sampling rate mnp_phi / (m n), the curve in Figures 3 and 4.

    It assumes no more than the rank of phi(X), so it is not a hard limit: compare
    `information_limit`. If rank_phi > n, it is above one and says nothing.

    Parameters
    ----------
    m, n, q, rank_phi : int
        Features, total samples, degree of phi, rank of phi(X); for k surfaces the paper uses 73 k.

    Returns
    -------
    float

    Examples
    --------
    >>> round(sampling_bound(m=20, n=2000, q=3, rank_phi=73), 3)
    0.326
    """
    return mnp_phi(m, n, q, rank_phi) / (m * n)


def samples_low_rank(n: int, rank: int, constant: float = 1.0) -> float:
    """Return the number of entries that low-rank completion needs, constant n rank log n, eq. (6).

    Parameters
    ----------
    n, rank : int
        Samples, at least as many as features, and rank of X.
    constant : float, default=1.0
        The numerical constant, which the theory leaves open.

    Returns
    -------
    float

    Examples
    --------
    >>> round(samples_low_rank(n=1000, rank=10))
    69078
    """
    _check(1, n=n)
    _check(0, rank=rank)
    _check(0, whole=False, strict=True, constant=constant)
    return constant * n * rank * math.log(n)


def samples_polynomial(n: int, m: int, q: int, rank_phi: int, constant: float = 1.0) -> float:
    """Return the number of entries that PMC needs, constant n r_tilde log n, eq. (7).

    A conjecture of the paper for n >= (m - r_tilde) rank_phi / r_tilde, that is, for
    ``mnp_phi(m, n, q, rank_phi) <= 2 * n * r_tilde(rank_phi, q)``, which is not checked here.

    Parameters
    ----------
    n, m, q, rank_phi : int
        Samples, features, degree of phi, rank of phi(X).
    constant : float, default=1.0
        The numerical constant, which the conjecture leaves open.

    Returns
    -------
    float

    Examples
    --------
    Fewer than the 69078 of low-rank completion, for the paper's d = 3, alpha = 2, q = 3:

    >>> round(samples_polynomial(n=1000, m=20, q=3, rank_phi=84))
    41447
    >>> mnp_phi(20, 1000, 3, 84) <= 2 * 1000 * r_tilde(84, 3)
    True
    """
    mnp_phi(m, n, q, rank_phi)  # raises if the arguments are impossible
    return samples_low_rank(n, r_tilde(rank_phi, q), constant)


def information_limit(m: int, n: int, d: int, coefficients_per_column: int) -> float:
    """Return the sampling rate below which even knowing the family of maps is not enough.

    Parameters
    ----------
    m, n, d : int
        Features, samples, latent dimension.
    coefficients_per_column : int
        Free coefficients of the map for each feature; d alpha without cross terms.

    Returns
    -------
    float
        (n d + m b) / (m n), the share of latent variables and coefficients in all entries.

    Examples
    --------
    >>> information_limit(m=20, n=2000, d=2, coefficients_per_column=8)
    0.104
    """
    _check(1, m=m, n=n)
    _check(0, d=d, coefficients_per_column=coefficients_per_column)
    return (n * d + m * coefficients_per_column) / (m * n)


def polynomial_features(q: int) -> _Map:
    """Return phi, which maps samples to their monomials of degree at most q, Definition 1.

    Parameters
    ----------
    q : int
        Degree of phi.

    Returns
    -------
    callable
        Maps (n, m) to (n, C(m + q, q)) arrays, sorted by degree, with coefficients of one.

    Examples
    --------
    >>> polynomial_features(2)(np.array([[2.0, 5.0]]))
    array([[ 1.,  2.,  5.,  4., 10., 25.]])
    """
    _check(1, q=q)

    def phi(X: np.ndarray) -> np.ndarray:
        m = np.shape(X)[1]
        factors = (c for j in range(q + 1) for c in combinations_with_replacement(range(m), j))
        return np.stack([np.prod(X[:, list(c)], axis=1) for c in factors], axis=1)

    return phi


def _directions(d: int, n_directions: int, rng: np.random.Generator) -> np.ndarray:
    """Return points on the surface of [-1, 1]^d; opposite ones lie on the same ray."""
    if d == 1:
        return np.ones((1, 1))
    random = rng.uniform(-1, 1, (n_directions, d))
    random /= np.abs(random).max(axis=1, keepdims=True)
    if d > 10:  # too many corners to visit all
        return np.vstack([np.sign(random), random])
    levels = (1.0, 0.0, -1.0) if d <= 5 else (1.0, -1.0)
    special = [u for u in product(levels, repeat=d) if u > (0.0,) * d]
    return np.vstack([special, random])


def _ray_series(f: _Map, rays: np.ndarray) -> np.ndarray:
    """Return Chebyshev coefficients, (degree + 1, rays, outputs), of t -> f(t ray), |t| <= 1."""
    for degree in (16, 32, 64, 128, 256):
        t = chebyshev.chebpts1(degree + 1)
        points = (t[:, None, None] * rays).reshape(-1, rays.shape[1])
        values = np.asarray(f(points), dtype=float).reshape(degree + 1, len(rays), -1)
        if not np.isfinite(values).all():
            raise ValueError("f must be finite on the whole box |z| <= c_z.")
        series = dct(values[::-1], axis=0) / (degree + 1)
        series[0] /= 2
        # Differentiation amplifies rounding errors, so a tail of nothing else becomes zero.
        small = np.abs(series) <= 1e-14 * np.abs(values).max(axis=(0, 1))
        tail = np.logical_and.accumulate(small[::-1])[::-1]
        if tail[-(degree // 4) :].all():
            length = np.count_nonzero(~tail.all(axis=(1, 2)))
            return np.where(tail, 0.0, series)[: max(length, 1)]
    raise ValueError("f must be analytic on the box |z| <= c_z: try a smaller c_z or a smoother f.")


def approximation_constant(
    f: _Map,
    order: int,
    d: int,
    c_z: float = 1.0,
    n_directions: int = 64,
    random_state: int = 0,
) -> float:
    """Bound the error of the Taylor polynomial of f around 0 on the box |z_i| <= c_z.

    The constant of Lemma 2 (for f) and of Theorem 1 (for phi after f): c_z^(order+1) / (order+1)!
    times the largest derivative of order + 1. The entry-wise norm in the paper is too small for
    d > 1, where many mixed terms add up; the bound holds with the derivative along the rays
    t -> f(t z), which is used here.

    Parameters
    ----------
    f : callable
        Maps (n, d) points to (n, m) values, to the accuracy of floating point.
    order, d : int
        Degree of the Taylor polynomial, number of latent variables.
    c_z : float, default=1.0
        Half the side of the box.
    n_directions, random_state : int, default=64, 0
        Number and seed of the random rays. For d <= 10 the rays through all corners of the box are
        added, for d <= 5 also those through the centers of its faces and edges.

    Returns
    -------
    float
        The maximum over the sampled rays: for d > 1 a lower estimate, for d > 10 perhaps far too
        low. Zero for polynomials of degree at most ``order``. Values below about 1e-8 times the
        largest value of f, more for high orders, are lost in rounding.

    Examples
    --------
    >>> round(approximation_constant(np.exp, order=3, d=1), 6)  # e / 4!
    0.113262
    >>> phi = polynomial_features(2)
    >>> [round(approximation_constant(lambda z: phi(z**3), q, d=1), 9) for q in (5, 6)]
    [1.0, 0.0]
    """
    _check(0, order=order)
    _check(1, d=d, n_directions=n_directions)
    _check(0, whole=False, strict=True, c_z=c_z)
    rays = c_z * _directions(d, n_directions, np.random.default_rng(random_state))
    derivative = chebyshev.chebder(_ray_series(f, rays), order + 1)
    # On 16 Chebyshev points per degree a polynomial comes within half a percent of its maximum.
    grid = np.cos(np.linspace(0.0, np.pi, 16 * len(derivative) + 1))
    # One grid point at a time: phi after f has thousands of outputs.
    rows = chebyshev.chebvander(grid, len(derivative) - 1)
    largest = max(np.abs(np.tensordot(row, derivative, 1)).max() for row in rows)
    return float(largest / math.factorial(order + 1))


def rbf_polynomial_bound(max_norm: float, sigma: float, q: int) -> float:
    """Bound the error of the polynomial expansion of degree q of the RBF kernel, Corollary 1.

    The expansion is exp(-(|x|^2 + |y|^2) / 2 sigma^2) sum_{j <= q} (x.y)^j / (sigma^(2j) j!). The
    bound printed in the paper is false: the norm needs the power 2 (q+1), as x.y does, and the
    remainder of the exponential cancels the leading factor. For |x| = |y| = 3, sigma = 1, q = 1 it
    gives .0006, but the error is .9988.

    Parameters
    ----------
    max_norm, sigma : float
        Largest Euclidean norm of a sample; width of the kernel.
    q : int
        Degree of the expansion.

    Returns
    -------
    float
        (max_norm^2 / sigma^2)^(q+1) / (q+1)!, for all pairs of samples.

    Examples
    --------
    >>> rbf_polynomial_bound(max_norm=1.0, sigma=2.0, q=1)
    0.03125
    """
    _check(0, whole=False, max_norm=max_norm)
    _check(0, whole=False, strict=True, sigma=sigma)
    _check(0, q=q)
    ratio = max_norm / sigma
    # Factor by factor, because then a bound that overflows is inf instead of an exception.
    return math.prod(ratio * ratio / j for j in range(1, q + 2))


def _check(low: int, *, whole: bool = True, strict: bool = False, **values: float) -> None:
    """Raise if a value is not a number in the allowed range."""
    kind = "a whole number" if whole else "a finite number"
    bound = "above" if strict else "of at least"
    for name, value in values.items():
        valid = isinstance(value, Integral) if whole else math.isfinite(value)
        if not valid or value < low or (strict and value == low):
            raise ValueError(f"{name} must be {kind} {bound} {low}, but it is {value!r}.")
