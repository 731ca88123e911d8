#!/usr/bin/env bash
# See that PostgreSQL's server programs are there: the tests start a private server of their own with them.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/packages.sh

is_there() {
  command -v initdb >/dev/null 2>&1 || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null
}

if [ -n "${GATEWRIGHT_TEST_POSTGRES:-}" ] || is_there; then
  exit 0
fi
may_install || stop_with \
  "The tests need PostgreSQL 14 or newer, and its program 'initdb' was not found." \
  "On Debian: apt-get install postgresql. Or name a server: GATEWRIGHT_TEST_POSTGRES=postgresql://user@host/postgres make test"
install_packages postgresql
