#!/bin/bash
# Checks what operators get with the tools that will read it, each where it is installed: packaging/monitoring/check.sh.
# promtool (Debian: prometheus), systemd-analyze, kubernetes-validate (PyPI), and tsc with @grafana/schema (npm), whose
# folder node_modules is in $GRAFANA_SCHEMA.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

have() { command -v "$1" >/dev/null || { echo "note: $1 is not here; $2 is not checked"; return 1; }; }

if have promtool "rules.yml"; then
  promtool check rules rules.yml
  promtool test rules rules_test.yml
  # Queries of the dashboard as rules, so that they are parsed; Grafana fills in its variables.
  python3 - > "$work/queries.yml" <<'PYTHON'
import json

queries = [
    target["expr"].replace("$__rate_interval", "1m").replace("$instance", ".+")
    for panel in json.load(open("dashboard.json"))["panels"]
    for target in panel["targets"]
]
rules = [{"record": f"query:{number}", "expr": query} for number, query in enumerate(queries)]
print(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
PYTHON
  promtool check rules "$work/queries.yml"
fi
if have systemd-analyze "the unit"; then
  systemd-analyze security --offline=true --no-pager --threshold=15 skipline-host-exporter.service | tail -n 1
fi
if have kubernetes-validate "the DaemonSet"; then
  kubernetes-validate daemonset.yaml
fi
if [ -n "${GRAFANA_SCHEMA:-}" ]; then
  {
    echo "import { type Dashboard, type Panel, ThresholdsMode } from '@grafana/schema';"
    echo "export const dashboard: Omit<Dashboard, 'panels'> & { panels: Panel[] } ="
    # An enumeration takes no text.
    sed 's/"mode": "absolute"/"mode": ThresholdsMode.Absolute/' dashboard.json
  } > "$GRAFANA_SCHEMA/../dashboard-check.ts"
  (cd "$GRAFANA_SCHEMA/.." && node_modules/.bin/tsc --noEmit --strict --skipLibCheck --moduleResolution bundler \
    --module esnext --target es2020 dashboard-check.ts && rm dashboard-check.ts && echo "the dashboard fits @grafana/schema")
fi
