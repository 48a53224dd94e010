"""Kernel factorization: objective, atoms, whole runs, new rows, batches."""

import copy
import pickle

import numpy as np
import pytest

from polycomplete import KFMC, datasets, masks, metrics
from polycomplete._resources import Resources
from polycomplete.kernels import RBF, Linear, Polynomial
from polycomplete.penalties import Schatten
from polycomplete.rows import Holes, RowEnergy, learn, pivots, settle
from polycomplete.scaling import ColumnScaler
from polycomplete.solvers import KernelFactorization
from polycomplete.solvers.kernel_factorization import evaluate, precondition_jointly
from polycomplete.surface import Surface
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


def surface(kernel=RBF(), beta="auto", seed=0, **params):
    """Return what fits rows as they are."""
    solver = KernelFactorization(**params)
    return Surface(kernel, Schatten(0.0), solver, None, beta, None, seed, Resources(n_jobs=1))


def fit(X, mask, *args, **params):
    return surface(*args, **params).fit(np.where(mask, X, 0.0), mask)


@pytest.fixture(scope="module", name="learned")
def learned_from_a_manifold():
    """Return rows, what is seen of them, and what a fit of the first 150 shows."""
    X, mask = manifold(n=220, m=16, rate=0.7)
    return X, mask, fit(X[:150], mask[:150])


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
    energy = learn(kernel, atoms, BETA, in_place=False)
    value, rows, _ = evaluate(kernel, X, atoms, BETA)
    here = energy.expand(X, np.tile(np.arange(4), (12, 1)))
    assert value == pytest.approx(energy.value(X).sum() / 2, rel=1e-12)
    assert value == pytest.approx(here.energy.sum() / 2, rel=1e-12)
    np.testing.assert_allclose(rows, here.gradient / 2, rtol=1e-12, atol=1e-12)


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


@pytest.mark.parametrize("m", [4, 300])
@every_kernel
def test_variables_there_and_back(kernel, m):
    rng = np.random.default_rng(0)
    X, atoms = (rng.standard_normal((n, m)) / m for n in (9, 5))
    mask = rng.random((9, m)) < 0.6
    change, free = precondition_jointly(kernel, X, mask, atoms, 0.01), ~mask
    z = np.append(X[free], atoms)
    np.testing.assert_allclose(change.back(change.forward(z)), z, rtol=1e-8, atol=1e-12)
    g = rng.standard_normal(z.size)
    # One and the same change of the objective, in both variables.
    assert change.gradient(g) @ change.forward(z) == pytest.approx(g @ z, rel=1e-8)
    assert (
        precondition_jointly(kernel, X, mask | True, atoms, 0.01).forward(atoms.ravel()).size
        == 5 * m
    )


# Holes


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
    pairs = np.array(same_stage(fit(X, mask, kernel, beta, tol=1e-5).result))
    assert len(pairs) > 20
    assert np.all(pairs[:, 1] <= pairs[:, 0] * (1 + 1e-12))


