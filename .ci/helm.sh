#!/usr/bin/env bash
# See that Helm is there, which checks and renders the chart; print where. Building it takes a minute or two, once.
# With --can, only say by the exit status whether it is there or could be built.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/packages.sh

version=v3.22.0
folder=$PWD/build/helm/$version

# This version asks for Go 1.26. From 1.21 on Go fetches a newer one for itself, unless GOTOOLCHAIN forbids it.
can_build() {
  command -v go >/dev/null 2>&1 || return 1
  [[ $(go env GOTOOLCHAIN) == *auto || $(go env GOVERSION) =~ go1\.(2[6-9]|[3-9][0-9]) ]]
}

installed=${GATEWRIGHT_HELM:-$(command -v helm || true)}
if [ "${1:-}" = --can ]; then
  [ -n "$installed" ] || [ -x "$folder/helm" ] || can_build
  exit
fi
if [ -n "$installed" ]; then
  echo "$installed"
  exit
fi
have_alone "$folder"
if [ ! -x "$folder/helm" ]; then
  can_build || stop_with \
    "Checking the chart needs Helm 3, or Go 1.26 to build it." \
    "Name the program: GATEWRIGHT_HELM=/path/to/helm"
  # Without optimisation and debugger information: it runs for a fraction of a second.
  GOBIN="$folder" GOFLAGS=-modcacherw GOGC=400 go install -gcflags='all=-N -l -dwarf=false' -ldflags='-s -w' \
    "helm.sh/helm/v3/cmd/helm@$version" >&2 </dev/null
fi
echo "$folder/helm"
