#!/usr/bin/env bash
# Formats all C++ of the repository with clang-format 19, or with --check says what is not formatted.
set -euo pipefail
cd "$(dirname "$0")/.."

format=clang-format-19
if ! command -v "$format" >/dev/null; then
  echo "format: $format is missing: tools/setup.sh --ci" >&2
  exit 3
fi

# Kernel files and the device-side headers are read by people who write CUDA; they keep their own layout.
mapfile -d '' -t files < <(git ls-files -z --cached --others --exclude-standard -- '*.cc' '*.h' |
  while IFS= read -r -d '' file; do if [[ -f "$file" ]]; then printf '%s\0' "$file"; fi; done)
if ((${#files[@]} == 0)); then
  exit 0
fi

if [[ "${1:-}" == --check ]]; then
  printf '%s\0' "${files[@]}" | xargs -0 -n 20 -P "$(nproc)" "$format" --dry-run -Werror
  echo "format: ${#files[@]} files"
else
  printf '%s\0' "${files[@]}" | xargs -0 -n 20 -P "$(nproc)" "$format" -i
fi
