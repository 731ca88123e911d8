#!/usr/bin/env bash
# Install what builds and runs container images where that is permitted: the tests of the image are skipped without these programs.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/packages.sh

wanted=()
for program in buildah podman runc; do
  command -v "$program" >/dev/null 2>&1 || wanted+=("$program")
done
command -v "$(uname -m)-linux-gnu-strip" >/dev/null 2>&1 || wanted+=(binutils)
if [ "${#wanted[@]}" -gt 0 ] && may_install; then
  install_packages "${wanted[@]}"
fi
