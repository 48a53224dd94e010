"""Sparse self-representation: the step, the equilibrium, the paper's joint objective, new rows."""

import pickle
from itertools import groupby, pairwise

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import Lasso

from polycomplete import datasets, masks
from polycomplete.diagnostics import check_gradient
from polycomplete.metrics import rse
from polycomplete.solvers import Progress, self_representation
from polycomplete.solvers.base import fill, stages
from polycomplete.solvers.self_representation import (
    FIRST,
    KNEE,
    Atoms,
    RowDictionary,
    SelfRepresentation,
    _Run,
    append_constant,
    smooth_abs,
)
from tests.naive import solved

#: Every variant of the method.
VARIANTS = [
    {},
    {"constant": 0.0},
    {"formulation": "joint"},
]


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


def row_objective(d, x, A, gamma):
    """Return the objective of one row, by its definition, and its gradient."""
    missed = x - d @ A
    value = np.sum(np.sqrt(d**2 + KNEE**2) - KNEE) + missed @ missed / (2 * gamma)
    return value, d / np.sqrt(d**2 + KNEE**2) - A @ missed / gamma


# --- the step of the coefficients


def random_step(n, m, rows=5, seed=0):
    rng = np.random.default_rng(seed)
    A, X = rng.standard_normal((n, m)), rng.standard_normal((rows, m))
    mask = rng.random((rows, m)) < 0.6
    mask[:, 0] = True
    return A, X, mask, np.abs(rng.standard_normal((rows, n)))


@pytest.mark.parametrize(("n", "m"), [(9, 4), (4, 9), (5, 5), (1, 3), (3, 1)])
def test_a_step_minimises_its_quadratic(n, m):
    A, X, mask, W = random_step(n, m)
    W[0, 0] = 0
    D = Atoms(A).step(W, X, mask, 0.3)
    for d, w, x, seen in zip(D, W, X, mask, strict=True):
        w = np.maximum(w, 1e-12)
        B = A[:, seen]
        expected = np.linalg.solve(np.diag(0.3 / w) + B @ B.T, B @ x[seen])
        np.testing.assert_allclose(d, expected, atol=1e-9)
    assert D[0, 0] == 0


def test_the_tall_and_the_wide_step_are_the_same():
    A, X, mask, W = random_step(12, 7)
    atoms = Atoms(A)
    tall, wide = (move(W, X, mask, 1e-3) for move in (atoms._step_tall, atoms._step_wide))
    np.testing.assert_allclose(tall, wide, atol=1e-10)


def test_blocks_change_nothing(monkeypatch):
    A, X, mask, W = random_step(12, 7, rows=60)
    whole = Atoms(A)
    assert whole.block == 96
    monkeypatch.setattr(self_representation, "BLOCK_BYTES", 10_000)
    small = Atoms(A)
    assert small.block == 24
    monkeypatch.setattr(self_representation, "BLOCK_BYTES", 100)
    single = Atoms(A)
    assert single.block == 1
    D = whole.step(W, X, mask, 1e-2)
    np.testing.assert_allclose(small.step(W, X, mask, 1e-2), D, atol=1e-12)
    np.testing.assert_allclose(single.step(W, X, mask, 1e-2), D, atol=1e-12)


@pytest.mark.parametrize("gamma", [0.3, 1e-2, 1e-4])
def test_steps_never_raise_the_objective_of_given_atoms(gamma):
    A, X, mask, _ = random_step(30, 8)
    atoms, D, values = Atoms(A), np.full((5, 30), 1 / 30), []
    for _ in range(40):
        values.append([row_objective(d, x[seen], A[:, seen], gamma)[0]
                       for d, x, seen in zip(D, X, mask, strict=True)])  # fmt: skip
        D = atoms.step(smooth_abs(D), X, mask, gamma)
    falls = -np.diff(np.array(values), axis=0)
    assert np.all(falls >= -1e-12 * np.abs(values[0]))
    assert np.all(falls[0] > 0)


