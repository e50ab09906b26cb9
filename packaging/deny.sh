#!/bin/bash
# Holds the crates to deny.toml: packaging/deny.sh [ADVISORIES]. ADVISORIES is a clone of
# https://github.com/rustsec/advisory-db; without it known vulnerabilities are not looked for.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo deny --offline --locked --log-level error check --hide-inclusion-graph licenses bans sources
advisories=${1:-}
if [ -z "$advisories" ]; then
  line=$(printf '=%.0s' {1..92})
  echo "$line"
  echo "WARNING: known vulnerabilities were NOT looked for: there is no database of advisories here."
  echo "  git clone https://github.com/rustsec/advisory-db && make deny ADVISORIES=advisory-db"
  echo "$line"
  exit 0
fi
[ -d "$advisories/crates" ] && git -C "$advisories" rev-parse HEAD >/dev/null 2>&1 ||
  { echo "error: ADVISORIES=$advisories: not a clone of rustsec/advisory-db"; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# The name under which cargo-deny keeps this database.
git clone --quiet "$advisories" "$folder/advisory-db-3157b0e258782691"
{ cat deny.toml; printf '\n[advisories]\ndb-path = "%s"\nyanked = "allow"\n' "$folder"; } > "$folder/deny.toml"
cargo deny --offline --locked --log-level error --config "$folder/deny.toml" check advisories
