"""Penalties against sixty-digit arithmetic, and the paper's two lemmas."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ortho_group
from sklearn.base import clone

from polycomplete.kernels import RBF, Linear
from polycomplete.penalties import Equal, Inverse, Ramp, Schatten, Skip, linear_rank
from tests import naive

RULES = {"equal": Equal(), 3: Skip(3), "ramp": Ramp(), "inverse": Inverse()}
POWERS = [2.0, 1.5, 1.0, 0.5, 0.1, 0.0, -0.5]
SPECTRUM = np.array([30.0, 4.0, 1.0, 0.2, 1e-3, 1e-7, 0.0])
N = 7
every_rule = pytest.mark.parametrize(("name", "rule"), RULES.items(), ids=map(str, RULES))
every_power = pytest.mark.parametrize("p", POWERS)


def spectral_sum(p, weights, gamma):
    """Return Σ wᵢ (λᵢ + γ)^(p/2) from the value of the penalty: the paper's sum for K + γI."""

    def of(eigenvalues):
        value = Schatten(p).value(eigenvalues, weights, gamma)
        return p / 2 * value + np.sum(weights) * gamma ** (p / 2)

    return of


@pytest.fixture(name="K")
def gram():
    return RBF(width=2.0).gram(np.random.default_rng(0).standard_normal((N, 3)))


@every_rule
def test_weights_are_their_definition(name, rule):
    for p in 1.0, 0.5, 0.1:
        found = rule.of(SPECTRUM, p)
        np.testing.assert_allclose(found, naive.weights(name, SPECTRUM, p), rtol=1e-14)


@every_rule
def test_weights_increase_from_at_least_zero_to_exactly_one(name, rule):
    w = rule.of(SPECTRUM, 0.5)
    assert w[0] >= 0
    assert np.all(np.diff(w) >= 0)
    assert w[-1] == 1


def test_only_inverse_weights_depend_on_the_spectrum():
    adaptive = {name: Schatten(0.5, rule).adaptive for name, rule in RULES.items()}
    assert adaptive == {"equal": False, 3: False, "ramp": False, "inverse": True}
    assert not Schatten(0.5).adaptive


def test_inverse_weights_allow_eigenvalues_below_zero_by_rounding():
    w = Inverse().of(np.array([2.0, -1e-17]), 0.5)
    assert np.array_equal(w, Inverse().of(np.array([2.0, 0.0]), 0.5))


@every_power
def test_skipping_nothing_is_the_plain_penalty(p):
    plain, skip = Schatten(p), Schatten(p, Skip(0))
    for method in "value", "slope":
        one = getattr(plain, method)(SPECTRUM, plain.weigh(SPECTRUM), 1e-2)
        two = getattr(skip, method)(SPECTRUM, skip.weigh(SPECTRUM), 1e-2)
        assert np.array_equal(one, two)


@every_power
def test_value_is_its_definition(p):
    for (name, rule), gamma in product(RULES.items(), (10.0, 1e-2, 1e-9)):
        w = rule.of(SPECTRUM, max(p, 0.1))
        found, exact = (
            Schatten(p, rule).value(SPECTRUM, w, gamma),
            naive.penalty(SPECTRUM, w, p, gamma),
        )
        assert found == pytest.approx(exact, rel=2e-14, abs=0), (name, gamma)


@every_power
def test_value_keeps_its_digits_far_below_the_smoothing(p):
    for ratio in 1e-3, 1e-9, 1e-15, 1e-30:
        lam, w = np.array([ratio * 0.37]), np.ones(1)
        exact = naive.penalty(lam, w, p, 0.37)
        assert Schatten(p).value(lam, w, 0.37) == pytest.approx(exact, rel=4e-15, abs=0)


@every_power
def test_slope_is_the_derivative_of_the_value(p):
    lam = SPECTRUM[:5]
    w = Ramp().of(lam, p)
    penalty = Schatten(p, Ramp())
    expected = naive.differences(lambda v: penalty.value(v, w, 0.5), lam, step=1e-4)
    np.testing.assert_allclose(penalty.slope(lam, w, 0.5), expected, rtol=1e-6)


def test_the_value_goes_over_into_the_logarithm():
    w, gamma = np.ones(N), 1e-3
    limit = Schatten(0.0).value(SPECTRUM, w, gamma)
    assert limit == pytest.approx(np.log1p(SPECTRUM / gamma).sum(), rel=4e-15)
    for small in 1e-3, 1e-6, 1e-9, -1e-6:
        # The first correction is (p/4) Σ [log²(λ + γ) − log² γ].
        bound = abs(small) / 4 * np.sum(np.log(gamma) ** 2 + np.log(SPECTRUM + gamma) ** 2)
        gap = abs(Schatten(small).value(SPECTRUM, w, gamma) - limit)
        assert gap < 1.1 * bound + 1e-12 * limit


def test_linear_kernel_with_p_one_is_twice_the_nuclear_norm():
    X = np.random.default_rng(0).standard_normal((20, 6))
    lam = np.linalg.eigvalsh(Linear().gram(X))[::-1].clip(0)
    gamma = 1e-16
    value = Schatten(1.0).value(lam, np.ones(20), gamma)
    # Each of the fourteen eigenvalues that should be 0 adds at most 2 √(rounding + γ).
    slack = 2 * 14 * np.sqrt(20 * np.finfo(float).eps * lam[0] + gamma)
    nuclear = np.linalg.norm(X, "nuc")
    assert value == pytest.approx(2 * nuclear, abs=slack)
    assert slack < 1e-4 * nuclear


