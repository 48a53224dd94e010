"""Sparse self-representation: the step, the equilibrium, new rows."""

import pickle

import numpy as np
import pytest
from sklearn.linear_model import ElasticNet

from polycomplete import datasets, masks
from polycomplete.metrics import rse
from polycomplete.solvers import Progress, sparse_representation
from polycomplete.solvers.base import fill, stages
from polycomplete.solvers.sparse_representation import (
    ObservedMisfit,
    RowDictionary,
    SelfRepresentation,
    SelfRepresentationRun,
    append_constant,
)
from tests.naive import solved

#: Every variant of the method.
VARIANTS = [{}, {"constant": 0.0}]


def surface(n=60, m=8, rate=0.7, seed=0, **params):
    """Return points of a curved surface, and a mask."""
    X = datasets.make_polynomial_manifold(n, m, random_state=seed, **{"n_dims": 1} | params)
    return X, masks.uniform(X.shape, rate, random_state=seed)


def noisy(n=24, m=6, rate=0.7, seed=0):
    """Return a matrix of rank two with noise, on which everything comes to rest quickly."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2)) @ rng.standard_normal((2, m))
    X += 0.1 * rng.standard_normal((n, m))
    return X, masks.uniform(X.shape, rate, random_state=seed)


def represent(x, A, gamma):
    """Return the coefficients of one row by scikit-learn's coordinate descent."""
    m, share = A.shape[1], 1 / 2
    net = ElasticNet(gamma / (m * share), l1_ratio=share, fit_intercept=False, tol=1e-12,
                     max_iter=100_000)  # fmt: skip
    return net.fit(A.T, x).coef_


# --- the step of the coefficients


def random_step(n, m, rows=5, seed=0):
    rng = np.random.default_rng(seed)
    A, X = rng.standard_normal((n, m)), rng.standard_normal((rows, m))
    mask = rng.random((rows, m)) < 0.6
    mask[:, 0] = True
    return A, X, mask, rng.standard_normal((rows, n))


@pytest.mark.parametrize(("n", "m"), [(9, 4), (4, 9), (5, 5), (1, 3), (3, 1)])
def test_a_step_minimizes_its_quadratic(n, m):
    A, X, mask, T = random_step(n, m)
    penalty = np.arange(1.0, 6.0)[:, None]
    Z = ObservedMisfit(X, mask, A, 3.0, False).resolvent(penalty)(T)
    for z, t, x, seen, rho in zip(Z, T, X, mask, penalty, strict=True):
        B = A[:, seen]
        expected = np.linalg.solve(3 * B @ B.T + rho * np.eye(n), 3 * B @ x[seen] + rho * t)
        np.testing.assert_allclose(z, expected, atol=1e-9)


@pytest.mark.parametrize(("n", "m"), [(9, 4), (4, 9)])
def test_a_step_leaves_the_own_row_out(n, m):
    A, _, mask, T = random_step(n, m, rows=n)
    np.fill_diagonal(T, 0)
    penalty = np.full((n, 1), 2.0)
    Z = ObservedMisfit(A, mask, A, 3.0, True).resolvent(penalty)(T)
    for i, (seen, row) in enumerate(zip(mask, T, strict=True)):
        others = np.delete(np.arange(n), i)
        one = ObservedMisfit(A[[i]], seen[None], A[others], 3.0, False).resolvent(penalty[:1])
        np.testing.assert_allclose(Z[i, others], one(row[others][None])[0], atol=1e-9)
    assert not np.diag(Z).any()


def test_the_tall_and_the_wide_step_are_the_same():
    A, X, mask, _ = random_step(12, 7)
    misfit, penalty = ObservedMisfit(X, mask, A, 1e3, False), np.full((5, 1), 2.0)
    X = np.where(mask, X, 0)
    tall, wide = (move(X, penalty) for move in (misfit._step_tall, misfit._step_wide))
    np.testing.assert_allclose(tall, wide, atol=1e-10)


def test_blocks_change_nothing(monkeypatch):
    A, X, mask, T = random_step(12, 7, rows=60)
    solve = ObservedMisfit(X, mask, A, 1e2, False).resolvent(np.full((60, 1), 2.0))
    whole = solve(T)
    for cells in 1000, 1:
        monkeypatch.setattr(sparse_representation, "CELLS", cells)
        np.testing.assert_allclose(solve(T), whole, atol=1e-12)


