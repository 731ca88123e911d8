#!/usr/bin/env bash
# Build the wheel and the source distribution into build/dist.
set -euo pipefail
cd "$(dirname "$0")/.."
mkdir -p build
rm -rf build/dist build/lib build/bdist.*
.venv/bin/python -m build --outdir build/dist . >build/package.log 2>&1 || { tail -n 30 build/package.log >&2; exit 1; }
ls build/dist