@every_kernel
def test_a_tight_tolerance_is_reached(kernel):
    X, mask = manifold(n=60, m=6, rate=0.7, n_dims=1)
    X = ColumnScaler.fit(X, mask, "standard").apply(X)
    one = surface(kernel, 1e-2, n_atoms=6, max_iter=20000, tol=1e-15)
    problem = one.pose(np.where(mask, X, 0), mask)
    result = one.solver.solve(problem, 1e-2)
    assert result.stop == "converged"
    gamma, alpha = 1e-2 * problem.unit, 0.0 if isinstance(kernel, RBF) else 1e-2
    value, rows, moves = evaluate(problem.kernel, result.X, problem.atoms, gamma, alpha)
    assert result.objective[-1] == pytest.approx(value, rel=1e-9)
    # Against the slopes where a run begins.
    first = evaluate(problem.kernel, np.where(mask, X, 0), X[:6], gamma, alpha)
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
    """Return a matrix of low rank, what is seen of it, and parameters that make it convex."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2)) @ rng.standard_normal((2, 6))
    mask = masks.uniform(X.shape, 0.7, random_state=0)
    return X, mask, {"beta": 0.3, "n_atoms": 8, "max_iter": 5000, "tol": 1e-12}


def test_with_the_linear_kernel_it_is_the_nuclear_norm(linear):
    """Weights of both factors together are a nuclear norm: a convex problem with one answer."""
    X, mask, params = linear
    one = surface(Linear(), **params)
    problem = one.pose(np.where(mask, X, 0), mask)
    expected = soft_impute(X, mask, np.sqrt(0.3 * 0.3 * problem.unit))
    np.testing.assert_allclose(one.solver.solve(problem, 0.3).X[~mask], expected[~mask], atol=1e-4)


def test_order_of_rows_and_columns_does_not_matter_to_the_minimum(linear):
    X, mask, params = linear
    rng = np.random.default_rng(1)
    at = np.ix_(rng.permutation(30), rng.permutation(6))
    result, other = fit(X, mask, Linear(), **params), fit(X[at], mask[at], Linear(), **params)
    np.testing.assert_allclose(other.result.X, result.result.X[at], atol=1e-4)


def test_order_of_rows_and_columns_hardly_matters_on_a_manifold():
    X, mask = manifold()
    rng = np.random.default_rng(1)
    at = np.ix_(rng.permutation(150), rng.permutation(10))
    other = fit(X[at], mask[at]).completed
    assert np.linalg.norm(other - fit(X, mask).completed[at]) < 0.02 * np.linalg.norm(X[~mask])


@pytest.mark.parametrize("beta", ["auto", 1e-4])
def test_the_unit_of_the_data_changes_no_bit_and_their_origin_hardly_any(beta):
    X, mask = manifold()
    one, unit, shifted = (
        KFMC(beta=beta, random_state=0).fit_transform(masks.apply(Y, mask))
        for Y in (X, 4 * X, X + 100.0)
    )
    assert np.array_equal(unit / 4, one)
    np.testing.assert_allclose(shifted - 100.0, one, atol=2e-3 * X.std())


@pytest.mark.parametrize(("rate", "bound"), [(0.5, 0.03), (0.7, 0.01)])
def test_a_manifold_is_recovered(rate, bound):
    """The authors' code has a mean RSE of .076 and .11 at these rates, over its sizes and seeds."""
    X, mask = manifold(n=200, m=20, rate=rate, seed=1)
    completed = fit(X, mask).completed
    assert metrics.rse(X, completed, mask) < bound
    assert np.array_equal(completed[mask], X[mask])


def test_noise_is_not_followed():
    X = np.random.default_rng(0).standard_normal((60, 6))
    mask = masks.uniform(X.shape, 0.8, random_state=0)
    fitted = fit(X, mask)
    assert fitted.smoothing >= 0.1
    assert metrics.rse(X, fitted.completed, mask) < 1.2


def test_weight_of_the_codes_is_chosen_by_hiding_or_given():
    X, mask = manifold(n=100)
    assert fit(X, mask).smoothing <= 1e-6
    given = fit(X, mask, beta=1e-3)
    assert given.smoothing == given.result.smoothing == given.model.smoothing == 1e-3
    assert fit(X, mask, beta=1e-30, n_atoms=99).smoothing >= 1e-12
    tiny = fit(X[:3, :3], mask[:3, :3] | True)
    assert tiny.smoothing == 1e-2  # too few entries to judge by


def test_a_fine_weight_is_followed_as_far_as_the_atoms_allow():
    X, mask = manifold(n=100)
    few, many = (fit(X, mask, beta=1e-9, n_atoms=n).smoothing for n in (3, 50))
    assert few == 1e-6
    assert many < 1e-6


def test_path_goes_from_coarse_to_fine_and_ends_when_time_is_up():
    X, mask = manifold(n=60)
    one, given = surface(), np.where(mask, X, 0)
    assert [beta for beta, _ in one.path(given, mask)] == [1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5, 1e-6]
    short = list(one.path(given, mask, time_limit=0.0))
    assert [beta for beta, _ in short] == [1.0]
    assert np.array_equal(short[0][1][mask], X[mask])


