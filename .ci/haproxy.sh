#!/usr/bin/env bash
# See that HAProxy is there: the tests put it before instances of the service.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/packages.sh

want_program HAProxy haproxy
