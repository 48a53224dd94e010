"""Ranks and counts: how much must be observed, by the theory of polynomial matrix completion.

Notation: ``n`` samples with ``m`` features each lie on ``k`` surfaces, the images of ``d`` latent
variables under polynomials of degree ``alpha``. ``phi`` lists all monomials of degree at most ``q``
of a sample, and ``rank_phi`` is the rank of ``phi(X)``. The paper writes p for alpha in places,
and its matrices are the transposes of ours.
"""

import math
from bisect import bisect_left
from numbers import Integral


def check(low: int, *, whole: bool = True, strict: bool = False, **values: float) -> None:
    """Raise if one of the values is not a number in the allowed range."""
    kind = "a whole number" if whole else "a finite number"
    bound = "above" if strict else "of at least"
    for name, value in values.items():
        valid = isinstance(value, Integral) if whole else math.isfinite(value)
        if not valid or value < low or (strict and value == low):
            raise ValueError(f"{name} must be {kind} {bound} {low}, but it is {value!r}.")


def rank_bound(d: int, alpha: int, m: int, n: int, k: int = 1) -> int:
    """Bound the rank of X: min(k C(d + alpha, alpha), m, n).

    Parameters
    ----------
    d, alpha, m, n, k : int
        Latent dimension, degree, features, samples on all surfaces together, surfaces.

    Returns
    -------
    int
        The bound; polynomials with random coefficients attain it.

    Examples
    --------
    The three worked examples of the paper:

    >>> rank_bound(d=2, alpha=3, m=10, n=50)
    10
    >>> rank_bound(d=3, alpha=2, m=100, n=1000), rank_bound(d=3, alpha=2, m=100, n=1000, k=3)
    (10, 30)
    """
    check(0, d=d, alpha=alpha)
    check(1, m=m, n=n, k=k)
    return min(k * math.comb(d + alpha, alpha), m, n)


def rank_phi_bound(d: int, alpha: int, q: int, m: int, n: int, k: int = 1) -> int:
    """Bound the rank of phi(X): min(k C(d + alpha q, alpha q), C(m + q, q), n).

    Parameters
    ----------
    d, alpha, q, m, n, k : int
        Latent dimension, degrees of the map and of phi, features, samples in all, surfaces.

    Returns
    -------
    int
        The bound.

    Examples
    --------
    The paper's examples, which all come out as printed; the last two go on in `r_tilde`:

    >>> rank_phi_bound(d=2, alpha=3, q=2, m=10, n=50)
    28
    >>> [rank_phi_bound(d=3, alpha=2, q=3, m=100, n=1000, k=k) for k in (1, 3)]
    [84, 252]
    """
    check(0, d=d, alpha=alpha)
    check(1, q=q, m=m, n=n, k=k)
    return min(k * math.comb(d + alpha * q, d), math.comb(m + q, q), n)


def rank_phi_additive(d: int, alpha: int, q: int, k: int = 1) -> int:
    """Count the rank of phi(X) for maps without cross terms, such as the paper's generator.

    If x is linear in the powers z_i, ..., z_i^alpha of single latent variables, each factor z_i^a
    of a monomial costs ceil(a / alpha) of the q factors that phi may multiply. So the monomial
    z_1^a_1 ... z_d^a_d appears exactly when sum ceil(a_i / alpha) <= q, and
    sum_t C(d, t) C(q, t) alpha^t of them do, t being the number of variables present.

    Parameters
    ----------
    d, alpha, q, k : int
        Latent dimension, degrees of the map and of phi, surfaces.

    Returns
    -------
    int
        k times the count. For k = 1 it is the rank, given d alpha <= m and enough samples. For
        k > 1 it is the paper's figure; where no map has a constant term, all surfaces meet in the
        origin and the rank is k - 1 lower.

    Examples
    --------
    The generator of the paper, where the Lemma allows C(14, 2) = 91:

    >>> rank_phi_additive(d=2, alpha=4, q=3)
    73
    """
    check(0, d=d, alpha=alpha)
    check(1, q=q, k=k)
    return k * sum(math.comb(d, t) * math.comb(q, t) * alpha**t for t in range(min(d, q) + 1))


