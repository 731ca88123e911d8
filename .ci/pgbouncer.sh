#!/usr/bin/env bash
# See that PgBouncer is there: the tests put it between the service and PostgreSQL.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/packages.sh

# Its place is on the administrator's PATH only.
PATH=$PATH:/usr/sbin:/usr/local/sbin
if command -v pgbouncer >/dev/null 2>&1; then
  exit 0
fi
may_install || stop_with \
  "The tests need PgBouncer, and no program 'pgbouncer' was found." \
  "On Debian: apt-get install pgbouncer"
install_packages pgbouncer
