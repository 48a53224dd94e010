"""LADMC: the lift, rows given its space, the descent, the rank, and completing new rows."""

import pickle
import tracemalloc

import numpy as np
import pytest

from polycomplete import model_selection
from polycomplete.datasets import make_polynomial_manifold, make_union_of_subspaces
from polycomplete.masks import per_row, uniform
from polycomplete.metrics import rse
from polycomplete.solvers.base import Monitor
from polycomplete.solvers.lifting import Lifting
from polycomplete.solvers.lifting.run import CAUTIOUS, Run, ranks
from polycomplete.solvers.lifting.space import (
    Lifter,
    Lifts,
    curvature,
    linear_starts,
    misfit,
    settle,
)


def lift(Y):
    """Return all products of two entries, as whole matrices: the naive form."""
    return (Y[:, :, None] * Y[:, None, :]).reshape(len(Y), -1)


def rows_of(n, M, seed=0):
    return np.random.default_rng(seed).standard_normal((n, M)) / np.sqrt(M)


def unions(n=90, m=8, k=2, d=2, rate=0.7, seed=0):
    X = make_union_of_subspaces(n, m, n_subspaces=k, dim=d, random_state=seed)
    return X, uniform(X.shape, rate, random_state=seed)


def noisy(n=30, m=5, rate=0.7, seed=0):
    X = make_polynomial_manifold(n, m, noise=0.1, random_state=seed)
    return X, uniform(X.shape, rate, random_state=seed)


def plain_iterations(X, mask, rank, count):
    """The published iteration: project, put products back, pre-image, put entries back."""
    Y, m = np.where(mask, X, 0.0), X.shape[1]
    both = (mask[:, :, None] & mask[:, None]).reshape(len(X), -1)
    at = np.arange(len(X)), np.argmax(np.abs(np.where(mask, X, 0)), axis=1)
    for _ in range(count):
        U, s, Vt = np.linalg.svd(lift(Y), full_matrices=False)
        low = np.where(both, lift(X), (U[:, :rank] * s[:rank]) @ Vt[:rank])
        values, vectors = np.linalg.eigh(low.reshape(len(X), m, m))
        lead = vectors[:, :, -1] * np.sqrt(np.maximum(values[:, -1:], 0))
        lead *= np.where(lead[at] * X[at] < 0, -1.0, 1.0)[:, None]
        Y = np.where(mask, X, lead)
    return Y


# The lift and its space


@pytest.mark.parametrize("shape", [(12, 6), (60, 6), (400, 30), (300, 20)])
@pytest.mark.parametrize("rank", [1, 7])
def test_unexplained_is_the_tail_of_the_singular_values(shape, rank):
    # Few rows, many rows, and sizes at which eigenpairs come from subspace iteration.
    Y = rows_of(*shape)
    tail = np.linalg.svd(lift(Y), compute_uv=False)[rank:]
    tolerance = 1e-9 if max(shape) < 100 else 3e-3
    assert Lifts().unexplained(Y, rank)[0] == pytest.approx(np.sum(tail**2) / len(Y), tolerance)


@pytest.mark.parametrize("n", [12, 60])
def test_the_basis_is_orthonormal_and_explains_what_it_says(n):
    Y = rows_of(n, 6)
    basis, shares = Lifts().space(Y, 5)
    flat = basis.reshape(5, -1)
    np.testing.assert_allclose(flat @ flat.T, np.eye(5), atol=1e-10)
    np.testing.assert_allclose(basis, basis.transpose(0, 2, 1), atol=1e-12)
    np.testing.assert_allclose(np.mean((lift(Y) @ flat.T) ** 2, axis=0), shares, rtol=1e-9)
    distance = np.sum((lift(Y) - lift(Y) @ flat.T @ flat) ** 2, axis=1)
    np.testing.assert_allclose(misfit(basis, Y)[0], distance, atol=1e-9)


@pytest.mark.parametrize("n", [12, 60])
def test_gradient_of_the_unexplained_part(n):
    Y, along = rows_of(n, 6), rows_of(n, 6, seed=1)
    gradient = Lifts().unexplained(Y, 4)[1]
    step = 1e-5
    ends = [Lifts().unexplained(Y + s * along, 4)[0] for s in (step, -step)]
    assert (ends[0] - ends[1]) / (2 * step) == pytest.approx(np.sum(gradient * along), rel=1e-5)


