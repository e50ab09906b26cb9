"""Contents, search and filters of the page of all claims (find_claims.js)."""

from collections.abc import Iterable, Sequence

from skipline.claims.evidence import Evidence, ExperimentRun
from skipline.claims.verdicts import BASES, VERDICTS, Judgement
from skipline.report.document import escape


def contents(evidence: Evidence) -> str:
    """Return links to all sections of the page."""
    sections = []
    if evidence.failing:
        sections.append(("failing", f"Claims that fail ({len(evidence.failing)})"))
    for judgement in {j.row.source_key: j for j in evidence.judgements}.values():
        row = judgement.row
        count = evidence.counts[row.source_key]["claims"]
        sections.append((f"source-{row.source_key}", f"Claims: {row.source} ({count})"))
    sections.append(("provenance", "Where this comes from"))
    experiments = [(run.identifier, experiment_title(run)) for run in evidence.experiments]
    return (
        '<nav class="contents" aria-labelledby="contents"><h2 id="contents">Contents</h2>'
        f"{_links(sections)}<details open><summary>Experiments ({len(experiments)})</summary>"
        f"{_links(experiments)}</details></nav>"
    )


def experiment_title(run: ExperimentRun) -> str:
    """Return what the page calls an experiment: new if no source states what comes out."""
    experiment = run.outcome.summary.experiment
    return f"New: {experiment.title}" if experiment.beyond else experiment.title


def _links(targets: Iterable[tuple[str, str]]) -> str:
    items = (f'<li><a href="#{escape(to)}">{escape(text)}</a></li>' for to, text in targets)
    return f"<ul>{''.join(items)}</ul>"


def filters(judgements: Sequence[Judgement]) -> str:
    """Return the form; it appears when its script runs."""
    sources = dict.fromkeys(judgement.row.source_key for judgement in judgements)
    verdicts = {judgement.verdict for judgement in judgements}
    bases = {judgement.basis for judgement in judgements}
    return (
        '<form class="filters" role="search" aria-label="Find claims" hidden>'
        '<label>Search <input type="search" name="q" autocomplete="off" '
        'placeholder="words of a claim, a check, an experiment"></label>'
        f"{_choice('source', 'Source', sources)}"
        f"{_choice('verdict', 'Verdict', [one for one in VERDICTS if one in verdicts])}"
        f"{_choice('basis', 'Basis', [one for one in BASES if one in bases])}"
        '<button type="reset">Show all</button><output aria-live="polite"></output></form>'
    )


def _choice(name: str, label: str, values: Iterable[str]) -> str:
    options = "".join(f"<option>{escape(value)}</option>" for value in values)
    return (
        f'<label>{label} <select name="{name}"><option value="">all</option>{options}</select>'
        "</label>"
    )
