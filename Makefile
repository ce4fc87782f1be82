# make demo: builds AutoKernel and runs its main job on a convolution, on this machine's CPU.
# make test: everything that needs no GPU.
# Both first install what is missing (tools/setup.sh; apt, as root or with sudo).

JOBS ?= $(shell nproc)
# TORCH=0 leaves out the tests that need PyTorch. There are none yet, so no .venv is made and nothing is downloaded;
# the first such test makes `make test` create one, after it has said how much will be downloaded.
TORCH ?= 1

.PHONY: demo test build setup format check clean help

help:
	@echo "make demo | test | build | format | check | clean"

setup:
	@tools/setup.sh

build/release/CMakeCache.txt: | setup
	cmake --preset release

build: setup build/release/CMakeCache.txt
	cmake --build build/release -j $(JOBS)

test: build
	ctest --test-dir build/release --output-on-failure -j $(JOBS)

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
