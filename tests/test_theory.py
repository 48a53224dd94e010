"""The theory's numbers against brute force, exact ranks and the quantities that they bound."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import PolynomialFeatures

from polycomplete.theory import (
    approximation_constant,
    information_limit,
    mnp,
    mnp_phi,
    polynomial_features,
    r_tilde,
    rank_bound,
    rank_phi_additive,
    rank_phi_bound,
    rbf_polynomial_bound,
    samples_low_rank,
    samples_polynomial,
    sampling_bound,
)

PRIME = 2**31 - 1


def exact_rank(matrix):
    """Rank over a large prime field: for random data the rank over the rationals, no rounding."""
    M = (matrix % PRIME).astype(np.int64)
    rank = 0
    for column in range(M.shape[1]):
        pivots = np.flatnonzero(M[rank:, column])
        if pivots.size:
            M[[rank, rank + pivots[0]]] = M[[rank + pivots[0], rank]]
            M[rank] = M[rank] * pow(int(M[rank, column]), -1, PRIME) % PRIME
            M[rank + 1 :] = (M[rank + 1 :] - M[rank + 1 :, [column]] * M[rank] % PRIME) % PRIME
            rank += 1
        if rank == M.shape[0]:
            break
    return rank


def surfaces(latent_features, d, m, n, k=1):
    """Sample n points on each of k random surfaces, as Python integers."""
    rng = np.random.default_rng(0)
    parts = []
    for _ in range(k):
        basis = latent_features(rng.integers(PRIME, size=(n, d)).astype(object))
        weights = rng.integers(PRIME, size=(basis.shape[1], m)).astype(object)
        parts.append(basis.dot(weights) % PRIME)
    return np.vstack(parts)


def powers(alpha):
    return lambda Z: np.hstack([Z**j for j in range(1, alpha + 1)])


def gap_to_rbf(x, y, sigma, q):
    s = float(np.dot(x, y)) / sigma**2
    front = math.exp(-(float(np.dot(x, x)) + float(np.dot(y, y))) / (2 * sigma**2))
    series = math.fsum(s**j / math.factorial(j) for j in range(q + 1))
    return abs(front * math.exp(s) - front * series)


@pytest.mark.parametrize(
    ("d", "alpha", "q", "m", "n", "k"),
    [(2, 3, 2, 10, 50, 1), (1, 3, 2, 5, 20, 1), (3, 2, 2, 6, 80, 1), (2, 2, 2, 12, 20, 3)],
)
def test_random_polynomials_attain_the_rank_bounds(d, alpha, q, m, n, k):
    X = surfaces(polynomial_features(alpha), d, m, n, k)
    assert exact_rank(X) == rank_bound(d, alpha, m, k * n, k)
    assert exact_rank(polynomial_features(q)(X)) == rank_phi_bound(d, alpha, q, m, k * n, k)


def test_the_papers_first_example():
    X = surfaces(polynomial_features(3), d=2, m=10, n=50)
    assert polynomial_features(2)(X).shape == (50, 66)
    assert (exact_rank(X), exact_rank(polynomial_features(2)(X))) == (10, 28)


def test_additive_rank_counts_the_monomials():
    for d, alpha, q in product(range(4), range(4), (1, 2, 3)):
        exponents = product(range(alpha * q + 1), repeat=d)
        count = sum(sum(-(-a // max(alpha, 1)) for a in exponent) <= q for exponent in exponents)
        assert rank_phi_additive(d, alpha, q) == count, (d, alpha, q)
        assert rank_phi_additive(d, alpha, q, k=3) == 3 * count


@pytest.mark.parametrize(
    ("d", "alpha", "q", "m"), [(2, 4, 1, 8), (2, 4, 2, 8), (2, 4, 3, 8), (3, 2, 2, 7), (3, 2, 3, 6)]
)
def test_additive_rank_is_the_rank_of_phi(d, alpha, q, m):
    X = surfaces(powers(alpha), d, m, n=rank_phi_additive(d, alpha, q) + 20)
    assert exact_rank(polynomial_features(q)(X)) == rank_phi_additive(d, alpha, q)


@pytest.mark.parametrize("k", [2, 3])
def test_several_additive_surfaces_share_the_origin(k):
    X = surfaces(powers(4), d=2, m=20, n=40, k=k)
    assert exact_rank(polynomial_features(2)(X)) == rank_phi_additive(2, 4, 2, k) - (k - 1)


@pytest.mark.parametrize(("d", "alpha", "q"), [(1, 4, 3), (2, 1, 3), (3, 1, 2)])
def test_additive_rank_is_the_lemmas_where_no_cross_terms_can_lack(d, alpha, q):
    assert rank_phi_additive(d, alpha, q) == rank_phi_bound(d, alpha, q, m=50, n=10**6)


def test_r_tilde_is_the_smallest_solution():
    for q in range(1, 8):
        smallest = 0
        for rank_phi in range(1, 500):
            smallest += math.comb(smallest + q, q) < rank_phi
            assert r_tilde(rank_phi, q) == smallest


@given(o=st.integers(0, 10**6), q=st.integers(1, 12))
def test_r_tilde_is_exact_beyond_floating_point(o, q):
    full = math.comb(o + q, q)
    assert r_tilde(full, q) == o
    assert r_tilde(full + 1, q) == o + 1


@given(m=st.integers(2, 50), n=st.integers(1, 500), r=st.integers(0, 50))
def test_for_degree_one_the_parameters_are_those_of_an_affine_subspace(m, n, r):
    r = min(r, m)
    assert mnp_phi(m, n, q=1, rank_phi=r + 1) == (m - r) * (r + 1) + n * r
    if r <= n:
        assert mnp_phi(m, n, q=1, rank_phi=r + 1) == mnp(m, n, r) + (m - r)


def test_sampling_bound_speaks_only_where_samples_exceed_the_rank():
    for n in 20, 72, 73, 74, 200:
        rate = sampling_bound(m=20, n=n, q=3, rank_phi=73)
        assert np.sign(rate - 1) == np.sign(73 - n)
        assert rate == pytest.approx(((20 - 6) * 73 + 6 * n) / (20 * n))


def test_the_papers_curve_for_fifty_samples_a_surface_exceeds_one():
    ranks = {k: rank_phi_additive(2, 4, 3, k) for k in range(1, 8)}
    assert min(sampling_bound(20, 50 * k, 3, rank) for k, rank in ranks.items()) > 1


def test_sample_counts_compare_the_two_ranks():
    low_rank = samples_low_rank(500, 10, constant=2.0)
    assert low_rank == pytest.approx(2 * 500 * 10 * math.log(500))
    assert samples_polynomial(500, 20, 3, 84, constant=2.0) == pytest.approx(0.6 * low_rank)


@given(n=st.integers(1, 2000), m=st.integers(6, 60), rank_phi=st.integers(2, 84))
def test_documented_condition_of_the_conjecture(n, m, rank_phi):
    r = r_tilde(rank_phi, 3)
    enough = n >= Fraction((m - r) * rank_phi, r)
    assert (mnp_phi(m, n, 3, rank_phi) <= 2 * n * r) == enough


def test_information_limit_counts_unknowns_per_entry():
    assert information_limit(20, 200, 2, 8) == (200 * 2 + 20 * 8) / 4000
    assert information_limit(20, 2000, 2, 8) < sampling_bound(20, 2000, 3, 73)


@pytest.mark.parametrize("q", [1, 2, 3])
def test_polynomial_features_are_those_of_scikit_learn(q):
    X = np.random.default_rng(0).normal(size=(6, 4))
    np.testing.assert_allclose(polynomial_features(q)(X), PolynomialFeatures(q).fit_transform(X))


@pytest.mark.parametrize(("order", "c_z"), [(0, 1.0), (1, 0.5), (2, 1.0), (5, 0.5), (6, 1.0)])
def test_constant_of_exp_and_sin(order, c_z):
    front = c_z ** (order + 1) / math.factorial(order + 1)
    largest_sine = 1.0 if order % 2 == 0 else math.sin(c_z)
    for f, largest in [(np.exp, math.exp(c_z)), (np.sin, largest_sine)]:
        constant = approximation_constant(f, order, d=1, c_z=c_z)
        assert constant == pytest.approx(front * largest, rel=1e-5, abs=1e-8 * f(c_z))


@pytest.mark.parametrize("d", [1, 2, 3, 6, 11])
def test_constant_vanishes_from_the_degree_on(d):
    rng = np.random.default_rng(d)
    monomials = polynomial_features(3)
    weights = rng.normal(size=(math.comb(d + 3, 3), 5))

    def f(Z):
        return monomials(Z) @ weights

    phi = polynomial_features(2)
    assert approximation_constant(f, 2, d) > 0.1
    assert approximation_constant(f, 3, d) < 1e-12
    assert approximation_constant(lambda Z: phi(f(Z)), 5, d) > 0.1
    assert approximation_constant(lambda Z: phi(f(Z)), 6, d) < 1e-12


EXPANSIONS = {  # a map of w = z . u for complex u, and its Taylor coefficients
    "exp": (np.exp, lambda j: 1 / math.factorial(j)),
    "sin": (np.sin, lambda j: math.sin(j * math.pi / 2) / math.factorial(j)),
    "fraction": (lambda w: 1 / (4 - w), lambda j: 4.0 ** -(j + 1)),
}


@pytest.mark.parametrize("name", EXPANSIONS)
@pytest.mark.parametrize("d", [1, 3, 6])
def test_taylor_remainder_stays_below_the_constant(name, d):
    rng = np.random.default_rng(d)
    Z = rng.uniform(-1, 1, size=(2000, d))
    function, coefficient = EXPANSIONS[name]
    U = rng.uniform(-1, 1, size=(d, 4)) * np.array([1, 1, 1j, 1 + 1j]) / max(1, d / 3)
    for order in range(6):
        taylor = sum(coefficient(j) * (Z @ U) ** j for j in range(order + 1))
        remainder = np.abs((function(Z @ U) - taylor).real).max()
        constant = approximation_constant(lambda Z: function(Z @ U).real, order, d)
        assert 0 < remainder <= constant


def test_entry_wise_norm_would_be_too_small():
    # Every entry of the Hessian of (z1 + z2)^2 is 2, so the printed constant is 1.
    constant = approximation_constant(lambda Z: Z.sum(axis=1) ** 2, order=1, d=2)
    assert constant == pytest.approx(4)


@pytest.mark.parametrize("order", range(1, 6))
def test_phi_has_a_low_rank_neighbor_within_the_theorems_constant(order):
    rates = np.array([0, 1, -1, 2, 0, -2])  # phi of (e^z, e^-z) holds only exponentials
    z = np.random.default_rng(0).uniform(-1, 1, size=(40, 1))
    phi = polynomial_features(2)

    def composed(z):
        return phi(np.hstack([np.exp(z), np.exp(-z)]))

    neighbor = sum((z * rates) ** j / math.factorial(j) for j in range(order + 1))
    assert np.linalg.matrix_rank(neighbor) <= math.comb(1 + order, order)
    assert np.abs(composed(z) - neighbor).max() <= approximation_constant(composed, order, d=1)


@given(
    x=st.lists(st.floats(-4, 4), min_size=3, max_size=3),
    y=st.lists(st.floats(-4, 4), min_size=3, max_size=3),
    sigma=st.floats(0.5, 10),
    q=st.integers(0, 8),
)
def test_corrected_rbf_bound_holds(x, y, sigma, q):
    max_norm = max(math.hypot(*x), math.hypot(*y))
    assert gap_to_rbf(x, y, sigma, q) <= rbf_polynomial_bound(max_norm, sigma, q) + 1e-14


@pytest.mark.parametrize(("norm", "q"), [(3.0, 1), (2.0, 1), (2.0, 3)])
def test_printed_rbf_bound_fails(norm, q):
    printed = math.exp(-(norm**2)) * norm ** (q + 1) / math.factorial(q + 1)
    gap = gap_to_rbf([norm], [norm], 1.0, q)
    assert printed < gap <= rbf_polynomial_bound(norm, 1.0, q)


def test_rbf_bound_at_the_extremes():
    assert rbf_polynomial_bound(0.0, 1.0, 2) == 0
    assert rbf_polynomial_bound(1e200, 1e-3, 3) == math.inf


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rank_bound(-1, 2, 3, 4), "d must be a whole number of at least 0, but it is -1"),
        (lambda: rank_bound(1, 2.5, 3, 4), "alpha must be a whole number"),
        (lambda: rank_phi_bound(1, 2, 0, 3, 4), "q must be a whole number of at least 1"),
        (lambda: rank_phi_additive(1, 2, 1, k=0), "k must be"),
        (lambda: r_tilde(0, 2), "rank_phi must be"),
        (lambda: mnp(3, 4, 5), r"rank must not exceed min\(m, n\) = 3"),
        (lambda: mnp_phi(2, 9, 2, 7), r"rank_phi must not exceed C\(m \+ q, q\) = 6"),
        (lambda: sampling_bound(2, 0, 2, 3), "n must be"),
        (lambda: samples_low_rank(5, 2, constant=0), "constant must be a finite number above 0"),
        (lambda: samples_polynomial(5, 2, 2, 7), "rank_phi must not exceed"),
        (lambda: polynomial_features(0), "q must be"),
        (lambda: approximation_constant(np.exp, -1, 1), "order must be"),
        (lambda: approximation_constant(np.exp, 1, 1, c_z=math.nan), "c_z must be a finite"),
        (lambda: approximation_constant(np.abs, 1, 1), "f must be analytic"),
        (lambda: approximation_constant(lambda z: z + math.inf, 1, 2), "f must be finite"),
        (lambda: rbf_polynomial_bound(-1.0, 1.0, 1), "max_norm must be"),
        (lambda: rbf_polynomial_bound(1.0, 0.0, 1), "sigma must be a finite number above 0"),
        (lambda: information_limit(0, 1, 1, 1), "m must be"),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
