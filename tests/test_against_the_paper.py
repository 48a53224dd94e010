"""The paper's formulas, written a second time: objectives, gradients, Algorithm 1, counts, lemmas.

Nothing here uses the library's own derivation. Feature maps are explicit, R₁ to R₃ are sums over
their singular values, P, Q and W are formed, and gradients are differences of the frozen
objectives ℒ(·, Θ) of eqs. (13) to (15).
"""

from itertools import product
from math import comb

import numpy as np
import pytest
from scipy.stats import ortho_group

from polycomplete import RBF, AdamPlus, Polynomial, Schatten, theory
from polycomplete.kernels import zero_filled_distance
from polycomplete.penalties import Equal, Inverse, Ramp, Skip, lemma_3, lemma_4
from polycomplete.solvers.problem import ExactProblem
from tests import naive

N, P, GAMMA = 8, 0.5, 1e-3
X = np.random.default_rng(0).standard_normal((N, 3))
MASK = np.random.default_rng(1).random(X.shape) < 0.5
KERNELS = {"rbf": RBF(width=1.5), "polynomial": Polynomial(3, 1.0)}
RULES = {"R1": Equal(), "R2": Skip(3), "R3": Ramp(), "R3, w1": Inverse(epsilon=0.1)}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=[*KERNELS])
every_rule = pytest.mark.parametrize("rule", RULES.values(), ids=[*RULES])


def exponential_features(Y, width, degree=30):
    """Return the monomials, to a high degree, whose scalar product is the Gaussian kernel."""
    powers = [np.ones((len(Y), 1))]
    for j in range(1, degree + 1):  # all products of j entries over width^j, over √j!
        last = powers[-1][:, :, None] * (Y / width)[:, None, :]
        powers.append(last.reshape(len(Y), -1) / np.sqrt(j))
    radius = np.exp(-np.sum((Y / width) ** 2, axis=1) / 2)
    return radius[:, None] * np.hstack(powers)


def features(kernel, Y):
    if isinstance(kernel, Polynomial):
        return naive.monomials(Y, kernel.degree, kernel.offset)
    return exponential_features(Y, kernel.width, degree=11)


@pytest.mark.parametrize("kernel", [RBF(width=3.0), Polynomial(3, 1.0)], ids=[*KERNELS])
@every_rule
def test_penalties_are_sums_over_singular_values_of_explicit_features(kernel, rule):
    Phi = features(kernel, X)
    np.testing.assert_allclose(Phi @ Phi.T, kernel.gram(X), atol=1e-9)
    sigma = np.linalg.svd(Phi, compute_uv=False)[:N]
    lam = np.linalg.eigvalsh(kernel.gram(X))[::-1].clip(0)
    raw = {"Skip": np.arange(N) >= 3, "Ramp": np.arange(1, N + 1) / N}.get(type(rule).__name__, 1.0)
    if isinstance(rule, Inverse):
        raw = 1 / (sigma**P + 0.1)
    paper = np.sum(raw * sigma**P)
    penalty, gamma = Schatten(P, rule), 1e-14
    w = penalty.weigh(lam)
    ours = penalty.value(lam, w, gamma) + 2 / P * np.sum(w) * gamma ** (P / 2)
    largest = np.max(raw)
    assert ours == pytest.approx(2 / P * paper / largest, rel=2e-3)
    if not isinstance(rule, Inverse):
        assert penalty.factor() == 2 / P


def power(A, exponent):
    """Return a power of a symmetric positive matrix."""
    values, V = np.linalg.eigh(A)
    return (V * values**exponent) @ V.T


def frozen(kernel, rule):
    """Return ℒ(·, Θ) with P, or Q and W, of X: eqs. (13), (14), with γI added to 𝒦."""
    V = np.linalg.eigh(kernel.gram(X))[1][:, ::-1]
    lam = np.linalg.eigvalsh(kernel.gram(X))[::-1].clip(0)
    w = rule.of(lam, P)

    def of(Y):
        A = naive.gram(kernel, Y) + GAMMA * np.eye(N)
        if isinstance(rule, Skip):
            first = V[:, : rule.s]
            kept = first.T @ A @ first
            return np.trace(power(A, P / 2)) - np.trace(power(kept, P / 2))
        half = V * w ** (1 / P)
        return np.trace(power(half.T @ A @ half, P / 2))

    return of


@every_kernel
@every_rule
def test_gradients_are_those_of_the_frozen_objectives(kernel, rule):
    problem = ExactProblem(X, MASK, kernel, Schatten(P, rule))
    problem.reweigh(problem.pack(X), GAMMA)
    found = problem.value_and_gradient(problem.pack(X), GAMMA)[1]
    expected = 2 / P * naive.differences(frozen(kernel, rule), X, step=1e-6)[~MASK]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("frozen_weights", [True, False])
