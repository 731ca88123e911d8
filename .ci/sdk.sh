#!/usr/bin/env bash
# Generate a client SDK from the contract into build/sdk/<language>: python, typescript, or what openapi-generator knows.
# A second argument names the package of a Python or TypeScript SDK.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/packages.sh

language=${1:-}
# make hands the variable LANG on, which names the locale to every program unless it names a language here.
export LANG=C.UTF-8
[[ $language =~ ^[a-z][a-z0-9-]*$ ]] || stop_with "Say which language, as in: make sdk LANG=go"
target=build/sdk/$language
config=codegen/sdk
name=${2:-gatewright-client}
[[ $name =~ ^(@[a-z0-9][a-z0-9._-]*/)?[a-z][a-z0-9._-]*$ ]] || stop_with \
  "'$name' is no name of a package: use lower-case letters, digits and hyphens, in TypeScript also a scope, as in @acme/auth"
[ "$language" = typescript ] || [[ $name != @* ]] || stop_with "A Python package has no scope, as in: make sdk-python NAME=acme-auth"

contract() { .venv/bin/gatewright openapi --for-clients "$@"; }

# An SDK made from the same document in the same way is kept, so that a running program can go on using it.
is_made() {
  [ "$(cat "$tools/$language.made" 2>/dev/null)" != "$1" ] || [ ! -d "$2" ] || return 0
  rm -f "$tools/$language.made"
  return 1
}

readme() { sed -e "s|@NAME@|$name|g" -e "s|@PACKAGE@|$package|g" "$config/$language/README.md"; }

# What is written by hand goes next to what is generated. It imports the package by relative imports, the examples by name.
python_kit() {
  cp -r "$config/python/kit" "$target/$package/"
  rm -rf "$target/$package/kit/__pycache__"
  mkdir -p "$target/examples"
  local example
  for example in "$config"/python/examples/*.py; do
    sed "s/gatewright_client/$package/g" "$example" >"$target/examples/${example##*/}"
  done
  cp "$config/python/CHANGELOG.md" "$target/"
}

python_sdk() {
  local package=${name//[-.]/_}
  python_tool python "$config/python/requirements.txt"
  contract --version 3.1 --ids bare >"$tools/python.json"
  local digest
  digest=$(echo "$name" | cat - "$tools/python.json" codegen/python_events.py .ci/sdk.sh \
    $(find "$config/python" -type f ! -name '*.pyc' | sort) | sha256sum)
  ! is_made "$digest" "$target/$package" || return 0
  rm -rf "$target"
  sed -e "s/gatewright-client/$name/" -e "s/gatewright_client/$package/" "$config/python/config.yaml" >"$tools/python.yaml"
  PATH="$PWD/$tools/python/bin:$PATH" openapi-python-client generate --path "$tools/python.json" \
    --config "$tools/python.yaml" --custom-template-path "$config/python/templates" --output-path "$target" --overwrite \
    --fail-on-warning
  .venv/bin/python -m codegen.python_events "$tools/python.json" >"$target/$package/webhooks.py"
  readme >"$target/README.md"
  python_kit
  echo "$digest" >"$tools/python.made"
}

typescript_sdk() {
  PATH=$(.ci/node.sh)
  mkdir -p "$target"
  contract --version 3.1 >"$tools/typescript.json"
  local digest package=$name
  digest=$(echo "$name" | cat - "$tools/typescript.json" $(find "$config/typescript" -type f | sort) | sha256sum)
  ! is_made "$digest" "$target/dist" || return 0
  readme >"$target/README.md"
  sed "s|gatewright-client|$name|" "$config/typescript/package.json" >"$tools/package.json"
  if ! cmp -s "$tools/package.json" "$target/package.json" || [ ! -d "$target/node_modules" ]; then
    cp "$tools/package.json" "$target/"
    (cd "$target" && npm install --no-package-lock --prefer-offline --no-audit --no-fund --loglevel=error </dev/null)
  fi
  cp "$config"/typescript/{CHANGELOG.md,openapi-ts.config.mjs,tsconfig.json} "$target/"
  rm -rf "$target/dist" "$target/examples"
  cp -r "$config/typescript/examples" "$target/"
  find "$target/examples" -type f -exec sed -i.bak "s|gatewright-client|$name|g" {} +
  find "$target/examples" -name '*.bak' -delete
  cp "$tools/typescript.json" "$target/openapi.json"
  (cd "$target" && npm run --silent generate)
  cp -r "$config/typescript/kit" "$target/src/"
  (cd "$target" && npm run --silent build)
  echo "$digest" >"$tools/typescript.made"
}

other_sdk() {
  local generator
  generator=$(openapi_generator)
  contract >"$tools/others.json"
  local options=()
  [ ! -f "$config/others/$language.yaml" ] || options=(--config "$config/others/$language.yaml")
  "$generator" generate --generator-name "$language" --input-spec "$tools/others.json" \
    --output "$target" --global-property apiTests=false,modelTests=false,apis,models,supportingFiles "${options[@]}"
}

. .ci/generators.sh
case $language in
python) python_sdk ;;
typescript) typescript_sdk ;;
*) other_sdk ;;
esac
echo "The SDK is in $target"
