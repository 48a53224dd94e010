"""Energy of a row given the other rows, and the completion of rows that follows from it."""

from polycomplete.rows.energy import WIDE as WIDE
from polycomplete.rows.energy import Quadratic as Quadratic
from polycomplete.rows.energy import RowEnergy as RowEnergy
from polycomplete.rows.energy import learn as learn
from polycomplete.rows.energy import pivots as pivots
from polycomplete.rows.posterior import FOLDS as FOLDS
from polycomplete.rows.posterior import NARROWEST as NARROWEST
from polycomplete.rows.posterior import Completion as Completion
from polycomplete.rows.posterior import Minima as Minima
from polycomplete.rows.posterior import Posterior as Posterior
from polycomplete.rows.posterior import folds as folds
from polycomplete.rows.posterior import nearest as nearest
from polycomplete.rows.posterior import restart as restart
from polycomplete.rows.posterior import restart_by_folds as restart_by_folds
from polycomplete.rows.posterior import spreads as spreads
from polycomplete.rows.steps import DAMPING as DAMPING
from polycomplete.rows.steps import EVEN as EVEN
from polycomplete.rows.steps import EVEN_ROWS as EVEN_ROWS
from polycomplete.rows.steps import PLAIN as PLAIN
from polycomplete.rows.steps import Block as Block
from polycomplete.rows.steps import Holes as Holes
from polycomplete.rows.steps import Packing as Packing
from polycomplete.rows.steps import settle as settle
