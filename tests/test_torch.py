"""The numerical core on torch tensors gives what it gives on NumPy arrays."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from polycomplete import (
    PMC,
    RBF,
    Exact,
    Landmark,
    Polynomial,
    Ramp,
    Schatten,
    _devices,
    _resources,
    base,
    datasets,
    masks,
    metrics,
)
from polycomplete._devices import find_device
from polycomplete._resources import Resources
from polycomplete.landmarks.landmark_problem import FeatureSpectrum, moments, whiten
from polycomplete.rows import Posterior, pivots, spreads
from polycomplete.solvers.problem import ExactProblem, LiftProblem

torch = pytest.importorskip("torch", reason="torch is not installed")
KERNELS = {"rbf": RBF(width=3.0), "polynomial": Polynomial(2, 1.0)}


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_learning_and_steps_are_the_same(kernel):
    X = datasets.make_polynomial_manifold(200, 8, random_state=0)
    mask = masks.uniform(X.shape, 0.6, random_state=0)
    at = pivots(kernel, X, 40)
    assert pivots(kernel, torch.asarray(X), 40).tolist() == at.tolist()
    begin, found = np.where(mask, X, X.mean(axis=0)), []
    for rows in (begin, torch.asarray(begin)):
        xp = torch if torch.is_tensor(rows) else np
        features = whiten(kernel, xp.asarray(X[at]))
        spectrum = FeatureSpectrum(
            features, moments(features, xp.asarray(X), xp.asarray(np.ones(200))), Schatten()
        )
        pool = xp.asarray(X[at])
        posterior = Posterior(spectrum.energy(1e-4), pool, spreads(xp.asarray(X)), 1e-4)
        done = posterior.complete(rows, xp.asarray(mask), joint=True)
        found.append([np.asarray(part) for part in done[:3]])
    for ours, theirs in zip(*found, strict=True):
        assert_allclose(theirs, ours, rtol=1e-5, atol=1e-7 * np.abs(ours).max())


@pytest.fixture(scope="module")
def instance():
    X = datasets.make_polynomial_manifold(1500, 12, random_state=0)
    mask = masks.uniform(X.shape, 0.6, random_state=0)
    return X, mask, masks.apply(X, mask)


@pytest.fixture(scope="module")
def fitted(instance):
    return PMC(solver=Landmark(max_samples=300), random_state=0).fit(instance[2])


@pytest.mark.parametrize("max_memory", [None, 3e5])
def test_a_frozen_model_gives_the_same_on_a_device(instance, fitted, max_memory):
    _, mask, given = instance
    elsewhere = Resources(device="torch:cpu", max_memory=max_memory)
    here, there = (
        replace(fitted.model_, resources=resources).complete(given, mask)
        for resources in (Resources(), elsewhere)
    )
    sure = (mask.sum(axis=1) >= 4) & here.determined
    assert_allclose(there.rows[sure], here.rows[sure], rtol=0, atol=1e-4)
    assert np.median(np.abs(there.rows - here.rows)[~mask]) < 1e-9
    assert_array_equal(there.determined, here.determined)
    assert np.median(np.abs(there.std[~mask] / here.std[~mask] - 1)) < 1e-6


def test_a_fit_on_a_device_recovers_the_same_rows(monkeypatch, instance):
    X, mask, given = instance
    monkeypatch.setattr(_resources, "GPU_ROWS", 100)
    shares = []
    for name in (None, "torch:cpu"):
        pmc = PMC(solver=Landmark(max_samples=300), device=name, random_state=0)
        completed = pmc.fit_transform(given)
        assert_array_equal(completed[mask], X[mask])
        shares.append(metrics.recovered_share(X, completed, mask, min_observed=4))
    assert shares[0] == pytest.approx(shares[1], abs=0.002)
    assert shares[0] > 0.99


def test_a_tensor_comes_back_as_a_tensor(instance, fitted):
    given = torch.asarray(instance[2][:40])
    completed = fitted.transform(given)
    assert torch.is_tensor(completed)
    assert completed.dtype == given.dtype
    assert_array_equal(completed.numpy(), fitted.transform(instance[2][:40]))
    single = PMC(smoothing=1e-2, random_state=0).fit_transform(given.to(torch.float32))
    assert single.dtype == torch.float32


def test_the_device_of_a_fitted_model_is_that_of_its_fit(monkeypatch, instance):
    given = instance[2][:400]
    fixed = {"smoothing": 1e-3, "scale": "standard", "random_state": 0}
    pmc = PMC(solver=Landmark(max_samples=200), n_jobs=1, **fixed).fit(given)
    before = pmc.transform(given)
    pmc.set_params(device="torch:cpu", n_jobs=3, solver__max_memory=1e6)
    assert (pmc.model_.resources.device, pmc.model_.resources.n_jobs) == (None, 1)
    assert pmc.model_.resources.max_memory is None
    assert_array_equal(pmc.transform(given), before)
    assert pmc.fit(given).model_.resources.device == "torch:cpu"


@pytest.mark.parametrize("eigen", ["full", "partial"])
def test_the_exact_objective_is_the_same_on_a_device(eigen):
    X = datasets.make_polynomial_manifold(80, 8, random_state=0)
    mask = masks.uniform(X.shape, 0.6, random_state=0)
    found = []
    for name in (None, "torch:cpu"):
        given = (np.where(mask, X, 0), mask, RBF(width=3.0), Schatten(0.5, Ramp()))
        problem = Exact(eigen=eigen).pose(*given, resources=Resources(device=name))
        found.append(problem.value_and_gradient(problem.pack(X), 1e-1))
        spectrum = problem.evaluate(problem.pack(X), 1e-1).spectrum
        assert spectrum.vectors.shape[1] == (80 if eigen == "full" else 32)
    assert found[1][0] == pytest.approx(found[0][0], rel=1e-8)
    assert_allclose(found[1][1], found[0][1], rtol=1e-6, atol=1e-8)


def test_exact_takes_the_card_that_is_named_and_by_auto_beside_many_rows(monkeypatch):
    monkeypatch.setattr(_resources, "any_gpu", lambda: "torch:cpu")
    X, mask = np.zeros((60, 3)), np.ones((60, 3), dtype=bool)
    posed = {}
    for name in (None, "cpu", "auto", "torch:cpu"):
        pose = Exact().pose(X, mask, RBF(width=3.0), Schatten(), resources=Resources(device=name))
        posed[name] = pose.device.is_host
    assert posed == {None: True, "cpu": True, "auto": True, "torch:cpu": False}
    monkeypatch.setattr(_resources, "GPU_ROWS", 50)
    auto = Resources(device="auto")
    assert not Exact().pose(X, mask, RBF(width=3.0), Schatten(), resources=auto).device.is_host
    linear = (X, mask, Polynomial(1, 0.0), Schatten())
    assert type(Exact().pose(*linear)) is LiftProblem  # which is for the host alone
    assert type(Exact().pose(*linear, resources=auto)) is ExactProblem


@pytest.mark.parametrize("device", ["auto", None])
def test_few_rows_of_a_tensor_on_a_card_get_newton_steps(monkeypatch, instance, device):
    monkeypatch.setattr(base, "name_of", lambda X: "torch:cpu")
    pmc = PMC(smoothing=1e-3, device=device, random_state=0).fit(instance[2][:60])
    assert isinstance(pmc.solver_, Exact)
    assert pmc.result_.gains
    landmarks = PMC(solver=Landmark(), smoothing=1e-3, device=device, random_state=0)
    place = landmarks.fit(instance[2][:60]).model_.resources.device
    assert place == (device or "torch:cpu")


def test_parts_of_the_data_come_back_in_their_order():
    card = find_device("torch:cpu")
    assert list(card.each(lambda i: i * i, range(9))) == [i * i for i in range(9)]
    with pytest.raises(ZeroDivisionError):
        list(card.each(lambda i: 1 // (i - 3), range(9)))


def test_what_is_missing_is_said(monkeypatch):
    with pytest.raises(ValueError, match='device must be "cpu", "cuda"'):
        PMC(device="gpu0").fit(np.eye(5))
    with pytest.raises(ValueError, match="device must be"):
        find_device("cupy:cuda")
    monkeypatch.setattr(_devices, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="needs PyTorch; install it by python -m pip"):
        find_device("cuda")
    assert _devices.any_gpu() is None
    monkeypatch.setattr(_devices, "find_spec", lambda name: name == "torch" or None)
    monkeypatch.setattr(_devices, "gpu_count", lambda: 1)
    with pytest.raises(RuntimeError, match=r"PyTorch found 1 GPUs here; use device=.cpu."):
        find_device("cuda:3")
    assert _devices.any_gpu() == "cuda"


def test_few_rows_stay_on_the_host(monkeypatch):
    monkeypatch.setattr(_resources, "any_gpu", lambda: "torch:cpu")
    auto = Resources(device="auto")
    assert auto.device_for(100, joint=False).is_host
    assert not auto.device_for(10**6, joint=False).is_host
