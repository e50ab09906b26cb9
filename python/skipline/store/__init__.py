"""The store of sweeps and experiments: one DuckDB file with points, their numbers, and who asked.

In reading order: `rows` (what a worker sends), `schema` (tables), `opening` (refusals), `store`
(reading), `writing` (the one writer), `kept_results` (what verdicts of experiments need), `frames`
(tables of polars), `view` (tables for people).
"""
