# `make help` lists the targets. The set-up is incremental: a stamp below .venv says what is done.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.ONESHELL:
.DELETE_ON_ERROR:
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules

VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
UV_VERSION := 0.13.8
HOST_TARGET := x86_64-unknown-linux-musl
HOST_BINARY := python/skipline/bin/skipline-host
EXPERIMENTS := pktsize-desc ddio-tune
DPDK_BUILD := native/dpdk/build
SLICES_BUILD := --release -p slices-c --locked
SLICES_PROFILE := release
SLICES_C_BENCHES := look_ups lines
DSA_LIBRARY_BUILD := --release -p dsa-c --locked
DSA_LIBRARY_PROFILE := release
PREFIX ?= /usr/local
DESTDIR ?=
export A B
export UV_PROJECT_ENVIRONMENT := $(abspath $(VENV))
export PATH := $(abspath $(BIN)):$(HOME)/.cargo/bin:$(PATH)
# Tests start the command line a thousand times: what it imports is compiled once.
unexport VIRTUAL_ENV PYTHONPATH PYTHONDONTWRITEBYTECODE

# What the compiled module is made of; the files of facts, testbeds, experiments and examples are built into it.
CORE_SOURCES := Cargo.toml Cargo.lock pyproject.toml \
  $(shell find crates tests/features platforms devices software testbeds experiments examples -type f -not -path '*/target/*' 2>/dev/null)
# What the explorer's page is made of.
WEB_SOURCES := $(CORE_SOURCES) docs/reference/glossary.md packaging/web_page.py \
  $(shell find web -type f -not -path '*/node_modules/*' -not -path 'web/build/*' -not -path 'web/pictures/*' -not -path '*/generated/*' 2>/dev/null)
WHEEL_SOURCES := $(CORE_SOURCES) $(wildcard README.md LICENSE) \
  $(shell find python -type f -not -name '*.so' -not -path '*/__pycache__/*')

# What tests are built from, always together: cargo decides on features of dependencies for all that one
# command builds. The module and what tests build for themselves share them by tests/features.
TESTED := --workspace --exclude benches --exclude skipline-python --locked
# Programs, libraries and their tests, not their examples, which `make lint` compiles.
TESTED_BUILD := $(TESTED) --quiet --lib --bins --tests
RUST_TESTS := cargo test --no-fail-fast $(TESTED) --tests
# Only here: programs of examples, which tests of Python run by cargo, have no tests to choose from.
RUST_SOAK_TESTS := env CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER=$(CURDIR)/tests/soak_runner.py $(RUST_TESTS)
RUST_DOC_TESTS := cargo test --no-fail-fast $(TESTED) --doc
PYTEST := pytest --durations=10
PYTEST_ALL := $(PYTEST) --numprocesses auto --dist loadgroup --ignore=tests/dpdk
SYSTEM_PACKAGES := browser cachegrind dpdk dsa packaging redis
SOAK_MINUTES := 40
# Empty: the soak is that of Python alone.
SOAK_RUST := -- $(RUST_SOAK_TESTS)
SOAK_LONG_MINUTES := 60
# A run of the tests under AddressSanitizer that has not ended by then hangs.
SOAK_ASAN_MINUTES := 60
# Tests that are random have the same numbers in each `make test`, and others in each soak, which prints
# the seed: `make soak SOAK_SEED=N` repeats them. `make soak-long` begins there and goes on to others.
ifeq ($(strip $(SOAK_SEED)),)
override SOAK_SEED := $(shell od -An -N4 -tu4 /dev/urandom | tr -d ' ')
endif

