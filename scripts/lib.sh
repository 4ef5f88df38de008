# Sourced by the scripts beside it: what is installed where, and how a build folder is made. Nothing here prints when
# there is nothing to do; all that is printed goes to stderr, so that stdout is the program's own.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
lock_file=$root/dependencies.lock
cache=${XDG_CACHE_HOME:-$HOME/.cache}/widebench

say() { echo "widebench: $*" >&2; }
die() { say "$*"; exit 2; }

# lock_section "pip cpu": that section's lines, without comments and blank lines.
lock_section() {
  awk -v want="[$1]" '/^\[/ { inside = ($0 == want); next } inside && NF && !/^#/' "$lock_file"
}

# The wheels of a profile as pip requirements; `full` is `cpu` and more.
requirements() {
  lock_section "pip cpu"
  if [ "$1" = full ]; then lock_section "pip full"; fi
}

# Where the wheels of a profile lie: keyed by their lock, so that a new lock is a new folder and an old one stays good.
wheels_folder() {
  local hash
  hash=$(requirements "$1" | sha256sum)
  echo "$cache/deps-${hash:0:12}-$1"
}

# cpu unless WIDEBENCH_PROFILE says otherwise or `full` is there already.
default_profile() {
  if [ -n "${WIDEBENCH_PROFILE:-}" ]; then
    echo "$WIDEBENCH_PROFILE"
  elif [ -d "$(wheels_folder full)" ]; then
    echo full
  else
    echo cpu
  fi
}

