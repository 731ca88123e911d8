#!/usr/bin/env bash
# See that the program of a Redis or Valkey server is there: the tests start a private one of their own with it.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/packages.sh

if command -v redis-server >/dev/null 2>&1 || command -v valkey-server >/dev/null 2>&1; then
  exit 0
fi
may_install || stop_with \
  "The tests need Redis or Valkey, and neither 'redis-server' nor 'valkey-server' was found." \
  "On Debian: apt-get install redis-server"
install_packages redis-server
