"""Sweeps: one scenario at many points, on the cores of this machine or on a cluster.

In reading order: `axis` (a key and its values), `design` (which combinations), `definition` (what
is asked, also as a file), `plan` (the points with their identities), `drive` (those that the store
lacks), `call` (the Python function).

Experiments have the rest in common: `runner` (the one writer of stores), `dispatch` (who gets which
points), `simulate` (a point becomes a row), and who simulates: `threads`, or `worker` and
`ray_bridge`, processes whose connections are in `workers`.
"""
