"""The page of all claims: verdicts by source, then every experiment with its figures."""

import re
from collections.abc import Sequence

from skipline.claims.evidence import Evidence, ExperimentRun
from skipline.claims.failing_claims import FILE, Section
from skipline.claims.verdicts import JudgedCheck, Judgement
from skipline.experiment.claim import got_text
from skipline.model_error import view as model_error_view
from skipline.report import answers, evidence_figures
from skipline.report.document import Attributes, Document, Markup, card, cards, details, escape
from skipline.report.experiment_page import (
    add_claims,
    add_figure,
    claim_name,
    metric_figures,
    verdict_markup,
)
from skipline.report.find_claims import contents, experiment_title, filters

# Up to so many checks that hold are listed openly.
_FEW_CHECKS = 2


def page(evidence: Evidence) -> str:
    """Return the HTML page."""
    document = Document("Evidence", "evidence", scripts=["find_claims.js"])
    question = "What do the sources claim, what does the model give, and does it hold?"
    facts = f"Skipline {evidence.version}, {len(evidence.experiments)} experiments."
    document.head(question, answers.of_evidence(evidence), facts)
    _add_figure(document, evidence)
    document.add(cards(_headlines(evidence)))
    document.add(
        "<p>A claim holds when all its checks do and it fails in a <b>null model</b>, where each "
        "point gives what it gives at one value of an axis. A claim that holds in all of them is "
        "<b>weak</b>, and so is a check <i>alone</i>; one that other seeds would judge otherwise "
        "is <b>undecided</b>. "
        "<b>Predicted</b>: no published number that the check reads helped to choose "
        "a parameter. <b>Fitted</b>: at least one did. <b>Test</b>: a mechanism that a test of the "
        "repository shows.</p>"
    )
    for note in (evidence.not_run, evidence.without_interval):
        if note:
            document.add(f"<p>{_with_code(note)}</p>")
    document.add(filters(evidence.judgements))
    document.add(contents(evidence))
    _add_failing(document, evidence)
    sources = dict.fromkeys(judgement.row.source for judgement in evidence.judgements)
    for source in sources:
        _add_source(document, [j for j in evidence.judgements if j.row.source == source])
    for run in evidence.experiments:
        _add_experiment(document, run)
    document.heading("Where this comes from", anchor="provenance")
    document.add(f"<p>{escape(model_error_view.general())}</p>")
    document.add("<p>The same command gives the same numbers:</p>")
    document.add(f"<pre>{escape(evidence.command)}</pre>")
    return document.render()


def _add_figure(document: Document, evidence: Evidence) -> None:
    caption = (
        "Claims (horizontal) of each source, by verdict and basis: predicted and fitted ones are "
        "checked by simulation against published numbers, the others by tests of the repository. "
        "Source: the claims below."
    )
    panel = evidence_figures.by_source(evidence.judgements)
    document.figure([panel], caption, evidence_figures.legend(evidence.judgements))


def _headlines(evidence: Evidence) -> list[str]:
    entries = []
    for source, counted in sorted(evidence.counts.items(), key=lambda item: item[0] != "all"):
        judged = sum(counted[word] for word in ("holds", "weak", "undecided", "fails"))
        others = ("weak", "undecided", "not judged", "not run here")
        open_claims = "".join(f", {counted[name]} {name}" for name in others if counted[name])
        entries.append(
            card(
                "all claims" if source == "all" else source,
                f"{counted['holds']} of {judged} hold",
                f"{counted['predicted']} predicted, {counted['fitted']} fitted, "
                f"{counted['test']} by test{open_claims}",
                "bad" if counted["fails"] else "good",
            )
        )
    return entries


def _add_failing(document: Document, evidence: Evidence) -> None:
    if not evidence.failing:
        return
    document.add('<section data-group="failing">')
    document.heading("Claims that fail", anchor="failing")
    for judgement in evidence.failing:
        row = judgement.row
        document.add(f'<article data-claim="{escape(row.id)}">')
        document.add(f"<h3>{_claim_link(row.id)}: {escape(row.statement)}</h3>")
        wrong = [
            [check.text, check.expected, got_text(check), check.basis]
            for check in judgement.checks
            if check.word == "fails"
        ]
        wrong += [[test, "passes", "failed", "test"] for test in judgement.failed_tests]
        caption = f"Checks of {row.id} that fail: expected by the source, got by simulation."
        header = ["check", "expected", "got", "basis"]
        document.add(document.table(header, wrong, caption, stacked=True))
        document.add(_explanation(evidence.explained.get(row.id)))
        document.add("</article>")
    document.add("</section>")


def _explanation(section: Section | None) -> str:
    """Write why a claim fails; what it claims, asks and gives stands above already."""
    if section is None:
        return f'<p class="dim">{escape(FILE)} says nothing about it yet.</p>'
    fields = {name: text for name, text in section.fields.items() if name not in ("Claim", "Asked")}
    lines = (f"<b>{escape(name)}.</b> {_with_code(text)}" for name, text in fields.items())
    return f'<p class="dim">{"<br>".join(lines)}</p>'


