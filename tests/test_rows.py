"""Row energies against really removing rows, steps, neighbours, several starts, row scales."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polycomplete import datasets, masks
from polycomplete._resources import TILE
from polycomplete.kernels import RBF, Polynomial
from polycomplete.penalties import Schatten
from polycomplete.rows import (
    PLAIN,
    Holes,
    Packing,
    Posterior,
    folds,
    learn,
    nearest,
    posterior,
    restart,
    settle,
    spreads,
    steps,
)
from polycomplete.rows import energy as energy_module
from polycomplete.rows.energy import slices
from polycomplete.solvers.precondition import precondition
from polycomplete.solvers.problem import ExactProblem
from tests import naive

KERNELS = {
    "rbf": RBF(width=1.5),
    "polynomial": Polynomial(2, 1.0),
    "product": naive.Product(),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
GAMMA = 1e-2


def every(X):
    """Return all columns of each row."""
    return np.tile(np.arange(X.shape[1]), (len(X), 1))


@pytest.fixture(name="X")
def rows():
    return np.random.default_rng(0).standard_normal((12, 4))


@pytest.fixture(scope="module", name="surface")
def surface_with_holes():
    """Return complete rows of a surface, further rows, what is seen of them, and two models."""
    X = datasets.make_polynomial_manifold(160, 8, random_state=0)
    seen = np.random.default_rng(0).random((60, 8)) < 0.6
    models = [learn(RBF(width=8.0), X[:100], gamma) for gamma in (1e-3, 1e-6)]
    return X[:100], X[100:], seen, models


@every_kernel
def test_the_log_determinant_splits_off_the_energy_of_a_row(kernel, X):
    def log_determinant(rows):
        return np.linalg.slogdet(naive.gram(kernel, rows) + GAMMA * np.eye(len(rows)))[1]

    whole = log_determinant(X)
    energy = learn(kernel, X, GAMMA).value(X, np.arange(12))
    for j in range(12):
        others = log_determinant(np.delete(X, j, axis=0))
        assert whole == pytest.approx(others + np.log(energy[j] + GAMMA), rel=1e-11)


@every_kernel
def test_energy_in_place_of_a_row_is_the_energy_without_it(kernel, X):
    model = learn(kernel, X, GAMMA)
    moved = X + 0.3
    found = model.value(moved, np.arange(12))
    expected = [naive.row_energy(kernel, X, j, moved[j], GAMMA) for j in range(12)]
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    for j in range(12):
        without = learn(kernel, np.delete(X, j, axis=0), GAMMA)
        assert found[j] == pytest.approx(without.value(moved[j : j + 1])[0], rel=1e-10)


@every_kernel
def test_energy_of_a_new_row_is_its_definition(kernel, X):
    new = X[:5] * 0.7 + 0.2
    expected = [naive.row_energy(kernel, X, None, x, GAMMA) for x in new]
    np.testing.assert_allclose(learn(kernel, X, GAMMA).value(new), expected, rtol=1e-10)


def test_left_out_is_each_row_given_the_others_and_never_negative(X):
    model = learn(RBF(width=1.5), X, GAMMA)
    assert np.array_equal(model.left_out(X), model.value(X, np.arange(12)))
    twins = np.repeat(X, 2, axis=0)
    assert learn(RBF(width=1.5), twins, 1e-14).left_out(twins).min() >= 0


def test_dropped_directions_hardly_count():
    X = datasets.make_polynomial_manifold(50, 5, random_state=0)
    kernel, gamma = RBF(width=10.0), 1e-4
    model = learn(kernel, X, gamma)
    assert model.factor.shape[1] < 40
    expected = [naive.row_energy(kernel, X, j, X[j], gamma) for j in range(10)]
    # At most fifty directions, each below γ/1000 and charged by its square over γ.
    np.testing.assert_allclose(model.left_out(X)[:10], expected, atol=50 * 1e-6 * gamma)


@every_kernel
@pytest.mark.parametrize("in_place", [False, True])
def test_expand_gives_the_energy_and_its_gradient(kernel, in_place, X):
    model = learn(kernel, X, GAMMA)
    at = X[::2] * 0.9 + 0.1
    who = np.arange(0, 12, 2) if in_place else None
    here = model.expand(at, every(at), who)
    E, gradient = here.energy, here.gradient
    np.testing.assert_allclose(E, model.value(at, who), rtol=1e-12)
    for i, x in enumerate(at):
        own = None if who is None else who[i : i + 1]
        expected = naive.differences(lambda u, own=own: model.value(u[None], own)[0], x)
        np.testing.assert_allclose(gradient[i], expected, rtol=1e-6, atol=1e-7)


@every_kernel
@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("gamma", [1.0, 1e-3, 1e-8])
def test_gauss_newton_matrix_is_positive_semidefinite(kernel, in_place, gamma, X):
    at = np.vstack([X, X + 2.0])
    who = np.tile(np.arange(12), 2) if in_place else None
    H = (
        learn(kernel, X, gamma)
        .expand(at, every(at), who)
        .hessian(np.zeros(at.shape, dtype=bool), 0.0)
    )
    np.testing.assert_allclose(H, H.transpose(0, 2, 1), rtol=1e-12, atol=1e-12)
    # What is subtracted from the metric has entries of its size.
    size = 2 * sum(kernel.metric(at)) * (1 + np.sum(at**2, axis=1))
    assert np.all(np.linalg.eigvalsh(H)[:, 0] > -1e-12 * size)


@every_kernel
def test_gauss_newton_matrix_is_the_hessian_where_nothing_is_left_unexplained(kernel, X):
    model = learn(kernel, X, 1e-10)  # far below the smallest eigenvalue: landmarks have no energy
    H = model.expand(X, every(X)).hessian(np.zeros(X.shape, dtype=bool), 0.0)
    for x, h in zip(X, H, strict=True):
        hessian = naive.jacobian(lambda u: model.expand(u[None], every(u[None])).gradient[0], x)
        np.testing.assert_allclose(h, hessian, atol=1e-8 * np.abs(h).max())


@every_kernel
@pytest.mark.parametrize("in_place", [False, True])
def test_products_are_those_of_the_matrix(kernel, in_place, X):
    model, at = learn(kernel, X, GAMMA), X * 0.9 + 0.1
    who = np.arange(12) if in_place else None
    free = np.random.default_rng(0).random(X.shape) < 0.6
    V = np.random.default_rng(1).standard_normal(X.shape) * free
    here, there = model.expand(at, every(at), who), model.product(at, free * 1.0, who)
    H = here.hessian(np.zeros(X.shape, dtype=bool), 0.0)
    np.testing.assert_allclose(there.energy, here.energy, rtol=1e-9)
    np.testing.assert_allclose(there.gradient, here.gradient * free, rtol=1e-7, atol=1e-9)
    expected = free * (H @ V[:, :, None])[:, :, 0]
    np.testing.assert_allclose(2 * there.product(V), expected, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("in_place", [False, True])
def test_settle_never_raises_the_energy_and_never_moves_observed_entries(
    surface, in_place, wide, monkeypatch
):
    rows, new, seen, models = surface
    monkeypatch.setattr(type(models[1]), "prefers_products", lambda *size: wide)
    who = np.arange(60) if in_place else None
    X = np.where(seen, new, rows[40])
    damping = np.full(60, 0.1)
    some = ~seen.all(axis=1)
    for _ in range(12):
        before = models[1].value(X, who)
        Y, E, damping, gain = settle(models[1], X, Holes(seen), damping, exclude=who)
        assert np.all((before >= E - 1e-14)[some])
        np.testing.assert_allclose(E[some], models[1].value(Y, who)[some], rtol=1e-9, atol=1e-13)
        moved = np.isfinite(gain) & some
        np.testing.assert_allclose(gain[moved], (before - E)[moved], atol=1e-12)
        assert np.array_equal(Y[seen], new[seen])
        X = Y
    assert np.all((damping >= 1e-9) & (damping <= 1e3))
    assert np.median(E) < 1e-3 * np.median(models[1].value(np.where(seen, new, rows[40]), who))


def test_settle_leaves_a_complete_row_alone(surface):
    _, new, seen, models = surface
    found = settle(models[0], new, Holes(np.ones_like(seen)), np.full(60, 0.1))[0]
    assert np.array_equal(found, new)


# The posterior


def posterior_of(surface, in_place=False, **options):
    """Return the posterior of the last model of the fixture."""
    rows, model = surface[0], surface[3][-1]
    usual = max(float(np.median(model.left_out(rows))), 1e-6)
    energy = model if in_place else learn(model.kernel, rows, 1e-6, in_place=False)
    return Posterior(energy, rows, spreads(rows), usual, **options)


def test_the_posterior_completes_rows_of_the_surface(surface):
    _, new, seen, _ = surface
    found = posterior_of(surface).complete(new, seen)
    assert np.array_equal(found.rows[seen], new[seen])
    assert not found.std[seen].any()
    error = np.abs(found.rows - new).max(axis=1) / new.std()
    assert np.median(error[seen.sum(axis=1) >= 5]) < 0.01
    assert found.determined[seen.sum(axis=1) >= 5].mean() > 0.95
    assert not found.determined[seen.sum(axis=1) == 1].any()


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_what_comes_back_does_not_depend_on_company_or_order(surface, in_place, seed):
    rows, new, seen, _ = surface
    given = rows[:60] if in_place else new
    own = np.arange(60) if in_place else None
    model = posterior_of(surface, in_place)
    whole = model.complete(given, seen, exclude=own)
    rng = np.random.default_rng(seed)
    some = rng.permutation(60)[: rng.integers(1, 61)]
    part = None if own is None else own[some]
    for one, two in zip(model.complete(given[some], seen[some], exclude=part), whole, strict=True):
        assert np.array_equal(one, two[some])


def test_a_row_starts_from_its_neighbors_but_not_from_itself(surface):
    rows, _, seen, _ = surface
    own = np.arange(60)
    starts, _ = posterior_of(surface, True)._starts(rows[:60], seen, own, joint=False)
    expected = rows[nearest(rows[:60], seen, rows, posterior.STARTS, own)]
    assert np.array_equal(starts, np.where(seen[:, None], rows[:60, None], expected))
    joint, _ = posterior_of(surface, True)._starts(rows[:60], seen, own, joint=True)
    assert np.array_equal(joint[:, 0], rows[:60])
    assert np.array_equal(joint[:, 1:], starts)


def test_deviations_are_larger_where_neighbors_are_less_certain(surface):
    rows, new, seen, _ = surface
    model = posterior_of(surface)
    near = nearest(new, seen, rows, posterior.STARTS)
    energies = np.random.default_rng(0).uniform(1, 100, len(rows)) * model.usual
    local = replace(model, energies=energies)
    heat = local.minima(new, seen).heat
    np.testing.assert_allclose(heat, np.exp(np.log(energies)[near].mean(axis=1)))
    hot = replace(model, energies=np.full(len(rows), 100 * model.usual)).complete(new, seen)
    std, holes = model.complete(new, seen).std, ~seen
    assert 5 < np.median(hot.std[holes] / std[holes]) <= 10.1  # the root of 100, if unique


def test_starts_close_to_each_other_count_once(surface):
    _, new, seen, _ = surface
    model = posterior_of(surface)
    found = model.minima(new, seen)
    assert np.array_equal(found.of, np.sort(found.of))
    assert (found.table[:, 0] >= 0).all()
    assert 60 < len(found.of) < 60 * posterior.STARTS
    assert np.array_equal(np.repeat(np.arange(60), (found.table >= 0).sum(axis=1)), found.of)
    best, energy = found.best()
    some = ~seen.all(axis=1)
    expected = model.energy.value(best)
    np.testing.assert_allclose(energy[some], expected[some], rtol=1e-6, atol=1e-12)


def test_there_are_never_more_starts_than_rows_to_start_from(surface):
    rows, new, seen, _ = surface
    few = Posterior(learn(RBF(width=8.0), rows[:4], 1e-6), rows[:4], spreads(rows), 1e-6)
    assert few._starts(new[:2], seen[:2], None, joint=False)[0].shape == (2, 4, 8)
    assert few._starts(new[:2], seen[:2], np.array([0, 1]), joint=False)[0].shape == (2, 3, 8)


@pytest.mark.parametrize("packing", [PLAIN, Packing(even=True, entries=100, smallest=24)])
def test_deviations_are_the_inverse_curvature_and_bounded(surface, packing):
    _, new, seen, _ = surface
    model = posterior_of(surface, packing=packing, factor=1.5)
    found = model.minima(new, seen)
    alone = (found.table >= 0).sum(axis=1) == 1
    done = model.read(found, seen)
    heat = 1.5**2 * (model.usual + done.energy)
    H = model.energy.expand(done.rows, every(new)).hessian(np.zeros(new.shape, bool), 0.0)
    for i in np.flatnonzero(alone & ~seen.all(axis=1)):
        free = ~seen[i]
        inner = H[i][np.ix_(free, free)] / heat[i] + np.diag((2 * model.spread[free]) ** -2.0)
        expected = np.sqrt(np.diag(np.linalg.inv(inner)))
        np.testing.assert_allclose(done.std[i, free], expected, rtol=1e-4)
    assert (done.std <= 3 * model.spread * (1 + 1e-9)).all()


def test_two_branches_are_read_as_a_mixture():
    t = np.linspace(-1, 1, 81)
    X = np.c_[t**2, t]  # the first entry tells the second up to its sign
    mask = np.ones(X.shape, bool)
    mask[64, 1] = False
    model = learn(RBF(width=2.0), X, 1e-6)
    everywhere = Posterior(model, X, spreads(X), 1e-6, packing=PLAIN)
    for joint in (False, True):
        found = everywhere.complete(X, mask, exclude=np.arange(81), joint=joint)
        assert np.flatnonzero(~found.determined).tolist() == [64]
        assert abs(found.rows[64, 1]) < 0.2 * t[64]
        assert found.std[64, 1] == pytest.approx(t[64], rel=0.2)
        assert np.array_equal(np.delete(found.rows, 64, 0), np.delete(X, 64, 0))


def test_a_joint_completion_stands_for_its_minimum_where_they_agree(surface):
    rows, _, seen, _ = surface
    model = posterior_of(surface, in_place=True, packing=PLAIN)
    own, well = np.arange(60), (seen.sum(axis=1) >= 5) & ~seen.all(axis=1)
    kept = model.complete(rows[:60], seen, exclude=own, joint=True)
    assert (kept.rows == rows[:60]).all(axis=1)[well].mean() > 0.9
    wrong = np.where(seen, rows[:60], rows[:60] + 2.0)
    found = model.complete(wrong, seen, exclude=own, joint=True)
    assert (found.rows != wrong).any(axis=1)[well].all()


def test_readings_of_the_same_minima_can_share_their_curvature(surface):
    known, rows, seen, (model, _) = surface
    posterior = Posterior(model, known, spreads(known), 1e-3)
    minima = posterior.minima(rows, seen)
    shared = posterior.read(minima, seen, curvature=posterior.curvature(minima, seen))
    for one, other in zip(shared, posterior.read(minima, seen), strict=True):
        assert np.array_equal(one, other)


def test_rows_off_the_surface_are_less_certain(surface):
    _, new, seen, _ = surface
    model = posterior_of(surface)
    off = new + 0.5 * new.std(axis=0) * np.random.default_rng(0).standard_normal(new.shape)
    some = (seen.sum(axis=1) >= 5) & ~seen.all(axis=1)
    near, far = (model.complete(X, seen) for X in (new, off))
    assert np.median(far.std[some].max(axis=1)) > 5 * np.median(near.std[some].max(axis=1))


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_nearest_is_that_of_brute_force(seed, with_own):
    rng = np.random.default_rng(seed)
    X, pool = rng.standard_normal((5, 3)), rng.standard_normal((7, 3))
    mask = rng.random(X.shape) < 0.6
    own = rng.integers(0, 7, 5) if with_own else None
    for i, found in enumerate(nearest(X, mask, pool, 4, own)):
        distances = [sum((X[i] - y)[mask[i]] ** 2) for y in pool]
        if own is not None:
            distances[own[i]] = np.inf
        taken = np.array(distances)[found]
        np.testing.assert_allclose(taken, np.sort(distances)[:4], atol=1e-13)


@every_kernel
@pytest.mark.parametrize("noise", [None, 2.0])
@pytest.mark.parametrize("gamma", [1.0, 1e-4])
def test_preconditioner_is_a_change_of_variables(kernel, noise, gamma, X):
    rng = np.random.default_rng(0)
    mask = rng.random(X.shape) < 0.5
    problem = ExactProblem(X, mask, kernel, Schatten(0.0), noise=noise)
    z = problem.pack(X)
    g, y = rng.standard_normal((2, z.size))
    change = precondition(problem, z, gamma)
    np.testing.assert_allclose(change.back(change.forward(z)), z, rtol=1e-10)
    np.testing.assert_allclose(change.forward(change.back(z)), z, rtol=1e-10)
    # The chain rule: the change of f along y is that along back(y).
    assert change.gradient(g) @ y == pytest.approx(g @ change.back(y), rel=1e-10)


def test_wide_data_go_without_preconditioner():
    X, mask = np.ones((3, 257)), np.zeros((3, 257), bool)
    problem = ExactProblem(X, mask, RBF(width=1.0), Schatten(0.5))
    assert precondition(problem, problem.pack(X), 1.0) is None


# Restarts


def judged_by_the_others(X, mask, rng):
    """Restart each half of the rows, judged by the other."""
    kernel, found, moved = RBF().resolve(X, np.ones(X.shape, dtype=bool)), X.copy(), 0
    for part in folds(len(X), 2, rng):
        others = np.delete(X, part, axis=0)
        if len(others):
            energy = learn(kernel, others, 1e-6, in_place=False)
            judge = Posterior(energy, others, spreads(others), 1e-6, packing=PLAIN)
            found[part], more = restart(judge, X[part], mask[part], 1e-6)
            moved += more
    return found, moved


def test_only_rows_in_the_wrong_place_start_again():
    X = datasets.make_polynomial_manifold(120, 10, random_state=0)
    mask, rng = masks.uniform(X.shape, 0.7, random_state=0), np.random.default_rng(0)
    assert judged_by_the_others(X, mask, rng)[1] == 0
    wrong = X.copy()
    wrong[[3, 50], :] = np.where(mask[[3, 50]], X[[3, 50]], X[[3, 50]] + 2.0)
    found, moved = judged_by_the_others(wrong, mask, rng)
    assert moved >= 2
    assert np.abs(found[[3, 50]] - X[[3, 50]]).max() < 0.5
    assert np.array_equal(found[mask], X[mask])


def test_complete_rows_and_lone_rows_are_not_restarted():
    X = datasets.make_polynomial_manifold(20, 10, random_state=0)
    rng = np.random.default_rng(0)
    for Y in (X, X[:1]):
        found, moved = judged_by_the_others(Y, np.ones(Y.shape, dtype=bool), rng)
        assert moved == 0
        assert np.array_equal(found, Y)


def test_folds_are_all_rows_once():
    parts = folds(11, 5, np.random.default_rng(0))
    assert sorted(np.concatenate(parts)) == list(range(11))
    assert len(folds(3, 5, np.random.default_rng(0))) == 3


# Blocks


@given(
    n=st.integers(1, 400) | st.sampled_from([24, 48, 96]),
    k=st.integers(1, 60),
    landmarks=st.integers(1, 500),
)
def test_slices_are_equally_long_and_leave_nothing_out(n, k, landmarks):
    parts = list(slices(n, k, landmarks))
    assert len({part.stop - part.start for part in parts}) == 1
    assert set().union(*(range(n)[part] for part in parts)) == set(range(n))
    assert parts[0].start == 0
    assert parts[-1].stop == n
    size = parts[0].stop
    if n % TILE:
        assert (size - 1) * 8 * k * landmarks <= 1.5 * energy_module.CACHED
    else:
        assert size == 1 or size * k % TILE == 0
        assert size <= TILE or size * 8 * k * landmarks <= 1.5 * energy_module.CACHED


@given(
    n=st.integers(1, 500), m=st.integers(1, 12), rate=st.floats(0, 1), seed=st.integers(0, 9),
    entries=st.sampled_from([1, 900, 16384]), smallest=st.sampled_from([1, 64, 10_000]),
)  # fmt: skip
@settings(max_examples=60, deadline=None)
def test_every_row_with_holes_is_in_one_block_with_all_its_holes(
    n, m, rate, seed, entries, smallest
):
    mask = np.random.default_rng(seed).random((n, m)) < rate
    blocks = Holes(mask, Packing(entries=entries, smallest=smallest)).blocks
    rows = np.concatenate([block.rows for block in blocks] or [np.empty(0, int)])
    assert sorted(rows) == np.flatnonzero(~mask.all(axis=1)).tolist()
    for block in blocks:
        assert len(block.rows) <= max(steps.FEW, entries // m)
        free = block.put(~block.padding, np.zeros((len(block.rows), m), bool))
        assert np.array_equal(free, ~mask[block.rows])
        assert not block.padding.all(axis=0).any()  # some row has that many holes


@every_kernel
def test_the_derivatives_do_not_depend_on_how_many_rows_go_at_a_time(kernel, monkeypatch):
    rng = np.random.default_rng(0)
    X, mask = rng.standard_normal((50, 6)), rng.random((50, 6)) < 0.5
    energy = learn(kernel, X[:20], GAMMA)
    found = []
    for cached in (1e9, 2e3, 1.0):
        monkeypatch.setattr(energy_module, "CACHED", cached)
        found.append(settle(energy, X, Holes(mask), np.full(50, 0.1), 2)[:3])
    for others in found[1:]:
        for one, two in zip(found[0], others, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-7, atol=1e-9)
