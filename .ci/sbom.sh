#!/usr/bin/env bash
# Write the bill of materials of a wheel: sbom.sh WHEEL FILE. It lists what an installation with all extras contains, in the
# versions of constraints.txt, on the Python of .venv.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/packages.sh
. .ci/release-tools.sh

[ $# = 2 ] || stop_with "sbom.sh WHEEL FILE"
have_release_tools
environment=$(mktemp -d)
trap 'rm -rf "$environment"' EXIT
# Without pip, which would be listed.
.venv/bin/python -m venv --without-pip "$environment"
.venv/bin/python -m pip --python "$environment/bin/python" install --quiet --disable-pip-version-check --no-input \
  --no-compile --constraint constraints.txt "$1[otel]" </dev/null
# It would be the time stamp of the document.
unset SOURCE_DATE_EPOCH
"$release_tools/env/bin/cyclonedx-py" environment --output-reproducible --pyproject pyproject.toml --spec-version 1.6 \
  --output-file "$environment/listed.json" "$environment/bin/python"
"$release_tools/env/bin/python" .ci/sbom.py "$1" <"$environment/listed.json" >"$environment/complete.json"
mkdir -p "$(dirname "$2")"
cp "$environment/complete.json" "$2"
