#!/usr/bin/env bash
# Build, check and try everything that a release of this commit consists of; put what is uploaded into build/release.
set -euo pipefail
cd "$(dirname "$0")/.."
. .ci/packages.sh
. .ci/release-tools.sh

step() { echo "== $*"; }

# section HEADING: print what CHANGELOG.md says below "## [HEADING]".
section() {
  awk -v heading="## [$1]" '/^## / { on = index($0, heading) == 1; next } on' CHANGELOG.md
}

step "the commit"
changes=$(git status --porcelain)
[ -z "$changes" ] || stop_with "A release is made of a commit. Commit or remove these changes first:" "$changes"
commit=$(git rev-parse HEAD)
version=$(.venv/bin/python -c 'import tomllib; print(tomllib.load(open("pyproject.toml", "rb"))["project"]["version"])')
tag=v$version
tagged=$(git rev-parse --quiet --verify "refs/tags/$tag^{commit}" || true)
[ -z "$tagged" ] || [ "$tagged" = "$commit" ] || stop_with \
  "Version $version has been released: $tag is the commit $tagged." "Set a new version in pyproject.toml, and describe it in CHANGELOG.md."
unreleased=$(section Unreleased)
[[ $unreleased =~ ^[[:space:]]*$ ]] || stop_with \
  "CHANGELOG.md has changes under Unreleased: move them to the section of $version, or set a new version in pyproject.toml." "$unreleased"

step "version, changelog, licences"
.venv/bin/python -m pytest tests/test_release.py tests/test_licences.py

step "packages: the same bytes twice, each Python that is here"
GATEWRIGHT_LONG=1 .venv/bin/python -m pytest tests/deploy/test_package.py
# In a shell of its own: the script that writes the bill of materials waits for the same lock.
(have_release_tools)
VALIDATE_PYPROJECT_NO_NETWORK=1 "$release_tools/env/bin/validate-pyproject" pyproject.toml
"$release_tools/env/bin/twine" check --strict build/dist/*

step "bill of materials"
rm -rf build/release
mkdir -p build/release
cp build/dist/* build/release/
.ci/sbom.sh "build/release/gatewright-$version-py3-none-any.whl" "build/release/gatewright-$version.cdx.json"

step "image: built, and run as an operator would"
.ci/containers.sh
rm -f build/image/gatewright-*.tar
GATEWRIGHT_LONG=1 .venv/bin/python -m pytest tests/deploy/test_image.py
# Without a program that runs images, the tests are skipped, and the image is only built.
compgen -G 'build/image/gatewright-*.tar' >/dev/null || make image

step "Helm chart"
make test-chart

step "checksums and release notes"
(cd build/release && sha256sum gatewright-* >SHA256SUMS && cat SHA256SUMS)
section "$version" >build/release/notes.md

echo "== all is well"
echo
echo "If .ci/run and make test-long have passed on this commit, tag and publish it:"
echo
[ -n "$tagged" ] || echo "  git tag --annotate $tag --message 'Gatewright $version' $commit"
echo "  git push origin $tag"
echo
echo "Upload these files with the tag, and use build/release/notes.md as the text of the release:"
echo
printf '  %s\n' build/release/gatewright-* build/release/SHA256SUMS
