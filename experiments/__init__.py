"""The paper's figures and tables from one command: experiments, trials, reports."""

from experiments.listing import listing
from experiments.paper import EXPERIMENTS
from experiments.reproduce import Outcome, Plan, reproduce

__all__ = ["EXPERIMENTS", "Outcome", "Plan", "listing", "reproduce"]
