#!/usr/bin/env bash
# Install Go and Maven where that is permitted: tests verify tokens by libraries for Go and Java, and are skipped without these programs.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/packages.sh

wanted=()
command -v go >/dev/null 2>&1 || wanted+=(golang-go)
command -v mvn >/dev/null 2>&1 || wanted+=(maven default-jdk-headless)
if [ "${#wanted[@]}" -gt 0 ] && may_install; then
  install_packages "${wanted[@]}"
fi
