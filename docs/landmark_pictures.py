"""The picture of docs/landmarks.md: the energy of a row against one and two missing entries.

    python docs/landmark_pictures.py

The surface is learned from complete rows. Of another row, one or two entries are taken to be
missing; the energy is shown where these could be.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from polycomplete import RBF, Equal, Schatten, datasets
from polycomplete.landmarks.landmark_problem import FeatureSpectrum, moments, whiten
from polycomplete.rows import Holes, RowEnergy, pivots

ROWS, COLUMNS, SHOWN, HOLES = 460, 4, 22, [2, 3]  # that row is shown, with these missing
KEPT = 60  # the first rows are not learned from
STARTS = ((0.0, 0.0), (0.4, 0.2))  # of the missing two,
SMOOTHINGS = (1e-1, 1e-3, 1e-5)  # relative to k(x, x) = 1 and to a sum over rows
COLORS = ("#E69F00", "#0072B2", "#009E73")  # Okabe and Ito: told apart by everyone
STYLES = ("-", "--", "-.")
LANDMARKS, STEPS = 100, 12


def surface(X: np.ndarray) -> list[RowEnergy]:
    """Return the energies of the surface through complete rows, one for each smoothing."""
    kernel = RBF().resolve(X, np.ones(X.shape, dtype=bool))
    features = whiten(kernel, X[pivots(kernel, X, LANDMARKS)])
    spectrum = FeatureSpectrum(
        features, moments(features, X, np.ones(len(X))), Schatten(weights=Equal())
    )
    return [spectrum.energy(smoothing / len(X)) for smoothing in SMOOTHINGS]


def power(value: float) -> str:
    """Return a power of ten as it is written."""
    return f"$10^{{{round(np.log10(value))}}}$"


def along(energy: RowEnergy, row: np.ndarray, holes: list[int], values: np.ndarray) -> np.ndarray:
    """Return the energy of a row with other values, (g, k), in its holes."""
    rows = np.repeat(row[None], len(values), axis=0)
    rows[:, holes] = values
    return np.maximum(energy.value(rows), 1e-16)


def one_missing(ax: Axes, energies: list[RowEnergy], row: np.ndarray, hole: int) -> None:
    """Draw the energy against one missing entry."""
    t = row[hole] + np.linspace(-4, 4, 1601)
    for energy, smoothing, color, style in zip(energies, SMOOTHINGS, COLORS, STYLES, strict=True):
        E = along(energy, row, [hole], t[:, None])
        ax.semilogy(t, E, style, color=color, lw=2, label=f"smoothing {power(smoothing)}")
    ax.axvline(row[hole], color="k", lw=1, ls=":", label="truth")
    ax.set(xlabel="value in the third column", ylabel="energy E of the row")
    ax.set_title("one entry missing")
    ax.set_ylim(bottom=1e-8)  # room for the legend
    ax.legend(loc="lower left", fontsize=10)


def way(energy: RowEnergy, row: np.ndarray, holes: list[int], begin: np.ndarray) -> np.ndarray:
    """Return where Levenberg–Marquardt steps lead, the start first, (steps + 1, k)."""
    mask = np.ones((1, len(row)), dtype=bool)
    mask[0, holes] = False
    X, damping, seen = row[None].copy(), np.array([0.1]), [begin]
    X[0, holes] = begin
    for _ in range(STEPS):
        X, _, damping = Holes(mask).settle(energy, X, damping)
        seen.append(X[0, holes])
    return np.array(seen)


def two_missing(ax: Axes, energy: RowEnergy, row: np.ndarray, holes: list[int]) -> None:
    """Draw the energy over two missing entries, and the ways from two starts."""
    truth = row[holes]
    a, b = truth[0] + np.linspace(-1, 2.4, 171), truth[1] + np.linspace(-0.8, 1.2, 151)
    A, B = np.meshgrid(a, b)
    E = np.log10(along(energy, row, holes, np.c_[A.ravel(), B.ravel()])).reshape(A.shape)
    shown = ax.contourf(A, B, E, levels=16, cmap="cividis")
    ax.figure.colorbar(shown, ax=ax, label="log10 of the energy E")
    ax.plot(*truth, "*", color="#D55E00", mec="w", ms=22, ls="", label="truth")
    for number, (start, marker) in enumerate(zip(STARTS, "sD", strict=True), 1):
        path = way(energy, row, holes, np.array(start))
        ax.plot(*path[0], marker, color="#E69F00", mec="k", ms=10, ls="", label=f"start {number}")
        ax.plot(*path.T, "-", color="w", lw=1.8)
        ax.plot(*path[1:].T, "o", color="w", mec="k", ms=5, label="steps" if number == 2 else None)
        E_end = along(energy, row, holes, path[-1:])[0]
        away = np.linalg.norm(path[-1] - truth)
        print(f"start {number}: ends {away:.3f} from the truth with E = {E_end:.1e}")
    ax.set(xlabel="value in the third column", ylabel="value in the fourth column")
    ax.set_title(f"two entries missing, smoothing {power(SMOOTHINGS[-1])}")
    ax.legend(loc="lower left", fontsize=10, labelcolor="k", framealpha=0.9)


def main() -> None:
    """Draw it."""
    plt.rcParams["font.size"] = 11
    data = datasets.make_polynomial_manifold(ROWS, COLUMNS, random_state=1)
    energies, row = surface(data[KEPT:]), data[SHOWN]
    figure, axes = plt.subplots(1, 2, figsize=(10.5, 4.8), layout="constrained")
    one_missing(axes[0], energies, row, HOLES[0])
    two_missing(axes[1], energies[-1], row, HOLES)
    figure.suptitle("The energy of one row: how far it lies from the surface that others span")
    out = Path(__file__).resolve().with_name("landmarks-energy.png")
    figure.savefig(out, dpi=100)
    print(f"picture in {out.name}")


if __name__ == "__main__":
    main()
