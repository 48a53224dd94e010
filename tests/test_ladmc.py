"""LADMC: its objective is a Schatten penalty; what a fit, its path and its model promise."""

import pickle
import tracemalloc

import numpy as np
import pytest

from polycomplete import LADMC, Exact
from polycomplete.datasets import make_polynomial_manifold, make_union_of_subspaces
from polycomplete.kernels import Polynomial
from polycomplete.masks import apply, per_row, uniform
from polycomplete.metrics import rse
from polycomplete.penalties import Schatten, Skip
from polycomplete.solvers import RankPath
from polycomplete.solvers.newton import hessian
from polycomplete.solvers.problem import ExactProblem, LiftProblem
from polycomplete.solvers.rank_path import COARSE, FINE, UnitRows, ranks
from tests import naive


def rows_of(n, M, seed=0):
    return np.random.default_rng(seed).standard_normal((n, M)) / np.sqrt(M)


def unions(n=90, m=8, k=2, d=2, rate=0.7, seed=0):
    X = make_union_of_subspaces(n, m, n_subspaces=k, dim=d, random_state=seed)
    return X, uniform(X.shape, rate, random_state=seed)


def noisy(n=30, m=5, rate=0.7, seed=0):
    X = make_polynomial_manifold(n, m, noise=0.1, random_state=seed)
    return X, uniform(X.shape, rate, random_state=seed)


def solved(X, mask, seed=0, **params):
    """Return model and result of the solver, its rank chosen or given."""
    return naive.solved(RankPath(**params), np.where(mask, X, 0.0), mask, seed)


def rank_of(result):
    return round(1 / result.smoothing)


# The objective


def posed(n, rank, offset=0.0):
    X = rows_of(n, 6)
    mask = uniform(X.shape, 0.6, random_state=0)
    parts = (X, mask, Polynomial(2, offset), Schatten(2.0, Skip(rank)))
    return [kind(*parts) for kind in (ExactProblem, LiftProblem)]


@pytest.mark.parametrize("offset", [0.0, 0.7])
@pytest.mark.parametrize("rank", [1, 4, 7])
@pytest.mark.parametrize("n", [12, 60])
def test_the_objective_is_a_penalty_of_the_gram_matrix(n, rank, offset):
    exact, lifted = posed(n, rank, offset)
    z = exact.pack(exact.X)
    wanted = naive.lifted_residual(exact.X, rank, offset)
    for gamma in (1e-3, 1.0):
        assert exact.value_and_gradient(z, gamma)[0] == pytest.approx(wanted, rel=1e-14)
    assert lifted.value_and_gradient(z, 1.0)[0] == pytest.approx(wanted, rel=1e-14)


@pytest.mark.parametrize("offset", [0.0, 0.7])
@pytest.mark.parametrize("n", [12, 60])
def test_so_is_its_gradient(n, offset):
    problems = posed(n, 4, offset)
    exact = problems[0]
    wanted = naive.lifted_gradient(exact.X, 4, offset)
    slopes = naive.differences(lambda X: naive.lifted_residual(X, 4, offset), exact.X)
    np.testing.assert_allclose(wanted, slopes, atol=1e-7)
    for problem in problems:
        found = problem.value_and_gradient(problem.pack(problem.X), 1.0)[1]
        scale = np.abs(wanted).max()  # 9e-15 with the newest libraries, 2.4e-14 with the oldest
        np.testing.assert_allclose(found / scale, wanted[problem.free] / scale, atol=1e-13, rtol=0)


@pytest.mark.parametrize("n", [12, 60])
def test_the_energy_of_a_row_is_what_the_space_leaves_of_its_lift(n):
    for problem in posed(n, 4):
        X = problem.X
        energy = hessian(problem.evaluate(problem.pack(X), 1.0), 1.0).energy
        lifts = naive.lifts(X)
        basis = np.linalg.svd(lifts)[2][:4]
        new = naive.lifts(rows_of(5, 6, seed=1))
        wanted = np.sum((new - new @ basis.T @ basis) ** 2, axis=1)
        np.testing.assert_allclose(energy.value(rows_of(5, 6, seed=1)), wanted, atol=1e-12)
        np.testing.assert_allclose(np.sum(energy.value(X)), naive.lifted_residual(X, 4), rtol=1e-10)