.PHONY: help run quick web test claim-tests mutations soak soak-asan soak-long check lint dpdk-to-test bench bench-ab bench-dsa bench-dsa-trap bench-instructions bench-peers bench-plateau bench-pool-calls bench-scaling bench-slices bench-timeline host packages slices-install dsa test-dsa dpdk bench-dpdk bench-vhost setup wheel clean format peers release deny third-party docs docs-tables docs-tools rust-tools system-packages test-packages to-test soak-dsa-preload bench-dsa-preload dsa-preload-install dsa-install

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-18s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: $(STAMPS)/module-to-run ## Simulate the published experiments beside the measured server; write HTML reports
	@skipline experiment run $(EXPERIMENTS)
	if [ -f python/skipline/explorer/page/index.html ]; then
	  echo "move its sliders yourself: $(BIN)/skipline explore"
	else
	  echo "move its sliders yourself: make web && $(BIN)/skipline explore"
	fi

quick: setup ## In two minutes after `make setup`: one experiment, its page, one group of tests
	@skipline experiment run ddio-tune
	pytest --no-header --quiet tests/smoke
	echo "seen: an experiment beside the measured server, its page (the path above), tests of the command"

test: to-test ## Set everything up and run every test but the long ones
	PROPTEST_RNG_SEED=1 python tests/tally.py -- $(RUST_TESTS) -- $(RUST_DOC_TESTS) -- \
	  $(PYTEST_ALL) ++ $(PYTEST) tests/dpdk

claim-tests: to-test ## Run the tests that show claims: skipline evidence judges by them
	PROPTEST_RNG_SEED=1 python tests/claim_tests.py -- $(RUST_TESTS)

mutations: setup ## Change the model a little, in many ways: which claims notice?
	python tests/mutations.py

# A budget that does not suffice is a failure: something hangs, or a test has to become shorter.
soak: to-test ## Run long tests, within SOAK_MINUTES
	export SKIPLINE_SOAK=1 PROPTEST_RNG_SEED=$(SOAK_SEED)
	echo "soaking with seed $(SOAK_SEED) at $$(git describe --always --dirty 2>/dev/null || echo no revision)"
	echo "make soak SOAK_SEED=$(SOAK_SEED) repeats it"
	python tests/tally.py --minutes $(SOAK_MINUTES) $(SOAK_RUST) -- \
	  $(PYTEST_ALL) -m soak -- $(PYTEST) -m soak tests/dpdk

MINUTES := 60
soak-dsa-preload: system-packages ## Programs with the preloaded library, all together, for MINUTES
	@export SKIPLINE_DSA_PRELOAD_SOAK_MINUTES=$(MINUTES)
	cargo test --locked --quiet -p dsa-preload --test all -- --nocapture programs_stay_the_same_together

soak-long: to-test ## Run what takes a soak too long, then random tests of Rust with other seeds for SOAK_LONG_MINUTES
	export SKIPLINE_SOAK=1 PROPTEST_RNG_SEED=$(SOAK_SEED)
	passed=1
	env -u SKIPLINE_SOAK python tests/tally.py --minutes $(SOAK_ASAN_MINUTES) -- \
	  $(MAKE) --no-print-directory soak-asan || passed=
	env -u SKIPLINE_SOAK $(MAKE) --no-print-directory test-dsa || passed=
	python tests/tally.py -- $(PYTEST_ALL) -m soak_long -- $(PYTEST) -m soak_long tests/dpdk || passed=
	echo "soaking with seed $(SOAK_SEED) and those after it; make soak-long SOAK_SEED=$(SOAK_SEED) repeats it"
	python tests/tally.py --for-minutes $(SOAK_LONG_MINUTES) -- $(RUST_SOAK_TESTS) || passed=
	[ "$$passed" ]

# The compiler's checks of memory accesses are unstable options, which a stable compiler has behind a
# variable. Crates with unsafe code whose tests run as they are: what is loaded into programs of C or traps
# faults (slices-c, dsa-c, dsa-preload, dsa-trap) takes the place of what AddressSanitizer does itself.
ASAN_TARGET := x86_64-unknown-linux-gnu
ASAN_CRATES := tag-array slices host dsa dsa-client nvme-tcp
soak-asan: rust-tools ## Run the tests of crates with unsafe code under AddressSanitizer
	@export RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address" ASAN_OPTIONS=detect_leaks=0
	export CARGO_TARGET_DIR="$${CARGO_TARGET_DIR:-target}/asan" PROPTEST_RNG_SEED=1
	python3 tests/asan_check.py
	cargo test --locked --quiet --no-fail-fast --target $(ASAN_TARGET) \
	  $(addprefix -p ,$(ASAN_CRATES)) --lib --tests

