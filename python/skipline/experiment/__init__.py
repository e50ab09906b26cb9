"""Published experiments as data: points, reference numbers, checks, and how they came out.

Reading order: axis, claim and definition (the TOML), catalogue (finding it), claims_table (what the
sources claim), points (what is simulated), reference (what was published), runner (points become
questions of a sweep, and come back with results), table (both side by side), checks and trivial
(judging distances), expression, readings, nulls and claim_verdicts (judging claims), outcome (all
of it), preparation (what is checked before a run), rounds (more seeds), together (several
experiments), view (for people).
"""