def near(Q, rng, size):
    """Return an orthogonal matrix close to Q."""
    return np.linalg.qr(Q + size * rng.standard_normal(Q.shape))[0]


@pytest.mark.parametrize(("p", "s"), [(1.0, 3), (0.5, 1), (0.5, 5), (0.1, 3)])
def test_lemma_of_the_truncated_penalty(K, p, s):
    gamma = 1e-3
    A = K + gamma * np.eye(N)
    lam, V = (part[..., ::-1] for part in np.linalg.eigh(K))

    def bracket(P):
        return np.sum(np.linalg.eigvalsh(P.T @ A @ P) ** (p / 2))

    whole = np.sum(np.linalg.eigvalsh(A) ** (p / 2))
    value = spectral_sum(p, Skip(s).of(lam, p), gamma)(lam)
    assert value == pytest.approx(whole - bracket(V[:, :s]), rel=1e-11)
    draws = ortho_group.rvs(N, size=100, random_state=0)[:, :, :s]
    rng = np.random.default_rng(1)
    draws = [*draws, *(near(V[:, :s], rng, 0.05) for _ in range(100))]
    assert min(whole - bracket(P) for P in draws) > value


@pytest.mark.parametrize("p", [1.0, 0.25])
@pytest.mark.parametrize("rule", [Equal(), Ramp(), Inverse()], ids=str)
def test_lemma_of_the_weighted_penalty(K, p, rule):
    gamma = 1e-3
    lam, V = (part[..., ::-1] for part in np.linalg.eigh(K))
    w = rule.of(lam, p)
    root = np.linalg.cholesky(K + gamma * np.eye(N)).T

    def trace(Q):  # of (W^(1/p) Qᵀ (K + γI) Q W^(1/p))^(p/2)
        return np.sum(np.linalg.svd(root @ Q * w ** (1 / p), compute_uv=False) ** p)

    value = spectral_sum(p, w, gamma)(lam)
    assert value == pytest.approx(trace(V), rel=1e-11)
    rng = np.random.default_rng(1)
    draws = [*ortho_group.rvs(N, size=100, random_state=0)]
    draws += [near(V, rng, 0.05) for _ in range(100)] + [V[:, rng.permutation(N)]]
    lowest = min(trace(Q) for Q in draws)
    if isinstance(rule, Equal):
        assert lowest == pytest.approx(value, rel=1e-11)
    else:
        assert lowest > value


@given(st.integers(1, 12), st.integers(1, 8), st.floats(0.05, 1.0), st.integers(0, 2**32 - 1))
def test_linear_rank_is_between_one_and_the_number_of_columns(n, m, rate, seed):
    rng = np.random.default_rng(seed)
    assert 1 <= linear_rank(rng.standard_cauchy((n, m)), rng.random((n, m)) < rate) <= m


@pytest.mark.parametrize("rank", [1, 3, 6])
@pytest.mark.parametrize("rate", [1.0, 0.5])
def test_linear_rank_finds_equally_strong_directions(rank, rate):
    rng = np.random.default_rng(0)
    basis = np.linalg.qr(rng.standard_normal((12, rank)))[0].T
    X = rng.standard_normal((2000, rank)) @ basis
    assert linear_rank(X, rng.random(X.shape) < rate) == rank


def test_linear_rank_never_exceeds_the_rank_of_complete_data():
    rng = np.random.default_rng(0)
    for rank in range(1, 8):
        X = rng.standard_normal((40, rank)) @ rng.standard_normal((rank, 8))
        assert linear_rank(X, np.ones(X.shape, bool)) <= rank


def test_linear_rank_does_not_see_missing_cells():
    rng = np.random.default_rng(0)
    X, mask = rng.standard_normal((30, 5)), rng.random((30, 5)) < 0.7
    assert linear_rank(np.where(mask, X, 1e9), mask) == linear_rank(X, mask)
    assert linear_rank(np.zeros((3, 4)), np.ones((3, 4), bool)) == 1


def test_skip_auto_becomes_the_linear_rank():
    X, mask = np.random.default_rng(0).standard_normal((50, 4)), np.ones((50, 4), bool)
    assert Schatten(0.5, Skip()).resolve(X, mask).weights.s == linear_rank(X, mask)
    assert Schatten(0.5).resolve(X, mask).weights.of(SPECTRUM, 0.5).min() == 1


@pytest.mark.parametrize(
    ("penalty", "words"),
    [
        (Schatten(2.5), r"p must be .*at most 2, got 2\.5"),
        (Schatten(np.nan), "p must be .*at most 2, got nan"),
        (Schatten(0.5, Skip(-1)), r"s=.*non-negative integer.*got -1"),
        (Schatten(0.5, Skip(2.5)), r"s=.*non-negative integer.*got 2\.5"),
        (Schatten(0.5, Skip("m")), r"s=.*non-negative integer.*got 'm'"),
    ],
)
def test_wrong_parameters_are_named_with_their_value(penalty, words):
    with pytest.raises(ValueError, match=words):
        penalty.resolve(np.ones((2, 2)), np.ones((2, 2), bool))


def test_penalties_can_be_cloned():
    penalty = Schatten(0.3, Inverse(epsilon=0.2))
    copy = clone(penalty)
    assert copy.weights is not penalty.weights
    assert copy.get_params()["weights__epsilon"] == 0.2