def test_the_gradient_of_the_oracle_is_right():
    A, X, _, _ = random_step(10, 6)
    start = np.random.default_rng(1).standard_normal(10)
    assert check_gradient(lambda d: row_objective(d, X[0], A, 0.1), start).passed


@pytest.fixture
def thorough(monkeypatch):
    """Let new rows take steps until nothing moves."""
    monkeypatch.setattr(self_representation, "MOST_STEPS", 20_000)
    monkeypatch.setattr(self_representation, "AT_REST", 1e-10)


@pytest.mark.usefixtures("thorough")
@pytest.mark.parametrize("gamma", [0.3, 1e-2])
def test_a_dictionary_predicts_by_the_minimum_of_the_row_objective(gamma):
    A, X, mask, _ = random_step(20, 6)
    dictionary = RowDictionary(A, unit=2.0, constant=0.0, smoothing=gamma)
    completed, undetermined = dictionary.complete(2 * X, mask)
    for x, seen, found in zip(X, mask, completed, strict=True):
        best = minimize(row_objective, np.zeros(20), (x[seen], A[:, seen], gamma), jac=True,
                        method="BFGS", options={"gtol": 1e-9, "maxiter": 5000}).x  # fmt: skip
        np.testing.assert_allclose(found[~seen], 2 * (best @ A)[~seen], atol=1e-5)
        np.testing.assert_array_equal(found[seen], 2 * x[seen])
    assert not undetermined.any()


@pytest.mark.usefixtures("thorough")
def test_with_hardly_any_knee_a_dictionary_is_the_lasso(monkeypatch):
    monkeypatch.setattr(self_representation, "KNEE", 1e-7)
    A, X, mask, _ = random_step(20, 6)
    A /= np.linalg.norm(A, axis=1, keepdims=True)
    completed, _ = RowDictionary(A, 1.0, 0.0, smoothing=0.1).complete(X, mask)
    for x, seen, found in zip(X, mask, completed, strict=True):
        lasso = Lasso(0.1 / seen.sum(), fit_intercept=False, tol=1e-10, max_iter=100_000)
        lasso.fit(A[:, seen].T, x[seen])
        np.testing.assert_allclose(found[~seen], (lasso.coef_ @ A)[~seen], atol=1e-5)


# --- the solution


@pytest.mark.parametrize("variant", VARIANTS[:2], ids=str)
def test_at_a_tight_tolerance_every_row_is_at_the_minimum_of_its_own_objective(variant):
    X, mask = noisy()
    solver = SelfRepresentation(0.05, tol=1e-9, max_iter=5000, **variant)
    dictionary, result = solved(solver, X, mask)
    assert result.stop == "converged"
    rows, seen = append_constant(result.X / dictionary.unit, mask, dictionary.constant)
    atoms = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    for i in range(len(X)):
        others, at = np.delete(atoms, i, axis=0), seen[i]
        best = minimize(row_objective, np.zeros(len(X) - 1), (rows[i, at], others[:, at], 0.05),
                        jac=True, method="BFGS", options={"gtol": 1e-9}).x  # fmt: skip
        np.testing.assert_allclose(rows[i, ~at], (best @ others)[~at], atol=1e-5)
    np.testing.assert_allclose(dictionary.atoms, atoms, atol=1e-12)


@pytest.mark.parametrize("variant", VARIANTS[:2], ids=str)
def test_the_objective_of_a_round_is_the_sum_of_the_rows_on_observed_entries(variant):
    X, mask = noisy()
    run = _Run(SelfRepresentation(**variant), X, mask)
    values = []
    for _ in range(3):
        rows, atoms = run.X, run.atoms().rows
        move, value = run.round(0.05)
        parts = [row_objective(d, x[at], atoms[:, at], 0.05)[0]
                 for d, x, at in zip(run.D, rows, run.seen, strict=True)]  # fmt: skip
        values.append(value - sum(parts))
        assert not np.diag(run.D).any()
        np.testing.assert_allclose((rows + move)[run.free], (run.D @ atoms)[run.free])
        run.X = rows + move
    np.testing.assert_allclose(values, 0, atol=1e-9)


