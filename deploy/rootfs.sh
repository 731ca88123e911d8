#!/usr/bin/env bash
# Create the root file system of the image: a few packages of Debian, the service and its libraries, and no shell.
#   deploy/rootfs.sh FOLDER [ARCHITECTURE]
# It runs in a build stage of deploy/Dockerfile, or on any Debian machine (`make image`). It never executes a program of
# ARCHITECTURE (amd64 or arm64; default: that of the machine), so both can be built on either, without emulation and without root.
# It needs apt, binutils of ARCHITECTURE, and pip for $PYTHON (default: python3).
set -euo pipefail

# The Python interpreter, the libraries that it and the wheels link to, time zones and certificates. Their dependencies add only
# perl and programs for administrators. tests/deploy/test_image.py fails if a library is missing.
suite=trixie
version=3.13
interpreter=("python$version-minimal" "libpython$version-minimal" "libpython$version-stdlib"
  libc6 libbz2-1.0 libexpat1 libffi8 liblzma5 libsqlite3-0 libssl3t64 libuuid1 libzstd1 zlib1g)
packages=("${interpreter[@]}" base-files ca-certificates libgcc-s1 libstdc++6 tzdata)

source=$(cd "$(dirname "$0")/.." && pwd)
root=$(realpath -m "${1:?the folder to create}")
native=$(dpkg --print-architecture)
architecture=${2:-$native}
# Libraries are on the path of Debian's Python by default in this folder.
libraries=$root/usr/local/lib/python$version/dist-packages