check: lint ## Format, lints with warnings as errors, types, fast tests
	$(PYTEST_ALL) -q tests/smoke tests/component

lint: $(STAMPS)/module-to-test rust-tools ## Formats, lints with warnings as errors, types
	cargo fmt --all --check
	{ ruff check --quiet && ruff format --check --quiet && mypy --no-error-summary &&
	  stubtest skipline._core --concise --mypy-config-file python/stubtest.ini; } & python_side=$$!
	found=0
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings || found=1
	wait $$python_side || found=1
	exit $$found

bench: ## Measure look-ups, DMA bursts, core accesses and whole scenarios
	cargo bench -p benches -p slices --locked

bench-ab: setup ## Compare two revisions in turn: make bench-ab A=main B=. (. is the working tree)
	@: "$${A:?say which revisions: make bench-ab A=main B=.}" "$${B:?say which revisions}"
	python benches/ab.py "$$A" "$$B"

# As other people's programs are built: against an installed library, with the flags of pkg-config.
bench-slices: ## Measure look-ups and lines in slices from C programs, beside plain ones
	@prefix="$$(mktemp -d)" && trap 'rm -rf "$$prefix"' EXIT
	$(MAKE) --no-print-directory slices-install DESTDIR= PREFIX="$$prefix"
	export PKG_CONFIG_PATH="$$prefix/lib/pkgconfig" LD_LIBRARY_PATH="$$prefix/lib"
	for program in $(SLICES_C_BENCHES); do
	  cc -O2 -std=gnu11 -Wall -Wextra -pthread crates/slices/c/benches/$$program.c -o "$$prefix/$$program" \
	    $$(pkg-config --cflags --libs skipline_slices)
	  echo "$$program:" && "$$prefix/$$program"
	done

bench-instructions: setup ## Count instructions per line operation, part by part (needs valgrind)
	@python benches/instructions.py

bench-plateau: setup ## Throughput of thirteen scenarios from 1 to 99 Gbit/s offered, as a picture
	@python benches/plateau.py

bench-dsa: rust-tools ## The software engine beside memcpy and, where libisal.so.2 is, ISA-L's CRCs
	cargo run --release --locked --quiet -p dsa --example speed

bench-dsa-trap: rust-tools ## What a trapped descriptor costs beside an empty signal handler
	cargo build --release --locked --quiet -p dsa-cli -p dsa-trap --bins --examples --lib
	"$${CARGO_TARGET_DIR:-target}/release/examples/trap_cost"

bench-dsa-preload: rust-tools ## What a preloaded memcpy costs below its threshold, beside glibc's, in pairs
	cargo build --release --locked --quiet -p dsa-preload --lib --example below_threshold
	"$${CARGO_TARGET_DIR:-target}/release/examples/below_threshold"

bench-scaling: setup ## Time per line operation from 1 to 56 cores, LLCs, NICs; memory; two cores
	@python benches/scaling.py

bench-timeline: setup ## Size and time of a timeline of a million operations
	@python benches/timeline.py

bench-peers: setup peers system-packages ## Compare with simulators by others; write the table of docs/evidence/performance.md
	@python docs/tables/write_tables.py --measure peers

web: $(STAMPS)/web ## Build the explorer's page, which `skipline explore` serves, and its one file for a browser

$(STAMPS)/web: $(WEB_SOURCES) | $(STAMPS)/venv
	@$(need_compilers)
	python packaging/web_page.py
	touch $@