@pytest.mark.parametrize("gamma", [0.3, 1e-2])
def test_a_dictionary_predicts_by_the_minimum_of_the_row_objective(gamma):
    A, X, mask, _ = random_step(20, 6)
    dictionary = RowDictionary(A, 2.0, 0.0, gamma, tol=1e-9, max_iter=20_000)
    completed, undetermined = dictionary.complete(2 * X, mask)
    for x, seen, found in zip(X, mask, completed, strict=True):
        best = represent(x[seen], A[:, seen], gamma)
        np.testing.assert_allclose(found[~seen], 2 * (best @ A)[~seen], atol=1e-5)
        np.testing.assert_array_equal(found[seen], 2 * x[seen])
    assert not undetermined.any()


# --- the solution


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_at_a_tight_tolerance_every_row_is_at_the_minimum_of_its_own_objective(variant):
    X, mask = noisy()
    solver = SelfRepresentation(0.05, tol=1e-9, max_iter=5000, **variant)
    dictionary, result = solved(solver, X, mask)
    assert result.stop == "converged"
    rows, seen = append_constant(result.X / dictionary.unit, mask, dictionary.constant)
    atoms = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    for i in range(len(X)):
        others, at = np.delete(atoms, i, axis=0), seen[i]
        best = represent(rows[i, at], others[:, at], 0.05)
        np.testing.assert_allclose(rows[i, ~at], (best @ others)[~at], atol=1e-5)
    np.testing.assert_allclose(dictionary.atoms, atoms, atol=1e-12)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_the_objective_of_a_round_is_the_sum_of_the_rows_on_observed_entries(variant):
    X, mask = noisy()
    run = SelfRepresentationRun(SelfRepresentation(**variant), X, mask)
    for _ in range(3):
        rows, atoms = run.X, run.atoms()
        move, value = run.round(0.05)
        D = run.admm.copies
        missed = np.where(run.seen, rows - D @ atoms, 0)
        parts = np.abs(D).sum() + 0.5 * (D**2).sum() + (missed**2).sum() / (2 * 0.05)
        assert value == pytest.approx(parts)
        assert not np.diag(D).any()
        np.testing.assert_allclose((rows + move)[run.free], (D @ atoms)[run.free])
        run.X = rows + move


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_curve_is_completed(seed):
    X, mask = surface(n=100, seed=seed)
    _, result = solved(SelfRepresentation(), X, mask)
    assert result.stop == "converged"
    assert rse(X, result.X, mask) < 0.05
    assert rse(X, result.X, mask) < 0.1 * rse(X, fill(X, mask, "mean"), mask)


def test_converged_means_that_entries_want_to_move_less_than_the_tolerance(monkeypatch):
    X, mask = noisy()
    unit = np.sqrt(np.mean(X[mask] ** 2))
    wanted, once = [], SelfRepresentationRun.round

    def watch(self, gamma):
        move, value = once(self, gamma)
        entries = move[:, : X.shape[1]][~mask] * self.unit
        wanted.append((gamma, np.sqrt(np.mean(entries**2)) / unit))
        return move, value

    monkeypatch.setattr(SelfRepresentationRun, "round", watch)
    result = solved(SelfRepresentation(0.1, tol=1e-4, max_iter=500), X, mask)[1]
    last = [moved for gamma, moved in wanted if gamma == 0.1]
    assert result.stop == "converged"
    assert last[-1] < 1e-4 <= min(last[:-1])
    assert [gamma for gamma, _ in wanted] == result.smoothings


def test_too_few_rounds_say_so():
    X, mask = noisy()
    result = solved(SelfRepresentation(0.1, tol=0.0, max_iter=3), X, mask)[1]
    assert result.stop == "max_iter"
    assert result.iterations == 5 * len(stages(1.0, 0.1, 2.0)[:-1]) + 3


# --- choosing and the path


def test_path_goes_from_coarse_to_fine_and_gets_better_without_noise():
    X, mask = surface(n=100)
    smoothings, completed = zip(*SelfRepresentation().path(X, mask), strict=True)
    assert list(smoothings) == stages(1.0, 1e-7, 2.0)
    errors = [rse(X, each, mask) for each in completed]
    assert errors[-1] < 0.1 * errors[0]
    for each in completed:
        np.testing.assert_array_equal(each[mask], X[mask])


