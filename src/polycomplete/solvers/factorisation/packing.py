"""The missing entries of rows as one vector, in variables that are about equally stiff."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from polycomplete.exact import WIDEST
from polycomplete.rows import Block, Holes, RowEnergy

DAMPING = 1e-3  # of the row's own metric: bounds how soft a direction may be taken to be


@dataclass(frozen=True)
class PackedHoles(Holes):
    """The missing entries of rows, in blocks, as an optimiser wants them.

    Examples
    --------
    >>> holes = PackedHoles(np.array([[True, False], [True, True], [False, False]]))
    >>> holes.pack(np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))  # padded to two each
    array([2., 0., 5., 6.])
    """

    def pack(self, A: np.ndarray) -> np.ndarray:
        """Return the entries of A in the holes as a vector, zeros for padding in between."""
        places, real = self._places
        z = np.zeros(len(real))
        z[real] = A.ravel()[places]
        return z

    def unpack(self, z: np.ndarray, A: np.ndarray) -> np.ndarray:
        """Return A with the entries of a vector in its holes."""
        places, real = self._places
        flat = A.flatten()
        flat[places] = z[real]
        return flat.reshape(A.shape)

    @cached_property
    def _places(self) -> tuple[np.ndarray, np.ndarray]:
        """Where the entries of a vector stand in the flat matrix, and which are no padding."""
        m, none = self.mask.shape[1], [np.empty(0, dtype=int)]
        flat = [(block.rows[:, None] * m + block.columns).ravel() for block in self.blocks]
        real = np.concatenate([~block.padding.ravel() for block in self.blocks] + [none[0] > 0])
        return np.concatenate(flat + none)[real], real

    def parts(self, z: np.ndarray) -> Iterator[tuple[Block, np.ndarray]]:
        """Yield each block with its part of a vector, (g, k)."""
        begin = 0
        for block in self.blocks:
            end = begin + block.columns.size
            yield block, z[begin:end].reshape(block.columns.shape)
            begin = end

    def precondition(self, energy: RowEnergy, X: np.ndarray) -> HolePreconditioner:
        """Return variables in which all directions of a row are about equally stiff.

        Wide data would need too much memory for that; there all entries of a row are scaled alike.
        """
        C = []
        for block in self.blocks:
            if self.mask.shape[1] > WIDEST:
                a = energy.kernel.metric(X[block.rows])[0]
                C.append(np.sqrt(2 * np.maximum(a, 1e-300))[:, None, None])
            else:
                here = energy.expand(X[block.rows], block.columns)
                C.append(np.linalg.cholesky(here.hessian(block.padding, DAMPING)))
        return HolePreconditioner(self, C, [np.linalg.inv(part) for part in C])


@dataclass(frozen=True)
class HolePreconditioner:
    """The change of variables ``y = Cᵀ z`` with one small triangular C for each row.

    ``C`` and ``inverse`` hold the matrices of each block, (g, k, k), or numbers, (g, 1, 1).
    """

    holes: PackedHoles
    C: list[np.ndarray]
    inverse: list[np.ndarray]

    def forward(self, z: np.ndarray) -> np.ndarray:
        """Return y for z."""
        return self._apply([part.transpose(0, 2, 1) for part in self.C], z)

    def back(self, y: np.ndarray) -> np.ndarray:
        """Return z for y."""
        return self._apply([part.transpose(0, 2, 1) for part in self.inverse], y)

    def gradient(self, g: np.ndarray) -> np.ndarray:
        """Return the gradient in y for one in z."""
        return self._apply(self.inverse, g)

    def _apply(self, matrices: list[np.ndarray], vector: np.ndarray) -> np.ndarray:
        done = np.empty_like(vector)
        pairs = zip(self.holes.parts(vector), self.holes.parts(done), matrices, strict=True)
        for (_, part), (_, into), M in pairs:
            into[:] = M[:, :, 0] * part if M.shape[1] == 1 else (M @ part[:, :, None])[:, :, 0]
        return done
