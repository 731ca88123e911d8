#!/usr/bin/env bash
# See that oasdiff is there, which knows what breaks clients of an OpenAPI document; print where. Building it takes half a minute, once.
# With --can, only say by the exit status whether it is there or could be built.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/packages.sh

version=v1.11.8
folder=$PWD/build/oasdiff/$version

# This version asks for Go 1.25. From 1.21 on Go fetches a newer one for itself, unless GOTOOLCHAIN forbids it; older ones do not know
# that variable. The packages of Debian 12 hold 1.19.
can_build() {
  command -v go >/dev/null 2>&1 || return 1
  [[ $(go env GOTOOLCHAIN) == *auto || $(go env GOVERSION) =~ go1\.(2[5-9]|[3-9][0-9]) ]]
}

if [ "${1:-}" = --can ]; then
  [ -n "${GATEWRIGHT_OASDIFF:-}" ] || [ -x "$folder/oasdiff" ] || can_build
  exit
fi
if [ -n "${GATEWRIGHT_OASDIFF:-}" ]; then
  echo "$GATEWRIGHT_OASDIFF"
  exit
fi
have_alone "$folder"
if [ ! -x "$folder/oasdiff" ]; then
  can_build || stop_with \
    "Comparing two versions of the contract needs oasdiff, which is built with Go 1.25, or an older one from 1.21 on that may fetch it." \
    "On Debian 13: apt-get install golang-go; on Debian 12 the same from bookworm-backports." \
    "Or name the program: GATEWRIGHT_OASDIFF=/path/to/oasdiff make contract-diff BASE=…"
  # It runs for a fraction of a second: what the compiler would spend on speed and on a debugger is never won back.
  GOBIN="$folder" GOFLAGS=-modcacherw GOGC=400 go install -gcflags='all=-N -l -dwarf=false' -ldflags='-s -w' \
    "github.com/oasdiff/oasdiff@$version" >&2 </dev/null
fi
echo "$folder/oasdiff"