def test_adam_plus_is_a_plain_loop_over_algorithm_1(bias, frozen_weights):
    """With the paper's objective and ε, in which ours has 2/p: the conversion is checked, too."""
    kernel, rule = (
        RBF(width=2.0),
        Inverse(0.1, power=2, frozen=False) if not frozen_weights else Ramp(),
    )
    given = np.where(MASK, X, 0.0)
    factor = Schatten(P, rule).factor()
    paper, x = ExactProblem(given, MASK, kernel, Schatten(P, rule)), given[~MASK]
    m = v = 0.0
    step, last, epsilon, objectives = 0.05, np.inf, 1e-3, []
    for t in range(1, 26):
        Y = given.copy()
        Y[~MASK] = x
        K = naive.gram(kernel, Y)
        lam, V = (part[..., ::-1] for part in np.linalg.eigh(K))
        w = 1 / (lam.clip(0) ** P + 0.1) if not frozen_weights else np.arange(1, N + 1) / N
        scale = 0.1 * np.max(w) if not frozen_weights else 1.0
        loss = np.sum(w * ((lam.clip(0) + GAMMA) ** (P / 2) - GAMMA ** (P / 2))) / scale
        G = (V * (P / 2 * w * (lam + GAMMA) ** (P / 2 - 1))) @ V.T / scale
        T = G * K
        g = (2 / 2.0**2 * (T @ Y - T.sum(axis=1)[:, None] * Y))[~MASK]
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        m_hat, v_hat = (m / (1 - 0.9**t), v / (1 - 0.999**t)) if bias else (m, v)
        x = x - step * m_hat / (np.sqrt(v_hat) + epsilon)
        step *= 0.8 if loss > last else 1.1
        last = loss
        objectives.append(loss)
    solver = AdamPlus(step=0.05, max_iter=25, epsilon=factor * epsilon, correct_bias=bias)
    result = solver.solve(paper, GAMMA)
    np.testing.assert_allclose(result.X[~MASK], x, atol=1e-8)
    np.testing.assert_allclose(result.objective, factor * np.array(objectives), rtol=1e-8)


@pytest.mark.parametrize(("d", "alpha", "q"), [*product((1, 2, 3), (1, 2, 3), (1, 2))])
def test_counts_by_brute_force(d, alpha, q):
    """Enumerate exponents instead of evaluating binomial coefficients."""
    m, n, k = 30, 10_000, 2
    of_x = sum(sum(e) <= alpha for e in product(range(alpha + 1), repeat=d))
    of_phi = sum(sum(e) <= alpha * q for e in product(range(alpha * q + 1), repeat=d))
    assert theory.rank_bound(d, alpha, m, n, k) == min(k * of_x, m, n)
    assert theory.rank_phi_bound(d, alpha, q, 50, n, k) == min(k * of_phi, comb(50 + q, q), n)
    additive = {
        tuple(np.sum(terms, axis=0))
        for terms in product(
            [tuple(a * (i == j) for j in range(d)) for i in range(d) for a in range(alpha + 1)],
            repeat=q,
        )
    }
    assert theory.rank_phi_additive(d, alpha, q) == len(additive)
    o = 0
    while comb(o + q, q) < of_phi:
        o += 1
    assert theory.r_tilde(of_phi, q) == o
    assert theory.mnp_phi(50, n, q, of_phi) == (50 - o) * of_phi + n * o


@every_kernel
@pytest.mark.parametrize("p", [1.0, 0.5])
def test_lemma_3_holds_and_is_sharp(kernel, p):
    Phi = np.linalg.cholesky(kernel.gram(X) + 1e-6 * np.eye(N))
    left, right = lemma_3(Phi, 3, p)
    assert left == pytest.approx(right, rel=1e-9)
    for Q in ortho_group.rvs(N, size=50, random_state=0):
        assert lemma_3(Phi, 3, p, Q[:, :3])[1] > left


@every_kernel
@pytest.mark.parametrize("p", [1.0, 0.5])
@pytest.mark.parametrize("rule", [Ramp(), Inverse()], ids=str)
def test_lemma_4_holds_and_is_sharp(kernel, p, rule):
    Phi = np.linalg.cholesky(kernel.gram(X) + 1e-6 * np.eye(N))
    w = rule.of(np.linalg.svd(Phi, compute_uv=False) ** 2, p)
    left, right = lemma_4(Phi, w, p)
    assert left == pytest.approx(right, rel=1e-8)
    for Q in ortho_group.rvs(N, size=50, random_state=0):
        assert lemma_4(Phi, w, p, Q)[1] > left


def test_the_authors_width_is_the_mean_over_all_pairs_of_zero_filled_rows():
    filled = np.where(MASK, X, 0.0)
    pairs = [np.linalg.norm(a - b) for a in filled for b in filled]
    assert zero_filled_distance(X, MASK) == pytest.approx(np.mean(pairs))
    resolved = RBF(multiple=5.0, unit="zero-filled").resolve(X, MASK)
    assert resolved.width == pytest.approx(5 * np.mean(pairs))
    with pytest.raises(ValueError, match=r"RBF\(unit=...\) must be one of .*got 'mean'"):
        RBF(unit="mean").resolve(X, MASK)
