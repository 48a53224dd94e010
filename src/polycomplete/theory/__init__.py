"""What the theory of polynomial matrix completion says, as plain numbers."""

from polycomplete.theory.approximation import (
    approximation_constant,
    polynomial_features,
    rbf_polynomial_bound,
)
from polycomplete.theory.counting import (
    information_limit,
    mnp,
    mnp_phi,
    r_tilde,
    rank_bound,
    rank_phi_additive,
    rank_phi_bound,
    samples_low_rank,
    samples_polynomial,
    sampling_bound,
)

__all__ = [
    "approximation_constant",
    "information_limit",
    "mnp",
    "mnp_phi",
    "polynomial_features",
    "r_tilde",
    "rank_bound",
    "rank_phi_additive",
    "rank_phi_bound",
    "rbf_polynomial_bound",
    "samples_low_rank",
    "samples_polynomial",
    "sampling_bound",
]
