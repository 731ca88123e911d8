#!/usr/bin/env bash
# See that Keycloak is there, which `make test-keycloak` signs users in with; print where. Maven downloads it, once.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/packages.sh

version=26.7.3
folder=$PWD/build/keycloak/$version

if [ -n "${GATEWRIGHT_TEST_KEYCLOAK:-}" ]; then
  echo "$GATEWRIGHT_TEST_KEYCLOAK"
  exit
fi
.ci/verifiers.sh >&2
command -v mvn >/dev/null 2>&1 || stop_with \
  "make test-keycloak needs Maven and Java 17 or newer. On Debian: apt-get install maven default-jdk-headless" \
  "Or name an unpacked Keycloak: GATEWRIGHT_TEST_KEYCLOAK=/path/to/keycloak"
have_alone "$folder"
if [ ! -e "$folder/ready" ]; then
  echo "Installing Keycloak $version into build (170 MB)" >&2
  mvn --quiet --batch-mode dependency:copy "-Dartifact=org.keycloak:keycloak-quarkus-dist:$version:tar.gz" \
    "-DoutputDirectory=$folder" </dev/null >&2
  tar --extract --strip-components=1 --directory "$folder" --file "$folder/keycloak-quarkus-dist-$version.tar.gz"
  rm "$folder/keycloak-quarkus-dist-$version.tar.gz"
  # What does not change from start to start is prepared here, which takes a minute or two.
  "$folder/bin/kc.sh" build --db=dev-mem --cache=local </dev/null >&2
  touch "$folder/ready"
fi
echo "$folder"
