"""An experiment that costs nothing."""

import pytest

from experiments.report import means
from experiments.trials import Experiment, Family


@pytest.fixture
def toy():
    """Give a function that makes a toy of two settings; its error is n + seed."""

    def make(measure=lambda setting, method, seed: {"rse": setting["n"] + seed}, version=1, **more):
        def show(report, results):
            report.lines(means(results, "rse", "n"), "n = {}")

        return Experiment(
            "toy",
            Family("toy", version, measure, **more),
            show,
            grids=[{"n": [1, 2], "trials": {"quick": 2, "full": 5}}],
            methods=["mean"],
            words={"table": "A toy."},
        )

    return make
