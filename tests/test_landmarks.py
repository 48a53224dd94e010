"""The landmark solver: the exact limit, sums over blocks, sweeps, new rows, threads, memory."""

import pickle
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from polycomplete import (
    NLMC,
    PMC,
    RBF,
    Equal,
    Exact,
    Landmark,
    Polynomial,
    Schatten,
    Skip,
    datasets,
    masks,
    metrics,
)
from polycomplete import _resources as resources_module
from polycomplete._devices import Device
from polycomplete._resources import Resources
from polycomplete.landmarks.landmark_problem import FeatureSpectrum, moments, whiten
from polycomplete.rows import Holes, RowEnergy, learn, settle
from polycomplete.rows import steps as steps_module
from polycomplete.solvers.problem import ExactProblem

KERNELS = {"rbf": RBF(width=3.0), "polynomial": Polynomial(2, 1.0)}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)


@pytest.fixture(scope="module")
def X():  # noqa: N802
    return datasets.make_polynomial_manifold(80, 6, random_state=0)


@pytest.fixture(scope="module")
def problem():
    """A manifold with half of its entries, n = 600."""
    X = datasets.make_polynomial_manifold(600, 12, random_state=1)
    return X, masks.uniform(X.shape, 0.6, random_state=1)


@pytest.fixture(scope="module")
def fitted(problem):
    return PMC(solver=Landmark(), random_state=0).fit(masks.apply(*problem))


def every(X):
    """Return all columns of each row."""
    return np.tile(np.arange(X.shape[1]), (len(X), 1))


def spectrum_of(kernel, L, X, penalty=None, weights=None):
    features = whiten(kernel, L)
    weights = np.ones(len(X)) if weights is None else weights
    return FeatureSpectrum(
        features, moments(features, X, weights), penalty or Schatten(-0.5, Equal())
    )


# The exact limit


@every_kernel
@pytest.mark.parametrize("p", [-0.5, 0.0, 0.5])
def test_with_all_rows_as_landmarks_the_gradient_is_the_exact_one(monkeypatch, X, kernel, p):
    monkeypatch.setattr("polycomplete.landmarks.landmark_problem.DROP", -1.0)
    gamma, penalty = 1e-4, Schatten(p, Equal())
    exact = ExactProblem(X, np.zeros(X.shape, dtype=bool), kernel, penalty)
    _, slope = exact.value_and_gradient(X.ravel(), len(X) * gamma)
    energy = spectrum_of(kernel, X, X, penalty).energy(gamma)
    ours = energy.expand(X, every(X)).gradient * (len(X) * gamma) ** (p / 2 - 1)
    assert_allclose(ours.ravel(), slope, rtol=1e-6, atol=1e-6 * np.abs(slope).max())


@every_kernel
def test_the_energy_is_that_of_its_formula(monkeypatch, X, kernel):
    monkeypatch.setattr("polycomplete.landmarks.landmark_problem.DROP", -1.0)
    L, gamma, a = X[::4], 1e-3, np.linspace(1, 2, len(X))
    phi = kernel.gram(X, L) @ whiten(kernel, L).turn
    values, U = np.linalg.eigh((phi * a[:, None]).T @ phi / a.sum())
    slopes = (gamma / (np.maximum(values, 0) + gamma)) ** 1.25
    naive = (phi @ U) ** 2 @ slopes + kernel.diagonal(X) - np.sum(phi**2, axis=1)
    found = spectrum_of(kernel, L, X, weights=a).energy(gamma).value(X)
    assert_allclose(found, naive, rtol=1e-7, atol=1e-10 * kernel.diagonal(X).max())


@every_kernel
def test_the_gradient_of_a_row_fits_its_energy(X, kernel):
    energy = spectrum_of(kernel, X[::4], X).energy(1e-3)
    row, step = X[:1] + 0.1, 1e-5
    slope = energy.expand(row, every(row)).gradient[0]
    for a, e in enumerate(np.eye(6) * step):
        numeric = (energy.value(row + e) - energy.value(row - e))[0] / (2 * step)
        assert_allclose(slope[a], numeric, rtol=1e-5, atol=1e-7 * np.abs(slope).max())


def test_weights_count_the_eigenvalues_that_matter(X):
    spectrum = spectrum_of(RBF(3.0), X[::4], X, Schatten(-0.5, Skip(3)))
    assert_array_equal(spectrum.slopes(1e-4)[:3], 0)
    assert spectrum.slopes(1e-4)[3] > 0


# Sums over blocks


def test_moments_add_up(X):
    features = whiten(RBF(3.0), X[::4])
    X = np.tile(X, (40, 1))
    a = np.linspace(1, 2, len(X))
    whole, parts = (moments(features, X, a, split=split) for split in (False, True))
    assert_allclose(parts.covariance, whole.covariance, rtol=1e-10, atol=1e-10)
    assert parts.total == pytest.approx(whole.total)
    both = moments(features, X[:30], a[:30]) + moments(features, X[30:], a[30:])
    assert_allclose(both.covariance, whole.covariance, rtol=1e-10, atol=1e-10)


