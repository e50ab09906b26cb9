"""Published experiments as data: points, reference numbers, checks, and how they came out.

Reading order: definition (the TOML), catalogue (finding it), points (what is simulated), reference
(what was measured), store and runner (simulating and keeping points), table (both side by side),
checks and trivial (judging), outcome (all of it), together (several experiments), view (for
people), command (the wiring).
"""