declare -A machines=([amd64]=x86_64 [arm64]=aarch64)
machine=${machines[$architecture]:-}
[ -n "$machine" ] || { echo "The architecture must be amd64 or arm64, not '$architecture'." >&2 && exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# extract ARCHITECTURE FOLDER PACKAGE...: unpack packages from the Debian repositories of this machine, in the release of the image.
extract() {
  local folder=$work/$1 root=$2 codename package name
  codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
  mkdir -p "$root/var/lib/dpkg/status.d" "$folder"/{lists/partial,cache/archives/partial,packages}
  apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' 'Origin: Debian' 'Component: main' | sort -u |
    sed "s|^|deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] |; s| $codename| $suite|; s|\$| main|" >"$folder/sources"
  local apt=(apt-get -qq -o "Dir::Etc::SourceList=$folder/sources" -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$folder/lists"
    -o "Dir::Cache=$folder/cache" -o Dir::State::Status=/dev/null -o "APT::Architecture=$1" -o "APT::Architectures::=$1"
    -o Acquire::Languages=none -o Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false -o APT::Sandbox::User=root)
  "${apt[@]}" update
  (cd "$folder/packages" && "${apt[@]}" download "${@:3}")
  for package in "$folder"/packages/*.deb; do
    dpkg-deb --extract "$package" "$root"
    # Vulnerability scanners look here for the packages of an image without dpkg.
    name=$(basename "${package%%_*}")
    dpkg-deb --field "$package" >"$root/var/lib/dpkg/status.d/$name"
  done
}

# Install the wheels for this Python and architecture, whichever Python installs them. glibc of the image is 2.41.
install_libraries() {
  local minor platforms=()
  for minor in {41..17}; do platforms+=(--platform "manylinux_2_${minor}_$machine"); done
  mkdir "$work/source"
  # A copy, because a build leaves files in the source folder.
  (cd "$source" && cp -r LICENSE README.md pyproject.toml codegen domain handlers models openapi server "$work/source")
  "${PYTHON:-python3}" -m pip install --quiet --disable-pip-version-check --no-input --no-compile --constraint "$source/constraints.txt" \
    --target "$libraries" --python-version "$version" --only-binary :all: "${platforms[@]}" --platform "manylinux2014_$machine" \
    "$work/source[otel]" </dev/null
}

# Remove what the service never reads, from most bytes to least.
remove_unused() {
  local languages
  # 45 MB: symbols and line numbers for debuggers of machine code.
  find "$libraries" -name '*.so*' -type f -exec "$machine-linux-gnu-strip" --strip-unneeded {} +
  # 28 MB: formats of languages without a catalog; English has none.
  languages=$(cd "$source/domain/locales" && ls ./*.po | sed 's|^\./||; s|\.po$||; s|-.*||' | sort -u | paste -sd'|')
  find "$libraries/babel/locale-data" -name '*.dat' | grep -vE "/(root|en|$languages)(_[^/]*)?\.dat$" | xargs rm
  # 9 MB: character sets of the C library; Python has its own.
  rm -rf "$root/usr/lib/$machine-linux-gnu/gconv"
  # 5 MB: sources, stubs and tests of extension modules; manuals, and changelogs of packages. Licences stay.
  find "$libraries" -regextype posix-extended -type f -regex '.*\.(pyx|px[di]|pyi|[ch]|[ch]pp)' -delete
  find "$libraries" -mindepth 2 -maxdepth 2 -type d -name tests -exec rm -r {} +
  find "$root/usr/share/doc" -type f ! -name copyright -delete
  find "$root/usr/share" -mindepth 1 -maxdepth 1 ! -name doc ! -name common-licenses ! -name zoneinfo -exec rm -r {} +
  # 8 MB: what supports tests of other projects, reads HTML, validates with Schematron, or is for an interactive interpreter.
  rm -r "$libraries"/{alembic,sqlalchemy}/testing "$libraries"/lxml/{html,isoschematron,objectify.*,sax.*}
  rm -r "$root/usr/lib/python$version"/{_pyrepl,pydoc_data,test,turtle.py}
  # Modules whose libraries are not here (line editing of an interactive interpreter, dbm), and the library of a debugger.
  rm "$root/usr/lib/python$version"/lib-dynload/{readline,_curses,_curses_panel,_dbm}.* "$root/usr/lib/$machine-linux-gnu"/libthread_db.so*
}

# What the installation scripts of the packages would do.
configure() {
  mkdir -p "$root/etc/ssl/certs" "$root/usr/local/bin"
  find "$root/usr/share/ca-certificates" -name '*.crt' -print0 | sort -z | xargs -0 cat >"$root/etc/ssl/certs/ca-certificates.crt"
  printf '%s\n' root:x:0:0:root:/root:/usr/sbin/nologin gatewright:x:10001:10001::/var/lib/gatewright:/usr/sbin/nologin >"$root/etc/passwd"
  printf '%s\n' root:x:0: gatewright:x:10001: >"$root/etc/group"
  ln -s "python$version" "$root/usr/bin/python3"
  sed '1s|.*|#!/usr/bin/python3|' "$libraries/bin/gatewright" >"$root/usr/local/bin/gatewright"
  chmod 755 "$root/usr/local/bin/gatewright"
  rm -r "$libraries/bin" "$root/usr/lib/python$version/sitecustomize.py"
}

# The user of the service cannot write bytecode. It is the same on every architecture, so the Python for this machine compiles it.
compile() {
  local tool=$root folder
  if [ "$architecture" != "$native" ]; then
    tool=$work/tool
    extract "$native" "$tool" "${interpreter[@]}"
  fi
  local shared=$tool/usr/lib/${machines[$native]}-linux-gnu
  # 6 MB less: modules that no start and no request loads.
  local omitted='/pyasn1_modules/|/pygments/(lexers|styles)/[^_]'
  for folder in "$root/usr/lib/python$version" "$libraries"; do
    # Not compared with the times of the sources, which tools that copy images may change.
    PYTHONHOME=$tool/usr "$shared"/ld-linux-*.so.? --library-path "$shared" "$tool/usr/bin/python$version" -m compileall \
      -qq -x "$omitted" --invalidation-mode unchecked-hash -s "$root" -p / "$folder"
  done
}

rm -rf "$root"
extract "$architecture" "$root" "${packages[@]}"
install_libraries
configure
remove_unused
compile
chmod -R u=rwX,go=rX "$root"
chmod 1777 "$root/tmp"
