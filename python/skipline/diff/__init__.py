"""Differences between two results, stores or scenarios, and whether they are more than chance.

In reading order: `sides` (what is compared), `change` (a number on both sides), `bound` (what a
script may ask of changes), `settings` (which settings differ), `comparison` (all of it), `view`.
"""
