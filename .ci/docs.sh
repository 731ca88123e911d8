#!/usr/bin/env bash
# Build the documentation site into build/site, strictly, or serve it while it is written: docs.sh build|serve [options].
set -euo pipefail
cd "$(dirname "$0")/.."

# The theme advertises its successor with each build; it is maintained, and pinned.
export NO_MKDOCS_2_WARNING=1
case ${1:-} in
build) .venv/bin/python -m mkdocs build --strict --config-file docs/mkdocs.yml "${@:2}" ;;
serve) .venv/bin/python -m mkdocs serve --config-file docs/mkdocs.yml --dev-addr 127.0.0.1:8001 "${@:2}" ;;
*)
  echo "docs.sh build|serve" >&2
  exit 2
  ;;
esac
