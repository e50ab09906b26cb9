"""Published experiments as data: points, reference numbers, checks, and how they came out.

Reading order: axis, claim and definition (the TOML), catalogue (finding it), claims_table (what the
sources claim), points (what is simulated), reference (what was published), store and runner
(simulating and keeping points), table (both side by side), checks and trivial (judging distances),
expression, readings and judgement (judging claims), outcome (all of it), plan (before and after a
run), together (several experiments), view (for people), command (the wiring).
"""
