#!/usr/bin/env bash
# See that Patroni, etcd, HAProxy, Redis, which is its own Sentinel, are there: `make test-ha` starts private ones with them.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/packages.sh

# Each program is in the Debian package of the same name, but for the first.
want_packages=()
want() {
  PATH=$PATH:/usr/sbin:/usr/local/sbin command -v "$2" >/dev/null 2>&1 || want_packages+=("$1")
}
want etcd-server etcd
want patroni patroni
want haproxy haproxy
want redis-server redis-server

[ "${#want_packages[@]}" -gt 0 ] || exit 0
may_install || stop_with \
  "make test-ha needs programs that were not found. On Debian: apt-get install ${want_packages[*]}"
install_packages "${want_packages[@]}"