def test_gradient_and_curvature_of_the_misfit():
    basis, _ = Lifts().space(rows_of(30, 5), 4)
    y = rows_of(1, 5, seed=3)
    flat = basis.reshape(4, -1)
    project = np.eye(25) - flat.T @ flat
    step = 1e-6 * np.eye(5)
    J = np.stack([(lift(y + s) - lift(y - s))[0] @ project / 2e-6 for s in step])
    _, gradient, B = misfit(basis, y)
    np.testing.assert_allclose(gradient[0], 2 * J @ project @ lift(y)[0], atol=1e-8)
    seen = np.array([[True, False, False, True, False]])
    H = curvature(y, B, seen, 0.0)[0]
    hidden = np.ix_(~seen[0], ~seen[0])
    np.testing.assert_allclose(H[hidden], 2 * (J @ J.T)[hidden], atol=1e-7)
    np.testing.assert_array_equal(H[seen[0]], np.eye(5)[seen[0]])


def test_rows_come_back_from_the_form_that_is_lifted():
    X, mask = unions()
    for offset in (0.0, 2.0):
        lifter = Lifter.fit(X, mask, offset)
        Y, seen, length = lifter.prepare(X, mask)
        np.testing.assert_allclose(
            (Y[:, : X.shape[1]] * length[:, None])[mask], X[mask], rtol=1e-12
        )
        assert seen.shape[1] == X.shape[1] + (offset > 0)
        assert 0.5 < np.mean(np.sum(Y**2, axis=1)) < 2


# One row, given the space


def test_one_missing_entry_is_the_lowest_minimum_of_its_quartic():
    X, mask = unions(n=80, m=4, k=3, d=2, rate=1.0)
    run = Run.begin(X, mask, 0.5, Monitor())
    model = run.model(6)
    seen = np.ones((30, 5), dtype=bool)
    seen[:, 1] = False
    start = np.where(seen, rows_of(30, 5, seed=5), 0)
    found = model.candidates(start, seen).best()
    for row, E, y in zip(*found, start, strict=True):
        line = np.repeat(y[None], 5, axis=0)
        line[:, 1] = [-2, -1, 0, 1, 2]
        quartic = np.polynomial.Polynomial.fit(line[:, 1], misfit(model.basis, line)[0], 4)
        lowest = min(quartic(t.real) for t in quartic.deriv().roots() if abs(t.imag) < 1e-6)
        assert pytest.approx(lowest, abs=1e-9) == E
        assert quartic(row[1]) == pytest.approx(lowest, abs=1e-9)


def test_steps_never_raise_the_misfit_and_end_where_it_is_flat():
    basis, _ = Lifts().space(rows_of(40, 6), 8)
    Y, seen = rows_of(50, 6, seed=1), np.random.default_rng(2).random((50, 6)) < 0.5
    last = misfit(basis, Y)[0]
    for _ in range(4):
        Y, E = settle(basis, Y, seen, steps=5)
        assert np.all(E - last <= 1e-15)
        last = E
    Y, _ = settle(basis, Y, seen, steps=200)
    assert np.abs(np.where(seen, 0, misfit(basis, Y)[1])).max() < 1e-6


def test_linear_starts_solve_rows_with_enough_products():
    X, _ = unions(m=10)
    seen = per_row(X.shape, 7, random_state=1)
    basis, shares = Lifts().space(X, 6)
    starts = linear_starts(basis, shares, np.where(seen, X, 0), seen)
    np.testing.assert_allclose(starts[:, 0], X, atol=1e-4)


def test_the_sign_is_that_of_the_largest_observed_entry():
    basis, shares = Lifts().space(np.array([[1.0, 2.0, -1.0]]), 1)
    seen = np.array([[True, True, False]])
    for sign in (1, -1):
        start = linear_starts(basis, shares, sign * np.array([[1.0, 2.0, 0.0]]), seen)[0, 0]
        np.testing.assert_allclose(start, sign * np.array([1.0, 2.0, -1.0]), atol=1e-3)


# The descent


@pytest.mark.parametrize("offset", [0.0, 1.0])
def test_the_objective_falls_at_each_rank(offset):
    X, mask = noisy()
    run = Run.begin(X, mask, offset, Monitor())
    for rank in (1, 2, 4):
        begin = len(run.monitor.objective)
        run.descend(rank, 30)
        values = np.array(run.monitor.objective[begin:])
        assert set(run.monitor.smoothings[begin:]) == {rank}
        assert len(values) > 2
        assert np.all(np.diff(values) <= 0)
    assert values[-1] < 0.5 * run.monitor.objective[0]


def test_a_tight_tolerance_is_reached():
    X, mask = noisy(n=25)
    run = Run.begin(X, mask, 1.0, Monitor())
    slopes = []
    for tol in (1e-2, 1e-7):
        solver = Lifting(rank=4, tol=tol, rounds=2000)
        assert solver._converge(run, 4) == "converged"
        value, gradient = Lifts().unexplained(run.Y, 4)
        # The missing entries pay for their squares in proportion to the misfit.
        slope = gradient + 2 * value * run.Y / len(run.Y)
        slopes.append(np.abs(slope[~run.seen]).max())
    assert slopes[1] < 1e-3 * slopes[0]
    assert slopes[1] < 1e-7