def _with_code(text: str) -> str:
    """Write a text of Markdown whose only marks are those of code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


def _claim_link(identifier: str) -> str:
    return f'<a href="#claim-{escape(identifier)}">{escape(identifier)}</a>'


def _add_source(document: Document, judgements: Sequence[Judgement]) -> None:
    """Append the claims of one source."""
    row = judgements[0].row
    document.add('<section data-group="source">')
    document.heading(f"Claims: {row.source}", anchor=f"source-{row.source_key}")
    header = ["claim", "statement", "expected", "got", "verdict", "basis", "shown by"]
    caption = (
        f"Claims of {row.source}: expected by the source, got by simulation or shown by tests."
    )
    document.add(document.table(header, map(_claim_row, judgements), caption, stacked=True))
    document.add("</section>")


def _claim_row(judgement: Judgement) -> list[object]:
    row = judgement.row
    found_by = {
        "claim": row.id,
        "source": row.source_key,
        "verdict": judgement.verdict,
        "basis": judgement.basis or "",
    }
    return [
        Attributes(" ".join(f'data-{name}="{escape(text)}"' for name, text in found_by.items())),
        claim_name(row.id, anchor=f"claim-{row.id}"),
        row.statement,
        row.expectation,
        _got(judgement),
        verdict_markup(judgement.verdict),
        judgement.basis or "",
        _shown_by(judgement),
    ]


def _got(judgement: Judgement) -> Markup:
    """Write what the model gives: failing checks openly, many holding ones on a click."""
    fails = [check for check in judgement.checks if check.word != "holds"]
    holds = [check for check in judgement.checks if check.word == "holds"]
    parts = [_check_list(fails)] if fails else []
    if len(holds) > _FEW_CHECKS:
        parts.append(details(f"{len(holds)} checks hold", _check_list(holds)))
    elif holds:
        parts.append(_check_list(holds))
    if not judgement.checks:
        parts.append(escape(judgement.got))
    if judgement.refuted_by:
        nulls = "; ".join(judgement.refuted_by)
        parts.append(f'<p class="dim">Null model, which fails: {escape(nulls)}</p>')
    parts += [f'<p class="dim">{escape(note)}</p>' for note in judgement.notes]
    return Markup(f'<div class="got">{"".join(parts)}</div>')


def _check_list(checks: Sequence[JudgedCheck]) -> str:
    items = "".join(
        f"<li>{escape(check.text)}: {_coloured(check)}{_weak_alone(check)}</li>" for check in checks
    )
    return f'<ul class="checks">{items}</ul>'


def _weak_alone(check: JudgedCheck) -> str:
    return ' <span class="dim">(weak alone)</span>' if check.is_weak else ""


def _coloured(check: JudgedCheck) -> str:
    mood = {"holds": "", "undecided": "dim", "fails": "bad-text"}[check.word]
    return f'<span class="{mood}">{escape(got_text(check))}</span>'


def _shown_by(judgement: Judgement) -> Markup:
    links = [
        f'<a href="#{escape(identifier)}">{escape(identifier)}</a>'
        for identifier in judgement.experiments
    ]
    parts = [", ".join(links)] if links else []
    if judgement.tests:
        tests = "".join(f"<li><code>{escape(test)}</code></li>" for test in judgement.tests)
        count = len(judgement.tests)
        summary = "1 test" if count == 1 else f"{count} tests"
        parts.append(details(summary, f'<ul class="checks">{tests}</ul>'))
    return Markup("".join(parts))


def _add_experiment(document: Document, run: ExperimentRun) -> None:
    summary = run.outcome.summary
    experiment = summary.experiment
    judged = " ".join(claim.id for claim in summary.claims)
    document.add(f'<section data-judges="{escape(judged)}">')
    document.heading(experiment_title(run), anchor=run.identifier)
    document.add(f'<p class="question">{escape(experiment.question)}</p>')
    document.add(f'<p class="answer">{escape(answers.of_experiment(run.outcome))}</p>')
    if experiment.beyond:
        document.add(
            "<p>An experiment of our own: no publication states what comes out, and it judges "
            "no claim.</p>"
        )
    document.add(
        f'<p class="facts">{escape(experiment.source)}. Platform {escape(summary.platform)}, '
        f"{summary.points} points, {escape(run.outcome.seeds)}. "
        f'<a href="{escape(run.page)}">All numbers of this experiment</a></p>'
    )
    document.add(f"<pre>{escape(summary.command)}</pre>")
    for figure in metric_figures(run.outcome):
        add_figure(document, figure, level=3)
    add_claims(document, run.outcome, level=3)
    document.add("</section>")
