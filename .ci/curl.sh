#!/usr/bin/env bash
# See that curl is there: the tests type what the guides tell a reader to type.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/packages.sh

want_program curl curl
