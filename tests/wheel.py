"""Build the wheel, install it alone in a clean environment, and use it there (make test-wheel)."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
USE = """
import sys, numpy as np, polycomplete
from polycomplete import PMC
assert "site-packages" in polycomplete.__file__, polycomplete.__file__
t = np.linspace(-1, 1, 60)
X = np.c_[t, t**2, t**3]
X[::3, 1] = np.nan
completed = PMC(random_state=0).fit_transform(X)
assert np.abs(completed[:, 1] - t**2).max() < 0.01
assert not {"pandas", "polars", "matplotlib"} & set(sys.modules)
print("polycomplete", polycomplete.__version__, "works from its wheel alone")
"""


def run(*command: str | Path, cwd: Path) -> None:
    subprocess.run([str(part) for part in command], cwd=cwd, check=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", place,
            ROOT, cwd=place)  # fmt: skip
        (wheel,) = place.glob("polycomplete-*.whl")
        venv.create(place / "env", with_pip=True)
        python = place / "env" / "bin" / "python"
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel,
            cwd=place)  # fmt: skip
        run(python, "-c", USE, cwd=place)


if __name__ == "__main__":
    main()
