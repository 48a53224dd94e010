"""The completers and the data that the estimator-level tests share."""

import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import settings
from sklearn.base import clone

from polycomplete import NLMC, PMC, VMC, AdamPlus, Completer, Exact, Polynomial, methods
from polycomplete.datasets import make_polynomial_manifold
from polycomplete.masks import apply, uniform

# The same few examples every time: a test that passed passes again. `make fuzz` draws others.
settings.register_profile("same", derandomize=True, deadline=None, max_examples=25)
settings.load_profile("same")

#: Without second chances, and with nothing left to choose by hiding entries.
QUICK = {
    "solver": Exact(n_restarts=0, blend=False),
    "smoothing": 1e-5,
    "scale": "standard",
    "random_state": 0,
}
#: Every kind of completer, in a quick setting. As they come they are fitted in test_methods.py.
COMPLETERS = {
    "pmc-w": PMC(**QUICK),
    "pmc-s": PMC(weights="skip", **QUICK),
    "nlmc": NLMC(**QUICK),
    "vmc-3": VMC(3, **QUICK),
    "kfmc": methods.get("kfmc", beta=1e-6, random_state=0),
    "ladmc": methods.get("ladmc", rank=7, random_state=0),
    "srmc": methods.get("srmc", smoothing=1e-2, random_state=0),
    "lrmc": methods.get("lrmc", random_state=0),
    "Completer": Completer(kernel=Polynomial(2, 1.0), **QUICK),
    "AdamPlus": PMC(solver=AdamPlus(), random_state=0, scale="standard"),
}


class Problem(NamedTuple):
    truth: np.ndarray
    mask: np.ndarray
    X: np.ndarray


@pytest.fixture(scope="session")
def real_data():
    """Folder with the real files, or a skip that says what to set."""
    folder = os.environ.get("POLYCOMPLETE_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("set POLYCOMPLETE_DATA to the folder with the datasets to run this test")
    return Path(folder)


def drawn(n=40, m=6, rate=0.8, seed=1, **params):
    """Draw a manifold and punch holes into it."""
    params = {"n_dims": 1, "degree": 3} | params
    truth = make_polynomial_manifold(n, m, random_state=seed, **params)
    mask = uniform(truth.shape, rate, random_state=seed)
    return Problem(truth, mask, apply(truth, mask))


@cache
def fitted_to_the_problem(name):
    """Return a completer that is fitted to the curve of ``problem``, and what it completed."""
    completer = clone(COMPLETERS[name])
    return completer, completer.fit_transform(drawn().X)


@pytest.fixture(params=COMPLETERS.values(), ids=COMPLETERS)
def completer(request):
    """Give every kind of completer in turn."""
    return clone(request.param)


@pytest.fixture(params=COMPLETERS)
def fitted(request):
    """Give every kind of completer, fitted to ``problem``, and its result: only to look at."""
    return fitted_to_the_problem(request.param)


SURFACES = {name: one for name, one in COMPLETERS.items() if isinstance(one, Completer)}


@pytest.fixture(params=SURFACES.values(), ids=SURFACES)
def surface_completer(request):
    """Give every completer that fits a surface: a kernel, a penalty, a smoothing."""
    return clone(request.param)


@pytest.fixture
def quick():
    """Give a function that makes a fast PMC."""
    return lambda **params: PMC(**QUICK | params)


@pytest.fixture
def draw():
    """Give a function that draws a manifold and punches holes into it."""
    return drawn


@pytest.fixture
def problem():
    """Give a small curve in six dimensions, a fifth of its entries missing."""
    return drawn()
