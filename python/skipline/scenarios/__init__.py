"""Scenarios before they run: settings, keys (`scenario_keys`), `metrics` of results, `examples`."""
