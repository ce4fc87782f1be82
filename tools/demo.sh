#!/usr/bin/env bash
# The main job on a convolution, on this machine's CPU: a template whose block size is a parameter, then a tiled
# kernel with real tunables, searched by differential evolution, and the two measured against each other.
#   tools/demo.sh [build folder]
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:-build/release}
autokernel=$(find "$PWD/$build" -name autokernel -type f -perm -u+x | head -1)
folder=$build/demo
problem=(--dims H=256,W=256,R=5,S=5,PAD_H=2,PAD_W=2 --dtype f32 --device cpu --workspace "$folder/workspace")

rm -rf "$folder"
mkdir -p "$folder"
cp ops/conv2d/kernels/naive.cu "$folder/template.cu"
cp ops/conv2d/kernels/tiled.cu "$folder/tiled.cu"

say() { printf '\n== %s\n$ autokernel %s\n' "$1" "${*:2}"; }

# What is shown is what is run.
step() {
  say "$@"
  "$autokernel" "${@:2}"
}

step "1. The first version: a template with {block_size} in {16, 32, 64}" \
  tune "$folder/template.cu" "${problem[@]}" --strategy exhaustive --tag template --write
step "2. A tiled kernel with five tunables, searched by differential evolution" \
  tune "$folder/tiled.cu" "${problem[@]}" --strategy differential-evolution --budget 60,45s --seed 1 --tag tiled --write
step "3. The best of each, verified and timed against the other in A B B A rounds" \
  compare "$folder/template.cu" "$folder/tiled.cu" "${problem[@]}"
step "4. What happened" report --workspace "$folder/workspace"
