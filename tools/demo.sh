#!/usr/bin/env bash
# The main job on this machine's CPU. First one kernel: a convolution template whose block size is a parameter, then a
# tiled kernel with real tunables, searched by differential evolution; the best of the two checked, timed and compared.
# Then a model: the trace of a LLaMA-style one is ranked by Amdahl's law, and its first sites are tuned as a rehearsal.
#   tools/demo.sh [build folder]
set -euo pipefail
cd "$(dirname "$0")/.."

build=${1:-build/release}
autokernel=$(find "$build" -name autokernel -type f -perm -u+x | head -1)
folder=$build/demo
problem=(--dims H=256,W=256,R=5,S=5,PAD_H=2,PAD_W=2 --dtype f32 --device cpu)
workspace=(--workspace "$folder/workspace")

rm -rf "$folder"
mkdir -p "$folder"
cp ops/conv2d/kernels/naive.cu "$folder/template.cu"
cp ops/conv2d/kernels/tiled.cu "$folder/tiled.cu"

step() {  # step <what> <arguments of autokernel>...; what is shown is what is run
  printf '\n== %s\n$ autokernel %s\n' "$1" "${*:2}"
  "$autokernel" "${@:2}"
}

step "A template with {block_size} in {16, 32, 64}: which is the fastest?" \
  tune "$folder/template.cu" "${problem[@]}" "${workspace[@]}" --strategy exhaustive --tag template --write
step "64 x 64 threads exceed the limit of every GPU: an invalid config, which no launch ever sees" \
  bench "$folder/template.cu" "${problem[@]}" --set block_size=64 && exit 4
step "A tiled kernel with six tunables, searched by differential evolution" \
  tune "$folder/tiled.cu" "${problem[@]}" "${workspace[@]}" --strategy differential-evolution --budget 40,20s --seed 1 \
  --tag tiled --write
step "Its best config in every stage of the harness: time, memory, share of the peaks" \
  bench "$folder/tiled.cu" "${problem[@]}"
step "The best of each against the other, in A B B A rounds" \
  compare "$folder/template.cu" "$folder/tiled.cu" "${problem[@]}" "${workspace[@]}" || [ $? -eq 1 ]  # 1: it is slower
trace=tests/data/traces/llama_gqa_bf16_1x1024.json.gz
step "Where a LLaMA-style model spends its time on an H200, by its profile" plan "$trace" --top 8 "${workspace[@]}"
step "The first three sites, tuned in Amdahl order: a rehearsal on this CPU, with sizes reduced to fit" \
  optimize --top 3 --budget 40s --device cpu "${workspace[@]}"
step "What happened" report "${workspace[@]}"