# Without a musl target (no rustup, no network) or its C compiler, which a dependency needs, the C library
# of this system is linked in instead.
host: ## Build skipline-host, one static binary for the real machine
	@target=$(HOST_TARGET)
	if ! command -v musl-gcc >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	  echo "installing musl-tools"
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq musl-tools >/dev/null || true
	fi
	if ! { command -v rustup && rustup --quiet target add $$target && command -v musl-gcc; } >/dev/null 2>&1
	then
	  echo "note: no rustup target $$target or no musl-gcc (package musl-tools): built with this system's libc"
	  target=x86_64-unknown-linux-gnu
	  export RUSTFLAGS="-C target-feature=+crt-static"
	fi
	cargo build --profile host -p host-cli --target $$target --locked
	mkdir -p $(dir $(HOST_BINARY))
	install -m 755 "$${CARGO_TARGET_DIR:-target}/$$target/host/skipline-host" $(HOST_BINARY)
	size=$$(stat -c %s $(HOST_BINARY))
	echo "$(HOST_BINARY): $$((size / 1024)) KiB, static; copy it to any x86-64 Linux server"
	[ "$$size" -lt 5000000 ] || { echo "error: it is larger than 5 MB"; exit 1; }

packages: host setup docs-tools ## Build .deb and .rpm of skipline-host, manual pages and completions, into dist/
	@manuals="$${CARGO_TARGET_DIR:-target}/manuals"
	rm -rf "$$manuals"
	cargo run --locked --quiet -p host-cli --example host_manuals -- "$$manuals/skipline-host"
	cargo run --locked --quiet -p dsa-cli --example dsa_manuals -- "$$manuals/skipline-dsa"
	if python -c 'import click_man' 2>/dev/null; then
	  python packaging/skipline_manuals.py "$$manuals/skipline/man"
	else
	  echo "note: no manual pages of skipline without click-man"
	fi
	version=$$(sed -n 's/^version = "\(.*\)"$$/\1/p' Cargo.toml)
	packaging/build.sh $(HOST_BINARY) "$$manuals/skipline-host" "$$version" dist
	echo "manual pages and completions of the three commands: $$manuals"

dsa: ## Build skipline-dsa, which runs programs on a DSA in software
	@cargo build --release --locked -p dsa-cli -p dsa-trap -p dsa-preload
	echo "$${CARGO_TARGET_DIR:-target}/release/skipline-dsa; it needs libskipline_dsa_trap.so beside it,"
	echo "and for would-help libskipline_dsa_preload.so"

# The linker and the optimiser decide which functions the library calls: what is released is tested itself.
test-dsa: dsa ## Run the tests of preloaded libraries, hostile ones too, with the programs of make dsa
	@target="$$(realpath "$${CARGO_TARGET_DIR:-target}")"
	SKIPLINE_DSA_TESTED="$$target/release/skipline-dsa" \
	  cargo test --locked --quiet -p shared-features -p dsa-cli --test all -- preloaded_libraries::

dsa-preload-install: ## Install libskipline_dsa_preload.so: PREFIX, DESTDIR
	@cargo build --release --locked -p dsa-preload
	install -d "$(DESTDIR)$(PREFIX)/lib"
	install -m 755 "$${CARGO_TARGET_DIR:-target}/release/libskipline_dsa_preload.so" "$(DESTDIR)$(PREFIX)/lib/"
	echo "LD_PRELOAD=$(PREFIX)/lib/libskipline_dsa_preload.so PROGRAM: docs/how-to/dsa-preload.md"

