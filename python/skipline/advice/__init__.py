"""Advice: which settings of a machine reach a goal, what each brings, and what it costs others.

In reading order: `goal` (what is wanted), `knobs` (what can be changed on a real machine),
`evaluation` (simulated candidates), `search` (which candidates), `advice` (finalists, parts of the
change, what it costs), `commands` (how to do it), `guidelines` (what was published), `view`.
"""
