# make demo: builds AutoKernel and runs its main job, on a convolution and on a model's trace, on this machine's CPU.
# make test: everything that needs no GPU.
# Both first install what is missing (tools/setup.sh; apt, as root or with sudo).

JOBS ?= $(shell nproc)
# Tests that need PyTorch get a .venv with it (tools/torch_venv.py says how much will be downloaded); TORCH=0 leaves them out.
TORCH ?= 1

.PHONY: demo test build setup torch format check clean help

help:
	@echo "make demo | test | build | format | check | clean"

setup:
	@tools/setup.sh

build/release/CMakeCache.txt: | setup
	cmake --preset release

build: setup build/release/CMakeCache.txt
	cmake --build build/release -j $(JOBS)

torch: setup
	@tools/torch_venv.py .venv

test: build $(if $(filter 0,$(TORCH)),,torch)
	ctest --test-dir build/release --output-on-failure -j $(JOBS) $(if $(filter 0,$(TORCH)),-LE '^torch$$')

demo: setup build/release/CMakeCache.txt
	cmake --build build/release -j $(JOBS) --target autokernel
	@tools/demo.sh build/release

format:
	@tools/format.sh

check:
	@tools/format.sh --check
	@tools/check_layers.py
	@tools/check_sizes.py
	@tools/check_words.py
	@tools/check_headers.py --generated build/release/generated

clean:
	rm -rf build
