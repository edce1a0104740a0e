# Read by the other scripts: finds out what is missing on this machine and installs it.
# shellcheck shell=bash

# What there is to need: word, Debian package, what to say elsewhere.
rope_packages() {
  cat <<'LIST'
compiler|g++|a C++20 compiler, GCC 12 or clang 14 or newer
gcc|g++|GCC 12 or newer
clang|clang|clang 14 or newer
cmake|cmake|CMake 3.24 or newer
make|make|make or ninja
eigen|libeigen3-dev|Eigen 3.4 or newer
catch2|catch2|Catch2, version 2 or 3
json|nlohmann-json3-dev|nlohmann/json 3
benchmark|libbenchmark-dev|Google Benchmark
torch|libtorch-dev|LibTorch, the C++ library of PyTorch
mpfr|libmpfr-dev|MPFR with its headers
mpi|libopenmpi-dev|an MPI library with its headers, Open MPI for example
mpiexec|openmpi-bin|mpiexec of that MPI
aarch64|g++-aarch64-linux-gnu|a g++ cross compiler for AArch64 (aarch64-linux-gnu-g++)
qemu|qemu-user|QEMU in user mode (qemu-aarch64)
LIST
}

rope_is_debian() { [[ -r /etc/debian_version ]] && command -v apt-get >/dev/null; }

# Prints the words of those among the given ones that are missing.
rope_missing() {
  local word libraries='' probe
  for word in "$@"; do
    case $word in
      compiler) [[ -n ${CXX:-} ]] || command -v c++ g++ clang++ >/dev/null || echo compiler ;;
      gcc) command -v g++ >/dev/null || echo gcc ;;
      clang) command -v clang++ >/dev/null || echo clang ;;
      cmake) command -v cmake >/dev/null || echo cmake ;;
      make) command -v make ninja >/dev/null || echo make ;;
      aarch64) command -v aarch64-linux-gnu-g++ aarch64-linux-gnu-g++-12 >/dev/null || echo aarch64 ;;
      mpiexec) command -v mpiexec >/dev/null || echo mpiexec ;;
      qemu) command -v qemu-aarch64 >/dev/null || echo qemu ;;
      *) libraries+=" $word" ;;
    esac
  done
  [[ -n $libraries ]] || return 0
  # Libraries are looked for by CMake, as the build will; that needs the tools.
  if [[ -n $(rope_missing compiler cmake make) ]]; then
    printf '%s\n' $libraries
    return 0
  fi
  probe=$(mktemp -d)
  if cmake -S "$rope_root/cmake/probe" -B "$probe" -Dwords="$libraries" >"$probe/log" 2>&1; then
    for word in $libraries; do
      grep -qx "$word" "$probe/missing" && echo "$word"
    done
  else
    cat "$probe/log" >&2
  fi
  rm -rf "$probe"
}

# Installs Debian packages without asking anything.
rope_apt_install() {
  local become=()
  if [[ $(id -u) != 0 ]]; then
    sudo -n true 2>/dev/null || return 1
    become=(sudo -n)
  fi
  local install=("${become[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300
    install -y -q --no-install-recommends "$@")
  local update=("${become[@]}" apt-get -o DPkg::Lock::Timeout=300 update -q)
  # The package lists are fetched only where they are missing or out of date.
  if apt-get install -s -q "$@" >/dev/null 2>&1 && "${install[@]}" </dev/null; then
    return 0
  fi
  "${update[@]}" </dev/null && "${install[@]}" </dev/null
}

# rope_require word...: makes the needed things be there, or says what to install and stops.
rope_require() {
  local missing names=() line word package say
  missing=$(rope_missing "$@")
  if [[ -n $missing ]] && rope_is_debian; then
    while IFS='|' read -r word package say; do
      grep -qx "$word" <<<"$missing" && names+=("$package")
    done < <(rope_packages)
    echo "installing: ${names[*]}"
    if ! rope_apt_install "${names[@]}"; then
      echo "Could not install. As root, run: apt-get update && apt-get install -y ${names[*]}" >&2
      exit 1
    fi
    missing=$(rope_missing "$@")
  fi
  if [[ -n $missing ]]; then
    echo "Missing on this machine; please install:" >&2
    while IFS='|' read -r word package say; do
      grep -qx "$word" <<<"$missing" && echo "  * $say" >&2
    done < <(rope_packages)
    exit 1
  fi
  # Older Debian releases have a CMake that does not know file sets.
  line=$(cmake --version | head -n 1)
  if [[ $(printf '%s\n' "${line##* }" 3.24 | sort -V | head -n 1) != 3.24 ]]; then
    echo "CMake 3.24 or newer is needed; this is ${line##* }" >&2
    exit 1
  fi
}

# rope_wish word...: installs what is good to have where that is possible, and goes on without it
# where it is not.
rope_wish() {
  local missing names=() line word package say
  missing=$(rope_missing "$@")
  [[ -n $missing ]] || return 0
  while IFS='|' read -r word package say; do
    grep -qx "$word" <<<"$missing" || continue
    names+=("$package")
    line+="${line:+, }$say"
  done < <(rope_packages)
  if rope_is_debian; then
    echo "installing: ${names[*]}"
    rope_apt_install "${names[@]}" && return 0
  fi
  echo "going on without: $line" >&2
}

rope_jobs() { nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2; }
