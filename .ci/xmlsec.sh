#!/usr/bin/env bash
# Install xmlsec1 where that is permitted: the tests of SAML have another provider and another program for encryption, and are
# skipped without it.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/packages.sh

if command -v xmlsec1 >/dev/null 2>&1 || ! may_install; then
  exit 0
fi
install_packages xmlsec1