def plain_iterations(X, mask, rank, count):
    """The published iteration: project, put products back, pre-image, put entries back."""
    Y, m = np.where(mask, X, 0.0), X.shape[1]
    both = (mask[:, :, None] & mask[:, None]).reshape(len(X), -1)
    at = np.arange(len(X)), np.argmax(np.abs(np.where(mask, X, 0)), axis=1)
    for _ in range(count):
        U, s, Vt = np.linalg.svd(naive.lifts(Y), full_matrices=False)
        low = np.where(both, naive.lifts(X), (U[:, :rank] * s[:rank]) @ Vt[:rank])
        values, vectors = np.linalg.eigh(low.reshape(len(X), m, m))
        lead = vectors[:, :, -1] * np.sqrt(np.maximum(values[:, -1:], 0))
        lead *= np.where(lead[at] * X[at] < 0, -1.0, 1.0)[:, None]
        Y = np.where(mask, X, lead)
    return Y


def test_it_does_better_than_the_plain_iteration():
    X, mask = unions(n=60, m=8, rate=0.7)
    plain = rse(X, plain_iterations(X, mask, 6, 300), mask)
    ours = rse(X, solved(X, mask, rank=6, offset=0)[1].X, mask)
    assert ours < 1e-4 < plain < 1.0


def test_the_plain_iteration_stays_where_ours_ends():
    # Both want the same: on data of exact rank a solution of ours is a fixed point of theirs.
    X, mask = unions(n=60, m=8, rate=0.8)
    found = solved(X, mask, rank=6, offset=0)[1].X
    values = np.linalg.svd(naive.lifts(found), compute_uv=False)
    assert values[6] < 1e-6 * values[0]


def test_rows_come_back_from_unit_length():
    X, mask = unions()
    for offset in (0.0, 2.0):
        units = UnitRows.fit(X, mask, offset)
        Y, seen, length = units.apply(X, mask)
        np.testing.assert_allclose((Y[:, :8] * length)[mask], X[mask], rtol=1e-12)
        assert seen.shape[1] == X.shape[1] + (offset > 0)
        assert 0.5 < np.mean(np.sum(Y**2, axis=1)) < 2


# The fit


@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_the_objective_falls_at_each_rank(offset):
    X, mask = noisy()
    result = solved(X, mask, rank=5, offset=offset)[1]
    values, at = np.array(result.objective), np.round(1 / np.array(result.smoothings))
    assert set(at) == set(ranks(5, FINE))
    assert np.all(np.diff(at) >= 0)
    assert min(result.gains) >= 0
    assert values[-1] < 0.5 * values[0]


@pytest.mark.parametrize(("offset", "rank"), [(0.0, 6), (1.0, 11)])
def test_unions_of_subspaces_are_recovered(offset, rank):
    X, mask = unions(n=120, m=10)
    for given in ("auto", rank):
        _, result = solved(X, mask, rank=given, offset=offset)
        assert rse(X, result.X, mask) < 1e-4
        assert result.converged
        assert rank_of(result) == (rank if offset == 0 or given == rank else 13)


def test_a_rank_that_is_too_high_is_not_used():
    X, mask = unions(n=120, m=10)
    result = solved(X, mask, rank=40, offset=0)[1]
    assert rank_of(result) == 6
    assert rse(X, result.X, mask) < 1e-4


def test_many_subspaces_at_seventy_per_cent():
    X, mask = unions(n=250, m=15, k=5, seed=2)
    assert rse(X, solved(X, mask, offset=0, rank=15)[1].X, mask) < 1e-3


def test_a_curved_surface_is_recovered():
    X = make_polynomial_manifold(120, 12, n_dims=1, random_state=0)
    mask = uniform(X.shape, 0.6, random_state=0)
    assert rse(X, solved(X, mask)[1].X, mask) < 1e-3


