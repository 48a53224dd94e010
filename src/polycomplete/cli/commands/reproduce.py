"""``polycomplete reproduce``: the figures and tables of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from polycomplete.cli.app import command
from polycomplete.cli.talk import Talk

__all__: list[str] = []

Names = Annotated[
    list[str], typer.Argument(metavar="NAME...", help="Experiments, all, or list to see them.")
]
Full = Annotated[
    bool,
    typer.Option(
        "--full/--quick", help="The paper's numbers of trials, or few trials and marked subsets."
    ),
]
Trials = Annotated[
    int | None,
    typer.Option("--trials", min=1, show_default=False, help="So many of every setting instead."),
]
Methods = Annotated[
    str | None,
    typer.Option(
        "--methods",
        metavar="A,B",
        show_default=False,
        help="Only these rows: names in polycomplete.methods, or polycomplete for the default.",
    ),
]
Jobs = Annotated[
    int, typer.Option("--jobs", "-j", min=1, help="Trials at a time, on one thread each.")
]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="Where everything goes.")]
Resume = Annotated[
    bool, typer.Option("--resume", help="Keep the trials that are there and run what is missing.")
]


@command(
    "polycomplete reproduce list",
    "polycomplete reproduce single-grid --jobs 2",
    "polycomplete reproduce all --full --jobs 16 --resume",
)
def reproduce(
    names: Names,
    talk: Talk,
    full: Full = False,
    trials: Trials = None,
    methods: Methods = None,
    jobs: Jobs = 1,
    out: Out = Path("out/reproduce"),
    resume: Resume = False,
) -> None:
    """Compute the figures and tables of the paper anew.

    Every trial is stored as it finishes, so that a run which was broken off goes on with --resume.
    It ends with figures, tables, and a page that puts the paper and this run side by side.
    """
    from polycomplete.cli.failures import FAILED
    from polycomplete.experiments import EXPERIMENTS, Plan, listing
    from polycomplete.experiments import reproduce as perform

    if names == ["list"]:
        talk.result({"experiments": list(EXPERIMENTS)}, listing())
        return
    rows = methods.split(",") if methods else None
    plan = Plan(names, "full" if full else "quick", trials, rows, jobs, out, resume)
    talk.stage = "running trials, which --resume will not repeat"
    talk.wrote("trials", str(out / "trials.sqlite"))
    outcome = perform(plan, quiet=talk.quiet)
    for name, reason in outcome.without_data.items():
        talk.note(f"{name} was not run: {reason}")
    for failure in outcome.failures:
        talk.error(f"failed: {failure}")
    talk.wrote("page", str(outcome.page))
    facts = {"failures": list(outcome.failures), "without_data": dict(outcome.without_data)}
    talk.done(f"{', '.join(names)}: done.", facts)
    if outcome.failures:
        raise typer.Exit(FAILED)
