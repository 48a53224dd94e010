"""One row at a time: the energy of a row given the others, and how to complete it."""

from polycomplete.rows.energy import Quadratic as Quadratic
from polycomplete.rows.energy import RowEnergy as RowEnergy
from polycomplete.rows.energy import learn as learn
from polycomplete.rows.holes import EVEN as EVEN
from polycomplete.rows.holes import PLAIN as PLAIN
from polycomplete.rows.holes import Block as Block
from polycomplete.rows.holes import Holes as Holes
from polycomplete.rows.holes import Packing as Packing
from polycomplete.rows.holes import Run as Run
from polycomplete.rows.pivots import pivots as pivots
from polycomplete.rows.posterior import NARROWEST as NARROWEST
from polycomplete.rows.posterior import Completion as Completion
from polycomplete.rows.posterior import Minima as Minima
from polycomplete.rows.posterior import Posterior as Posterior
from polycomplete.rows.posterior import nearest as nearest
from polycomplete.rows.posterior import spreads as spreads
from polycomplete.rows.resources import Resources as Resources
from polycomplete.rows.restarts import folds as folds
from polycomplete.rows.restarts import restart as restart
from polycomplete.rows.steps import settle as settle
