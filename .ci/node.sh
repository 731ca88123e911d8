#!/usr/bin/env bash
# See that Node.js is there: the tests drive the service by JavaScript clients and ask JavaScript tools about the contract.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/packages.sh

is_there() {
  command -v npm >/dev/null 2>&1 && node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' 2>/dev/null
}

is_there && exit 0
may_install || stop_with "The tests need Node.js 20 or newer with npm."
install_packages nodejs npm
is_there || stop_with "The tests need Node.js 20 or newer; the packages of this system hold $(node --version)."
