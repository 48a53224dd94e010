"""Reference implementations: slow, with loops, straight from the definitions."""

from decimal import Decimal, localcontext
from itertools import combinations_with_replacement
from math import factorial

import numpy as np

from polycomplete import kernels
from polycomplete.model_selection import Search


class Product(kernels.Kernel):
    """(1 + x·y) exp(−|x − y|² / 2): a kernel of one's own, both of whose slopes are matrices."""

    def gram(self, X, Y=None):
        return (1 + X @ (X if Y is None else Y).T) * kernels.RBF(width=1.0).gram(X, Y)

    def slopes(self, X, Y, K):
        return kernels.RBF(width=1.0).gram(X, Y) + K, K

    def diagonal(self, X):
        return 1 + (X**2).sum(axis=1)

    def diagonal_slope(self, X):
        return np.ones_like(X[:, 0])

    def metric(self, X):
        return 1 + self.diagonal(X), np.zeros_like(X[:, 0])


def similarity(kernel):
    """Return k(x, y) of two rows for a resolved kernel, as a plain function."""
    if isinstance(kernel, Product):
        return lambda x, y: (1 + sum(x * y)) * np.exp(-sum((x - y) ** 2) / 2)
    if isinstance(kernel, kernels.RBF):
        return lambda x, y: np.exp(-sum((x - y) ** 2) / (2 * kernel.width**2))
    if isinstance(kernel, kernels.Linear):
        return lambda x, y: sum(x * y)
    return lambda x, y: (sum(x * y) + kernel.offset) ** kernel.degree


def gram(kernel, X, Y=None):
    """Return the Gram matrix, entry by entry."""
    k = similarity(kernel)
    return np.array([[k(x, y) for y in (X if Y is None else Y)] for x in X])


def weights(rule, eigenvalues, p):
    """Return the weights of a rule given by its name or by the number of values to skip."""
    n = len(eigenvalues)
    if rule == "equal":
        return [1.0] * n
    if rule == "ramp":
        return [i / n for i in range(1, n + 1)]
    if rule == "inverse":
        raw = [1 / (lam ** (p / 2) + 0.1) for lam in eigenvalues]
        return [w / max(raw) for w in raw]
    return [0.0] * rule + [1.0] * (n - rule)


def penalty(eigenvalues, w, p, gamma):
    """Return (2/p) Σ w [(λ + γ)^(p/2) − γ^(p/2)] with sixty digits; at p = 0 its limit."""
    with localcontext() as context:
        context.prec = 60
        half, gamma, total = Decimal(float(p)) / 2, Decimal(float(gamma)), Decimal(0)
        for lam, weight in zip(eigenvalues, w, strict=True):
            both = Decimal(float(lam)) + gamma
            if p == 0:
                growth = (both / gamma).ln()
            else:
                growth = (both**half - gamma**half) / half
            total += Decimal(float(weight)) * growth
        return float(total)


def objective(kernel, X, rule, p, gamma):
    """Return the penalty of K(X)."""
    eigenvalues = np.linalg.eigvalsh(gram(kernel, X))[::-1].clip(0)
    return penalty(eigenvalues, weights(rule, eigenvalues, p), p, gamma)


def differences(f, x, step=1e-5):
    """Return the gradient of f at x by central differences, entry by entry."""
    gradient = np.zeros_like(x)
    for at in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[at] += step
        down[at] -= step
        gradient[at] = (f(up) - f(down)) / (2 * step)
    return gradient


def jacobian(f, x, step=1e-5):
    """Return the derivative of a vector-valued f at x by central differences, one row an output."""
    columns = []
    for j in range(len(x)):
        up, down = x.copy(), x.copy()
        up[j] += step
        down[j] -= step
        columns.append((f(up) - f(down)) / (2 * step))
    return np.stack(columns, axis=-1)