def joint_objective(X, C, lam):
    """Return the paper's objective with the knee, by its definition."""
    off = ~np.eye(len(C), dtype=bool)
    norm = np.sum(np.sqrt(C[off] ** 2 + KNEE**2) - KNEE)
    return norm + lam / 2 * np.sum((X - C @ X) ** 2)


def test_joint_lowers_the_objective_of_the_paper_and_comes_to_rest():
    X, mask = noisy()
    solver = SelfRepresentation(0.05, "joint", tol=1e-8, max_iter=5000)
    run = _Run(solver, X, mask)
    assert run.stage(0.05, 5000, converge=True) == "converged"
    values = run.monitor.objective
    assert all(b <= a * (1 + 1e-12) for a, b in pairwise(values))
    assert values[-1] < 0.95 * values[0]
    completed = run.completed()
    length = np.mean(np.sum(np.where(mask, X, 0) ** 2, axis=1))
    lam = 1 / (0.05 * length)
    assert values[-1] == pytest.approx(joint_objective(completed, run.D, lam), rel=1e-9)
    # No entry and no coefficient has anywhere to go: central differences of the definition.
    first = fill(X, mask, "mean")
    for i, j in np.argwhere(~mask)[::5]:
        slopes = []
        for at, C in (first, np.zeros_like(run.D)), (completed, run.D):
            up, down = at.copy(), at.copy()
            up[i, j] += 1e-5
            down[i, j] -= 1e-5
            slopes.append((joint_objective(up, C, lam) - joint_objective(down, C, lam)) / 2e-5)
        assert abs(slopes[1]) < 1e-3
    for i, j in [(0, 1), (5, 2), (20, 3)]:
        up, down = run.D.copy(), run.D.copy()
        up[i, j] += 1e-5
        down[i, j] -= 1e-5
        change = joint_objective(completed, up, lam) - joint_objective(completed, down, lam)
        assert abs(change) / 2e-5 < 1e-3


def test_joint_falls_within_each_stage():
    X, mask = surface(n=40)
    result = solved(SelfRepresentation(1e-2, "joint"), X, mask)[1]
    together = zip(result.smoothings, result.objective, strict=True)
    seen = []
    for gamma, group in groupby(together, key=lambda pair: pair[0]):
        values = [value for _, value in group]
        assert all(b <= a * (1 + 1e-12) for a, b in pairwise(values))
        seen.append(gamma)
    assert seen == stages(FIRST, 1e-2, 2.0)


def test_the_joint_objective_prefers_other_matrices_to_the_truth():
    """Why "rows" is the default: descent from the truth ends far away and far below."""
    X, mask = surface(n=100, m=20, n_dims=2, rate=0.5)
    run = _Run(SelfRepresentation(formulation="joint"), X, mask)
    run.X = X / run.unit
    for _ in range(100):  # the coefficients of the truth
        run.weigh(Atoms(run.X).step(run.weights, run.X, np.ones_like(mask), 0.05))
    truth = joint_objective(run.X, run.D, 1 / 0.05)
    run.stage(0.05, 100)
    assert run.monitor.objective[-1] < 0.9 * truth
    assert rse(X, run.completed(), mask) > 0.5
    rows = solved(SelfRepresentation("auto"), X, mask)[1].X
    assert rse(X, rows, mask) < 0.25


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_curve_is_completed(seed):
    X, mask = surface(n=100, seed=seed)
    _, result = solved(SelfRepresentation(), X, mask)
    assert result.stop == "converged"
    assert rse(X, result.X, mask) < 0.05
    assert rse(X, result.X, mask) < 0.1 * rse(X, fill(X, mask, "mean"), mask)


