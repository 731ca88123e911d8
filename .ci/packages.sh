# Sourced by the other scripts: install Debian packages where that is permitted, without ever asking.

may_install() {
  command -v apt-get >/dev/null 2>&1 || return 1
  [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null </dev/null
}

# RUNLEVEL=1 keeps a freshly installed service from starting: only its programs are wanted.
as_root() {
  if [ "$(id -u)" = 0 ]; then
    env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 "$@" </dev/null
  else
    sudo -n env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 "$@" </dev/null
  fi
}

install_packages() {
  echo "Installing $*"
  as_root apt-get update -qq
  as_root apt-get install -qq -y --no-install-recommends "$@" >/dev/null
}

# want_program NAME PROGRAM [PACKAGE]: see that a program is there; its package has the same name unless another is given.
want_program() {
  # Its place may be on the administrator's PATH only.
  ! PATH=$PATH:/usr/sbin:/usr/local/sbin command -v "$2" >/dev/null 2>&1 || return 0
  may_install || stop_with \
    "The tests need $1, and no program '$2' was found." \
    "On Debian: apt-get install ${3:-$2}"
  install_packages "${3:-$2}"
}

# have_alone FOLDER: make a folder, and wait while another process fills it; the second process finds it complete.
have_alone() {
  mkdir -p "$1"
  exec 9>"$1/lock"
  ! command -v flock >/dev/null 2>&1 || flock 9
}

stop_with() {
  printf '%s\n' "$@" >&2
  exit 1
}