# Debian packages of the sections given that are absent or too old.
missing_packages() {
  local section name least
  local -A version
  while read -r name least; do version[$name]=$least; done < <(
    dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\n' 2>/dev/null | sed -n 's/^installed //p')
  for section in "$@"; do
    while read -r name least; do
      if [ -z "${version[$name]:-}" ]; then
        echo "$name"
      elif [ -n "$least" ] && ! dpkg --compare-versions "${version[$name]}" ge "$least"; then
        echo "$name"
      fi
    done < <(lock_section "debian $section")
  done
}

install_packages() {
  local missing as_root=()
  if ! command -v dpkg-query >/dev/null; then
    command -v cmake >/dev/null || die "this is no Debian system; install what these packages hold, then try again:" \
      "$(for section in "$@"; do lock_section "debian $section"; done | cut -d' ' -f1 | tr '\n' ' ')"
    return
  fi
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -gt 0 ] || return 0
  local command="apt-get install -y --no-install-recommends ${missing[*]}"
  if [ "$(id -u)" != 0 ]; then
    if sudo -n true 2>/dev/null; then
      as_root=(sudo -n)
    else
      die "packages are missing and this user may not install them; run, then try again:
  sudo apt-get update && sudo $command"
    fi
  fi
  say "installing ${missing[*]}"
  # apt's own chatter is shown only if it fails.
  local log
  log=$(mktemp)
  if ! { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update &&
         "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive $command; } </dev/null >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    die "packages could not be installed (above: the last lines of apt-get); mend that, or run, then try again:
  sudo apt-get update && sudo $command"
  fi
  rm -f "$log"
  mapfile -t missing < <(missing_packages "$@")
  [ ${#missing[@]} -eq 0 ] || die "this system has only older versions of ${missing[*]} (dependencies.lock says which is" \
    "the least); a Debian 12 or newer has them"
}

# A Python with venv that the pinned wheels were built for; the system's own first.
find_python() {
  local python
  for python in /usr/bin/python3 python3 python3.11 python3.12 python3.13; do
    if "$python" -c 'import sys, venv, ensurepip; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null; then
      command -v "$python"
      return
    fi
  done
  die "no Python 3.11, 3.12 or 3.13 with venv was found; install python3 and python3-venv"
}

# install_wheels FOLDER GIB WHAT: what stdin requires, into a folder beside the final one that is renamed when whole: an
# interrupted install is never used. GIB: the wheels, unpacked, and pip's download.
install_wheels() (
  folder=$1 need=$2 what=$3
  requirements=$(cat)
  [ ! -d "$folder" ] || exit 0
  mkdir -p "$cache"
  exec 9>"$cache/.deps.lock"
  flock -n 9 || { say "waiting for another set-up to end"; flock 9; }
  [ ! -d "$folder" ] || exit 0
  rm -rf "$cache"/deps-*.partial "$cache"/tools-*.partial
  free=$(df -Pk "$cache" | awk 'NR == 2 { print int($4 / 1048576) }')
  [ "$free" -ge "$need" ] || die "$cache has $free GiB free, $what needs $need; make room or set XDG_CACHE_HOME"
  say "fetching $what into $cache"
  partial=$folder.partial
  trap 'rm -rf "$partial"' EXIT
  python=$(find_python)
  mkdir -p "$partial/tmp"
  export TMPDIR=$partial/tmp  # /tmp may be small
  echo "$requirements" >"$TMPDIR/requirements.txt"
  # No byte code: it would double the time, and the C++ program needs none.
  if ! { "$python" -m venv "$partial/venv" &&
         "$partial/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --no-deps --no-compile \
           --require-hashes --only-binary=:all: -r "$TMPDIR/requirements.txt"; } </dev/null >"$TMPDIR/log" 2>&1; then
    tail -n 20 "$TMPDIR/log" >&2
    die "the pinned wheels could not be installed (above: the last lines of pip); mend that and try again"
  fi
  rm -rf "$TMPDIR"
  mv -T "$partial/venv" "$folder"
)

install_libtorch() {
  local need=4 size=0.6
  [ "$1" = cpu ] || need=11 size=2.6
  [ -d "$(wheels_folder "$1")" ] || [ "$(uname -m)" = x86_64 ] || die "the pinned libtorch is for x86-64; this machine is $(uname -m)"
  requirements "$1" | install_wheels "$(wheels_folder "$1")" "$need" "libtorch ($1: $size GB, once)"
}

# Tools that look at the Python package, in an environment of their own.
tools_folder() {
  local hash
  hash=$(lock_section "pip tools" | sha256sum)
  echo "$cache/tools-${hash:0:12}"
}
install_tools() { lock_section "pip tools" | install_wheels "$(tools_folder)" 1 "mypy and nbconvert for tests (0.1 GB, once)"; }

# Where the window's libraries lie: keyed by their source and by how they are built.
window_folder() {
  local hash
  hash=$({ lock_section "source window"; cat "$root"/cmake/window/CMakeLists.txt "$root"/cmake/window/*.cpp; } | sha256sum)
  echo "$cache/window-${hash:0:12}"
}

# A build backend that only says what the source package is: pip checks its hash, and runs nothing of it.
silent_backend() {
  mkdir -p "$1/scikit_build_core"
  cat >"$1/scikit_build_core/build.py" <<'PYTHON'
import pathlib, re, shutil

def prepare_metadata_for_build_wheel(folder, config_settings=None):
    text = pathlib.Path("PKG-INFO").read_text()
    name, version = (re.search(rf"^{key}: (.*)$", text, re.M).group(1) for key in ("Name", "Version"))
    made = pathlib.Path(folder, f"{name.replace('-', '_')}-{version}.dist-info")
    made.mkdir()
    shutil.copy("PKG-INFO", made / "METADATA")
    return made.name
PYTHON
}

# Builds them beside the final folder and renames it when whole.
install_window() (
  folder=$(window_folder)
  [ ! -d "$folder" ] || exit 0
  mkdir -p "$cache"
  exec 9>"$cache/.window.lock"
  flock -n 9 || { say "waiting for another set-up to end"; flock 9; }
  [ ! -d "$folder" ] || exit 0
  rm -rf "$cache"/window-*.partial
  say "fetching and building the window's libraries (54 MB, some minutes, once) into $cache"
  partial=$folder.partial
  trap 'rm -rf "$partial"' EXIT
  mkdir -p "$partial/tmp/source"
  export TMPDIR=$partial/tmp
  lock_section "source window" >"$TMPDIR/requirements.txt"
  silent_backend "$TMPDIR/backend"
  if ! { PYTHONPATH=$TMPDIR/backend "$(wheels_folder "$1")/bin/python3" -m pip download --quiet --disable-pip-version-check \
           --no-input --no-deps --no-build-isolation --no-binary=:all: --require-hashes -r "$TMPDIR/requirements.txt" \
           -d "$TMPDIR" &&
         tar -xzf "$TMPDIR"/imgui[_-]bundle-*.tar.gz -C "$TMPDIR/source" --strip-components=1 &&
         cmake -S "$root/cmake/window" -B "$TMPDIR/build" -G Ninja -DCMAKE_BUILD_TYPE=Release "-DSOURCE=$TMPDIR/source" \
           "-DCMAKE_INSTALL_PREFIX=$partial/installed" &&
         ninja -C "$TMPDIR/build" -j "$(jobs)" install; } </dev/null >"$TMPDIR/log" 2>&1; then
    tail -n 20 "$TMPDIR/log" >&2
    die "the window's libraries could not be built (above: the last lines); mend that and try again, or set" \
      "WIDEBENCH_WINDOW=off to go without a window"
  fi
  mv -T "$partial/installed" "$folder"
)

# Arguments of CMake for the window, as what it is built on is installed or not. WIDEBENCH_WINDOW=off goes without it.
window_arguments() {
  local folder
  folder=$(window_folder)
  if [ "${WIDEBENCH_WINDOW:-on}" = off ] || [ ! -d "$folder" ] || ! pkg-config --exists glfw3; then
    echo -DWIDEBENCH_GUI=OFF
  else
    echo "-DWINDOW_ROOT=$folder"
  fi
}

# libtorch_root PROFILE: the wheel's torch/ folder.
libtorch_root() { echo "$(wheels_folder "$1")"/lib/python3*/site-packages/torch; }

# One job a core, but no more than memory allows: a file that includes ATen takes about 1.3 GB.
jobs() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/^MemAvailable/ { print int($2 / 1500000) }' /proc/meminfo)
  [ "$memory" -ge 1 ] || memory=1
  echo $((cores < memory ? cores : memory))
}

# build PRESET TARGETS CMAKE-ARGUMENT…: configures when the arguments changed, then builds. TARGETS is one word list.
build() (
  preset=$1 folder=$root/build/$1
  read -ra targets <<<"$2"
  shift 2
  mkdir -p "$folder"
  exec 8>"$folder/.lock"
  flock -n 8 || { say "waiting for another build to end"; flock 8; }
  arguments="--preset $preset $*"
  if [ ! -f "$folder/build.ninja" ] || [ "$(cat "$folder/.configured" 2>/dev/null)" != "$arguments" ] ||
    [ "$root/CMakePresets.json" -nt "$folder/.configured" ]; then
    say "configuring build/$preset"
    rm -f "$folder/.configured" "$folder/CMakeCache.txt"
    (cd "$root" && cmake --preset "$preset" "$@" </dev/null) >"$folder/configure.log" 2>&1 ||
      { cat "$folder/configure.log" >&2; die "CMake could not configure build/$preset"; }
    echo "$arguments" >"$folder/.configured"
  fi
  ninja -C "$folder" -j "$(jobs)" "${targets[@]}" </dev/null 2>&1 |
    { grep --line-buffered -vE '^ninja: (no work|Entering dir)|Re-checking globbed|Looking up the commit|^-- ' >&2 || true; }
  [ "${PIPESTATUS[0]}" = 0 ] || { say "the build failed"; exit 2; }
)