def test_noise_leaves_an_error_of_its_size():
    X = make_union_of_subspaces(120, 10, n_subspaces=2, dim=2, noise=0.02, random_state=0)
    mask = uniform(X.shape, 0.8, random_state=0)
    result = solved(X, mask, offset=0, rank=6)[1]
    sure = ~result.ambiguous
    assert sure.mean() > 0.95
    assert rse(X[sure], result.X[sure], mask[sure]) < 0.05


def test_observed_entries_stay_and_runs_repeat():
    X, mask = noisy()
    first, second = (solved(X, mask, seed=3)[1] for _ in range(2))
    np.testing.assert_array_equal(first.X[mask], X[mask])
    np.testing.assert_array_equal(first.X, second.X)
    assert np.isfinite(first.X).all()


def test_what_stands_in_the_holes_does_not_matter():
    X, mask = noisy()
    solver = RankPath()
    first, second = (solver.solve(np.where(mask, X, fill), mask, 1 / 4)[1].X for fill in (0.0, 1e9))
    np.testing.assert_array_equal(first, second)


def test_order_of_rows_and_columns_and_scale_do_not_matter():
    X, mask = unions()
    given = {"rank": 6, "offset": 0}
    found = solved(X, mask, **given)[1].X
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    moved = solved(X[rows][:, columns], mask[rows][:, columns], **given)[1].X
    np.testing.assert_allclose(moved, found[rows][:, columns], atol=1e-8)
    for factor in (1e-150, 1e150):
        scaled = solved(X * factor, mask, **given)[1].X / factor
        np.testing.assert_allclose(scaled, found, atol=1e-8)


def test_without_offset_the_sign_of_a_row_does_not_matter():
    X, mask = unions()
    flip = np.where(np.arange(len(X)) % 3 == 0, -1.0, 1.0)[:, None]
    given = {"rank": 6, "offset": 0}
    first, second = (solved(data, mask, **given)[1].X for data in (X, flip * X))
    np.testing.assert_allclose(second, flip * first, atol=1e-8)


def test_without_offset_rows_far_out_are_found():
    # No other row is as long, but multiples of others lead there.
    X, mask = unions(n=120, m=10)
    X[::10] *= 4
    assert rse(X, solved(X, mask, offset=0)[1].X, mask) < 1e-3


@pytest.mark.parametrize("offset", [0.0, 1.0])
@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (6, 1), (2, 2), (3, 12), (40, 3)])
@pytest.mark.parametrize("rank", ["auto", 2, 1000])
def test_edge_shapes(shape, offset, rank):
    X = np.random.default_rng(0).standard_normal(shape)
    mask = uniform(shape, 0.7, random_state=0)
    model, result = solved(X, mask, rank=rank, offset=offset)
    np.testing.assert_array_equal(result.X[mask], X[mask])
    assert np.isfinite(result.X).all()
    completed, loose = model.complete(X, mask)
    assert np.isfinite(completed).all()
    assert loose.shape == (len(X),)


def test_nothing_missing_still_gives_a_model():
    X, full = unions(rate=1.0)
    model, result = solved(X, full, offset=0, rank=6)
    np.testing.assert_array_equal(result.X, X)
    assert result.converged
    mask = per_row(X.shape, 6, random_state=0)
    assert rse(X, model.complete(X, mask)[0], mask) < 1e-4


def test_rows_of_zeros():
    X, mask = unions()
    X[5] = X[:, 2] = 0.0
    for offset in (0.0, 1.0):
        found = solved(X, mask, rank=4, offset=offset)[1].X
        assert np.isfinite(found).all()


def test_too_little_to_hide_takes_a_cautious_rank():
    X = np.arange(12.0).reshape(4, 3)
    mask = np.ones((4, 3), dtype=bool)
    mask[3, 2] = False
    assert rank_of(solved(X, mask)[1]) == 2


def test_wide_rows_are_completed():
    X, mask = unions(n=60, m=400, rate=0.3)
    assert rse(X, solved(X, mask, offset=0)[1].X, mask) < 1e-3


