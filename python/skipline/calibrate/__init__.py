"""Calibration: which named hypotheses and which parameters the measured data choose.

Reading order: `definition` (the TOML file), `numbers` (what a candidate is judged by), `search`
(which candidates are tried), `validation` (would other data have chosen alike), `result` (what is
written down), `bench` (simulates candidates), `view` (for people).
"""