def test_auto_is_finer_without_noise_than_with_it():
    X, mask = surface(n=100)
    Y = X + 0.3 * X.std() * np.random.default_rng(0).standard_normal(X.shape)
    clean, rough = (solved(SelfRepresentation(), each, mask)[0].smoothing for each in (X, Y))
    assert clean < 1e-4 < 1e-3 < rough


def test_auto_depends_on_the_seed_alone():
    X, mask = noisy(n=40)
    one, two = (solved(SelfRepresentation(), X, mask, seed=3) for _ in range(2))
    assert np.array_equal(one[1].X, two[1].X)
    assert one[0].smoothing == two[0].smoothing
    assert one[1].objective == two[1].objective


def test_a_path_out_of_time_ends_early():
    X, mask = noisy()
    path = list(SelfRepresentation().path(X, mask, time_limit=0.0))
    assert [smoothing for smoothing, _ in path] == [1.0]


@pytest.mark.parametrize(
    ("last", "factor", "expected"),
    [
        (0.5, 2, [1.0, 0.5]),
        (1.0, 2, [1.0]),
        (0.125, 2, [1.0, 0.5, 0.25, 0.125]),
        (0.2, 2, [1.0, 0.5, 0.25, 0.2]),
        (5e-3, 10, [1.0, 0.1, 0.01, 0.005]),
    ],
)
def test_stages_fall_by_the_factor_and_end_at_the_last(last, factor, expected):
    assert stages(1.0, last, factor) == expected


# --- invariances and limits


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_order_of_rows_and_columns_does_not_matter(variant):
    X, mask = noisy()
    rng = np.random.default_rng(0)
    p, q = rng.permutation(X.shape[0]), rng.permutation(X.shape[1])
    solver = SelfRepresentation(0.05, **variant)
    one = solved(solver, X, mask)[1].X
    two = solved(solver, X[p][:, q], mask[p][:, q])[1].X
    np.testing.assert_allclose(two, one[p][:, q], atol=1e-8)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("smoothing", [0.05, "auto"])
def test_units_and_sign_of_the_data_do_not_matter(variant, smoothing):
    X, mask = noisy()
    solver = SelfRepresentation(smoothing, **variant)
    one = solved(solver, X, mask)[1]
    for factor in 1e-5, -1e7:
        if factor < 0 and variant.get("constant", 1.0):
            continue  # the constant coordinate keeps its sign
        two = solved(solver, factor * X, mask)[1]
        np.testing.assert_allclose(two.X / factor, one.X, atol=1e-6)
        np.testing.assert_allclose(two.objective, one.objective, rtol=1e-6)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_observed_entries_stay_and_junk_in_holes_does_not_matter(variant):
    X, mask = noisy()
    solver = SelfRepresentation(1e-3, **variant)
    one, two = (solved(solver, np.where(mask, X, junk), mask) for junk in (0.0, 1e3))
    assert np.array_equal(one[1].X, two[1].X)
    assert np.array_equal(one[1].X[mask], X[mask])
    rows, seen = X[:3], mask[:3]
    completed = [model.complete(np.where(seen, rows, junk), seen)[0]
                 for model, junk in zip((one[0], two[0]), (7.0, 0.0), strict=True)]  # fmt: skip
    assert np.array_equal(*completed)
    assert np.array_equal(completed[0][seen], rows[seen])


@pytest.mark.parametrize("shape", [(1, 4), (4, 1), (2, 2), (2, 30), (5, 12), (300, 2), (30, 30)])
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@pytest.mark.parametrize("smoothing", ["auto", 1e-7])
def test_any_shape_will_do(shape, variant, smoothing):
    X, mask = noisy(*shape)
    dictionary, result = solved(SelfRepresentation(smoothing, max_iter=2, **variant), X, mask)
    assert np.isfinite(result.X).all()
    assert np.array_equal(result.X[mask], X[mask])
    seen = np.zeros_like(mask)
    seen[:, 0] = True
    assert np.isfinite(dictionary.complete(X, seen)[0]).all()
    assert dictionary.complete(X[:0], mask[:0])[0].shape == (0, shape[1])


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_zeros_stay_zeros(variant):
    X, mask = np.zeros((6, 3)), masks.uniform((6, 3), 0.7, random_state=0)
    result = solved(SelfRepresentation(1e-3, **variant), X, mask)[1]
    assert np.abs(result.X).max() < 1e-12


