#!/usr/bin/env bash
# See that Chromium is there: the tests of sign-in through a provider drive a real browser.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/packages.sh

is_there() {
  local program
  for program in chromium chromium-browser google-chrome; do
    ! command -v "$program" >/dev/null 2>&1 || return 0
  done
  return 1
}

if [ -n "${GATEWRIGHT_TEST_CHROMIUM:-}" ] || is_there; then
  exit 0
fi
may_install || stop_with \
  "The tests need Chromium, and no program 'chromium' was found." \
  "On Debian: apt-get install chromium. Or name another one: GATEWRIGHT_TEST_CHROMIUM=/path/to/chrome make test-long"
install_packages chromium