def test_rows_that_chase_each_other_take_smaller_steps(monkeypatch):
    X, mask = noisy()
    run = _Run(SelfRepresentation(), X, mask)
    lengths = iter([1.0, 1.4, 1.6, 0.9, 1.5, 0.1])
    start, moves = run.X, []
    one = np.where(run.free, 1.0, 0.0)
    monkeypatch.setattr(run, "round", lambda gamma: (next(lengths) * one, 0.0))
    monkeypatch.setattr(run.monitor, "note", lambda *_: moves.append(run.X))
    run.stage(0.1, 6)
    steps = [np.max(b - a) for a, b in pairwise([start, *moves])]
    np.testing.assert_allclose(steps, [1.0, 1.4, 0.8, 0.45, 0.375, 0.025])


def test_converged_means_that_entries_want_to_move_less_than_the_tolerance(monkeypatch):
    X, mask = noisy()
    unit = np.sqrt(np.mean(X[mask] ** 2))
    wanted, once = [], _Run.round

    def watch(self, gamma):
        move, value = once(self, gamma)
        entries = move[:, : X.shape[1]][~mask] * self.unit
        wanted.append((gamma, np.sqrt(np.mean(entries**2)) / unit))
        return move, value

    monkeypatch.setattr(_Run, "round", watch)
    result = solved(SelfRepresentation(0.1, tol=1e-4, max_iter=500), X, mask)[1]
    last = [moved for gamma, moved in wanted if gamma == 0.1]
    assert result.stop == "converged"
    assert last[-1] < 1e-4 <= min(last[:-1])
    assert [gamma for gamma, _ in wanted] == result.smoothings


def test_too_few_rounds_say_so():
    X, mask = noisy()
    result = solved(SelfRepresentation(0.1, tol=0.0, max_iter=3), X, mask)[1]
    assert result.stop == "max_iter"
    assert result.iterations == 5 * len(stages(FIRST, 0.1, 2.0)[:-1]) + 3


# --- choosing and the path


def test_path_goes_from_coarse_to_fine_and_gets_better_without_noise():
    X, mask = surface(n=100)
    smoothings, completed = zip(*SelfRepresentation().path(X, mask), strict=True)
    assert list(smoothings) == stages(FIRST, 1e-7, 2.0)
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
    assert [smoothing for smoothing, _ in path] == [0.5]


@pytest.mark.parametrize(
    ("last", "factor", "expected"),
    [
        (0.5, 2, [0.5]),
        (1.0, 2, [1.0]),
        (0.125, 2, [0.5, 0.25, 0.125]),
        (0.2, 2, [0.5, 0.25, 0.2]),
        (5e-3, 10, [0.5, 0.05, 0.005]),
    ],
)
def test_stages_fall_by_the_factor_and_end_at_the_last(last, factor, expected):
    assert stages(FIRST, last, factor) == expected


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
        if factor < 0 and variant.get("constant", 1.0) and "formulation" not in variant:
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
    dictionary, result = solved(
        SelfRepresentation(smoothing, rounds=2, max_iter=2, **variant), X, mask
    )
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
@pytest.mark.parametrize("variant", [VARIANTS[0], VARIANTS[2]], ids=str)
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


@pytest.mark.parametrize("formulation", ["rows", "joint"])
@pytest.mark.parametrize("count", [1, 7])
def test_a_callback_hears_of_each_round_and_can_end_the_run(formulation, count):
    heard = []

    def callback(progress):
        heard.append(progress)
        return len(heard) == count

    result = solved(SelfRepresentation("auto", formulation, callback=callback), *noisy())[1]
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
        ({"formulation": "both"}, 'formulation must be "rows" or "joint", got \'both\''),
        ({"rounds": 0}, r"SelfRepresentation\(rounds=\.\.\.\) must be a positive number"),
        ({"max_iter": 0}, "max_iter"),
        ({"tol": -1.0}, "tol"),
        ({"constant": np.nan}, "constant"),
        ({"time_limit": -1.0}, "time_limit"),
        ({"start": "ones"}, "start must be one of"),
    ],
)
def test_bad_parameters_are_named(params, message):
    with pytest.raises(ValueError, match=message):
        solved(SelfRepresentation(**params), *noisy())
