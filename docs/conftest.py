"""The pages are tests: what they show behind >>> is run, in a folder with the example table."""

import shutil
from pathlib import Path

import pytest

#: Programs that draw pictures, and the configuration of the site, hold no examples.
collect_ignore_glob = ["*.py", "methods/*.py"]
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


@pytest.fixture(autouse=True)
def folder_of_its_own(tmp_path, monkeypatch):
    """Let a page write files, and find flowers.csv."""
    monkeypatch.chdir(shutil.copytree(EXAMPLES, tmp_path / "here"))
