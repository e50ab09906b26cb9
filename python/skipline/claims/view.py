"""The evidence in the terminal."""

from pathlib import Path

from rich.console import Group, RenderableType
from rich.text import Text

from skipline.claims.evidence import Evidence
from skipline.claims.failing_claims import FILE
from skipline.claims.verdicts import BASES, VERDICTS, Judgement
from skipline.experiment.claim import got_text
from skipline.experiment.view import basis_text, verdict_text
from skipline.text.table import Column, Styled, TextTable, numbers, texts

_CLAIM_KEYS = ("id", "source", "expected", "got", "verdict", "basis", "experiment")


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


def _claims(judgements: list[Judgement]) -> TextTable:
    headings = ("expected", "got", "verdict", "basis", "experiment")
    table = TextTable((Column("Claim", style="cyan"), *texts(*headings)))
    for judgement in judgements:
        table.add(
            judgement.row.id,
            judgement.row.expectation,
            judgement.short,
            _styled(verdict_text(judgement.verdict)),
            _styled(basis_text(judgement.basis or "")),
            ", ".join(judgement.experiments),
        )
    return table


def _styled(text: Text) -> Styled:
    return Styled(text.plain, str(text.style))


def _failing(judgements: list[Judgement]) -> TextTable:
    headings = ("", "expected", "got", "verdict", "experiment")
    table = TextTable((Column("Checks that do not hold", style="cyan"), *texts(*headings)))
    for judgement in judgements:
        for check in judgement.checks:
            if check.word != "holds":
                verdict = _styled(verdict_text(check.word))
                cells = (check.text, check.expected, got_text(check), verdict, check.experiment)
                table.add(judgement.row.id, *cells)
        for test in judgement.failed_tests:
            verdict = _styled(verdict_text("fails"))
            table.add(judgement.row.id, test, "passes", "failed", verdict, "")
    return table


def _counts(evidence: Evidence) -> TextTable:
    # The verdict "not run here" has a column only where a test is missing.
    elsewhere = evidence.counts["all"]["not run here"] > 0
    verdicts = (verdict for verdict in VERDICTS if verdict != "not run here" or elsewhere)
    names = ("claims", *verdicts, *BASES)
    # The share is of what is simulated: a test that shows a mechanism is no measurement that was
    # met.
    table = TextTable((Column("Source"), *numbers(*names, "share")))
    for source, counted in sorted(evidence.counts.items(), key=lambda item: item[0] == "all"):
        simulated = counted["simulated"]
        share = f"{100 * counted['simulated hold'] / simulated:.0f} %" if simulated else "–"
        style = "bold" if source == "all" else ""
        table.add(source, *(counted[name] for name in names), share, style=style)
    return table


def _times(evidence: Evidence) -> TextTable:
    columns = (
        Column("Experiment"),
        *numbers("points", "reused"),
        *numbers("simulated now, s", "all points, s", form=".1f"),
    )
    table = TextTable(columns)
    for run in sorted(evidence.experiments, key=lambda run: -run.outcome.summary.wall_s):
        summary = run.outcome.summary
        table.add(run.identifier, summary.points, run.reused, run.wall_s, summary.wall_s)
    return table


def claims_table(evidence: Evidence) -> TextTable:
    """Return a row per claim, for programs."""
    table = TextTable(Column(None, key) for key in _CLAIM_KEYS)
    for claim in evidence.as_json()["claims"]:
        table.add(*(claim[key] for key in _CLAIM_KEYS))
    return table
