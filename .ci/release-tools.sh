# Sourced by the other scripts: the tools that only a release needs, in an environment of their own.

release_tools=build/release-tools

have_release_tools() {
  have_alone "$release_tools"
  if ! cmp -s .ci/release-tools.txt "$release_tools/installed"; then
    .venv/bin/python -m venv --clear --without-pip "$release_tools/env"
    .venv/bin/python -m pip --python "$release_tools/env/bin/python" install --quiet --disable-pip-version-check --no-input \
      --no-compile --requirement .ci/release-tools.txt </dev/null >&2
    cp .ci/release-tools.txt "$release_tools/installed"
  fi
}
