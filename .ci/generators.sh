# Sourced by the other scripts: generators of clients, each in a place of its own under build/sdk/.tools.

tools=build/sdk/.tools
have_alone "$tools"

# What a generator depends on is not what the service depends on: NAME REQUIREMENTS.
python_tool() {
  local folder=$tools/$1 wanted=$2
  if ! cmp -s "$wanted" "$folder/installed"; then
    .venv/bin/python -m venv --clear --without-pip "$folder"
    .venv/bin/python -m pip --python "$folder/bin/python" install --quiet --disable-pip-version-check --no-input \
      --no-compile --requirement "$wanted" </dev/null >&2
    cp "$wanted" "$folder/installed"
  fi
}

# Print where openapi-generator is. It needs Java 11 or newer.
openapi_generator() {
  command -v java >/dev/null 2>&1 || stop_with "openapi-generator needs Java. On Debian: apt-get install default-jre-headless"
  python_tool others codegen/sdk/others/requirements.txt
  echo "$PWD/$tools/others/bin/openapi-generator-cli"
}