# Steps


@pytest.mark.parametrize("directions", [5, None], ids=["few", "all"])
@every_kernel
def test_wide_rows_take_the_same_newton_step_without_matrices(monkeypatch, X, kernel, directions):
    monkeypatch.setattr(steps_module, "ITERATIONS", 50)
    energy = learn(kernel, X[::4], 1e-3, in_place=False)
    energy = replace(energy, factor=energy.factor[:, -(directions or len(energy.landmarks)) :])
    mask = masks.uniform(X.shape, 0.5, random_state=0)
    begin = np.where(mask, X, X.mean(axis=0))
    found = []
    for wide in (False, True):
        monkeypatch.setattr(RowEnergy, "prefers_products", lambda *size, wide=wide: wide)
        block = Holes(mask).blocks[0]
        damping = np.full(len(block.rows), 0.3)
        found.append(steps_module.propose(energy, begin[block.rows], block, damping))
    assert_allclose(found[1][0], found[0][0], rtol=1e-9)
    assert_allclose(found[1][1], found[0][1], rtol=1e-5, atol=1e-6)


def test_what_wide_rows_need_is_not_kept_in_files(X):
    energy = learn(RBF(3.0), X[::4], 1e-3, in_place=False)
    assert_allclose(energy.inverse, energy.factor @ energy.factor.T)
    assert set(vars(pickle.loads(pickle.dumps(energy)))) == {"kernel", "landmarks", "factor", "own"}


def test_holes_switch_to_the_wide_form(monkeypatch, X):
    energy = learn(RBF(3.0), X[::4], 1e-3, in_place=False)
    mask = masks.uniform(X.shape, 0.5, random_state=0)
    begin, damping = np.where(mask, X, 0), np.full(len(X), 0.1)
    dense = settle(energy, begin, Holes(mask), damping, 3)
    monkeypatch.setattr(RowEnergy, "prefers_products", lambda *size: True)
    wide = settle(energy, begin, Holes(mask), damping, 3)
    assert_allclose(wide[0], dense[0], atol=1e-6)


# Whole fits


def test_a_manifold_comes_back_and_the_settings_follow_from_the_data(problem, fitted):
    X, mask = problem
    completed = PMC(solver=Landmark(), random_state=0).fit_transform(masks.apply(X, mask))
    known = mask.sum(axis=1) >= 5
    assert metrics.rse(X[known], completed[known], mask[known]) < 0.005
    assert_array_equal(completed[mask], X[mask])
    assert fitted.smoothing_ <= 1e-5
    assert fitted.row_determined_.mean() > 0.99


def test_below_the_papers_bound():
    X = datasets.make_polynomial_manifold(800, 20, random_state=0)
    mask = masks.per_row(X.shape, 6, random_state=0)
    pmc = PMC(solver=Landmark(), smoothing=1e-7, scale="sqrt", random_state=0)
    completed = pmc.fit_transform(masks.apply(X, mask))
    assert metrics.recovered_share(X, completed, mask) > 0.99


@pytest.mark.parametrize("method", [NLMC, PMC])
def test_auto_takes_landmarks_beyond_small_data(method):
    X = datasets.make_polynomial_manifold(900, 5, random_state=0)
    mask = masks.uniform(X.shape, 0.8, random_state=0)
    given = masks.apply(X, mask)
    assert isinstance(method(smoothing=1e-3, scale="sqrt").fit(given).solver_, Landmark)
    assert type(method(smoothing=1e-3).fit(given[:60]).solver_) is Exact


def test_processes_do_not_change_the_answer(monkeypatch, problem):
    X, mask = problem
    given = masks.apply(X, mask)
    pmc = PMC(solver=Landmark(), n_jobs=2, smoothing=1e-4, random_state=3).fit(given)
    alone = pmc.model_.complete(given, mask)
    monkeypatch.setattr(resources_module, "PROCESS_ROWS", 10)
    shared = pmc.model_.complete(given, mask)
    for one, two in zip(alone, shared, strict=True):
        assert_array_equal(one, two)


def test_processes_share_the_memory():
    host = Device()
    for memory, workers in ((1e8, 1), (3e8, 1), (5e8, 2), (1e9, 4), (1e12, 4)):
        assert Resources(4, max_memory=memory).workers(10**6, host) == workers
    assert Resources(4, max_memory=1e12).workers(1000, host) == 1


def test_without_memory_for_processes_there_are_none(monkeypatch, problem, fitted):
    given = masks.apply(*problem)[:300]
    mask, model = ~np.isnan(given), fitted.model_
    expected = model.complete(given, mask)[0]
    monkeypatch.setattr(resources_module, "PROCESS_ROWS", 10)
    monkeypatch.setattr(resources_module, "Parallel", None)
    small = replace(model, resources=Resources(2, max_memory=1e8))
    assert_array_equal(small.complete(given, mask)[0], expected)


