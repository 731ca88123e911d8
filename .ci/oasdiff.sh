#!/usr/bin/env bash
# See that oasdiff is there, which knows what breaks clients of an OpenAPI document; print where. Building it takes half a minute, once.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/packages.sh

version=v1.11.8
folder=$PWD/build/oasdiff/$version

if [ -n "${GATEWRIGHT_OASDIFF:-}" ]; then
  echo "$GATEWRIGHT_OASDIFF"
  exit
fi
have_alone "$folder"
if [ ! -x "$folder/oasdiff" ]; then
  command -v go >/dev/null 2>&1 || stop_with \
    "Comparing two versions of the contract needs oasdiff, which is built with Go 1.23 or newer. On Debian: apt-get install golang-go." \
    "Or name the program: GATEWRIGHT_OASDIFF=/path/to/oasdiff make contract-diff BASE=…"
  # It runs for a fraction of a second: what the compiler would spend on speed and on a debugger is never won back.
  GOBIN="$folder" GOFLAGS=-modcacherw GOGC=400 go install -gcflags='all=-N -l -dwarf=false' -ldflags='-s -w' \
    "github.com/oasdiff/oasdiff@$version" >&2 </dev/null
fi
echo "$folder/oasdiff"
