#!/usr/bin/env bash
# Installs what a build needs on Debian 12 or Ubuntu 24.04: asks dpkg first, so that a second run does nothing.
#   tools/setup.sh          what builds, runs and tests AutoKernel
#   tools/setup.sh --ci     and the formatter, the linter and the fuzzing compiler
set -euo pipefail

packages=(
  g++ make cmake ninja-build ccache git python3 python3-venv binutils
  libexpected-dev libfmt-dev nlohmann-json3-dev libcli11-dev libtomlplusplus-dev
  libsqlitecpp-dev libsqlite3-dev libseccomp-dev libxxhash-dev zlib1g-dev libboost-context-dev libeigen3-dev
  libgtest-dev libgmock-dev libbenchmark-dev
)

case "${1:-}" in
  "") ;;
  --ci) packages+=(clang-format-19 clang-tidy-19 clang-19 libclang-rt-19-dev) ;;
  *) echo "usage: tools/setup.sh [--ci]" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "setup: this is neither Debian nor Ubuntu; install by hand what these packages hold, then build:" >&2
  echo "setup:   ${packages[*]}" >&2
  exit 3
fi

missing=()
for package in "${packages[@]}"; do
  if [[ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)" != installed ]]; then
    missing+=("$package")
  fi
done
if ((${#missing[@]} == 0)); then
  echo "setup: all ${#packages[@]} packages are installed"
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "setup: neither root nor sudo; as root run: apt-get install -y ${missing[*]}" >&2
    exit 3
  fi
  as_root=(sudo)
fi

echo "setup: installing ${#missing[@]} packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -qq
if ! "${as_root[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"; then
  echo "setup: apt-get failed (see above). On Ubuntu the universe component must be on:" >&2
  echo "setup:   add-apt-repository universe && apt-get update" >&2
  exit 3
fi
echo "setup: done"
