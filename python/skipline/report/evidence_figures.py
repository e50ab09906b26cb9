"""The figure of all verdicts: how many claims of each source hold, and on what basis."""

from collections import Counter
from collections.abc import Sequence

import altair as alt

from skipline.claims.verdicts import Judgement
from skipline.report.chart_style import CATEGORIES, FAILS, PAPER, SOFT
from skipline.report.charts import chart, specification
from skipline.report.document import Panel
from skipline.report.legends import key

_ROW_PX = 34
# From left to right; the basis of what holds says how much that is worth.
_OUTCOMES = {
    "holds, predicted": CATEGORIES[0],
    "holds, fitted elsewhere": CATEGORIES[1],
    "holds, fitted": CATEGORIES[5],
    "holds, test": CATEGORIES[2],
    "holds, test, in part": CATEGORIES[6],
    "weak": CATEGORIES[4],
    "undecided": CATEGORIES[3],
    "fails": FAILS,
    "not judged here": SOFT,
}


def legend(judgements: Sequence[Judgement]) -> str:
    """Return the key to those outcomes that occur, as HTML."""
    occurring = {_outcome(judgement) for judgement in judgements}
    return key(
        (
            f'<svg width="14" height="14" aria-hidden="true"><rect width="14" height="14" rx="2" '
            f'fill="{colour}"/></svg>',
            outcome,
        )
        for outcome, colour in _OUTCOMES.items()
        if outcome in occurring
    )


def by_source(judgements: Sequence[Judgement]) -> Panel:
    """Draw the number of claims by source and outcome as bars."""
    counts = Counter((judgement.row.source_key, _outcome(judgement)) for judgement in judgements)
    order = {outcome: rank for rank, outcome in enumerate(_OUTCOMES)}
    rows = [
        {"source": source, "outcome": outcome, "claims": count, "rank": order[outcome]}
        for (source, outcome), count in counts.items()
    ]
    sources = list(dict.fromkeys(judgement.row.source_key for judgement in judgements))
    base = chart(rows).encode(
        alt.Y("source:N", title=None, sort=sources),
        order=alt.Order("rank:Q"),
        tooltip=["source:N", "outcome:N", "claims:Q"],
    )
    scale = alt.Scale(domain=list(_OUTCOMES), range=list(_OUTCOMES.values()))
    axis = alt.Axis(tickMinStep=1)
    bars = base.mark_bar().encode(
        alt.X("claims:Q", title="claims", stack="zero", axis=axis),
        color=alt.Color("outcome:N", scale=scale, legend=None),
    )
    numbers = base.mark_text(color=PAPER, fontWeight="bold").encode(
        alt.X("claims:Q", stack="zero", bandPosition=0.5), text="claims:Q"
    )
    height = 50 + _ROW_PX * len(sources)
    return "Claims by source and outcome", specification(alt.layer(bars, numbers), height)


def _outcome(judgement: Judgement) -> str:
    if judgement.verdict == "holds":
        return f"holds, {judgement.basis}"
    return judgement.verdict if judgement.verdict in _OUTCOMES else "not judged here"
