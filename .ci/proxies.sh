#!/usr/bin/env bash
# Check that nginx and Caddy are installed, which the tests of the page about reverse proxies run.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/packages.sh

want_program nginx nginx
want_program Caddy caddy
