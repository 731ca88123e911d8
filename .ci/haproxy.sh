#!/usr/bin/env bash
# See that HAProxy is there: the tests put it before instances of the service.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/packages.sh

# Its place is on the administrator's PATH only.
PATH=$PATH:/usr/sbin:/usr/local/sbin
if command -v haproxy >/dev/null 2>&1; then
  exit 0
fi
may_install || stop_with \
  "The tests need HAProxy, and no program 'haproxy' was found." \
  "On Debian: apt-get install haproxy"
install_packages haproxy
