#!/usr/bin/env bash
# Check the workflows and the forms of issues against the schemas that come with check-jsonschema; what has no schema there is only parsed.
set -euo pipefail
cd "$(dirname "$0")/.."

check() { .venv/bin/check-jsonschema --builtin-schema "vendor.$1" "${@:2}"; }

check github-workflows .github/workflows/*.yml
check github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml
check github-issue-config .github/ISSUE_TEMPLATE/config.yml
.venv/bin/python -m json.tool .devcontainer/devcontainer.json >/dev/null