def test_rescue_brings_back_stuck_rows_and_no_others():
    X, mask = unions(n=120)
    run = Run.begin(X, mask, 0.0, Monitor())
    truth = X / run.length[:, None]
    basis, _ = Lifts().space(truth, 6)
    guess = np.where(run.seen, truth, 3 * rows_of(*X.shape, seed=1))
    settled, E = settle(basis, guess, run.seen, steps=100)
    stuck = np.flatnonzero((E > 1e-2) & (mask.sum(axis=1) >= 4))
    assert len(stuck) > 4
    run.Y = truth.copy()
    run.Y[stuck] = settled[stuck]
    assert run.rescue(6) >= len(stuck) - 1
    np.testing.assert_allclose(run.Y, truth, atol=1e-2)
    run.Y = truth
    assert run.rescue(6) == 0


def test_it_does_better_than_the_plain_iteration():
    X, mask = unions(n=60, m=8, rate=0.7)
    plain = rse(X, plain_iterations(X, mask, 6, 300), mask)
    ours = rse(X, Lifting(rank=6, offset=0).solve(X, mask)[1].X, mask)
    assert ours < 1e-4 < plain < 1.0


def test_the_plain_iteration_stays_where_ours_ends():
    # Both want the same: on data of exact rank a solution of ours is a fixed point of theirs.
    X, mask = unions(n=60, m=8, rate=0.8)
    found = Lifting(rank=6, offset=0, tol=1e-9, rounds=100).solve(X, mask)[1].X
    values = np.linalg.svd(lift(found), compute_uv=False)
    assert values[6] < 1e-6 * values[0]


# The whole


@pytest.mark.parametrize(("offset", "rank"), [(0.0, 6), (1.0, 11)])
def test_unions_of_subspaces_are_recovered_and_their_rank_found(offset, rank):
    X, mask = unions(n=120, m=10)
    model, result = Lifting(offset=offset).solve(X, mask)
    assert rse(X, result.X, mask) < 1e-4
    assert result.converged
    assert len(model.basis) == rank


def test_many_subspaces_at_seventy_per_cent():
    X, mask = unions(n=250, m=15, k=5, seed=2)
    assert rse(X, Lifting(offset=0, rank=15).solve(X, mask)[1].X, mask) < 1e-3


def test_a_curved_surface_is_recovered():
    X = make_polynomial_manifold(120, 12, n_dims=1, random_state=0)
    mask = uniform(X.shape, 0.6, random_state=0)
    assert rse(X, Lifting().solve(X, mask)[1].X, mask) < 1e-3


def test_noise_leaves_an_error_of_its_size():
    X = make_union_of_subspaces(120, 10, n_subspaces=2, dim=2, noise=0.02, random_state=0)
    mask = uniform(X.shape, 0.8, random_state=0)
    result = Lifting(offset=0, rank=6).solve(X, mask)[1]
    sure = ~result.ambiguous
    assert sure.mean() > 0.95
    assert rse(X[sure], result.X[sure], mask[sure]) < 0.05


def test_observed_entries_stay_and_runs_repeat():
    X, mask = noisy()
    first, second = (Lifting().solve(X, mask, seed=3)[1] for _ in range(2))
    np.testing.assert_array_equal(first.X[mask], X[mask])
    np.testing.assert_array_equal(first.X, second.X)
    assert np.isfinite(first.X).all()


def test_what_stands_in_the_holes_does_not_matter():
    X, mask = noisy()
    solver = Lifting(rank=4)
    first, second = (solver.solve(np.where(mask, X, fill), mask)[1].X for fill in (0.0, 1e9))
    np.testing.assert_array_equal(first, second)


def test_order_of_rows_and_columns_and_scale_do_not_matter():
    X, mask = unions()
    solver = Lifting(rank=6, offset=0, tol=1e-8)
    found = solver.solve(X, mask)[1].X
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(len(X)), rng.permutation(X.shape[1])
    moved = solver.solve(X[rows][:, columns], mask[rows][:, columns])[1].X
    np.testing.assert_allclose(moved, found[rows][:, columns], atol=1e-5)
    for factor in (1e-150, 1e150):
        scaled = solver.solve(X * factor, mask)[1].X / factor
        np.testing.assert_allclose(scaled, found, atol=1e-5)


def test_without_offset_the_sign_of_a_row_does_not_matter():
    X, mask = unions()
    flip = np.where(np.arange(len(X)) % 3 == 0, -1.0, 1.0)[:, None]
    solver = Lifting(rank=6, offset=0, tol=1e-8)
    first, second = (solver.solve(data, mask)[1].X for data in (X, flip * X))
    np.testing.assert_allclose(second, flip * first, atol=1e-5)