# Without DPDK the tests of its driver are skipped and say so.
dpdk: ## Build the mempool driver for DPDK, its forwarder and the vhost switch (installs DPDK if it may)
	@python3 tests/system_packages.py dpdk
	{ pkg-config --exists libdpdk cmocka && command -v meson && command -v ninja; } >/dev/null || exit 0
	$(MAKE) --no-print-directory slices-install DESTDIR= PREFIX=$(abspath $(DPDK_BUILD))/prefix \
	  SLICES_BUILD="$(SLICES_BUILD)" SLICES_PROFILE=$(SLICES_PROFILE)
	$(MAKE) --no-print-directory dsa-install DESTDIR= PREFIX=$(abspath $(DPDK_BUILD))/prefix \
	  DSA_LIBRARY_BUILD="$(DSA_LIBRARY_BUILD)" DSA_LIBRARY_PROFILE=$(DSA_LIBRARY_PROFILE)
	export PKG_CONFIG_PATH="$(abspath $(DPDK_BUILD))/prefix/lib/pkgconfig:$${PKG_CONFIG_PATH:-}"
	[ -f $(DPDK_BUILD)/build.ninja ] || meson setup $(DPDK_BUILD) native/dpdk >/dev/null
	ninja -C $(DPDK_BUILD) --quiet

dpdk-to-test:
	@$(MAKE) --no-print-directory dpdk SLICES_BUILD="$(TESTED_BUILD)" SLICES_PROFILE=debug \
	  DSA_LIBRARY_BUILD="$(TESTED_BUILD)" DSA_LIBRARY_PROFILE=debug

bench-dpdk: setup dpdk ## Compare forwarding through the slice-aware pool with the standard one, in pairs
	@PYTHONPATH=tests python -m dpdk.emulated_parts $(DPDK_BUILD)/haswell-8.toml
	python native/dpdk/forward_pairs.py --build $(DPDK_BUILD) \
	  --table $(DPDK_BUILD)/haswell-8.toml --slices '1=0' --least 0.95

bench-pool-calls: ## DPDK's own test of pools on this processor, beside the prediction of it
	@python native/dpdk/pool_calls.py

# The trap library and the engines have the tests' profile, which is optimised and has checks in it. The
# switch has the optimised libskipline_dsa: in the tests' one each burst costs twice as much.
bench-vhost: setup dpdk ## Rates of the vhost switch by who copies, beside the prediction for a real part
	@cargo build --locked --quiet -p dsa-trap -p dsa-cli --lib --bins
	PYTHONPATH=tests python native/dpdk/vhost_rates.py --dsa "$${CARGO_TARGET_DIR:-target}/debug/skipline-dsa"

# A library of C programs: the folder of its crate, its name, where cargo has put it.
define install_library
	to="$(DESTDIR)$(PREFIX)" from=crates/$(1)
	built="$${CARGO_TARGET_DIR:-target}/$(3)"
	soname=$$(sed -n 's/^const ABI: u32 = \([0-9]*\);$$/lib$(2).so.\1/p' $$from/build.rs)
	version=$$(sed -n 's/^version = "\(.*\)"$$/\1/p' Cargo.toml)
	install -d "$$to/include" "$$to/lib/pkgconfig" "$$to/share/man/man3"
	install -m 644 $$from/include/$(2).h{,pp} "$$to/include/"
	install -m 755 "$$built/lib$(2).so" "$$to/lib/$$soname"
	ln -sf "$$soname" "$$to/lib/lib$(2).so"
	install -m 644 "$$built/lib$(2).a" "$$to/lib/"
	install -m 644 $$from/$(2).3 "$$to/share/man/man3/"
	sed -e "s|@PREFIX@|$(PREFIX)|" -e "s|@VERSION@|$$version|" $$from/$(2).pc.in \
	  > "$$to/lib/pkgconfig/$(2).pc"
endef

slices-install: ## Install libskipline_slices with header, pkg-config file, man page: PREFIX, DESTDIR
	@cargo build $(SLICES_BUILD)
	$(call install_library,slices/c,skipline_slices,$(SLICES_PROFILE))

dsa-install: ## Install libskipline_dsa with header, pkg-config file, man page: PREFIX, DESTDIR
	@cargo build $(DSA_LIBRARY_BUILD)
	$(call install_library,dsa/c,skipline_dsa,$(DSA_LIBRARY_PROFILE))