def rbf_gradient(X, width, eigenvalue_slope):
    """Return the gradient in X of a spectral function of the RBF Gram matrix, pair by pair."""
    n = len(X)
    K = gram(kernels.RBF(width), X)
    values, V = np.linalg.eigh(K)
    slopes = eigenvalue_slope(values[::-1])[::-1]
    gradient = np.zeros_like(X)
    for i in range(n):
        for j in range(n):
            G = sum(slopes[k] * V[i, k] * V[j, k] for k in range(n))
            # Row i stands in K[i, j] and in K[j, i].
            gradient[i] += 2 * G * K[i, j] * (X[j] - X[i]) / width**2
    return gradient


def rbf_objective(problem, weigh, p, gamma):
    """Return a function of the free entries: value and gradient of an RBF problem by loops."""

    def slope(eigenvalues):
        return weigh(eigenvalues) * (eigenvalues + gamma) ** (p / 2 - 1)

    def evaluate(z):
        X = problem.unpack(z)
        values = np.linalg.eigvalsh(gram(problem.kernel, X))[::-1].clip(0)
        gradient = rbf_gradient(X, problem.kernel.width, slope)
        return penalty(values, weigh(values), p, gamma), gradient[problem.free]

    return evaluate


def row_energy(kernel, X, j, x, gamma):
    """Return the energy of x against the rows of X without row j (all of them for None)."""
    others = X if j is None else np.delete(X, j, axis=0)
    k = gram(kernel, others, x[None])[:, 0]
    inverse = np.linalg.inv(gram(kernel, others) + gamma * np.eye(len(others)))
    return similarity(kernel)(x, x) - k @ inverse @ k


def adam_plus(evaluate, x, t_max, step, tol=1e-6, beta1=0.9, beta2=0.999, epsilon=1e-8):
    """Run Algorithm 1 line by line; return the iterates, the objectives and the step sizes."""
    m, v = np.zeros_like(x), np.zeros_like(x)
    iterates, objectives, steps = [x], [], []
    t = 0
    while True:
        t = t + 1
        value, g = evaluate(x)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        m_hat = m / (1 - beta1**t)
        v_hat = v / (1 - beta2**t)
        x = x - step * m_hat / (np.sqrt(v_hat) + epsilon)
        steps.append(step)
        if objectives and value > objectives[-1]:
            step = 0.8 * step
        else:
            step = 1.1 * step
        iterates.append(x)
        objectives.append(value)
        if max(abs(iterates[-1] - iterates[-2])) < tol or t == t_max:
            return iterates, objectives, steps


def monomials(X, degree, offset):
    """Return the weighted monomials whose scalar product is (x·y + offset)^degree, (n, N)."""
    Y = np.column_stack([X, np.full(len(X), offset**0.5)]) if offset else X
    columns = []
    for chosen in combinations_with_replacement(range(Y.shape[1]), degree):
        ways = factorial(degree)
        for j in set(chosen):
            ways //= factorial(chosen.count(j))
        columns.append(ways**0.5 * np.prod(Y[:, chosen], axis=1))
    return np.column_stack(columns)


def lifts(X, offset=0.0):
    """Return all products of two entries of each row, a constant among them, (n, M²)."""
    Y = np.column_stack([X, np.full(len(X), offset**0.5)]) if offset else X
    return np.array([[a * b for a in y for b in y] for y in Y])


def lifted_residual(X, rank, offset=0.0):
    """Return the squared distance of the lifts from their best space of ``rank`` dimensions."""
    Z = lifts(X, offset)
    basis = np.linalg.svd(Z)[2][:rank]
    return float(np.sum((Z - Z @ basis.T @ basis) ** 2))


def lifted_gradient(X, rank, offset=0.0):
    """Return its gradient: at its best, moving the space changes nothing."""
    Z, m = lifts(X, offset), X.shape[1]
    M = m + bool(offset)
    basis = np.linalg.svd(Z)[2][:rank]
    left = (Z - Z @ basis.T @ basis).reshape(len(X), M, M)
    Y = np.column_stack([X, np.full(len(X), offset**0.5)]) if offset else X
    return np.array([2 * (R + R.T) @ y for R, y in zip(left, Y, strict=True)])[:, :m]


def solved(solver, X, mask, seed=0):
    """Return model and result of a path solver, as a completer has them."""
    solver.check()
    chosen = Search(solver, None, seed).select(X, mask)
    return solver.solve(X, mask, chosen.smoothing, chosen.init)