@pytest.mark.parametrize("offset", [0.0, 1.0])
@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (6, 1), (2, 2), (3, 12), (40, 3)])
@pytest.mark.parametrize("rank", ["auto", 2, 1000])
def test_edge_shapes(shape, offset, rank):
    X = np.random.default_rng(0).standard_normal(shape)
    mask = uniform(shape, 0.7, random_state=0)
    model, result = Lifting(rank=rank, offset=offset).solve(X, mask)
    np.testing.assert_array_equal(result.X[mask], X[mask])
    assert np.isfinite(result.X).all()
    completed, loose = model.complete(X, mask)
    assert np.isfinite(completed).all()
    assert loose.shape == (len(X),)


def test_nothing_missing_still_gives_a_model():
    X, full = unions(rate=1.0)
    model, result = Lifting(offset=0).solve(X, full)
    np.testing.assert_array_equal(result.X, X)
    assert result.converged
    mask = per_row(X.shape, 6, random_state=0)
    assert rse(X, model.complete(X, mask)[0], mask) < 1e-5


def test_rows_of_zeros():
    X, mask = unions()
    X[5] = X[:, 2] = 0.0
    for offset in (0.0, 1.0):
        found = Lifting(rank=4, offset=offset).solve(X, mask)[1].X
        assert np.isfinite(found).all()


def test_too_little_to_hide_takes_the_cautious_rank():
    X = np.arange(12.0).reshape(4, 3)
    assert Lifting().choose(X, np.ones((4, 3), dtype=bool)) == CAUTIOUS


def test_time_limit_and_callback():
    X, mask = unions(n=200, m=12)
    _, result = Lifting(rank=8, time_limit=0.0).solve(X, mask)
    assert (result.stop, result.iterations) == ("time_limit", 1)
    _, result = Lifting(time_limit=0.0).solve(X, mask)
    assert result.stop == "time_limit"
    np.testing.assert_array_equal(result.X[mask], X[mask])
    seen = []
    solver = Lifting(rank=8, callback=lambda p: seen.append(p) or len(seen) == 5)
    model, result = solver.solve(X, mask)
    assert (result.stop, result.iterations) == ("callback", 5)
    assert [p.iteration for p in seen] == [1, 2, 3, 4, 5]
    assert np.isfinite(model.complete(X, mask)[0]).all()


def test_the_path_grows_and_can_be_followed():
    X, mask = unions(n=120, m=10)
    visible, hidden = model_selection.holdouts(mask, 0)[0]
    keys = [rank for rank, _ in Lifting(offset=0).path(X, visible)]
    assert keys == sorted(keys)
    assert keys[0] == 1
    path = Lifting(offset=0).path(X, visible)
    choice = model_selection.follow(path, X, hidden, np.ones(10), give_up=np.inf)
    assert 5 <= choice.smoothing <= 10
    assert choice.error < 0.2 * choice.errors[1.0]


def test_ranks_grow_to_the_last():
    for last in (1, 2, 7, 40):
        found = ranks(last, 4)
        assert found[0] == 1
        assert found[-1] == last
        assert all(np.diff(found) > 0)


# New rows


@pytest.fixture(scope="module")
def fitted():
    X, mask = unions(n=240, m=10)
    model, _ = Lifting(offset=0, rank=6).solve(X[:150], mask[:150])
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


def test_data_too_wide_are_refused_kindly():
    X = np.broadcast_to(0.0, (100, 10**6))
    with pytest.raises(MemoryError, match=r"1000000 columns.*grow with the square.*about \d+ fit"):
        Lifting(max_memory=2e9).solve(X, X == 0)


@pytest.mark.parametrize("shape", [(60, 60), (800, 14)])
def test_memory_is_what_it_says(shape):
    X = np.random.default_rng(0).standard_normal(shape)
    mask = uniform(shape, 0.7, random_state=0)
    solver = Lifting(rank=12, rounds=1, rescues=1)
    tracemalloc.start()
    solver.solve(X, mask)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < solver.memory_needed(*shape)


@pytest.mark.parametrize(
    "wrong",
    [
        {"rank": 0},
        {"rank": 2.5},
        {"rank": "many"},
        {"offset": -1},
        {"max_iter": 0},
        {"rounds": 0},
        {"tol": -1},
        {"rescues": -1},
        {"time_limit": -1},
        {"max_memory": "all"},
    ],
)
def test_wrong_parameters_are_named(wrong):
    X, mask = unions(n=10)
    with pytest.raises(ValueError, match=f"Lifting\\({next(iter(wrong))}="):
        Lifting(**wrong).solve(X, mask)
