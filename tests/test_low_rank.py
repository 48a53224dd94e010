"""Low-rank completion: the two solvers, their objective against independent solves, the model."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

from polycomplete import LRMC, masks
from polycomplete.solvers import AugmentedLagrangian, SoftImpute, low_rank
from polycomplete.solvers.base import Monitor
from polycomplete.solvers.low_rank import LinearModel, shrink
from tests.naive import solved

SHAPES = [(12, 8), (8, 12), (9, 9), (30, 4), (1, 5), (5, 1)]


def draw(n=12, m=8, rank=2, rate=0.7, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, m))
    return X + noise * rng.standard_normal((n, m)), masks.uniform((n, m), rate, random_state=seed)


def nuclear_norm(X):
    return float(np.sum(np.linalg.svd(X, compute_uv=False)))


def start(X, mask):
    """Return a run of the augmented Lagrangian before its first iteration."""
    run = low_rank.LowRankRun(X, mask, Monitor())
    run.by = run.largest / 5
    return run


def smallest_norm(X, mask):
    """Minimise the nuclear norm over the holes by smoothing it away: Σ √(s² + ε²), ε → 0."""
    z = np.zeros(int((~mask).sum()))
    for eps in 10.0 ** -np.arange(0, 8):

        def smoothed(z, eps=eps):
            full = X.copy()
            full[~mask] = z
            U, s, Vt = np.linalg.svd(full, full_matrices=False)
            root = np.sqrt(s**2 + eps**2)
            return root.sum(), ((U * (s / root)) @ Vt)[~mask]

        options = {"maxiter": 3000, "maxfun": 10_000, "ftol": 1e-15, "gtol": 1e-10}
        z = minimize(smoothed, z, jac=True, method="L-BFGS-B", options=options).x
    full = X.copy()
    full[~mask] = z
    return full


@pytest.mark.parametrize("shape", SHAPES)
def test_shrink_lowers_the_singular_values(shape):
    X = np.random.default_rng(1).standard_normal(shape)
    U, s, Vt = np.linalg.svd(X, full_matrices=False)
    by = 0.5 * s[0]
    low, values, directions = shrink(X, by, np.empty((X.shape[1], 0)))
    np.testing.assert_allclose(low, (U * np.maximum(s - by, 0)) @ Vt, atol=1e-12)
    np.testing.assert_allclose(values, s[s > by] - by, atol=1e-12)
    np.testing.assert_allclose(low @ directions @ directions.T, low, atol=1e-12)


@pytest.mark.parametrize("noise", [0.0, 0.5])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_exact_solver_reaches_the_smallest_norm(noise, seed):
    X, mask = draw(noise=noise, seed=seed)
    result = solved(AugmentedLagrangian(tol=1e-6, max_iter=20_000), X, mask)[1]
    independent = smallest_norm(X, mask)
    assert result.stop == "converged"
    np.testing.assert_array_equal(result.X[mask], X[mask])
    assert nuclear_norm(result.X) == pytest.approx(nuclear_norm(independent), rel=2e-6)


def test_the_duality_gap_is_a_proof():
    X, mask = draw(noise=0.5)
    best, run = nuclear_norm(smallest_norm(X, mask)), start(X, mask)
    for count in range(1, 61):
        run.step()
        run.update_multipliers(balance=count % 5 == 0)
        gap = run.duality_gap()
        assert nuclear_norm(run.completed()) * (1 - gap) <= best * (1 + 1e-9)
    assert gap < 0.01


def test_the_merit_function_never_rises_once_the_step_is_kept():
    X, mask = draw(20, 10, noise=0.3, rate=0.5)
    run, merits = start(X, mask), []
    for count in range(1, 250):
        before = run.multipliers
        run.step()
        run.update_multipliers(balance=count <= 50 and count % 5 == 0)
        if count > 50:  # in units of the step, 1 / threshold
            filled = np.sum((run.low - run.before)[~mask] ** 2)
            merits.append((filled + np.sum((run.multipliers - before) ** 2)) / run.by)
    assert merits[-1] < 1e-6 * merits[0]
    assert all(b <= a * (1 + 1e-6) + 1e-18 for a, b in pairwise(merits))


def test_soft_impute_reaches_the_minimum_of_its_objective():
    X, mask = draw(noise=0.3)
    solver = SoftImpute(threshold=0.1, tol=1e-10, max_iter=5000)
    model, result = solved(solver, X, mask)
    by = model.ridge
    assert result.stop == "converged"

    def smoothed(flat, eps=1e-6):
        L = flat.reshape(X.shape)
        U, s, Vt = np.linalg.svd(L, full_matrices=False)
        root = np.sqrt(s**2 + eps**2)
        missed = np.where(mask, L - X, 0)
        value = 0.5 * np.sum(missed**2) + by * root.sum()
        return value, (missed + by * (U * (s / root)) @ Vt).ravel()

    start = np.random.default_rng(0).standard_normal(X.size)
    options = {"maxiter": 5000, "maxfun": 20_000, "ftol": 1e-15, "gtol": 1e-9}
    found = minimize(smoothed, start, jac=True, method="L-BFGS-B", options=options)
    assert result.objective[-1] == pytest.approx(found.fun, rel=1e-5)


def test_the_objective_of_soft_impute_falls_within_a_stage():
    X, mask = draw(40, 15, rank=3, noise=0.2, rate=0.5)
    result = solved(SoftImpute(threshold=0.01), X, mask)[1]
    for before, after, a, b in zip(result.objective, result.objective[1:], result.smoothings,
                                   result.smoothings[1:], strict=False):  # fmt: skip
        assert a != b or after <= before * (1 + 1e-12)


def test_soft_impute_with_a_small_threshold_is_the_exact_method():
    X, mask = draw(30, 10, rank=2, noise=0.1, rate=0.6)
    exact = solved(AugmentedLagrangian(tol=1e-8, max_iter=20_000), X, mask)[1].X
    soft = solved(SoftImpute(threshold=1e-5, tol=1e-8, max_iter=5000), X, mask)[1].X
    np.testing.assert_allclose(soft, exact, atol=2e-3)


def test_the_truncated_decomposition_is_the_full_one(monkeypatch):
    X, mask = draw(120, 90, rank=4, noise=0.05, rate=0.5)
    full = solved(SoftImpute(threshold=0.05, tol=1e-7), X, mask)[1].X
    monkeypatch.setattr(low_rank, "SMALL", 20)
    model, result = solved(SoftImpute(threshold=0.05, tol=1e-7), X, mask)
    assert len(model.values) < 30
    np.testing.assert_allclose(result.X, full, atol=1e-4)


@pytest.mark.parametrize("solver", [AugmentedLagrangian(tol=1e-8, max_iter=20_000),
                                    SoftImpute(0.05, tol=1e-9, max_iter=5000)])  # fmt: skip
def test_the_model_gives_training_rows_back(solver):
    X, mask = draw(40, 10, rank=2, noise=0.1, rate=0.7)
    model, result = solved(solver, X, mask)
    np.testing.assert_allclose(model.complete(X, mask)[0], result.X, atol=1e-3)


def test_new_rows_of_an_exact_subspace_are_recovered():
    X, mask = draw(60, 12, rank=3, rate=0.8)
    fitted = LRMC(scale=None, solver=AugmentedLagrangian(tol=1e-8, max_iter=20_000)).fit(
        masks.apply(X, mask)[:40]
    )
    found = fitted.transform(masks.apply(X, mask)[40:])
    np.testing.assert_allclose(found, X[40:], atol=0.02)


def test_a_row_that_shows_less_than_the_rank_is_flagged():
    X, _ = draw(40, 10, rank=3)
    mask = np.ones(X.shape, dtype=bool)
    mask[0, 2:] = False
    fitted = LRMC(scale=None).fit(masks.apply(X, mask))
    assert fitted.row_determined_.tolist() == [False] + [True] * 39


def test_rank_counts_what_matters():
    model = LinearModel(np.eye(4)[:, :3], np.array([10.0, 5.0, 1e-3]), 0.0)
    assert model.rank == 2


@pytest.mark.parametrize("solver", [AugmentedLagrangian(), SoftImpute(0.01), SoftImpute()])
@pytest.mark.parametrize("shape", SHAPES)
def test_any_shape_will_do(solver, shape):
    X, mask = draw(*shape, rank=1, rate=0.8)
    mask[:, 0] = True
    mask[0] = True
    model, result = solved(solver, X, mask)
    np.testing.assert_array_equal(result.X[mask], X[mask])
    assert np.all(np.isfinite(result.X))
    assert np.all(np.isfinite(model.complete(X, mask)[0]))


@pytest.mark.parametrize("solver", [AugmentedLagrangian(tol=1e-7), SoftImpute(0.02, tol=1e-8)])
def test_permuted_and_rescaled_data_give_the_same_answer(solver):
    X, mask = draw(25, 10, noise=0.2)
    rng = np.random.default_rng(3)
    rows, columns = rng.permutation(25), rng.permutation(10)
    plain = solved(solver, X, mask)[1].X
    moved = solved(solver, 7.0 * X[rows][:, columns], mask[rows][:, columns])[1].X
    np.testing.assert_allclose(moved, 7.0 * plain[rows][:, columns], atol=1e-4)


def test_long_matrices_take_soft_impute():
    assert isinstance(LRMC()._solver((800, 800), 0), SoftImpute)
    assert isinstance(LRMC()._solver((1_000_000, 20), 0), AugmentedLagrangian)


def test_the_threshold_follows_the_noise():
    X, mask = draw(150, 30, rank=2, noise=0.0, rate=0.5)
    noise = np.random.default_rng(5).standard_normal(X.shape)
    rough, clean = (solved(SoftImpute(), X + s * noise, mask)[1].smoothing for s in (1.0, 0.001))
    assert clean <= 0.1 * rough


@pytest.mark.parametrize("bad", [0, -1.0, 2.0, "small", None])
def test_a_threshold_that_makes_no_sense_is_refused(bad):
    X, mask = draw()
    with pytest.raises((ValueError, TypeError), match="threshold"):
        solved(SoftImpute(threshold=bad), X, mask)


def test_a_solver_of_another_kind_is_refused():
    with pytest.raises(TypeError, match="AugmentedLagrangian or SoftImpute"):
        LRMC(solver="fast").fit([[1.0, 2.0], [3.0, None]])


@pytest.mark.parametrize("solver", [AugmentedLagrangian, SoftImpute])
def test_time_and_callback_end_a_run(solver):
    X, mask = draw(60, 20, rate=0.5)
    assert solved(solver(time_limit=0.0), X, mask)[1].stop == "time_limit"
    ended = solved(solver(callback=lambda progress: progress.iteration == 3), X, mask)[1]
    assert (ended.stop, ended.iterations) == ("callback", 3)
