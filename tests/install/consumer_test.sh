#!/usr/bin/env bash
# Installs a build into a temporary prefix and builds and runs the examples out of tree against it, with find_package.
#   consumer_test.sh <build folder> <source folder> <C++ compiler>
set -euo pipefail
build=$1 source=$2 compiler=$3

work=$(mktemp -d "${TMPDIR:-/tmp}/autokernel-install.XXXXXX")
trap 'rm -rf "$work"' EXIT

for component in api Unspecified; do  # the library; the binary
  cmake --install "$build" --prefix "$work/prefix" --component "$component" >"$work/install.log"
done
cp -r "$source/examples" "$work/examples"  # nothing of the source tree is near
cmake -S "$work/examples" -B "$work/build" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$work/prefix"
cmake --build "$work/build"

if env -u AUTOKERNEL_BIN PATH=/usr/bin:/bin "$work/build/convolution" >"$work/output" 2>&1; then
  echo "without a worker binary the example must fail" >&2
  exit 1
fi
grep -q "found no autokernel binary" "$work/output"

env -u AUTOKERNEL_BIN PATH="$work/prefix/bin:$PATH" "$work/build/convolution" | tee "$work/output"
grep -q "^invalid: block_size=64" "$work/output"
grep -Eq "^best: block_size=(16|32)$" "$work/output"
grep -q "^verified: yes" "$work/output"

# A public header that includes something which is not installed shows here.
for header in "$work"/prefix/include/autokernel/*.h; do
  echo "#include <autokernel/$(basename "$header")>" >"$work/alone.cc"
  "$compiler" -std=c++20 -fsyntax-only -I"$work/prefix/include" "$work/alone.cc"
done
echo "installed, found and used"
