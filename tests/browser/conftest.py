"""One browser for all tests, and the pages that they look at."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.impute import SimpleImputer

from polycomplete import PMC, masks
from polycomplete.methods import LRMC
from polycomplete.report import Report
from tests import hostile
from tests.browser.browser import chromium

#: Pictures of every page, to be looked at.
PICTURES = Path(__file__).parents[2] / "out" / "browser"


def ordinary():
    """The report of an ordinary table with 30 % missing, two rows of which are nearly empty."""
    table = load_wine(as_frame=True).data
    mask = masks.uniform(table.shape, 0.7, random_state=0)
    mask[5] = mask[7, 3:] = False
    return _report(PMC(random_state=0), table.where(mask))


def complete():
    """The report of a table in which nothing is missing."""
    return _report(LRMC(), pd.DataFrame({"a": np.arange(9.0), "b": np.arange(9.0) ** 2}))


def _report(completer, X):
    return completer.report(X, completer.fit_transform(X))


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    """Return the addresses of the reports, by name."""
    folder = tmp_path_factory.mktemp("pages")
    reports = {
        "ordinary": ordinary(),
        "complete": complete(),
        "hostile": _report(LRMC(), hostile.numbers()),
        "labels": Report(SimpleImputer(), *hostile.labels(), command="</script><b>"),
    }
    for name, report in reports.items():
        report.write(folder / f"{name}.html")
    frame = reports["ordinary"]._repr_html_()
    cell = f"<!doctype html><meta charset=utf-8><title>notebook</title>{frame}"
    (folder / "notebook.html").write_text(cell, encoding="utf-8")
    return {path.stem: path.as_uri() for path in folder.iterdir()}


@pytest.fixture(scope="session")
def browser():
    with chromium() as driver:
        yield driver