MEASURE :=
docs-tables: setup ## Write the tables of results and the pages made of code; results of MEASURE anew first
	@$(if $(MEASURE),$(MAKE) --no-print-directory dsa && python docs/tables/write_tables.py --measure $(MEASURE))
	python docs/tables/write_tables.py

docs: setup docs-tools $(STAMPS)/web ## Build the documentation site below site/
	@cargo build -p host-cli --locked --quiet
	export SKIPLINE_HOST="$${CARGO_TARGET_DIR:-target}/debug/skipline-host"
	python docs/site/build_site.py site

setup: $(STAMPS)/packages $(STAMPS)/module ## Install what is missing into .venv and build the module
	@:

DIST ?= dist
RELEASE_TARGETS ?= x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu
release: $(STAMPS)/release-packages ## Build wheels, sdist, lists of parts twice, compare, into DIST
	@$(need_compilers)
	for target in $(RELEASE_TARGETS); do
	  if command -v rustup >/dev/null; then rustup --quiet target add "$$target"; fi
	done
	rm -rf "$(DIST)"
	python packaging/release.py "$(DIST)" $(addprefix --target ,$(RELEASE_TARGETS))
	python packaging/audit.py "$(DIST)"

ADVISORIES ?=
deny: $(STAMPS)/release-packages ## Licences, sources and, from a clone of RustSec's ADVISORIES, known faults of crates
	@packaging/deny.sh $(ADVISORIES)

third-party: $(STAMPS)/release-packages ## Write THIRD-PARTY.txt, the licences of what the wheel has in it
	@python packaging/third_party.py

wheel: $(STAMPS)/packages $(STAMPS)/web ## Build a manylinux wheel into dist/
	@$(MAKE) --no-print-directory $(STAMPS)/wheel

format: setup ## Format all code
	cargo fmt --all
	ruff check --quiet --fix
	ruff format --quiet

clean: ## Remove everything that was built; reports stay
	rm -rf $(VENV) dist target $(DPDK_BUILD) .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find python tests -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -rf python/skipline/_core*.so python/skipline/bin python/skipline/explorer/page web/node_modules web/build web/src/engine/generated

$(STAMPS)/venv:
	@rm -rf $(VENV)
	command -v python3 >/dev/null || { echo "error: python3 (3.11 or newer) is missing"; exit 1; }
	python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
	  { echo "error: $$(python3 --version) is too old: Skipline needs 3.11 or newer"; exit 1; }
	if ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
	  if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
	    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq python3-venv
	  else
	    echo "error: Python's venv module is missing: install the package python3-venv"; exit 1
	  fi
	fi
	python3 -m venv $(VENV)
	pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	mkdir -p $(STAMPS) && touch $@

$(STAMPS)/release-packages: $(STAMPS)/packages
	@uv sync --locked --inexact --no-install-project --group release --quiet
	touch $@

$(STAMPS)/packages: pyproject.toml uv.lock | $(STAMPS)/venv
	@uv sync --locked --inexact --no-install-project --extra advise --extra reports --quiet
	touch $@ $(STAMPS)/run-packages

# The libraries of runs and reports alone.
$(STAMPS)/run-packages: pyproject.toml uv.lock | $(STAMPS)/venv
	@uv sync --locked --inexact --no-install-project --no-default-groups --group build --extra reports --quiet
	touch $@

define need_compilers
command -v cargo >/dev/null ||
  { echo "error: cargo is missing: install Rust from https://rustup.rs"; exit 1; }
command -v cc >/dev/null || command -v gcc >/dev/null || command -v clang >/dev/null ||
  { echo "error: a C compiler is missing: install the package gcc"; exit 1; }
endef

$(STAMPS)/module: $(STAMPS)/run-packages $(CORE_SOURCES)
	@$(need_compilers)
	echo "building the simulator (a few minutes the first time)"
	maturin develop --uv --release --locked
	touch $@ $(STAMPS)/module-to-test $(STAMPS)/module-to-run

