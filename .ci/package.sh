#!/usr/bin/env bash
# Build the source distribution, and from it the wheel, into build/dist or the folder that is named. The tools are those of
# .venv, in the versions of constraints.txt: other versions may write other bytes.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=${1:-build/dist}
mkdir -p build
rm -rf "$folder"
# The files in the packages get a fixed date, which this variable would replace.
unset SOURCE_DATE_EPOCH
.venv/bin/python -m build --no-isolation --outdir "$folder" . >build/package.log 2>&1 || { tail -n 30 build/package.log >&2; exit 1; }
ls "$folder"
