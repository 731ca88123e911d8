#!/usr/bin/env bash
# See that openapi-generator is there, which knows what it takes of an OpenAPI document; print where.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/packages.sh
. .ci/generators.sh

openapi_generator
