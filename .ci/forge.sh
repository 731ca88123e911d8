#!/usr/bin/env bash
# Check the workflows, the templates of issues and the hooks for commits against the schemas that come with check-jsonschema.
set -euo pipefail
cd "$(dirname "$0")/.."

check() { .venv/bin/check-jsonschema --builtin-schema "vendor.$1" "${@:2}"; }

check github-workflows .github/workflows/*.yml
check github-issue-forms .github/ISSUE_TEMPLATE/[!c]*.yml
check github-issue-config .github/ISSUE_TEMPLATE/config.yml
