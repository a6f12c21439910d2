# The short ways. The build itself is CMake's: see CMakePresets.json.
#
#   make            builds the release: build/release/pawl
#   make run        the same, then a demonstration of a minute
#   make test       all tests of the dev build on both stores; the last line counts them
#   make sim        simulation: SEEDS=1000 seeds, or the one SEED=7
#   make bench      the figures, measured here
#   make prove      the long proofs (hours)
#   make install    PREFIX=/usr/local, DESTDIR=; make uninstall takes it away again
#   make deb        Debian packages: build/packages
#   make format     clang-format over all C
PREFIX ?= /usr/local
SEEDS ?= 1000
RESULTS = build/results/test
SHELL = /bin/bash

.PHONY: all release dev run test bench sim prove install uninstall deb format clean

all: release

release:
	@tools/setup build
	@cmake --preset release -DPAWL_TESTS=OFF -DPAWL_WERROR=OFF \
	    -DCMAKE_INSTALL_PREFIX=$(PREFIX) >build/release.log 2>&1 || { cat build/release.log; exit 1; }
	@cmake --build --preset release

dev:
	@tools/setup test
	@cmake --preset dev >build/dev.log 2>&1 || { cat build/dev.log; exit 1; }
	@cmake --build --preset dev

release dev: | build
build:
	@mkdir -p build

run: release
	@tools/demo build/release/pawl

# Every part runs, whatever the ones before it found; the summary speaks for all.
test: dev
	@status=0; \
	tools/run_tests dev $(RESULTS) || status=1; \
	export PAWL_TEST_RESULTS=$(CURDIR)/$(RESULTS); \
	if [ -x model/check ]; then \
	    tools/counted "the model of the lease protocol holds" model/check || status=1; \
	fi; \
	tools/test_summary $(RESULTS) && exit $$status

sim: dev
	@build/dev/tests/sim/pawl_sim $(if $(SEED),--seed $(SEED),--seeds $(SEEDS))

# Beside a PostgreSQL of its own, synced as one in use, where there are its programs.
bench: release
	@if ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1; then tools/with_postgres bench/run build/release; \
	else bench/run build/release; fi

prove: dev
	@tools/prove

install: release
	@DESTDIR=$(DESTDIR) cmake --install build/release

uninstall:
	@tools/uninstall build/release $(DESTDIR)

# A build of its own: paths of the system are compiled in.
deb: | build
	@tools/setup build
	@cmake --preset release -B build/deb -DPAWL_TESTS=OFF -DPAWL_WERROR=OFF -DCMAKE_INSTALL_PREFIX=/usr \
	    -DCMAKE_INSTALL_LIBDIR=lib/$$(dpkg-architecture -qDEB_HOST_MULTIARCH) \
	    >build/deb.log 2>&1 || { cat build/deb.log; exit 1; }
	@cmake --build build/deb
	@packaging/debian/build build/deb build/packages

format:
	@find include src tests bench examples -name '*.[ch]' -print0 2>/dev/null | xargs -0 clang-format -i

clean:
	@rm -rf build
