"""Where the original files come from: pinned mirrors with checksums, and the first publishers.

A mirror is named by commit and its file is checked byte by byte. The publishers' own files may
differ in line ends or a line of names, so that no checksum is known: their content is checked.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote

UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
CMU = "http://mocap.cs.cmu.edu/subjects"
#: A mirror of the whole of Hopkins 155.
HOPKINS = (
    "ChristosXeno/Evaluation-of-Geometric-Motion-Segmentation-Methods",
    "83c60f4c3edf81ded709228ac2a6ed38a414b71d",
)


class Source(NamedTuple):
    """An address, and the SHA-256 of what is there if it is known."""

    url: str
    sha256: str | None = None


def github(repository: str, commit: str, path: str, sha256: str | None = None) -> Source:
    """Return a file of a public repository at a fixed commit."""
    return Source(f"https://raw.githubusercontent.com/{repository}/{commit}/{quote(path)}", sha256)


#: Checksums of sequences of Hopkins 155 in that mirror.
SEQUENCES = {
    "1R2RC": "2ae5ca494a394647658686483c7020845b1eea83dfae0e9079f5974c79f17e5f",
    "1RT2RCR": "e6bc54030b5010df8a7ab5d50aff2116dec97ebc27926df795b557cfebf5e00a",
    "1RT2RCRT": "eb92ef29d089158ecd4e77c01ebf4e728dffbbbc1c77782e51f23fabca5feea9",
    "1RT2RTCRT_A": "1e18a1ea35821cbcb90675d96cdb0ff3347f8ba71dffae6ed2d71d9439bcf408",
    "1RT2RTCRT_B": "b397c96e71f4c8dcf79d64c4a211c8b6a144e12b2ecf5948c3f5e48020c20a45",
    "arm": "9983dcf6a6e18e60edec16bc8bd40d0baaa275025037f73b68cdb37f497084ba",
    "cars10": "adab16b43b39b0fc3e6ff9dc9365a4abfd1a5500c7d144519819050d29f372ec",
    "kanatani1": "44881951894030a24713561a2b8533f0197467a3c99012de17fdec59a56fc410",
}
FILES = {
    "mice_protein/raw/Data_Cortex_Nuclear.xls": (
        github("soluslab/CStrees", "7b54326efa4d44d3766e8eab5eedac7d54ebfa8a",
               "Data_Cortex_Nuclear.xls",
               "e3fe206e14f2d82a5eef9316787a6d8e68a3839b041979f31886c8de3e9466f2"),
        Source(f"{UCI}/00342/Data_Cortex_Nuclear.xls"),
    ),
    "dermatology/raw/dermatology.data": (
        github("Kyle-t-Schmidt/Dermatology", "2ed3aaae1e6cd60fb4e719941f661ff9b35c4c54",
               "dermatology.data",
               "b2f7e7b439649ffa86d3bbc2c344758085a5f5bf4a9ffc68278c57d7695aadd1"),
        Source(f"{UCI}/dermatology/dermatology.data"),
    ),
    "satimage/raw/sat.trn": (
        github("dirichletcal/experiments_neurips", "54989edf11995f7f0f8390766e51133373044db2",
               "datasets/sat.trn",
               "6da888aa398f4dd56a85bb7114f7206896a360b7af1d790450f64dbdb8493fc5"),
        Source(f"{UCI}/statlog/satimage/sat.trn"),
    ),
    "satimage/raw/sat.tst": (
        github("dirichletcal/experiments_neurips", "54989edf11995f7f0f8390766e51133373044db2",
               "datasets/sat.tst",
               "0045be0391420a35a69e8d2b0a4ff4b032a4aa03feebba0d89b9aa3e2d42c212"),
        Source(f"{UCI}/statlog/satimage/sat.tst"),
    ),
    "shuttle/raw/shuttle.trn.Z": (
        github("ssmcnatt/assignments", "0ff4d1020232e9ff1c32813584601f3dac48423a",
               "data/shuttle.trn.Z",
               "ffd2cbf221d4982ccc77c674621c23291447f3fd9484c00d8078858965e0e7ed"),
        Source(f"{UCI}/statlog/shuttle/shuttle.trn.Z"),
    ),
    "shuttle/raw/shuttle.tst": (
        github("AlejandroMartinMontenegro/Statlog-Shuttle-Classification-MLP",
               "1a7524ccf7a77705fa934e05f980dbfe8021b2a2", "shuttle.tst",
               "f776934a628d9b94c482cb058a76ddaa63823e0f74aec065813c9dff3b89d661"),
        Source(f"{UCI}/statlog/shuttle/shuttle.tst"),
    ),
    "cmu_mocap/raw/mocap_56_01.mat": (
        github("jicongfan/Codes-of-Polynomial-Matrix-Completion-in-AAAI-2020",
               "3f55bf925c254d10cea468ba84d78c5346a46a01", "mocap_56_01.mat",
               "8970688dedb3174e2b8ec897e8c9ea92623e00b9022b720b70f9a8444c67d10a"),
    ),
    "cmu_mocap/raw/mocap_56_06.mat": (
        github("gregongie/vmc", "e8ae5d1d8d306379c6ef11621cb3614078900f1d", "data/mocap_56_06.mat",
               "634a607be9164ff910392c8334a2edc82c2afbdf91d251df754f1f88e1535623"),
    ),
}  # fmt: skip


def hopkins_sources(name: str) -> tuple[Source, ...]:
    """Return where a sequence of Hopkins 155 comes from."""
    path = f"Thesis Datasets/Hopkins155/{name}/{name}_truth.mat"
    return (github(*HOPKINS, path, SEQUENCES.get(name)),)


def amc_sources(subject: str, trial: str) -> tuple[Source, ...]:
    """Return where a recording of the CMU collection comes from."""
    return (Source(f"{CMU}/{subject}/{subject}_{trial}.amc"),)