def test_time_limit_and_callback():
    X, mask = unions(n=200, m=12)
    for rank in (8, "auto"):
        _, result = solved(X, mask, rank=rank, time_limit=0.0)
        assert (result.stop, result.iterations) == ("time_limit", 1)
        np.testing.assert_array_equal(result.X[mask], X[mask])
    seen = []
    model, result = solved(X, mask, rank=8, callback=lambda p: seen.append(p) or len(seen) == 5)
    assert (result.stop, result.iterations) == ("callback", 5)
    assert [p.iteration for p in seen] == [1, 2, 3, 4, 5]
    assert np.isfinite(model.complete(X, mask)[0]).all()


def test_the_path_grows_until_nothing_is_left():
    X, mask = unions(n=120, m=10)
    path = list(RankPath(offset=0).path(np.where(mask, X, 0), mask))
    found = [round(1 / value) for value, _ in path]
    assert found == ranks(found[-1], COARSE) == [1, 3, 9, 27]
    errors = [rse(X, completed, mask) for _, completed in path]
    assert errors[-1] < 1e-2 < 0.1 < errors[0]


# New rows


@pytest.fixture(scope="module")
def fitted():
    X, mask = unions(n=240, m=10)
    model, _ = solved(X[:150], mask[:150], offset=0, rank=6)
    return model, X[150:], mask[150:]


def test_new_rows_are_completed(fitted):
    model, X, mask = fitted
    completed, loose = model.complete(X, mask)
    np.testing.assert_array_equal(completed[mask], X[mask])
    assert rse(X[~loose], completed[~loose], mask[~loose]) < 1e-4
    assert loose.mean() < 0.1


def test_a_row_does_not_depend_on_its_company(fitted):
    model, X, mask = fitted
    completed, loose = model.complete(X, mask)
    for part in (slice(None, None, -1), slice(0, 1), slice(3, 50, 7)):
        found = model.complete(X[part], mask[part])
        np.testing.assert_array_equal(found[0], completed[part])
        np.testing.assert_array_equal(found[1], loose[part])


def test_rows_with_too_few_entries_are_named(fitted):
    model, X, _ = fitted
    # With one entry a whole line fits; two fit both planes, where one of the points may be too far
    # away to be plausible; seven fit only one.
    for count, least, greatest in ((1, 1.0, 1.0), (2, 0.8, 1.0), (7, 0.0, 0.0)):
        mask = per_row(X.shape, count, random_state=count)
        completed, loose = model.complete(X, mask)
        assert least <= loose.mean() <= greatest
        assert np.abs(completed).max() < 10 * np.abs(X).max()


def test_models_survive_pickling(fitted):
    model, X, mask = fitted
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.complete(X, mask)[0], model.complete(X, mask)[0])


def test_complete_rows_come_back_as_they_are(fitted):
    model, X, _ = fitted
    full = np.ones(X.shape, dtype=bool)
    completed, loose = model.complete(X, full)
    np.testing.assert_array_equal(completed, X)
    assert not loose.any()
    assert model.complete(X[:0], full[:0])[0].shape == (0, X.shape[1])


# Limits


def test_data_too_large_are_refused_kindly():
    X, mask = unions(n=90)
    with pytest.raises(MemoryError, match=r"90 rows.*fewer rows.*or raise max_memory"):
        LADMC(offset=0, max_memory=1.503e8).fit(apply(X, mask))


@pytest.mark.parametrize("shape", [(60, 60), (800, 14)])
def test_memory_is_what_it_says(shape):
    X = np.random.default_rng(0).standard_normal(shape)
    mask = uniform(shape, 0.7, random_state=0)
    tracemalloc.start()
    solved(X, mask, rank=12)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < Exact().memory_needed(*shape)


@pytest.mark.parametrize(
    "wrong",
    [
        {"rank": 0},
        {"rank": 2.5},
        {"rank": "many"},
        {"offset": -1},
        {"tol": -1},
        {"max_iter": 0},
        {"n_restarts": -1},
        {"time_limit": -1},
        {"max_memory": "all"},
    ],
)
def test_wrong_parameters_are_named(wrong):
    with pytest.raises(ValueError, match=rf"{next(iter(wrong))}\b.*must be.*got"):
        RankPath(**wrong).check()
