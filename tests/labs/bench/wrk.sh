#!/usr/bin/env bash
# See that wrk is there, which makes the load.
set -euo pipefail
cd "$(dirname "$0")/../../.."
. .ci/packages.sh

if command -v wrk >/dev/null 2>&1; then
  exit 0
fi
may_install || stop_with "The measurements need wrk. On Debian: apt-get install wrk"
install_packages wrk
