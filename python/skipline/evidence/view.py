"""The evidence in the terminal."""

from pathlib import Path

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from skipline.evidence.evidence import Evidence
from skipline.evidence.failing_claims import FILE
from skipline.evidence.verdicts import BASES, VERDICTS, Judgement
from skipline.experiment.claim import got_text
from skipline.experiment.view import basis_text, verdict_text


def overview(evidence: Evidence, page: Path, *, verbose: bool) -> RenderableType:
    """Show all claims, what failed or is undecided, counts per source, and where the page is."""
    parts: list[RenderableType] = [_claims(evidence.judgements), ""]
    open_claims = evidence.failing + evidence.undecided
    if open_claims:
        parts += [_failing(open_claims), ""]
    parts += [_counts(evidence), ""]
    for note in (evidence.not_run, evidence.without_interval):
        if note:
            parts += [Text(note), ""]
    if evidence.undocumented:
        names = ", ".join(evidence.undocumented)
        parts += [Text(f"Failing, and {FILE} does not say why: {names}"), ""]
    if verbose:
        parts += [_times(evidence), ""]
    simulated = sum(run.outcome.summary.points - run.reused for run in evidence.experiments)
    reused = sum(run.reused for run in evidence.experiments)
    parts.append(f"{len(evidence.experiments)} experiments: {simulated} points simulated, ")
    parts[-1] = f"{parts[-1]}{reused} reused"
    parts += ["", Text("Report to open in a browser:", style="bold")]
    parts.append(Text(f"  {page.resolve()}", no_wrap=True))
    return Group(*parts)


def _claims(judgements: list[Judgement]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("Claim", no_wrap=True, style="cyan")
    table.add_column("expected")
    table.add_column("got")
    table.add_column("verdict", no_wrap=True)
    table.add_column("basis", no_wrap=True)
    table.add_column("experiment")
    for judgement in judgements:
        table.add_row(
            judgement.row.id,
            judgement.row.expectation,
            judgement.short,
            verdict_text(judgement.verdict),
            basis_text(judgement.basis or ""),
            ", ".join(judgement.experiments),
        )
    return table


def _failing(judgements: list[Judgement]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("Checks that do not hold", no_wrap=True, style="cyan")
    for name in ("", "expected", "got", "verdict", "experiment"):
        table.add_column(name)
    for judgement in judgements:
        for check in judgement.checks:
            if check.word != "holds":
                verdict = verdict_text(check.word)
                cells = (check.text, check.expected, got_text(check), verdict, check.experiment)
                table.add_row(judgement.row.id, *cells)
        for test in judgement.failed_tests:
            table.add_row(judgement.row.id, test, "passes", "failed", verdict_text("fails"), "")
    return table


def _counts(evidence: Evidence) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("Source")
    # The verdict "not run here" has a column only where a test is missing.
    elsewhere = evidence.counts["all"]["not run here"] > 0
    verdicts = (verdict for verdict in VERDICTS if verdict != "not run here" or elsewhere)
    names = ("claims", *verdicts, *BASES)
    for name in names:
        table.add_column(name, justify="right")
    # Of what is simulated: a test that shows a mechanism is no measurement that was met.
    table.add_column("share", justify="right")
    for source, counted in sorted(evidence.counts.items(), key=lambda item: item[0] == "all"):
        simulated = counted["simulated"]
        share = f"{100 * counted['simulated hold'] / simulated:.0f} %" if simulated else "–"
        style = "bold" if source == "all" else ""
        table.add_row(source, *(str(counted[name]) for name in names), share, style=style)
    return table


def _times(evidence: Evidence) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("Experiment")
    for name in ("points", "reused", "simulated now, s", "all points, s"):
        table.add_column(name, justify="right")
    for run in sorted(evidence.experiments, key=lambda run: -run.outcome.summary.wall_s):
        summary = run.outcome.summary
        times = (f"{run.wall_s:.1f}", f"{summary.wall_s:.1f}")
        table.add_row(run.identifier, str(summary.points), str(run.reused), *times)
    return table
