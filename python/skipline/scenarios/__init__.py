"""Scenarios before they run: settings (`settings`), keys (`scenario_keys`), `examples`."""
