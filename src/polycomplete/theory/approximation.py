"""Approximation: how well polynomials of a given degree follow smooth maps and RBF kernels."""

import math
from collections.abc import Callable
from itertools import combinations_with_replacement, product

import numpy as np
from numpy.polynomial import chebyshev
from scipy.fft import dct

from polycomplete.theory.counting import check

_Map = Callable[[np.ndarray], np.ndarray]


def polynomial_features(q: int) -> _Map:
    """Return phi, the map from samples to their monomials of degree at most q.

    Parameters
    ----------
    q : int
        Degree of phi.

    Returns
    -------
    callable
        Takes (n, m) arrays to (n, C(m + q, q)) arrays, by degree, all coefficients one.

    Examples
    --------
    >>> polynomial_features(2)(np.array([[2.0, 5.0]]))
    array([[ 1.,  2.,  5.,  4., 10., 25.]])
    """
    check(1, q=q)

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
    if d > 10:  # too many corners to visit them all
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
        # Differentiation blows rounding errors up, so the tail that is nothing else becomes zero.
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

    The constant of the analytic-to-polynomial lemma (pass f) and of the rank Theorem (pass phi
    after f): c_z^(order+1) / (order+1)! times the largest derivative of that order. The entry-wise
    norm printed in the paper is too small for d > 1, where many mixed terms add up; the bound
    holds with the derivative along the rays t -> f(t z), which is taken here.

    Parameters
    ----------
    f : callable
        Takes (n, d) points to (n, m) values, as accurate as floating point allows.
    order, d : int
        Degree of the Taylor polynomial, number of latent variables.
    c_z : float, default=1.0
        Half the side of the box.
    n_directions, random_state : int, default=64, 0
        Number and seed of the random rays. Those through all corners of the box come on top for
        d <= 10, and for d <= 5 those through the centres of its faces and edges.

    Returns
    -------
    float
        The largest value over the sampled rays: for d > 1 an estimate from below, and for d > 10,
        where corners are missed, perhaps far below. Zero for polynomials of degree at most order.
        Rounding hides what is smaller than about 1e-8 times the largest value of f, and more than
        that for high orders of rapidly changing maps.

    Examples
    --------
    >>> round(approximation_constant(np.exp, order=3, d=1), 6)  # e / 4!
    0.113262
    >>> phi = polynomial_features(2)
    >>> [round(approximation_constant(lambda z: phi(z**3), q, d=1), 9) for q in (5, 6)]
    [1.0, 0.0]
    """
    check(0, order=order)
    check(1, d=d, n_directions=n_directions)
    check(0, whole=False, strict=True, c_z=c_z)
    rays = c_z * _directions(d, n_directions, np.random.default_rng(random_state))
    derivative = chebyshev.chebder(_ray_series(f, rays), order + 1)
    # On 16 Chebyshev points per degree a polynomial comes within half a per cent of its maximum.
    grid = np.cos(np.linspace(0.0, np.pi, 16 * len(derivative) + 1))
    # One grid point at a time: phi after f has thousands of outputs.
    rows = chebyshev.chebvander(grid, len(derivative) - 1)
    largest = max(np.abs(np.tensordot(row, derivative, 1)).max() for row in rows)
    return float(largest / math.factorial(order + 1))


def rbf_polynomial_bound(max_norm: float, sigma: float, q: int) -> float:
    """Bound the gap between the RBF kernel and its polynomial expansion of degree q.

    The expansion is exp(-(|x|^2 + |y|^2) / 2 sigma^2) sum_{j <= q} (x.y)^j / (sigma^(2j) j!).
    The bound printed in the paper, exp(-min |x|^2 / sigma^2) max |x|^(q+1) / (sigma^(2(q+1))
    (q+1)!), is false: the norm needs the power 2 (q+1), as x.y does, and the remainder of the
    exponential cancels the factor in front. At |x| = |y| = 3, sigma = 1, q = 1 it gives .0006
    where the gap is .9988.

    Parameters
    ----------
    max_norm, sigma : float
        Largest Euclidean norm of a sample, width of the kernel.
    q : int
        Degree of the expansion.

    Returns
    -------
    float
        (max_norm^2 / sigma^2)^(q+1) / (q+1)!, which holds for all pairs of samples.

    Examples
    --------
    >>> rbf_polynomial_bound(max_norm=1.0, sigma=2.0, q=1)
    0.03125
    """
    check(0, whole=False, max_norm=max_norm)
    check(0, whole=False, strict=True, sigma=sigma)
    check(0, q=q)
    ratio = max_norm / sigma
    # Factor by factor, a hopelessly large bound ends in inf instead of an exception.
    return math.prod(ratio * ratio / j for j in range(1, q + 2))
