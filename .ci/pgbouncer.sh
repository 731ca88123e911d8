#!/usr/bin/env bash
# See that PgBouncer is there: the tests put it between the service and PostgreSQL.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/packages.sh

want_program PgBouncer pgbouncer
