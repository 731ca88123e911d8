#!/usr/bin/env bash
# Make .venv with the exact versions of constraints.txt and this project in it. Run by `make setup` when that has changed;
# with the word "service" by `make run`, which leaves out what only development needs.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/packages.sh

is_new_enough() {
  command -v "$1" >/dev/null 2>&1 && "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

find_python() {
  local candidate
  for candidate in "${PYTHON:-python3}" python3 python3.14 python3.13 python3.12 python3.11; do
    if is_new_enough "$candidate"; then
      echo "$candidate"
      return
    fi
  done
}

python=$(find_python)
[ -n "$python" ] || stop_with \
  "Python 3.11 or newer is needed, and 'python3' is $(python3 --version 2>&1 || echo absent)." \
  "On Debian 12 or newer: apt-get install python3 python3-venv. Another one is used with: make setup PYTHON=/path/to/python3"

if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
  may_install || stop_with "Python's module venv is missing. On Debian: apt-get install python3-venv"
  install_packages python3-venv
fi

if [ -x .venv/bin/python ] && ! is_new_enough .venv/bin/python; then
  echo "Replacing .venv, whose Python is gone or too old"
  rm -rf .venv
fi
if [ ! -x .venv/bin/pip ]; then
  echo "Making .venv with $("$python" --version)"
  "$python" -m venv .venv
fi
case ${1:-} in
service) what=. made=(.venv/service) ;;
*) what='.[dev]' made=(.venv/service .venv/installed) ;;
esac
echo "Installing what pyproject.toml asks for, in the versions of constraints.txt"
# Left by releases before 0.2.0; programs started here would find it first, with an old version.
rm -rf gatewright.egg-info
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input --no-compile \
  --constraint constraints.txt --editable "$what" </dev/null
# Compiled here, on all processors (10 s for all that development needs): the user that runs the service may not be allowed
# to write, and would compile at each start, which doubles its time. Some packages have files that are not for this Python.
env -u PYTHONPYCACHEPREFIX .venv/bin/python -m compileall -qq -j 0 .venv/lib codegen domain handlers models server || true
touch "${made[@]}"
