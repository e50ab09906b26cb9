"""Replays of address traces: `trace_calls` (the core), `integers`, `replay`, `replay_view`."""
