# A small front for meson and ninja. `make help` lists what there is.

BUILD  ?= build
PREFIX ?= /usr/local
LTO    ?= false
ROUNDS ?= 5

options  = --prefix=$(PREFIX) -Db_lto=$(LTO) -Dwerror=$(if $(CI),true,false)
sanitize = -Db_sanitize=address,undefined -Dbench=false -Dwerror=$(if $(CI),true,false)
coverage = -Db_coverage=true -Doptimization=1 -Dbench=false
fuzz     = -Dfuzz=true -Dbench=false -Db_lundef=false -Db_sanitize=address,undefined

all:            ## build/rota, build/librota.a, build/librota.so, rota.pc
	@tool/configure $(BUILD) $(options)
	@ninja -C $(BUILD)

setup:          ## install the Debian packages that are missing
	@tool/setup build test

demo: setup     ## build rota, run an example with it, and say what to do next
	@tool/configure $(BUILD) $(options)
	@ninja -C $(BUILD) rota
	@tool/demo $(BUILD)

test: setup     ## everything, plain, then under ASan and UBSan, and fuzz targets; SEED=N repeats
	@$(MAKE) --no-print-directory all asan fuzzers || { echo "0 passed, 1 failed"; exit 1; }
	@tool/test $(if $(SKIPPED),--skipped $(SKIPPED)) --fuzz $(BUILD)-fuzz $(BUILD) $(BUILD)-asan

check: all      ## quick: tidy, and the tests without sanitizers
	@tool/tidy
	@tool/test $(BUILD)

tidy:           ## the rules of STYLE.md that a program can check
	@tool/tidy

asan:
	@tool/configure $(BUILD)-asan $(sanitize)
	@ninja -C $(BUILD)-asan

lint:           ## clang-tidy, gcc -fanalyzer and cppcheck on the files of src/ that changed
	@tool/setup build lint
	@tool/configure $(BUILD)-lint -Dtests=false -Dbench=false
	@tool/lint $(BUILD)-lint

coverage:       ## runs the quick tests (ALL=1: all), prints the lines they reach; has floors
	@tool/setup build test
	@tool/configure $(BUILD)-coverage $(coverage)
	@ninja -C $(BUILD)-coverage
	@find $(BUILD)-coverage -name '*.gcda' -delete
	@GCOV_ERROR_FILE=/dev/null tool/test $(if $(ALL),,--again tool/coverage_tests) \
	    $(BUILD)-coverage; status=$$?; tool/coverage $(BUILD)-coverage && exit $$status

soak: all asan  ## 10^8 simulated events, KILLS=2000 kills, and more; SEED=N repeats
	@tool/soak $(BUILD) $(BUILD)-asan

fuzz:           ## each fuzz target for SECONDS=60, two at a time, from a fresh seed or SEED=N
	@tool/setup build test
	@$(MAKE) --no-print-directory fuzzers
	@tool/fuzz $(BUILD)-fuzz

fuzzers:
	@CC=clang tool/configure $(BUILD)-fuzz $(fuzz)
	@ninja -C $(BUILD)-fuzz \
	    $(patsubst test-%.c,test/%,$(subst /,-,$(shell find test -name '*_fuzz.c')))

bench:          ## ratios to the limit, ROUNDS=5 rounds, and the goals
	@tool/setup build bench
	@$(MAKE) --no-print-directory all
	@bench/run --build $(BUILD) --rounds $(ROUNDS)
	@bench/quality --build $(BUILD) --big

install: all    ## PREFIX=/usr/local, DESTDIR as usual
	@meson install -C $(BUILD) --no-rebuild --quiet

clean:
	rm -rf $(BUILD) $(BUILD)-asan $(BUILD)-fuzz $(BUILD)-coverage $(BUILD)-lint

help:
	@sed -n 's/^\([a-z]*\):[^#]*## /\1	/p' Makefile

.PHONY: all setup demo test check tidy asan lint coverage soak fuzz fuzzers bench install clean help
