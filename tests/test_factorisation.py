"""Kernel factorisation: objective, atoms, holes, second chances, whole runs, new rows, batches."""

import pickle
from dataclasses import fields

import numpy as np
import pytest

from polycomplete import datasets, masks, metrics
from polycomplete.kernels import RBF, Linear, Polynomial
from polycomplete.rows import RowEnergy, learn, pivots, settle
from polycomplete.scaling import ColumnScaler
from polycomplete.solvers.base import Monitor
from polycomplete.solvers.factorisation import Dictionary, KernelFactorisation, partial_solve
from polycomplete.solvers.factorisation.descent import (
    FactorisationRun,
    evaluate,
    precondition_atoms,
)
from polycomplete.solvers.factorisation.descent import PackedHoles as Holes
from tests import naive

KERNELS = {
    "rbf": RBF(width=1.5),
    "polynomial": Polynomial(2, 1.0),
    "product": naive.Product(),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
BETA, ALPHA = 0.05, 0.2


@pytest.fixture(name="X")
def rows():
    return np.random.default_rng(0).standard_normal((12, 4))


@pytest.fixture(name="atoms")
def dictionary():
    return np.random.default_rng(1).standard_normal((5, 4))


@pytest.fixture(name="mask")
def observed():
    """Return what is seen of the rows: rows with none, some and all but one missing."""
    mask = np.random.default_rng(2).random((12, 4)) < 0.6
    mask[3], mask[:, 0] = True, True
    return mask


def manifold(n=150, m=10, rate=0.8, seed=0, **options):
    X = datasets.make_polynomial_manifold(n, m, random_state=seed, **options)
    return X, masks.uniform(X.shape, rate, random_state=seed)


@pytest.fixture(scope="module", name="learned")
def learned_from_a_manifold():
    """Return rows, what is seen of them, and model and result of the first 150."""
    X, mask = manifold(n=220, m=16, rate=0.7)
    return X, mask, *KernelFactorisation().solve(X[:150], mask[:150])


# The objective


@every_kernel
def test_the_objective_is_the_least_over_all_codes(kernel, X, atoms):
    inside = naive.gram(kernel, atoms)
    total = ALPHA / 2 * np.trace(inside)
    for x in X:
        k = naive.gram(kernel, x[None], atoms)[0]
        z = np.linalg.solve(inside + BETA * np.eye(5), k)
        unexplained = naive.gram(kernel, x[None])[0, 0] - 2 * k @ z + z @ inside @ z
        total += unexplained / 2 + BETA / 2 * z @ z
    assert evaluate(kernel, X, atoms, BETA, ALPHA)[0] == pytest.approx(total, rel=1e-11)


@every_kernel
def test_the_objective_is_half_the_sum_of_the_row_energies(kernel, X, atoms):
    energies = learn(kernel, atoms, BETA, in_place=False).value(X)
    assert evaluate(kernel, X, atoms, BETA)[0] == pytest.approx(energies.sum() / 2, rel=1e-9)


@every_kernel
def test_gradients_are_those_of_finite_differences(kernel, X, atoms):
    _, by_row, by_atom = evaluate(kernel, X, atoms, BETA, ALPHA)
    rows = naive.differences(lambda Y: evaluate(kernel, Y.reshape(12, 4), atoms, BETA, ALPHA)[0],
                             X.ravel())  # fmt: skip
    moves = naive.differences(lambda D: evaluate(kernel, X, D.reshape(5, 4), BETA, ALPHA)[0],
                              atoms.ravel())  # fmt: skip
    np.testing.assert_allclose(by_row.ravel(), rows, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(by_atom.ravel(), moves, rtol=1e-6, atol=1e-7)


@every_kernel
def test_selected_atoms_are_the_rows_that_the_earlier_ones_explain_least(kernel, X):
    chosen = pivots(kernel, X, 5)
    assert chosen[0] == np.argmin(np.sum((X - X.mean(axis=0)) ** 2, axis=1))
    for k in range(1, 5):
        energy = [naive.row_energy(kernel, X[chosen[:k]], None, x, 1e-12) for x in X]
        assert chosen[k] == np.argmax(energy)


def test_selection_follows_the_rows_and_ends_where_nothing_is_left(X):
    kernel, order = RBF(width=1.5), np.random.default_rng(0).permutation(12)
    assert order[pivots(kernel, X[order], 6)].tolist() == pivots(kernel, X, 6).tolist()
    assert len(pivots(kernel, np.repeat(X[:3], 4, axis=0), 10)) == 3
    assert len(pivots(kernel, X, 50)) == 12


@every_kernel
def test_variables_of_the_atoms_there_and_back(kernel, X, atoms):
    change = precondition_atoms(kernel, X, atoms, BETA)
    y = change.forward(atoms)
    np.testing.assert_allclose(change.back(y), atoms, rtol=1e-10)

    def objective(u):
        return evaluate(kernel, X, change.back(u.reshape(5, 4)), BETA)[0]

    expected = naive.differences(objective, y.ravel())
    found = change.gradient(evaluate(kernel, X, atoms, BETA)[2])
    np.testing.assert_allclose(found.ravel(), expected, rtol=1e-5, atol=1e-7)


# Holes


def test_holes_there_and_back(X, mask):
    holes = Holes(mask)
    z = holes.pack(X)
    assert sorted(z[z != 0]) == sorted(X[~mask])
    assert np.array_equal(holes.unpack(z, np.where(mask, X, 7.0)), X)
    assert Holes(np.ones_like(mask)).pack(X).size == 0


@every_kernel
def test_the_expansion_in_the_holes_is_that_of_whole_rows(kernel, X, mask, atoms):
    energy = learn(kernel, atoms, BETA, in_place=False)
    whole = energy.expand(X, np.tile(np.arange(X.shape[1]), (len(X), 1)))
    for block in Holes(mask).blocks:
        here = energy.expand(X[block.rows], block.columns)
        np.testing.assert_allclose(here.energy, whole.energy[block.rows], rtol=1e-10)
        expected = block.gather(whole.gradient)
        np.testing.assert_allclose(here.gradient, expected, rtol=1e-9, atol=1e-12)
        assert np.array_equal(block.padding, block.gather(mask))
        for row, columns, H in zip(
            block.rows, block.columns, here.hessian(block.padding, 0.1), strict=True
        ):
            k = np.count_nonzero(~mask[row])
            at = np.ix_(columns[:k], columns[:k])
            dense = whole.hessian(np.zeros_like(mask), 0.1)[row][at]
            np.testing.assert_allclose(H[:k, :k], dense, rtol=1e-9, atol=1e-12)
            np.testing.assert_array_equal(H[k:, k:], np.eye(len(H) - k))


@pytest.mark.parametrize("worse", [np.nan, 1e9])
def test_a_step_that_costs_energy_is_not_taken(worse, X, mask, atoms, monkeypatch):
    energy = learn(RBF(width=1.5), atoms, BETA, in_place=False)
    monkeypatch.setattr(RowEnergy, "value", lambda self, X, exclude=None: np.full(len(X), worse))
    found, _, damping, _ = settle(energy, X, Holes(mask), np.full(12, 0.1))
    assert np.array_equal(found, X)
    assert np.array_equal(damping, np.where(mask.all(axis=1), 0.1, 1.0))


@pytest.mark.parametrize("m", [4, 300])
def test_variables_of_the_rows_there_and_back(m):
    rng = np.random.default_rng(0)
    X, atoms, mask = rng.standard_normal((9, m)), rng.standard_normal((5, m)), rng.random((9, m))
    holes, kernel = Holes(mask < 0.6), RBF(width=np.sqrt(m))
    change = holes.precondition(learn(kernel, atoms, 0.01, in_place=False), X)
    z = holes.pack(X)
    np.testing.assert_allclose(change.back(change.forward(z)), z, atol=1e-10)
    g = np.where(z != 0, rng.standard_normal(z.size), 0)
    # One and the same change of the objective, in both variables.
    assert change.gradient(g) @ change.forward(z) == pytest.approx(g @ z)


# The whole run


def same_stage(result):
    """Return the pairs of objectives that follow each other within a stage of the descent."""
    pairs = zip(result.objective, result.objective[1:], strict=False)
    stage = np.array(result.smoothings)
    return [pair for pair, same in zip(pairs, stage[1:] == stage[:-1], strict=True) if same]


@pytest.mark.parametrize("kernel", [RBF(), Polynomial(2, 1.0)], ids=["rbf", "polynomial"])
@pytest.mark.parametrize("beta", ["auto", 1e-2, 1e-8])
def test_the_objective_falls_within_each_stage(kernel, beta):
    X, mask = manifold(n=80, m=8)
    _, result = KernelFactorisation(beta=beta, tol=1e-5).solve(X, mask, kernel)
    pairs = np.array(same_stage(result))
    assert len(pairs) > 20
    assert np.all(pairs[:, 1] <= pairs[:, 0] * (1 + 1e-12))


@every_kernel
def test_a_tight_tolerance_is_reached(kernel):
    X, mask = manifold(n=60, m=6, rate=0.7, n_dims=1)
    X = ColumnScaler.fit(X, mask, "standard").apply(X)
    solver = KernelFactorisation(n_atoms=6, beta=1e-2, max_iter=20000, tol=1e-13, blend=False)
    model, result = solver.solve(X, mask, kernel)
    assert result.stop == "converged"
    gamma, alpha = 1e-2 * model.scale, 0.0 if isinstance(kernel, RBF) else 1e-2
    value, rows, moves = evaluate(kernel, result.X, model.atoms, gamma, alpha)
    assert result.objective[-1] == pytest.approx(value, rel=1e-9)
    # Against the slopes where a run begins.
    first = evaluate(kernel, np.where(mask, X, 0), X[:6], gamma, alpha)
    assert np.abs(rows[~mask]).max() < 1e-6 * np.abs(first[1]).max()
    assert np.abs(moves).max() < 1e-6 * np.abs(first[2]).max()


def soft_impute(X, mask, weight):
    """Return the minimum of ½ Σ_observed (x − l)² + weight ‖L‖_*, the slow and sure way."""
    L = np.zeros_like(X)
    for _ in range(3000):
        U, s, V = np.linalg.svd(np.where(mask, X, L), full_matrices=False)
        L = (U * np.maximum(s - weight, 0)) @ V
    return L


@pytest.fixture(name="linear")
def linear_problem():
    """Return a matrix of low rank, what is seen of it, and a solver that makes it convex."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 6))
    mask = masks.uniform(X.shape, 0.7, random_state=0)
    solver = KernelFactorisation(n_atoms=8, beta=0.3, max_iter=5000, tol=1e-12, blend=False)
    return X, mask, solver


def test_with_the_linear_kernel_it_is_the_nuclear_norm(linear):
    """Weights of both factors together are a nuclear norm: a convex problem with one answer."""
    X, mask, solver = linear
    model, result = solver.solve(X, mask, Linear())
    expected = soft_impute(X, mask, np.sqrt(0.3 * 0.3 * model.scale))
    np.testing.assert_allclose(result.X[~mask], expected[~mask], atol=1e-4)


def test_order_of_rows_and_columns_does_not_matter_to_the_minimum(linear):
    X, mask, solver = linear
    rng = np.random.default_rng(1)
    order, columns = rng.permutation(30), rng.permutation(6)
    _, result = solver.solve(X, mask, Linear())
    at = np.ix_(order, columns)
    _, other = solver.solve(X[at], mask[at], Linear(), seed=5)
    np.testing.assert_allclose(other.X, result.X[at], atol=1e-4)


def test_order_of_rows_and_columns_hardly_matters_on_a_manifold():
    X, mask = manifold()
    rng = np.random.default_rng(1)
    at = np.ix_(rng.permutation(150), rng.permutation(10))
    _, result = KernelFactorisation().solve(X, mask)
    _, other = KernelFactorisation().solve(X[at], mask[at])
    size = np.linalg.norm(X[~mask])
    assert np.linalg.norm(other.X - result.X[at]) < 0.02 * size


def test_shift_and_unit_of_the_data_do_not_matter():
    X, mask = manifold(n=80, m=6)
    _, result = KernelFactorisation().solve(X, mask)
    _, other = KernelFactorisation().solve(4.0 * X + 100.0, mask)
    np.testing.assert_allclose((other.X - 100.0) / 4.0, result.X, atol=2e-3 * X.std())


@pytest.mark.parametrize(("rate", "bound"), [(0.5, 0.03), (0.7, 0.01)])
def test_a_manifold_is_recovered(rate, bound):
    """The authors' code has a mean RSE of .076 and .11 at these rates, over its sizes and seeds."""
    X, mask = manifold(n=200, m=20, rate=rate, seed=1)
    _, result = KernelFactorisation().solve(X, mask)
    assert metrics.rse(X, result.X, mask) < bound
    assert np.array_equal(result.X[mask], X[mask])


def test_noise_is_not_followed():
    X = np.random.default_rng(0).standard_normal((60, 6))
    mask = masks.uniform(X.shape, 0.8, random_state=0)
    model, result = KernelFactorisation().solve(X, mask)
    assert model.beta >= 0.1
    assert metrics.rse(X, result.X, mask) < 1.2


def test_weight_of_the_codes_is_chosen_by_hiding_or_given():
    X, mask = manifold(n=100)
    clean, _ = KernelFactorisation().solve(X, mask)
    assert clean.beta <= 1e-6
    given, result = KernelFactorisation(beta=1e-3).solve(X, mask)
    assert given.beta == result.smoothing == 1e-3
    assert KernelFactorisation(beta=1e-30).solve(X, mask)[0].beta == 1e-12
    tiny, _ = KernelFactorisation().solve(X[:3, :3], mask[:3, :3] | True)
    assert tiny.beta == 1e-2  # too few entries to judge by


def test_path_goes_from_coarse_to_fine_and_ends_when_time_is_up():
    X, mask = manifold(n=60)
    betas = [beta for beta, _ in KernelFactorisation().path(X, mask)]
    assert betas == [1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6]
    short = list(KernelFactorisation().path(X, mask, time_limit=0.0))
    assert [beta for beta, _ in short] == [1.0]
    assert np.array_equal(short[0][1][mask], X[mask])


def test_a_row_that_is_not_determined_says_so():
    X, mask = manifold(n=150, rate=0.8)
    mask[7] = np.arange(10) == 0
    _, result = KernelFactorisation().solve(X, mask)
    assert np.flatnonzero(result.ambiguous).tolist() == [7]
    _, plain = KernelFactorisation(blend=False).solve(X, mask)
    assert not plain.ambiguous.any()
    others = np.arange(150) != 7
    assert np.array_equal(plain.X[others], result.X[others])
    assert not np.array_equal(plain.X[7], result.X[7])


@pytest.mark.parametrize("columns", [3, 22])
def test_number_of_atoms(columns):
    X, mask = manifold(n=100, m=columns, rate=0.8)
    solver = KernelFactorisation(beta=1e-3, max_iter=1)
    assert len(solver.solve(X, mask)[0].atoms) == max(40, 2 * columns)
    assert len(solver.set_params(n_atoms=7).solve(X, mask)[0].atoms) == 7
    assert len(solver.set_params(n_atoms=99).solve(X[:30], mask[:30])[0].atoms) == 15


SHAPES = [(1, 1), (1, 5), (2, 1), (3, 2), (5, 30), (40, 3), (12, 300)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("full", [True, False])
def test_every_shape(shape, full):
    rng = np.random.default_rng(0)
    X, mask = rng.standard_normal(shape), rng.random(shape) < 0.7
    mask[np.arange(shape[0]), rng.integers(shape[1], size=shape[0])] = True
    mask[rng.integers(shape[0], size=shape[1]), np.arange(shape[1])] = True
    mask |= full
    model, result = KernelFactorisation().solve(np.where(mask, X, 1e300), mask)
    found, _ = model.complete(np.where(mask, X, 1e300), mask)
    for completed in (result.X, found):
        assert np.array_equal(completed[mask], X[mask])
        assert np.abs(completed).max() < 1e3
    assert result.stop == "converged"


@pytest.mark.parametrize(
    ("kernel", "value"),
    [(RBF(), 0.0), (RBF(), 3.0), (Linear(), 0.0), (Polynomial(2, 0.0), 0.0)],
    ids=str,
)
def test_constant_data_stay_constant(kernel, value):
    mask = masks.uniform((20, 4), 0.7, random_state=0)
    _, result = KernelFactorisation().solve(np.full((20, 4), value), mask, kernel)
    np.testing.assert_allclose(result.X, value, atol=1e-6)


def test_many_rows_are_completed_with_atoms_of_some():
    X, mask = manifold(n=400, m=16, rate=0.7)
    model, result = KernelFactorisation(max_rows=150, memory=50).solve(X, mask)
    assert (len(model.rows), model.seen, model.learned) == (50, 400, 150)
    assert metrics.recovered_share(X, result.X, mask) > 0.95
    assert np.array_equal(result.X[mask], X[mask])


def test_the_same_seed_gives_the_same_bits():
    X, mask = manifold(n=60)
    (_, one), (_, two), (_, other) = (
        KernelFactorisation().solve(X, mask, seed=seed) for seed in (3, 3, 4)
    )
    assert np.array_equal(one.X, two.X)
    assert one.objective == two.objective
    assert not np.array_equal(one.X, other.X)


def test_time_limit_and_callback_end_a_run():
    X, mask = manifold()
    model, result = KernelFactorisation(time_limit=0.0).solve(X, mask)
    assert (result.stop, result.iterations) == ("time_limit", 1)
    assert np.array_equal(model.complete(X, mask)[0][mask], X[mask])
    seen = []

    def enough(progress):
        seen.append(progress.smoothing)
        return len(seen) == 60

    model, result = KernelFactorisation(callback=enough).solve(X, mask)
    assert (result.stop, len(seen)) == ("callback", 60)
    assert model.beta == seen[-1] == result.smoothing
    assert np.array_equal(result.X[mask], X[mask])
    assert result.X[~mask].std() > 0.1


@pytest.mark.parametrize("name", ["max_iter", "max_rows", "sweeps", "memory", "beta", "n_atoms"])
def test_parameters_that_make_no_sense_are_refused(name):
    X, mask = manifold(n=20)
    for value in (0, -1, "many"):
        with pytest.raises(ValueError, match=name):
            KernelFactorisation(**{name: value}).solve(X, mask)


def test_too_few_iterations_are_reported():
    X, mask = manifold()
    assert KernelFactorisation(max_iter=1, beta=1e-6).solve(X, mask)[1].stop == "max_iter"


# New rows


def test_new_rows_are_completed(learned):
    X, mask, model, _ = learned
    found, ambiguous = model.complete(X[150:], mask[150:])
    assert metrics.recovered_share(X[150:], found, mask[150:]) > 0.9
    assert np.array_equal(found[mask[150:]], X[150:][mask[150:]])
    assert ambiguous.mean() < 0.1


def test_each_new_row_is_completed_by_itself(learned):
    X, mask, model, _ = learned
    together, ambiguous = model.complete(X, mask)
    order = np.random.default_rng(0).permutation(220)
    shuffled, _ = model.complete(X[order], mask[order])
    assert np.array_equal(shuffled, together[order])
    for j in (0, 100, 219):
        alone, loose = model.complete(X[j : j + 1], mask[j : j + 1])
        assert np.array_equal(alone[0], together[j])
        assert loose[0] == ambiguous[j]


def test_a_new_row_with_one_entry_is_ambiguous_and_one_without_holes_is_itself(learned):
    X, _, model, _ = learned
    mask = np.ones((2, 16), dtype=bool)
    mask[0, 1:] = False
    found, ambiguous = model.complete(X[200:202], mask)
    assert ambiguous.tolist() == [True, False]
    assert np.array_equal(found[1], X[201])


def test_a_model_can_be_stored(learned):
    X, mask, model, _ = learned
    before = model.complete(X[150:], mask[150:])[0]
    stored = pickle.loads(pickle.dumps(model))
    assert np.array_equal(stored.complete(X[150:], mask[150:])[0], before)
    assert set(vars(pickle.loads(pickle.dumps(stored)))) == {f.name for f in fields(model)}


# Batches


def stream(solver, X, mask, size, epochs):
    model = None
    for epoch in range(epochs):
        order = np.random.default_rng(epoch).permutation(len(X))
        for begin in range(0, len(X), size):
            batch = order[begin : begin + size]
            model, result = partial_solve(solver, model, X[batch], mask[batch])
            assert np.array_equal(result.X[mask[batch]], X[batch][mask[batch]])
    return model


def test_the_first_batch_is_an_ordinary_fit():
    X, mask = manifold(n=60)
    _, result = partial_solve(KernelFactorisation(), None, X, mask)
    assert np.array_equal(result.X, KernelFactorisation().solve(X, mask)[1].X)


def test_batches_come_close_to_all_rows_at_once(learned):
    X, mask, _, result = learned
    model = stream(KernelFactorisation(), X[:150], mask[:150], 30, epochs=2)
    assert (model.seen, len(model.rows)) == (300, 150)
    found = model.complete(X[:150], mask[:150])[0]
    at_once = metrics.rse(X[:150], result.X, mask[:150])
    assert metrics.rse(X[:150], found, mask[:150]) < max(1.3 * at_once, 0.01)


def test_memory_is_bounded_and_learning_goes_on():
    X, mask = manifold(n=260, rate=0.7)
    solver = KernelFactorisation(memory=80)
    early = stream(solver, X[:80], mask[:80], 40, epochs=1)
    late = early
    for begin in range(80, 200, 40):
        late, _ = partial_solve(solver, late, X[begin : begin + 40], mask[begin : begin + 40])
        assert len(late.rows) == len(late.mask) == 80
        assert np.array_equal(late.atoms.shape, early.atoms.shape)
    assert (late.seen, late.learned) == (200, 80)
    errors = [
        metrics.rse(X[200:], m.complete(X[200:], mask[200:])[0], mask[200:]) for m in (early, late)
    ]
    assert errors[1] < errors[0]


def test_memory_holds_early_and_late_rows_alike():
    """Four hundred rows through a memory of sixty: each half keeps about its share."""
    rng = np.random.default_rng(0)
    X, mask = rng.standard_normal((400, 2)), np.ones((400, 2), dtype=bool)
    solver = KernelFactorisation(memory=60, n_atoms=3, max_iter=1, beta=0.1)
    model = None
    for begin in range(0, 400, 20):
        model, _ = partial_solve(solver, model, X[begin : begin + 20], mask[begin : begin + 20])
    place = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in model.rows]
    assert len(set(place)) == 60
    assert np.bincount(np.array(place) // 200).min() > 15


def test_a_batch_does_not_change_the_earlier_model(learned):
    X, mask, model, _ = learned
    before = pickle.dumps(model)
    solver = KernelFactorisation(memory=150)
    once, first = partial_solve(solver, model, X[150:], mask[150:])
    again, second = partial_solve(solver, model, X[150:], mask[150:])
    assert pickle.dumps(model) == before
    assert np.array_equal(first.X, second.X)
    assert np.array_equal(once.atoms, again.atoms)
    assert not np.array_equal(once.atoms, model.atoms)


def test_a_batch_lowers_the_objective(learned):
    X, mask, model, _ = learned
    later, result = partial_solve(KernelFactorisation(memory=150), model, X[150:], mask[150:])
    assert len(result.objective) > 10
    assert np.all(np.diff(result.objective) <= 0)
    both = {row.tobytes() for row in result.X} & {row.tobytes() for row in later.rows}
    assert len(both) > 20  # about half of the batch, as it left the descent


def test_a_row_that_comes_again_is_remembered_once():
    X, mask = manifold(n=60)
    solver = KernelFactorisation()
    model, _ = partial_solve(solver, None, X, mask)
    model, _ = partial_solve(solver, model, X[:20], mask[:20])
    assert len(model.rows) == 60


def test_rows_that_are_not_determined_are_not_learned_from(learned, monkeypatch):
    X, mask, model, _ = learned

    def nothing_determined(self, X, mask):
        return np.where(mask, X, 9.0), np.ones(len(X), dtype=bool)

    monkeypatch.setattr(Dictionary, "complete", nothing_determined)
    solver = KernelFactorisation(memory=150)
    later, result = partial_solve(solver, model, X[150:], mask[150:])
    assert np.array_equal(result.X, np.where(mask[150:], X[150:], 9.0))
    assert not np.any(later.rows == 9.0)
    # Nothing but rows that are in memory already, and none of them determined.
    same, result = partial_solve(solver, model, X[:150], mask[:150])
    assert np.array_equal(same.atoms, model.atoms)
    assert (same.seen, result.iterations) == (300, 0)


def test_time_limit_ends_a_batch(learned):
    X, mask, model, _ = learned
    solver = KernelFactorisation(memory=150, time_limit=0.0)
    _, result = partial_solve(solver, model, X[150:], mask[150:])
    assert (result.stop, result.iterations) == ("time_limit", 1)


def test_drawn_atoms_are_rows_and_a_sweep_keeps_what_was_observed():
    X, mask = manifold(n=40)
    run = FactorisationRun(X, mask, RBF().resolve(X, mask), 10, Monitor(), np.random.default_rng(0))
    before = run.X.copy()
    run.sweep(0.1)
    assert np.array_equal(run.X[mask], X[mask])
    assert not np.array_equal(run.X, before)
    assert len(run.monitor.objective) == 1