def test_a_row_that_is_not_determined_says_so():
    X, mask = manifold(n=150, rate=0.8)
    mask[7] = np.arange(10) == 0
    fitted = fit(X, mask)
    assert np.flatnonzero(~fitted.determined).tolist() == [7]
    spread = X.std(axis=0)
    assert np.sqrt(np.mean((fitted.deviation / spread)[7, 1:] ** 2)) > 0.3
    assert np.all(fitted.deviation[mask] == 0)


def test_deviations_fit_the_errors():
    X, mask = manifold(n=200, m=12, rate=0.5, n_dims=3)
    fitted = fit(X, mask)
    off = np.abs(fitted.completed - X)[~mask] / fitted.deviation[~mask]
    assert 0.4 < np.mean(off < 1) < 0.95
    assert fitted.held_out.deviation.min() > 0


@pytest.mark.parametrize("columns", [3, 22])
def test_number_of_atoms(columns):
    X, mask = manifold(n=100, m=columns, rate=0.8)

    def atoms(n, **params):
        fitted = fit(X[:n], mask[:n], beta=1e-3, max_iter=1, **params)
        return len(fitted.model.posterior.energy.landmarks)

    assert atoms(100) == max(40, 2 * columns)
    assert atoms(100, n_atoms=7) == 7
    assert atoms(30, n_atoms=99) == 15


