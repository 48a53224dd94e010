"""Adam+, the paper's Algorithm 1: Adam with a step size that grows while the objective falls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from polycomplete._messages import check_numbers
from polycomplete.solvers.base import Callback, Monitor, Result, Stopped, fill
from polycomplete.solvers.exact import GramSolver
from polycomplete.solvers.problem import ExactProblem


@dataclass(eq=False, repr=False)
class AdamPlus(GramSolver):
    """Adam+, the solver of the paper [1]_, with the paper's settings.

    The smoothing is fixed: ``smoothing="auto"`` of a completer means γ = 1e-6 with this solver.

    Parameters
    ----------
    init : {"zero", "mean", "row-column"}, default="zero"
        Initial values of the missing entries.
    max_iter : int, default=500
        The paper's t_max, which it does not state; its authors' demonstrations use 500.
    step : float, default=1e-4
        Initial step size λ, multiplied by 0.8 if the objective rises and by 1.1 otherwise.
    tol : float, default=1e-6
        Converged when every entry moves by less than this.
    beta1 : float, default=0.9
        Decay rate of the mean of the gradients, as in Adam.
    beta2 : float, default=0.999
        Decay rate of the mean of their squares.
    epsilon : float, default=1e-8
        Keeps steps finite if gradients vanish. In units of the gradient of R: that of the paper's
        objective is smaller by ``Schatten.factor``.
    correct_bias : bool, default=True
        Correct both moments for their zero start, as in Algorithm 1; the code of the paper's
        authors computes the corrections and does not use them.
    eigen : {"auto", "full", "partial"}, default="auto"
        All eigenpairs or only leading ones, as in :class:`~polycomplete.Exact`.
    max_memory : float, optional
        Maximum number of bytes; by default 60 % of the free memory.
    time_limit : float, optional
        Seconds after which the run ends with its current result.
    callback : callable, optional
        Called with a :class:`~polycomplete.solvers.Progress` after each iteration; the run ends
        when it returns True.

    See Also
    --------
    Exact : Minimizes the same objective by Newton steps with decreasing smoothing; the default.

    References
    ----------
    .. [1] J. Fan, Y. Zhang and M. Udell (2020). Polynomial matrix completion for missing data
       imputation and transductive learning. AAAI. Algorithm 1; its objective ℒ is eq. (15), the
       gradient step eq. (16).

    Examples
    --------
    >>> AdamPlus(max_iter=1000)
    AdamPlus(max_iter=1000)
    """

    init: str = "zero"
    max_iter: int = 500
    step: float = 1e-4
    tol: float = 1e-6
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    correct_bias: bool = True
    eigen: str = "auto"
    max_memory: float | None = None
    time_limit: float | None = None
    callback: Callback | None = None

    default_smoothing = 1e-6

    def solve(
        self, problem: ExactProblem, smoothing: float, init: np.ndarray | None = None
    ) -> Result:
        """Minimize the problem at a fixed smoothing.

        Adaptive weights are fixed for a whole round: first equal weights, which give the Schatten-p
        fit, then the weights of its spectrum.
        """
        check_numbers(self, "max_iter", "step", "epsilon")
        check_numbers(self, "tol", "beta1", "beta2", zero=True)
        monitor, problem = Monitor(self.time_limit, self.callback), problem.fresh()
        x = problem.pack(fill(problem.X, problem.mask, self.init))
        if x.size == 0:
            return monitor.result(problem.X, "converged", problem.kernel)
        x, stop = self._descend(problem, x, smoothing, monitor)
        if problem.penalty.adaptive and stop in ("converged", "max_iter"):
            problem.reweigh(x, smoothing * problem.unit)
            x, stop = self._descend(problem, x, smoothing, monitor)
        return monitor.result(problem.unpack(x), stop, problem.kernel)

    def _descend(
        self, problem: ExactProblem, x: np.ndarray, smoothing: float, monitor: Monitor
    ) -> tuple[np.ndarray, str]:
        first, second = np.zeros_like(x), np.zeros_like(x)
        step, last = self.step, np.inf
        for t in range(1, self.max_iter + 1):
            value, g = problem.value_and_gradient(x, smoothing * problem.unit)
            first = self.beta1 * first + (1 - self.beta1) * g
            second = self.beta2 * second + (1 - self.beta2) * g**2
            m_hat = first / (1 - self.beta1**t) if self.correct_bias else first
            v_hat = second / (1 - self.beta2**t) if self.correct_bias else second
            move = step * m_hat / (np.sqrt(v_hat) + self.epsilon)
            x = x - move
            step *= 0.8 if value > last else 1.1
            last = value
            try:
                monitor.note(value, smoothing)
            except Stopped as ended:
                return x, ended.reason
            if np.max(np.abs(move)) < self.tol:
                return x, "converged"
        return x, "max_iter"
