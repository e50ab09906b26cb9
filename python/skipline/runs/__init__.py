"""One run: from a scenario and its settings to a result, and the result as people see it.

In reading order: `simulation` (a run from Python), `run_command` (from the command line), `result`
(its numbers), `result_view`, `story_view` (a packet, a line, a descriptor) and
`descriptor_replay_view` (a log), `identity` (when two runs answer the same question), `leak` and
`ping_pong` (of the demo).
"""