SHAPES = [(1, 1), (1, 5), (2, 1), (3, 2), (5, 30), (40, 3), (12, 300)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("full", [True, False])
def test_every_shape(shape, full):
    rng = np.random.default_rng(0)
    X, mask = rng.standard_normal(shape), rng.random(shape) < 0.7
    mask[np.arange(shape[0]), rng.integers(shape[1], size=shape[0])] = True
    mask[rng.integers(shape[0], size=shape[1]), np.arange(shape[1])] = True
    mask |= full
    fitted = fit(X, mask)
    for completed in (fitted.completed, fitted.model.complete(X, mask).rows):
        assert np.array_equal(completed[mask], X[mask])
        assert np.abs(completed).max() < 1e3
    assert fitted.result.stop == "converged"


@pytest.mark.parametrize(
    ("kernel", "value"),
    [(RBF(), 0.0), (RBF(), 3.0), (Linear(), 0.0), (Polynomial(2, 0.0), 0.0)],
    ids=str,
)
def test_constant_data_stay_constant(kernel, value):
    mask = masks.uniform((20, 4), 0.7, random_state=0)
    problem = KernelFactorization().pose(np.full((20, 4), value), mask, kernel.resolve(
        np.full((20, 4), value), mask), Schatten(0.0))  # fmt: skip
    result = KernelFactorization().solve(problem, 1e-6)
    np.testing.assert_allclose(result.X, value, atol=1e-6)


def test_many_rows_are_completed_with_atoms_of_some():
    X, mask = manifold(n=400, m=16, rate=0.7)
    completer = KFMC(max_samples=150, memory=50, random_state=0)
    completed = completer.fit_transform(masks.apply(X, mask))
    assert len(completer.model_.rows) == len(completer.memory_.mask) == 50
    assert completer.n_samples_seen_ == 400
    assert 150 <= completer.memory_.learned < 200
    assert metrics.recovered_share(X, completed, mask) > 0.95
    assert np.array_equal(completed[mask], X[mask])


def test_blocks_are_learned_from_as_all_rows_at_once():
    X, mask = manifold(n=200, rate=0.7)
    given = masks.apply(X, mask)
    at_once, by_blocks = (KFMC(max_samples=100, random_state=0) for _ in range(2))
    by_blocks.fit_blocks([given[:90], given[90:]])
    assert np.array_equal(at_once.fit(given).transform(given), by_blocks.transform(given))


def test_the_same_seed_gives_the_same_bits():
    X, mask = manifold(n=60)
    one, two, other = (fit(X, mask, seed=seed) for seed in (3, 3, 4))
    assert np.array_equal(one.completed, two.completed)
    assert one.result.objective == two.result.objective
    assert not np.array_equal(one.completed, other.completed)


def test_time_limit_and_callback_end_a_run():
    X, mask = manifold()
    fitted = fit(X, mask, time_limit=0.0)
    assert (fitted.result.stop, fitted.result.iterations) == ("time_limit", 1)
    assert np.array_equal(fitted.model.complete(X, mask).rows[mask], X[mask])
    seen = []

    def enough(progress):
        seen.append(progress.smoothing)
        return len(seen) == 60

    fitted = fit(X, mask, callback=enough)
    assert (fitted.result.stop, len(seen)) == ("callback", 60)
    assert fitted.smoothing == seen[-1] == fitted.result.smoothing
    assert np.array_equal(fitted.completed[mask], X[mask])
    assert fitted.completed[~mask].std() > 0.1


NAMES = ["max_iter", "max_samples", "steps_per_decade", "n_restarts", "tol", "n_atoms"]


@pytest.mark.parametrize("name", NAMES)
def test_parameters_that_make_no_sense_are_refused(name):
    X, mask = manifold(n=20)
    for value in (-1, "many"):
        with pytest.raises(ValueError, match=name):
            fit(X, mask, **{name: value})


@pytest.mark.parametrize("name", ["max_iter", "max_samples", "memory", "beta", "n_atoms"])
def test_parameters_of_the_method_that_make_no_sense_are_refused(name):
    for value in (0, -1, "many"):
        with pytest.raises(ValueError, match=name):
            KFMC(**{name: value}).fit(np.ones((3, 2)))


def test_noise_is_refused():
    with pytest.raises(ValueError, match="noise"):
        KernelFactorization().pose(np.ones((3, 2)), np.ones((3, 2)) > 0, RBF(2.0), Schatten(), 1.0)


def test_too_few_iterations_are_reported():
    X, mask = manifold()
    assert fit(X, mask, beta=1e-6, max_iter=1).result.stop == "max_iter"


# New rows


def test_new_rows_are_completed(learned):
    X, mask, fitted = learned
    found = fitted.model.complete(X[150:], mask[150:])
    assert metrics.recovered_share(X[150:], found.rows, mask[150:]) > 0.9
    assert np.array_equal(found.rows[mask[150:]], X[150:][mask[150:]])
    assert found.determined.mean() > 0.9


def test_each_new_row_is_completed_by_itself(learned):
    X, mask, fitted = learned
    together = fitted.model.complete(X, mask)
    order = np.random.default_rng(0).permutation(220)
    shuffled = fitted.model.complete(X[order], mask[order])
    assert np.array_equal(shuffled.rows, together.rows[order])
    for j in (0, 100, 219):
        alone = fitted.model.complete(X[j : j + 1], mask[j : j + 1])
        assert np.array_equal(alone.rows[0], together.rows[j])
        assert alone.determined[0] == together.determined[j]


def test_a_new_row_with_one_entry_is_not_determined_and_one_without_holes_is_itself(learned):
    X, _, fitted = learned
    mask = np.ones((2, 16), dtype=bool)
    mask[0, 1:] = False
    found = fitted.model.complete(X[200:202], mask)
    assert found.determined.tolist() == [False, True]
    assert np.array_equal(found.rows[1], X[201])


def test_a_model_can_be_stored(learned):
    X, mask, fitted = learned
    stored = pickle.loads(pickle.dumps(fitted.model))
    before = fitted.model.complete(X[150:], mask[150:]).rows
    assert np.array_equal(stored.complete(X[150:], mask[150:]).rows, before)


# Batches


def batches(X, mask, size, epochs=1, **params):
    """Return a completer that has learned from batches."""
    completer, given = KFMC(random_state=0, **params), masks.apply(X, mask)
    for epoch in range(epochs):
        order = np.random.default_rng(epoch).permutation(len(X))
        for begin in range(0, len(X), size):
            completer.partial_fit(given[order[begin : begin + size]])
    return completer


def state(completer):
    """Return everything that a completer learned, as bytes."""
    learned = completer.model_.posterior.energy, completer.model_.rows, completer.memory_
    return pickle.dumps(learned)


@pytest.fixture(scope="module", name="online")
def learned_from_some_rows():
    """Return rows, and a completer that learned from the first 150 and has no room for more."""
    X, mask = manifold(n=220, m=16, rate=0.7)
    given = masks.apply(X, mask)
    return X, mask, given, KFMC(memory=150, random_state=0).partial_fit(given[:150])


def test_the_first_batch_is_an_ordinary_fit():
    X, mask = manifold(n=60)
    given = masks.apply(X, mask)
    batch, fitted = KFMC(random_state=0).partial_fit(given), KFMC(random_state=0).fit(given)
    assert np.array_equal(batch.result_.X, fitted.result_.X)
    assert state(batch) == state(fitted)


def test_batches_come_close_to_all_rows_at_once():
    X, mask = manifold(n=150, m=16, rate=0.7)
    given = masks.apply(X, mask)
    online = batches(X, mask, 30, epochs=2)
    assert (online.n_samples_seen_, len(online.model_.rows)) == (300, 150)
    at_once = metrics.rse(X, KFMC(random_state=0).fit_transform(given), mask)
    found = online.transform(given)
    assert np.array_equal(found[mask], X[mask])
    assert metrics.rse(X, found, mask) < max(1.3 * at_once, 0.01)


def test_memory_is_bounded_and_learning_goes_on():
    X, mask = manifold(n=260, rate=0.7)
    given = masks.apply(X, mask)
    late = batches(X[:80], mask[:80], 40, memory=80)
    early = copy.deepcopy(late)
    for begin in range(80, 200, 40):
        late.partial_fit(given[begin : begin + 40])
        assert len(late.model_.rows) == len(late.memory_.mask) == 80
    assert (late.n_samples_seen_, late.memory_.learned) == (200, 80)
    errors = [metrics.rse(X[200:], m.transform(given[200:]), mask[200:]) for m in (early, late)]
    assert errors[1] < errors[0]


@pytest.mark.filterwarnings("ignore:The solver did not converge")
def test_memory_holds_early_and_late_rows_alike():
    """Four hundred rows through a memory of sixty: each half keeps about its share."""
    X = np.random.default_rng(0).standard_normal((400, 2))
    completer = KFMC(memory=60, n_atoms=3, max_iter=1, beta=0.1, scale=None, random_state=0)
    for begin in range(0, 400, 20):
        completer.partial_fit(X[begin : begin + 20])
    rows = completer.model_.rows
    place = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in rows]
    assert len(set(place)) == 60
    assert np.bincount(np.array(place) // 200).min() > 15


def test_the_same_batches_teach_the_same(online):
    _, _, given, completer = online
    before = state(completer)
    once, again = (copy.deepcopy(completer).partial_fit(given[150:]) for _ in range(2))
    assert state(once) == state(again)
    assert state(completer) == before != state(once)


def test_a_batch_lowers_the_objective_and_says_what_it_knows_of_its_rows(online):
    _, mask, given, completer = online
    later = copy.deepcopy(completer).partial_fit(given[150:])
    result = later.result_
    assert len(result.objective) > 10
    assert np.all(np.diff(result.objective) <= 0)
    assert result.X.shape == later.cell_std_.shape == (70, 16)
    assert later.row_determined_.mean() > 0.9
    assert np.array_equal(later.cell_std_ == 0, mask[150:])
    both = {row.tobytes() for row in result.X} & {row.tobytes() for row in later.model_.rows}
    assert len(both) > 20  # about a third of the batch, as it left the descent


def test_a_row_that_comes_again_is_remembered_once():
    X, mask = manifold(n=60)
    given = masks.apply(X, mask)
    completer = KFMC(random_state=0).partial_fit(given).partial_fit(given[:20])
    assert len(completer.model_.rows) == 60


def test_time_limit_ends_a_batch(online):
    _, _, given, completer = online
    later = copy.deepcopy(completer).set_params(time_limit=0.0).partial_fit(given[150:])
    assert (later.result_.stop, later.result_.iterations) == ("time_limit", 1)