def test_complete_data_leave_nothing_to_do():
    X, mask = noisy(rate=1.0)
    dictionary, result = solved(SelfRepresentation(), X, mask)
    assert (result.stop, result.iterations) == ("converged", 0)
    assert np.array_equal(result.X, X)
    assert len(dictionary.atoms) == len(X)


def test_unions_of_subspaces_are_completed():
    """The home ground of the method: 50 rows in each of three subspaces of dimension three."""
    rng = np.random.default_rng(0)
    factors = [(rng.standard_normal((50, 3)), rng.standard_normal((3, 15))) for _ in range(3)]
    X = np.vstack([Z @ B for Z, B in factors])
    mask = masks.uniform(X.shape, 0.8, random_state=0)
    result = solved(SelfRepresentation(), X, mask)[1]
    assert rse(X, result.X, mask) < 0.05


# --- new rows


@pytest.mark.parametrize("n", [12, 90])
@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_each_new_row_is_completed_by_itself_to_the_last_bit(n, variant):
    X, mask = noisy(n=n, m=19)
    dictionary, _ = solved(SelfRepresentation(5e-2, max_iter=5, **variant), X, mask)
    rows, seen = noisy(n=200, m=19, rate=0.5, seed=1)
    once = dictionary.complete(rows, seen)[0]
    p = np.random.default_rng(0).permutation(len(rows))
    assert np.array_equal(dictionary.complete(rows[p], seen[p])[0], once[p])
    for i in 0, 23, 95, 96, 199:
        at = slice(i, i + 1)
        assert np.array_equal(dictionary.complete(rows[at], seen[at])[0], once[at])


def test_new_rows_of_the_curve_are_completed():
    X, mask = surface(n=150, m=12)
    train, new = slice(0, 120), slice(120, 150)
    dictionary, _ = solved(SelfRepresentation(), X[train], mask[train])
    completed, undetermined = dictionary.complete(X[new], mask[new])
    assert rse(X[new], completed, mask[new]) < 0.01
    assert undetermined.shape == (30,)


def test_training_rows_come_back_as_fitted():
    X, mask = surface(n=80)
    dictionary, result = solved(SelfRepresentation(1e-5), X, mask)
    again = dictionary.complete(X, mask)[0]
    assert rse(result.X, again, mask) < 0.01


def test_a_dictionary_survives_pickling():
    X, mask = noisy()
    dictionary, _ = solved(SelfRepresentation(0.05), X, mask)
    copy = pickle.loads(pickle.dumps(dictionary))
    assert np.array_equal(copy.complete(X, mask)[0], dictionary.complete(X, mask)[0])


# --- being watched, and bad parameters


@pytest.mark.parametrize("count", [1, 7])
def test_a_callback_hears_of_each_round_and_can_end_the_run(count):
    heard = []

    def callback(progress):
        heard.append(progress)
        return len(heard) == count

    result = solved(SelfRepresentation(callback=callback), *noisy())[1]
    assert result.stop == "callback"
    assert [each.iteration for each in heard] == list(range(1, count + 1))
    assert all(isinstance(each, Progress) for each in heard)
    assert [each.objective for each in heard] == result.objective
    assert [each.smoothing for each in heard] == result.smoothings


@pytest.mark.parametrize("smoothing", ["auto", 1e-3])
def test_a_time_limit_ends_the_run_with_what_it_has(smoothing):
    X, mask = noisy()
    dictionary, result = solved(SelfRepresentation(smoothing, time_limit=1e-9), X, mask)
    assert (result.stop, result.iterations) == ("time_limit", 1)
    assert not np.array_equal(result.X, fill(X, mask, "mean"))
    assert np.isfinite(dictionary.complete(X, mask)[0]).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"smoothing": 0.0}, r"smoothing must be .*got 0\.0"),
        ({"smoothing": 2.0}, r"smoothing must be .*got 2\.0"),
        ({"smoothing": "fine"}, "smoothing must be .*got 'fine'"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1.0}, "tol"),
        ({"constant": np.nan}, "constant"),
        ({"time_limit": -1.0}, "time_limit"),
    ],
)
def test_bad_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        solved(SelfRepresentation(**params), *noisy())
