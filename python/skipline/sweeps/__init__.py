"""Sweeps: one scenario at many points, on the cores of this machine or on a cluster.

In reading order: `axis` (a key and its values), `design` (which combinations), `definition` (what
is asked, also as a file), `plan` (the points with their identities), `simulate` (a point becomes a
row), `worker` and `ray_bridge` (the processes that do it), `dispatch` (who gets which points),
`workers` (their connections), `drive` (the one writer of the store), `call` (the Python function).
"""