# The profile `quick` leaves out optimisation at link time, which takes longest. With maturin there, all is
# compiled while the other packages are installed. Without a group, `maturin develop` adds that of
# developers' tools by itself.
$(STAMPS)/module-to-run: pyproject.toml uv.lock $(CORE_SOURCES) | $(STAMPS)/venv
	@$(need_compilers)
	uv sync --locked --inexact --no-install-project --only-group build --quiet
	$(MAKE) --no-print-directory $(STAMPS)/run-packages & packages=$$!
	echo "building the simulator (two minutes the first time)"
	maturin develop --skip-install --profile quick --locked --quiet
	wait $$packages
	rm -f $(STAMPS)/module
	maturin develop --uv --group build --profile quick --locked --quiet
	touch $@

# Everything that tests need. To compile and to install need different things: both happen at once.
to-test: $(STAMPS)/venv
	@$(need_compilers)
	python3 tests/system_packages.py $(SYSTEM_PACKAGES) & system=$$!
	$(MAKE) --no-print-directory test-packages & packages=$$!
	echo "building the simulator, all programs and their tests"
	complete=1
	cargo build $(TESTED_BUILD) || complete=
	wait $$system || complete=
	wait $$packages || complete=
	[ "$$complete" ]
	$(MAKE) --no-print-directory dpdk-to-test & driver=$$!
	$(MAKE) --no-print-directory $(STAMPS)/module-to-test || complete=
	wait $$driver || complete=
	[ "$$complete" ]

# Tests load what `setup` built, if that is up to date, or else a module with checks in it, built with
# the tests' own profile, so that its crates are compiled once for both.
$(STAMPS)/module-to-test: $(STAMPS)/packages $(CORE_SOURCES)
	@$(need_compilers)
	echo "building the simulator with checks"
	rm -f $(STAMPS)/module $(STAMPS)/module-to-run
	maturin develop --uv --profile dev --features tests --locked --quiet
	touch $@

# Cross-linking with zig keeps the wheel free of this machine's glibc version.
$(STAMPS)/wheel: $(WHEEL_SOURCES)
	@rm -rf dist
	maturin build --release --locked --compatibility manylinux_2_28 --zig --out dist
	python -c 'import sys, zipfile; sys.exit(zipfile.ZipFile(sys.argv[1]).testzip())' dist/*.whl ||
	  { rm -rf dist; echo "error: the wheel that maturin wrote is damaged; run make wheel again"; exit 1; }
	touch $@

# Without these packages tests say that they are skipped; a soak fails.
system-packages: ## Install packages of this system that tests need, in one round of apt
	@python3 tests/system_packages.py $(SYSTEM_PACKAGES)

test-packages: $(STAMPS)/packages
	@uv sync --locked --inexact --no-install-project --quiet --group docs --group parity --group release \
	  --extra advise --extra ray --extra reports ||
	  $(MAKE) --no-print-directory docs-tools peers

docs-tools: $(STAMPS)/packages
	@uv sync --locked --inexact --no-install-project --group docs --quiet ||
	  echo "note: MkDocs cannot be installed; the test of the documentation site will be skipped"

# Simulators by others, which tests/parity compares with, and Ray; what is missing is skipped and says so.
peers: $(STAMPS)/packages
	@uv sync --locked --inexact --no-install-project --group parity --extra ray --quiet ||
	  echo "note: pycachesim, libcachesim or Ray cannot be installed; their tests will be skipped"

rust-tools:
	@if ! cargo fmt --version >/dev/null 2>&1 || ! cargo clippy --version >/dev/null 2>&1; then
	  if command -v rustup >/dev/null; then
	    rustup component add rustfmt clippy
	  else
	    echo "error: cargo fmt or cargo clippy is missing: install the packages rustfmt and"
	    echo "rust-clippy, or Rust from https://rustup.rs"; exit 1
	  fi
	fi
