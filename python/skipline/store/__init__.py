"""The store of sweeps: one DuckDB file with points, their numbers, and which sweep asked for them.

In reading order: `rows` (what a worker sends), `schema` (tables), `opening` (refusals), `store`
(reading), `writing` (the one writer), `frames` (tables of polars), `view` (tables for people).
"""
