"""The paper's figures and tables from one command: experiments, trials, reports."""

from polycomplete.experiments.listing import listing
from polycomplete.experiments.paper import EXPERIMENTS
from polycomplete.experiments.reproduce import Outcome, Plan, reproduce

__all__ = ["EXPERIMENTS", "Outcome", "Plan", "listing", "reproduce"]
