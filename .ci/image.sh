#!/usr/bin/env bash
# Build the image with buildah, without a daemon and without a container registry, into build/image.
#   .ci/image.sh [ARCHITECTURE]    amd64 or arm64; default: that of the machine
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/packages.sh

command -v dpkg >/dev/null 2>&1 || stop_with \
  "Building the image without a container registry needs Debian or a distribution made from it." \
  "Elsewhere: docker build --file deploy/Dockerfile --tag gatewright ."
architecture=${1:-$(dpkg --print-architecture)}
case $architecture in
amd64) binutils=x86-64 ;;
arm64) binutils=aarch64 ;;
*) stop_with "The architecture must be amd64 or arm64, not '$architecture'." ;;
esac
want_program buildah buildah
want_program "binutils for $architecture" "${binutils/-/_}-linux-gnu-strip" "binutils-$binutils-linux-gnu"

folder=build/image
archive=$folder/gatewright-$architecture.tar
have_alone "$folder"
PYTHON=.venv/bin/python deploy/rootfs.sh "$folder/$architecture" "$architecture"
# The Docker format, because OCI's has no health checks. Nothing runs while it is built, so it needs no more rights than files.
buildah build --quiet --format docker --platform "linux/$architecture" --file deploy/Dockerfile \
  --build-context "rootfs=$folder/$architecture" --build-arg "VERSION=$(.venv/bin/gatewright --version | cut -d' ' -f2)" \
  --build-arg "REVISION=$(git rev-parse HEAD 2>/dev/null || true)" --tag gatewright:latest "$folder/$architecture" >/dev/null
rm -f "$archive"
buildah push --quiet gatewright:latest "docker-archive:$archive:gatewright:latest"
echo "$archive: $(($(stat -c %s "$archive") / 1000000)) MB"