def test_threads_and_seeds_do_not_change_the_answer(problem):
    X, mask = problem
    given = masks.apply(X, mask)
    options = {"smoothing": 1e-4, "scale": "sqrt", "random_state": 3}
    one, two, again = (
        PMC(solver=Landmark(max_samples=400), n_jobs=jobs, **options).fit_transform(given)
        for jobs in (1, 3, 1)
    )
    assert_array_equal(one, two)
    assert_array_equal(one, again)


def test_the_number_of_landmarks_is_as_given(problem):
    X, mask = problem
    pmc = PMC(solver=Landmark(n_landmarks=80), smoothing=1e-5, scale="sqrt", random_state=0)
    completed = pmc.fit_transform(masks.apply(X, mask))
    assert pmc.model_.posterior.energy.landmarks.shape == (80, 12)
    assert metrics.rse(X, completed, mask) < 0.05


def test_float32_is_computed_in_double_precision_and_comes_back_as_float32(problem):
    X, mask = problem
    given = masks.apply(X, mask).astype(np.float32)
    fixed = {"smoothing": 1e-4, "scale": "sqrt", "random_state": 0}
    single, double = (PMC(solver=Landmark(), **fixed) for _ in range(2))
    found, expected = single.fit_transform(given), double.fit_transform(given.astype(float))
    assert found.dtype == single.transform(given).dtype == np.float32
    assert single.model_.posterior.energy.factor.dtype == single.model_.rows.dtype == np.float64
    assert_array_equal(found, expected.astype(np.float32))


def test_a_run_may_be_ended(problem):
    X, mask = problem
    seen = []
    solver = Landmark(callback=lambda progress: seen.append(progress) or len(seen) == 4)
    pmc = PMC(solver=solver, smoothing=1e-5, scale="sqrt")
    pmc.fit(masks.apply(X, mask))
    assert pmc.result_.stop == "callback"
    assert len(seen) == 4
    assert pmc.smoothing_ > 1e-5


# New rows


def test_new_rows_do_not_depend_on_their_company(problem, fitted):
    X = datasets.make_polynomial_manifold(700, 12, random_state=1)[600:]
    given = masks.apply(X, masks.uniform(X.shape, 0.6, random_state=5))
    whole = fitted.transform(given)
    order = np.random.default_rng(0).permutation(len(X))
    assert_array_equal(fitted.transform(given[order]), whole[order])
    assert_array_equal(np.vstack([fitted.transform(given[i : i + 1]) for i in range(9)]), whole[:9])
    assert_array_equal(fitted.transform(given[7:40]), whole[7:40])


def test_the_size_of_the_chunks_does_not_matter(problem, fitted):
    given = masks.apply(*problem)[:300]
    model = fitted.model_
    small = replace(model, resources=Resources(max_memory=2e5))
    mask = ~np.isnan(given)
    assert_array_equal(small.complete(given, mask)[0], model.complete(given, mask)[0])


def test_training_rows_come_back_where_they_are_determined(problem, fitted):
    X, mask = problem
    completed, known = fitted.transform(masks.apply(X, mask)), mask.sum(axis=1) >= 5
    assert metrics.rse(X[known], completed[known], mask[known]) < 0.01


def test_planted_outliers_have_the_lowest_scores(problem, fitted):
    X, _ = problem
    new = X[:60].copy()
    new[[3, 17]] += 3 * X.std(axis=0) * np.array([1, -1] * 6)
    scores = fitted.score_samples(new)
    assert set(np.argsort(scores)[:2]) == {3, 17}
    assert scores[[3, 17]].max() < 10 * np.delete(scores, [3, 17]).min()


def test_a_model_survives_pickling(problem, fitted):
    given = masks.apply(*problem)[:20]
    assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(given), fitted.transform(given))


def test_completing_takes_little_memory_beyond_the_data(fitted):
    X = datasets.make_polynomial_manifold(20_000, 12, random_state=1)
    mask = masks.uniform(X.shape, 0.9, random_state=0)
    model = replace(fitted.model_, resources=Resources(1, max_memory=2e6))
    model.complete(X[:100], mask[:100])
    tracemalloc.start()
    try:
        model.complete(X, mask)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 40e6 + 8 * X.nbytes


# Uncertainty and choices


def test_95_percent_of_errors_lie_within_two_deviations():
    X = datasets.make_polynomial_manifold(500, 10, random_state=0)
    noisy = X + 0.05 * X.std() * np.random.default_rng(0).standard_normal(X.shape)
    mask = masks.uniform(X.shape, 0.7, random_state=0)
    pmc = PMC(random_state=0)
    completed = pmc.fit_transform(masks.apply(noisy, mask))
    z = np.abs(completed - noisy)[~mask] / pmc.cell_std_[~mask]
    assert 0.9 < np.mean(z < 1.96) < 0.99
    assert_array_equal(pmc.cell_std_[mask], 0)


def test_a_row_without_entries_may_be_anywhere():
    X = np.random.default_rng(0).standard_normal((40, 3))
    X[3], X[5, 0] = np.nan, np.nan
    pmc = PMC(smoothing=0.1, scale="standard").fit(X)
    assert_allclose(pmc.cell_std_[3], np.nanstd(X, axis=0))
    assert pmc.cell_std_[5, 0] > 0