def _trials(rank_phi: int, q: int) -> range:
    """Return the at most q + 1 values among which the paper's remark places r_tilde."""
    target = math.factorial(q) * rank_phi
    # Whole numbers only: a float root that is off by one unit would lose the answer.
    powers = range(2 ** (target.bit_length() // q + 1))
    root = bisect_left(powers, target, key=lambda c: c**q)
    return range(max(root - q, 0), root + 1)


def r_tilde(rank_phi: int, q: int) -> int:
    """Return the smallest o with C(o + q, q) >= rank_phi, in at most q + 1 trials.

    Parameters
    ----------
    rank_phi, q : int
        Rank of phi(X) and degree of phi.

    Returns
    -------
    int
        The dimension of the flattest data whose phi(X) can reach that rank.

    Examples
    --------
    The paper's examples, d = 3, alpha = 2, q = 3 on one and on three surfaces, and its generator:

    >>> r_tilde(84, q=3), r_tilde(252, q=3), r_tilde(73, q=3)
    (6, 10, 6)
    """
    check(1, rank_phi=rank_phi, q=q)
    return next(o for o in _trials(int(rank_phi), int(q)) if math.comb(o + q, q) >= rank_phi)


def mnp(m: int, n: int, rank: int) -> int:
    """Count the parameters of a matrix of given rank: (m - r) r + n r.

    Parameters
    ----------
    m, n, rank : int
        Features, samples, rank of X.

    Returns
    -------
    int
        The number of parameters.

    Examples
    --------
    >>> mnp(m=20, n=2000, rank=8)
    16096
    """
    check(1, m=m, n=n)
    check(0, rank=rank)
    if rank > min(m, n):
        raise ValueError(f"rank must not exceed min(m, n) = {min(m, n)}, but it is {rank}.")
    return (m - rank) * rank + n * rank


def mnp_phi(m: int, n: int, q: int, rank_phi: int) -> int:
    """Count the parameters of X among the matrices whose phi(X) has the given rank.

    Parameters
    ----------
    m, n, q, rank_phi : int
        Features, samples, degree of phi, rank of phi(X).

    Returns
    -------
    int
        (m - r_tilde) rank_phi + n r_tilde.

    Examples
    --------
    >>> mnp_phi(m=20, n=2000, q=3, rank_phi=73)
    13022
    """
    check(1, m=m, n=n, q=q, rank_phi=rank_phi)
    if rank_phi > math.comb(m + q, q):
        raise ValueError(
            f"rank_phi must not exceed C(m + q, q) = {math.comb(m + q, q)}, but it is {rank_phi}."
        )
    r = r_tilde(rank_phi, q)
    return (m - r) * rank_phi + n * r


def sampling_bound(m: int, n: int, q: int, rank_phi: int) -> float:
    """Return the sampling rate mnp_phi / (m n), the curve in the paper's figures.

    It counts the rank model only, so it is no hard limit: compare `information_limit`. It lies
    above one, and says nothing, wherever rank_phi > n; for k surfaces the paper takes 73 k.

    Parameters
    ----------
    m, n, q, rank_phi : int
        Features, samples in all, degree of phi, rank of phi(X).

    Returns
    -------
    float
        The rate.

    Examples
    --------
    >>> round(sampling_bound(m=20, n=2000, q=3, rank_phi=73), 3)
    0.326
    """
    return mnp_phi(m, n, q, rank_phi) / (m * n)


def samples_low_rank(n: int, rank: int, constant: float = 1.0) -> float:
    """Return the entries that low-rank completion needs: constant n rank log n, for n >= m.

    Parameters
    ----------
    n, rank : int
        Samples, rank of X.
    constant : float, default=1.0
        The theory's unspecified numerical constant.

    Returns
    -------
    float
        The number of observed entries.

    Examples
    --------
    >>> round(samples_low_rank(n=1000, rank=10))
    69078
    """
    check(1, n=n)
    check(0, rank=rank)
    check(0, whole=False, strict=True, constant=constant)
    return constant * n * rank * math.log(n)


def samples_polynomial(n: int, m: int, q: int, rank_phi: int, constant: float = 1.0) -> float:
    """Return the entries that polynomial completion needs: constant n r_tilde log n.

    The paper conjectures this, for n >= (m - r_tilde) rank_phi / r_tilde; that is the case exactly
    where ``mnp_phi(m, n, q, rank_phi) <= 2 * n * r_tilde(rank_phi, q)``. It is not checked here.

    Parameters
    ----------
    n, m, q, rank_phi : int
        Samples, features, degree of phi, rank of phi(X).
    constant : float, default=1.0
        The conjecture's unspecified numerical constant.

    Returns
    -------
    float
        The number of observed entries.

    Examples
    --------
    Fewer than the 69078 of low-rank completion, for the paper's d = 3, alpha = 2, q = 3:

    >>> round(samples_polynomial(n=1000, m=20, q=3, rank_phi=84))
    41447
    >>> mnp_phi(20, 1000, 3, 84) <= 2 * 1000 * r_tilde(84, 3)
    True
    """
    mnp_phi(m, n, q, rank_phi)  # refuses impossible arguments
    return samples_low_rank(n, r_tilde(rank_phi, q), constant)


def information_limit(m: int, n: int, d: int, coefficients_per_column: int) -> float:
    """Return the sampling rate below which even knowing the family of maps cannot be enough.

    Parameters
    ----------
    m, n, d : int
        Features, samples, latent dimension.
    coefficients_per_column : int
        Free coefficients of the map in each feature, such as d alpha without cross terms.

    Returns
    -------
    float
        (n d + m b) / (m n): latent variables and coefficients, over all entries.

    Examples
    --------
    >>> information_limit(m=20, n=2000, d=2, coefficients_per_column=8)
    0.104
    """
    check(1, m=m, n=n)
    check(0, d=d, coefficients_per_column=coefficients_per_column)
    return (n * d + m * coefficients_per_column) / (m * n)
