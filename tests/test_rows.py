"""Row energies against really removing rows, steps, neighbours, several starts, row scales."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polycomplete import datasets, masks
from polycomplete._resources import TILE
from polycomplete.kernels import RBF, Polynomial
from polycomplete.penalties import Schatten
from polycomplete.rows import (
    Block,
    Candidates,
    Holes,
    Packing,
    candidates,
    holes,
    learn,
    nearest,
    retry,
    settle,
)
from polycomplete.rows.solve import _block_rows
from polycomplete.solvers.precondition import precondition
from polycomplete.solvers.problem import ExactProblem
from polycomplete.solvers.restart import blend_ambiguous
from tests import naive

KERNELS = {
    "rbf": RBF(width=1.5),
    "polynomial": Polynomial(2, 1.0),
    "product": naive.Product(),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
GAMMA = 1e-2


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
    here = model.expand(at, who)
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
    H = learn(kernel, X, gamma).expand(at, who).hessian(np.zeros(at.shape, dtype=bool), 0.0)
    np.testing.assert_allclose(H, H.transpose(0, 2, 1), rtol=1e-12, atol=1e-12)
    # What is subtracted from the metric has entries of its size.
    size = 2 * sum(kernel.metric(at)) * (1 + np.sum(at**2, axis=1))
    assert np.all(np.linalg.eigvalsh(H)[:, 0] > -1e-12 * size)


@every_kernel
def test_gauss_newton_matrix_is_the_hessian_where_nothing_is_left_unexplained(kernel, X):
    model = learn(kernel, X, 1e-10)  # far below the smallest eigenvalue: landmarks have no energy
    H = model.expand(X).hessian(np.zeros(X.shape, dtype=bool), 0.0)
    for x, h in zip(X, H, strict=True):
        hessian = naive.jacobian(lambda u: model.expand(u[None]).gradient[0], x)
        np.testing.assert_allclose(h, hessian, atol=1e-8 * np.abs(h).max())


@every_kernel
@pytest.mark.parametrize("in_place", [False, True])
def test_the_low_rank_step_of_wide_rows_is_the_dense_one(kernel, in_place):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 30))
    mask = rng.random(X.shape) < 0.4
    who = np.arange(6) if in_place else None
    here = learn(kernel, X, 1e-3).expand(X + 0.3 * rng.standard_normal(X.shape), who)
    damping = np.full(6, 1e-2)
    assert X.shape[1] > here.J.shape[2] + here.U.shape[2]
    dense = np.linalg.solve(
        here.hessian(mask, damping), -np.where(mask, 0, here.gradient)[..., None]
    )
    np.testing.assert_allclose(here.step(mask, damping), dense[..., 0], rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("in_place", [False, True])
def test_settle_never_raises_the_energy_and_never_moves_observed_entries(surface, in_place):
    rows, new, seen, models = surface
    who = np.arange(60) if in_place else None
    X = np.where(seen, new, rows[40])
    damping = np.full(60, 0.1)
    for _ in range(12):
        before = models[1].value(X, who)
        Y, E, damping = settle(models[1], X, seen, damping, who, steps=1)
        assert np.all(before >= E)
        np.testing.assert_allclose(E, models[1].value(Y, who), rtol=1e-9, atol=1e-14)
        assert np.array_equal(Y[seen], new[seen])
        X = Y
    assert np.all((damping >= 1e-9) & (damping <= 1e3))
    assert np.median(E) < 1e-3 * np.median(models[1].value(np.where(seen, new, rows[40]), who))


def test_settle_leaves_a_complete_row_alone(surface):
    _, new, seen, models = surface
    found = settle(models[0], new, np.ones_like(seen), np.full(60, 0.1))[0]
    assert np.array_equal(found, new)


def test_candidates_complete_rows_of_the_surface(surface):
    rows, new, seen, models = surface
    found, energy = candidates(models, new, seen, rows, k=6).best()
    assert np.array_equal(found[seen], new[seen])
    well = seen.sum(axis=1) >= 5
    error = np.abs(found - new).max(axis=1) / new.std()
    assert np.median(error[well]) < 0.01
    np.testing.assert_allclose(energy, models[-1].value(found), rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("seed", range(2))
def test_candidates_do_not_depend_on_company_or_order(surface, in_place, seed):
    rows, new, seen, models = surface
    if in_place:
        new, options = rows[:60], {"who": np.arange(60), "lender": np.arange(60)}
    else:
        options = {}
    whole = candidates(models, new, seen, rows, k=3, **options)
    rng = np.random.default_rng(seed)
    some = rng.permutation(60)[: rng.integers(1, 61)]
    part = {name: value[some] for name, value in options.items()}
    found = candidates(models, new[some], seen[some], rows, k=3, **part)
    assert np.array_equal(found.rows, whole.rows[some])
    assert np.array_equal(found.energy, whole.energy[some])


def test_candidates_in_several_blocks_are_those_of_one(surface, monkeypatch):
    rows, new, seen, models = surface
    whole = candidates(models, new, seen, rows, k=3)
    monkeypatch.setattr("polycomplete.rows.solve.BLOCK_BYTES", 8 * 3 * 8 * 100 * 30)
    assert _block_rows(models, 8, 3) == 24
    found = candidates(models, new, seen, rows, k=3)
    # Rounding may lead along another path of accepted steps to the same energy.
    np.testing.assert_allclose(found.energy, whole.energy, atol=1e-13)
    np.testing.assert_allclose(found.rows, whole.rows, atol=1e-5)


def test_a_row_starts_from_its_neighbours_but_not_from_itself(surface, monkeypatch):
    rows, _, seen, models = surface
    given, at = rows[:60], np.arange(60)
    stay = lambda model, Y, *rest: (Y, np.zeros(len(Y)), None)  # noqa: E731
    monkeypatch.setattr("polycomplete.rows.solve.settle", stay)
    found = candidates(models, given, seen, rows, lender=at, k=2).rows
    expected = rows[nearest(given, seen, rows, 2, at)]
    assert np.array_equal(found, np.where(seen[:, None], given[:, None], expected))
    assert np.array_equal(candidates(models, given, seen, rows, k=1).rows[:, 0], given)


def test_there_are_never_more_candidates_than_rows_to_start_from(surface):
    rows, new, seen, models = surface
    assert candidates(models, new[:2], seen[:2], rows[:4], k=9).rows.shape == (2, 4, 8)
    inside = np.array([0, -1])
    lent = candidates(models, new[:2], seen[:2], rows[:4], lender=inside, k=9)
    assert lent.rows.shape == (2, 3, 8)


@settings(deadline=None, max_examples=50)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_nearest_is_that_of_brute_force(seed, with_own):
    rng = np.random.default_rng(seed)
    X, pool = rng.standard_normal((5, 3)), rng.standard_normal((7, 3))
    mask = rng.random(X.shape) < 0.6
    own = rng.integers(-1, 7, 5) if with_own else None
    for i, found in enumerate(nearest(X, mask, pool, 4, own)):
        distances = [sum((X[i] - y)[mask[i]] ** 2) for y in pool]
        if own is not None and own[i] >= 0:
            distances[own[i]] = np.inf
        taken = np.array(distances)[found]
        np.testing.assert_allclose(taken, np.sort(distances)[:4], atol=1e-13)


def test_best_takes_the_lowest_energy():
    rows = np.arange(12.0).reshape(2, 3, 2)
    found, energy = Candidates(rows, np.array([[3.0, 1.0, 2.0], [0.5, 4.0, 9.0]])).best()
    assert np.array_equal(found, [[2.0, 3.0], [6.0, 7.0]])
    assert np.array_equal(energy, [1.0, 0.5])


def test_blend_keeps_the_best_where_candidates_agree():
    rows = np.array([[[1.0, 2.0], [1.0, 2.01], [1.0, 1.99]]])
    found, ambiguous = Candidates(rows, np.array([[2e-6, 1e-6, 2e-6]])).blend(1e-6, 1.0)
    assert np.array_equal(found, [[1.0, 2.01]])
    assert not ambiguous[0]


def test_blend_averages_where_candidates_differ_and_fit_equally_well():
    rows = np.array([[[0.0, 5.0], [0.0, 7.0]]])
    found, ambiguous = Candidates(rows, np.array([[1e-6, 1e-6]])).blend(1e-6, 1.0)
    np.testing.assert_allclose(found, [[0.0, 6.0]], rtol=1e-15)
    assert ambiguous[0]


def test_blend_does_not_listen_to_candidates_that_fit_badly():
    rows = np.array([[[0.0, 5.0], [0.0, 7.0]]])
    found, ambiguous = Candidates(rows, np.array([[1e-6, 1e-3]])).blend(1e-6, 1.0)
    assert np.array_equal(found, [[0.0, 5.0]])
    assert not ambiguous[0]


def test_blend_counts_differences_below_the_typical_energy_as_nothing():
    rows = np.array([[[0.0, 5.0], [0.0, 7.0]]])
    energy = np.array([[1e-12, 1e-6]])
    assert not Candidates(rows, energy).blend(1e-12, 1.0)[1][0]
    found, ambiguous = Candidates(rows, energy).blend(1e-3, 1.0)
    assert ambiguous[0]
    np.testing.assert_allclose(found, [[0.0, 6.0]], atol=1e-2)


def test_a_row_with_two_plausible_completions_gets_their_mean():
    t = np.linspace(-1, 1, 81)
    X = np.c_[t**2, t]  # the first entry tells the second up to its sign
    mask = np.ones(X.shape, bool)
    mask[64, 1] = False
    problem = ExactProblem(X, mask, RBF(width=2.0), Schatten(0.0))
    found, ambiguous = blend_ambiguous(problem, X, 1e-6)
    assert np.flatnonzero(ambiguous).tolist() == [64]
    assert abs(found[64, 1]) < 0.2 * t[64]
    assert np.array_equal(np.delete(found, 64, 0), np.delete(X, 64, 0))


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


# Second chances


def surfaces(X, *gammas):
    """Return what learns row energies from some rows of X."""
    kernel = RBF().resolve(X, np.ones(X.shape, dtype=bool))
    return lambda rows: [learn(kernel, X[rows], gamma, in_place=False) for gamma in gammas]


def test_only_rows_in_the_wrong_place_start_again():
    X = datasets.make_polynomial_manifold(120, 10, random_state=0)
    mask, rng = masks.uniform(X.shape, 0.7, random_state=0), np.random.default_rng(0)
    assert retry(surfaces(X, 1e-3, 1e-6), X, mask, 1e-6, rng)[1] == 0
    wrong = X.copy()
    wrong[[3, 50], :] = np.where(mask[[3, 50]], X[[3, 50]], X[[3, 50]] + 2.0)
    found, moved = retry(surfaces(wrong, 1e-3, 1e-6), wrong, mask, 1e-6, rng)
    assert moved == 2
    assert np.abs(found[[3, 50]] - X[[3, 50]]).max() < 0.5
    assert np.array_equal(np.delete(found, [3, 50], axis=0), np.delete(X, [3, 50], axis=0))
    assert np.array_equal(found[mask], X[mask])


def test_complete_rows_and_lone_rows_have_no_second_chance():
    X = datasets.make_polynomial_manifold(20, 10, random_state=0)
    rng = np.random.default_rng(0)
    for Y in (X, X[:1]):
        found, moved = retry(surfaces(X, 1e-6), Y, np.ones(Y.shape, dtype=bool), 1e-6, rng)
        assert moved == 0
        assert np.array_equal(found, Y)


# Blocks


@given(
    n=st.integers(1, 400) | st.sampled_from([24, 48, 96]),
    k=st.integers(1, 60),
    landmarks=st.integers(1, 500),
)
def test_slices_are_equally_long_and_leave_nothing_out(n, k, landmarks):
    block = Block(np.arange(n), np.zeros((n, k), int), np.zeros((n, k), bool))
    parts = list(block.slices(landmarks))
    assert len({part.stop - part.start for part in parts}) == 1
    assert set().union(*(range(n)[part] for part in parts)) == set(range(n))
    assert parts[0].start == 0
    assert parts[-1].stop == n
    size = parts[0].stop
    if n % TILE:
        assert (size - 1) * 8 * k * landmarks <= 1.5 * holes.CACHED
    else:
        assert size == 1 or size * k % TILE == 0
        assert size <= TILE or size * 8 * k * landmarks <= 1.5 * holes.CACHED


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
        assert len(block.rows) <= max(holes.FEW, entries // m)
        assert np.array_equal(block.holes(np.zeros((len(block.rows), m))), ~mask[block.rows])
        assert not block.padding.all(axis=0).any()  # some row has that many holes


@every_kernel
def test_the_derivatives_do_not_depend_on_how_many_rows_go_at_a_time(kernel, monkeypatch):
    rng = np.random.default_rng(0)
    X, mask = rng.standard_normal((50, 6)), rng.random((50, 6)) < 0.5
    energy = learn(kernel, X[:20], GAMMA)
    found = []
    for cached in (1e9, 2e3, 1.0):
        monkeypatch.setattr(holes, "CACHED", cached)
        found.append(Holes(mask).settle(energy, X, np.full(50, 0.1), 2))
    for others in found[1:]:
        for one, two in zip(found[0], others, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-7, atol=1e-9)
