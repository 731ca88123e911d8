#!/usr/bin/env bash
# See that libfaketime is there, by which a test gives two instances different times. Without it that test is skipped.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/packages.sh

if compgen -G "/usr/lib/*/faketime/libfaketime.so.1" >/dev/null || ! may_install; then
  exit 0
fi
install_packages libfaketime
