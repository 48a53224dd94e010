"""The partial eigensolver against the full one: seconds, agreement, peak memory, growth with n.

Operations of one evaluation with n rows: the full decomposition takes 4/3 n³ to reduce the matrix
and 2 n³ to bring the eigenvectors back (what lies between depends on the spectrum and is not
counted), the gradient 2 n³; the partial one with r pairs takes 6 n² r and 2 n² r. The share of the
machine's matrix-product rate that this makes is printed beside the time.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

from experiments.machine import gemm_gflops, measure
from experiments.store import save
from polycomplete import RBF, Exact, Schatten, datasets, masks
from polycomplete.exact import ExactProblem


def evaluate(n: int, engine: Exact, gamma: float) -> tuple[float, float, np.ndarray, float, int]:
    """Return seconds, value, gradient, peak MB and pairs of a warm evaluation."""
    X = datasets.make_polynomial_manifold(n, random_state=0)
    mask = masks.uniform(X.shape, 0.5, random_state=0)
    start = np.where(mask, X, X + 0.05 * np.random.default_rng(0).standard_normal(X.shape))
    kernel = RBF().resolve(X, mask)
    problem = ExactProblem(start, mask, kernel, Schatten(-0.5).resolve(X, mask), engine)
    z = problem.pack(start)
    problem.value_and_gradient(z, gamma)
    runs = [measure(lambda: problem.value_and_gradient(z, gamma)) for _ in range(3)]
    value, gradient = runs[0].value
    peak = measure(lambda: problem.value_and_gradient(z, gamma), memory=True).peak_mb
    pairs = len(problem.spectrum(z, gamma)[2].eigenvalues)
    return min(r.wall for r in runs), value, gradient, peak, pairs


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("out/benchmarks"))
    parser.add_argument("--largest", type=int, default=3000)
    args = parser.parse_args()
    rate, rows = gemm_gflops(), []
    print(f"one thread, matrix products at {rate:.0f} GFLOP/s")
    print(f"{'n':>6}{'smoothing':>11}{'full s':>9}{'rate':>6}{'MB':>6}{'partial s':>11}{'rate':>6}"
          f"{'MB':>6}{'pairs':>7}{'speed-up':>10}{'gradient differs':>18}")  # fmt: skip
    sizes = [n for n in (250, 500, 1000, 2000, 3000) if n <= args.largest]
    with threadpool_limits(1):
        for n, gamma in [(n, gamma) for gamma in (1e-1, 1e-3) for n in sizes]:
            full, _, g, mb, _ = evaluate(n, Exact(), gamma)
            part, _, h, mb_part, r = evaluate(n, Exact(eigen="partial"), gamma)
            differs = float(np.linalg.norm(h - g) / np.linalg.norm(g))
            share = 16 / 3 * n**3 / full / rate / 1e9
            share_part = 8 * n**2 * r / part / rate / 1e9
            rows.append({"n": n, "gamma": gamma, "full": full, "partial": part, "pairs": r,
                         "differs": differs, "full_mb": mb, "partial_mb": mb_part})  # fmt: skip
            print(f"{n:6}{gamma:11.0e}{full:9.3f}{share:6.0%}{mb:6.0f}{part:11.3f}"
                  f"{share_part:6.0%}{mb_part:6.0f}{r:7}{full / part:10.1f}{differs:18.1e}"
                  )  # fmt: skip
    big = [r for r in rows if r["n"] >= 500 and r["gamma"] == 1e-1]
    for key in ("full", "partial"):
        slope = np.polyfit(np.log([r["n"] for r in big]), np.log([r[key] for r in big]), 1)[0]
        print(f"{key}: seconds grow as n^{slope:.2f}")
    save(args.out / "partial.jsonl", rows)


if __name__ == "__main__":
    main()
