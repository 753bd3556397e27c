# noiselab. `make help` says what there is.

PREFIX ?= /usr/local
DESTDIR ?=
BUILD ?= build
CC = gcc
MPICC ?= mpicc
# A build folder keeps the compilers that it was made with, where nobody names others: `make install` must not build it again for another MPI library.
-include $(BUILD)/compilers.mk
# hardened, as distributions do it; costs nothing that the bench can see
CFLAGS ?= -O2 -g -D_FORTIFY_SOURCE=2 -fstack-protector-strong -fPIE
LDFLAGS ?= -pie -Wl,-z,relro,-z,now
PKG_CONFIG ?= pkg-config
SHELL := /bin/sh
# counters per arm with LIKWID: auto (where its header and library are found), yes, no
LIKWID ?= auto
# compile jobs of what builds first and then works
JOBS ?= $(shell nproc)

# of an archive (make dist) the commit that it is made from
GIT := $(shell cat .commit 2>/dev/null || git -c safe.directory='*' describe --always --dirty 2>/dev/null || echo unknown)
VERSION := $(shell sed -n 's/^.define NOISELAB_VERSION "\(.*\)"/\1/p' common/base/version.h)
# tests and lint add -Werror: a newer compiler's new warning must not keep anyone from building
WARNINGS ?= -Wall -Wextra
LIBRARY_CFLAGS := $(shell $(PKG_CONFIG) --cflags hwloc jansson)
ALL_CFLAGS = -std=gnu11 -D_GNU_SOURCE -pthread $(WARNINGS) $(CFLAGS) -MMD -MP -I. $(LIBRARY_CFLAGS)
LIBS := $(shell $(PKG_CONFIG) --libs hwloc jansson) -lm -pthread

# LIKWID's library is opened at run time, and only under likwid-perfctr or likwid-mpirun: a node without it runs the same program. What is found
# here is its name, as programs that are linked with it ask for it.
likwid_probe = f=$$(mktemp) && printf '\043include <likwid.h>\nint main(void) { likwid_markerInit(); return 0; }\n' | \
	$(CC) $(CFLAGS) $(LDFLAGS) -x c -o "$$f" - -x none -llikwid 2>/dev/null && objdump -p "$$f" | awk '/NEEDED.*liblikwid/ { print $$2 }'; rm -f "$$f"
ifneq ($(filter $(LIKWID),auto yes no),$(LIKWID))
$(error LIKWID=$(LIKWID): it is auto, yes or no)
endif
ifneq ($(LIKWID),no)
LIKWID_LIBRARY := $(shell $(likwid_probe))
RULES := $(BUILD)/libexec/noiselab/noiselab-rules
endif
ifeq ($(LIKWID)$(LIKWID_LIBRARY),yes)
$(error LIKWID=yes: likwid.h or liblikwid is not found (install likwid, or say where with CFLAGS=-I... LDFLAGS=-L...; LIKWID=no builds without))
endif
ALL_CFLAGS += $(if $(LIKWID_LIBRARY),-DNOISELAB_LIKWID='"$(LIKWID_LIBRARY)"')
# the full screen of noiselab-top: auto (where pkg-config finds ncurses), yes, no; without it there are its lines (--batch, --once)
NCURSES ?= auto
ifneq ($(filter $(NCURSES),auto yes no),$(NCURSES))
$(error NCURSES=$(NCURSES): it is auto, yes or no)
endif
ifneq ($(NCURSES),no)
NCURSES_LIBRARY := $(firstword $(foreach name,ncursesw ncurses,$(shell $(PKG_CONFIG) --exists $(name) && echo $(name))))
endif
ifeq ($(NCURSES)$(NCURSES_LIBRARY),yes)
$(error NCURSES=yes: pkg-config finds neither ncursesw nor ncurses (install libncurses-dev; NCURSES=no builds without))
endif
# mpicc runs the compiler it was built with unless told otherwise; this is how Open MPI and MPICH are told
MPI_ENV = OMPI_CC="$(CC)" MPICH_CC="$(CC)"
# V=1 shows whole commands
V ?= 0
quiet = $(if $(filter 1,$(V)),,@echo '  $(1) $(2)';) mkdir -p $(@D);
# of every rule that compiles (what is made of tables is no flag: the folder may be named in two ways): the object, and beside it what the compiler said, which is shown, and which lint looks at
compile = $(call quiet,CC  ,$<) $(MPI_ENV) $(1) -I$(BUILD)/made $(ALL_CFLAGS) -c -o $@ $< 2>$@.said; status=$$?; cat $@.said >&2; exit $$status
# of every rule that links: objects, and archives in any order
link = $(call quiet,LINK,$@) $(MPI_ENV) $(1) $(CFLAGS) $(LDFLAGS) -o $@ $(filter %.o,$^) -Wl,--start-group $(filter %.a,$^) -Wl,--end-group $(LIBS)

# A room is a folder of sources; its archive has all of them but those with a main, so that whoever links it takes what it uses. Who may use whom
# is said in docs/guides/extending.md, and lint holds the sources to it.
SOURCES := $(shell find common noisegen detector experiments/command -name '*.c' | LC_ALL=C sort)
MAINS := %/main.c experiments/command/doctor.c experiments/command/sh.c
ROOMS := $(sort $(patsubst %/,%,$(dir $(SOURCES))))
# archives ROOM...
archives = $(1:%=$(BUILD)/obj/%.a)
COMMON := $(call archives,$(filter common/%,$(ROOMS)))
GENERATOR := $(call archives,noisegen noisegen/kinds noisegen/patterns)
RECORDER := $(call archives,noisegen/recorder)
TOP := $(call archives,noisegen/top)
AGENT := $(call archives,noisegen/agent)
ACCEPTANCE := $(call archives,$(filter detector/acceptance%,$(ROOMS)))
PROFILE := $(call archives,detector/profile)
DETECTOR := $(filter-out $(ACCEPTANCE) %/detector/profile.a %/detector/profile/library.a %/detector/rules.a,$(call archives,$(filter detector%,$(ROOMS)))) $(AGENT)
COMMAND := $(call archives,experiments/command)
UNIT_TESTS := $(patsubst tests/%.c,$(BUILD)/tests/%,$(shell find tests/unit -name 'test_*.c' | LC_ALL=C sort))
MPI_TESTS := $(patsubst tests/mpi/%.c,$(BUILD)/tests-mpi/%,$(wildcard tests/mpi/*.c))
# what judges the projection: a simulator of its own, of which nothing here is a part
REFERENCE := $(BUILD)/tests/reference/reference
REFERENCE_OBJECTS := $(patsubst tests/%.c,$(BUILD)/tests/%.o,$(wildcard tests/reference/*.c))
BENCHES := $(patsubst tests/bench/%.c,$(BUILD)/bench/%,$(wildcard tests/bench/*.c))

PROGRAMS := noiselab-gen noiselab-record noiselab-agent noiselab-top noiselab-detect noiselab-accept noiselab-profile noiselab-doctor
LIBRARY := $(BUILD)/lib/noiselab/libnoiselab-profile.so
R_PROGRAMS := noiselab-analyze noiselab-report noiselab-plan noiselab-project noiselab-plot noiselab-compare
SCRIPTS := noiselab noiselab-run noiselab-node-health $(R_PROGRAMS)
LIBEXEC := $(notdir $(wildcard experiments/*.sbatch))
# what noiselab run is, and the Python whose bytecode lies beside it: a campaign begins without compiling
RUNNER := $(wildcard experiments/noiselab_run/*.py)
PYTHON ?= $(firstword $(wildcard /usr/bin/python3 /usr/libexec/platform-python) python3)
bytecode = $(PYTHON) -I -m compileall -q -f --invalidation-mode checked-hash $(1) || $(PYTHON) -I -m compileall -q -f $(1)
PRESETS := $(wildcard noisegen/presets/*)
R_LIB := $(BUILD)/lib/noiselab/R
# analysis/src/common is a link to common/: copies follow it
R_SOURCES := $(shell find -L analysis -type f -not -path '*/tests/*' 2>/dev/null)

.DEFAULT_GOAL := all
.PHONY: all programs presets scripts r words deps demo docs-examples test check check-mpi test-long evidence mutants fuzz fault endurance r-check test-cluster test-matrix bench bench-stats catalogue install install-programs uninstall dist deb try-deb rpm clean help census lint asan

all: programs presets scripts r words ## build everything into build/ (default)

programs: presets $(PROGRAMS:%=$(BUILD)/bin/%) $(LIBRARY) $(RULES) ## only the C programs: what a compute node needs

help: ## this list
	@awk -F ':.*## ' '/^[a-z][a-z-]*:.*## / { printf "%-14s %s\n", $$1, $$2 }' Makefile
	@echo
	@echo 'Variables: CC=$(CC) MPICC=$(MPICC) CFLAGS="$(CFLAGS)" PREFIX=$(PREFIX) DESTDIR= BUILD=$(BUILD) LIKWID=$(LIKWID)'

# ---- programs ----------------------------------------------------------------------------------------------------------------------------

$(BUILD)/bin/noiselab-gen: $(BUILD)/obj/noisegen/main.o $(GENERATOR) $(COMMON)
$(BUILD)/bin/noiselab-record: $(BUILD)/obj/noisegen/recorder/main.o $(RECORDER) $(COMMON)
$(BUILD)/bin/noiselab-top: $(BUILD)/obj/noisegen/top/main.o $(TOP) $(RECORDER) $(COMMON)
$(BUILD)/bin/noiselab-top: private LIBS += $(if $(NCURSES_LIBRARY),$(shell $(PKG_CONFIG) --libs $(NCURSES_LIBRARY)))
$(BUILD)/bin/noiselab-agent: $(BUILD)/obj/noisegen/agent/main.o $(AGENT) $(RECORDER) $(COMMON)
# without MPI: it says so where that is missing
$(BUILD)/bin/noiselab-doctor: $(BUILD)/obj/experiments/command/doctor.o $(COMMAND) $(GENERATOR) $(RECORDER) $(call archives,detector/nodes) $(COMMON)
$(BUILD)/bin/noiselab-profile: $(BUILD)/obj/detector/profile/main.o $(PROFILE) $(COMMON)
# what noiselab run leaves to C
$(BUILD)/libexec/noiselab/noiselab-sh: $(BUILD)/obj/experiments/command/sh.o $(COMMAND) $(COMMON)
$(BUILD)/bin/noiselab-detect: $(BUILD)/obj/detector/main.o $(DETECTOR) $(COMMON)
$(BUILD)/bin/noiselab-accept: $(BUILD)/obj/detector/acceptance/main.o $(ACCEPTANCE) $(DETECTOR) $(COMMON)
# what run advise tries its rules with: its symbols are taken before those of the MPI library
$(RULES): $(BUILD)/obj/detector/rules/main.o $(call archives,detector/rules) $(DETECTOR) $(COMMON)
$(RULES): private LIBS += -ldl
$(RULES): private LDFLAGS += -rdynamic

WITH_MPI := $(BUILD)/bin/noiselab-detect $(BUILD)/bin/noiselab-accept $(RULES)
$(WITH_MPI):
	$(call link,$(MPICC))

$(BUILD)/libexec/noiselab/noiselab-sh $(filter-out $(WITH_MPI),$(PROGRAMS:%=$(BUILD)/bin/%)):
	$(call link,$(CC))

$(foreach room,$(ROOMS),$(eval $(call archives,$(room)): $(patsubst %.c,$(BUILD)/obj/%.o,$(filter $(room)/%,$(filter-out $(MAINS),$(wildcard $(room)/*.c))))))
$(call archives,$(ROOMS)):
	$(call quiet,AR  ,$@) rm -f $@ && ar rcs $@ $^

# The library that is loaded into programs: it shows them MPI's names and nothing else, and what it borrows calls MPI by the names that it leaves
# alone (PMPI_). Of that only what it needs stays, and no library but MPI.
LIBRARY_SOURCES := $(wildcard detector/profile/library/*.c) $(BUILD)/made/profile_calls.c $(wildcard detector/sync/*.c) \
	$(addprefix detector/nodes/,launcher.c team.c tree.c) $(addprefix common/base/,nl_clock.c nl_error.c nl_secret.c nl_units.c) \
	$(addprefix common/sys/,nl_kernel.c nl_preempted.c)
$(LIBRARY): $(LIBRARY_SOURCES:%.c=$(BUILD)/shared/%.o)
	$(call quiet,LINK,$@) $(MPI_ENV) $(MPICC) $(CFLAGS) $(filter-out -pie,$(LDFLAGS)) -shared -Wl,--gc-sections,-z,defs -o $@ $^ -ldl -lm -pthread

$(BUILD)/made/profile_calls.c: detector/profile/library/wrappers.awk detector/profile/library/calls.table
	@mkdir -p $(@D)
	awk -f $^ > $@.new && mv $@.new $@

# what tables of the contract say, in C: #include "common/contract/NAME.h". One that says the same as before stays: everything would be compiled anew
CONTRACT := $(patsubst %.table,$(BUILD)/made/%.h,$(wildcard common/contract/*.table))
$(CONTRACT): $(BUILD)/made/%.h: %.table common/contract/make.awk
	@mkdir -p $(@D)
	@awk -f common/contract/make.awk $< > $@.new && if cmp -s $@.new $@; then rm $@.new; else mv $@.new $@; fi

$(BUILD)/shared/%.o: private ALL_CFLAGS += -fPIC -fvisibility=hidden -ffunction-sections
$(BUILD)/shared/%.o: %.c $(BUILD)/flags | $(CONTRACT)
	$(call compile,$(MPICC))
	@case $< in detector/profile/* | $(BUILD)/*) ;; *) nm -u $@ | awk '$$2 ~ /^MPI_/ { print $$2, "P" $$2 }' > $@.names && objcopy --redefine-syms=$@.names $@ ;; esac

$(BUILD)/obj/detector/%.o: detector/%.c $(BUILD)/flags | $(CONTRACT)
	$(call compile,$(MPICC))

$(BUILD)/obj/%.o: %.c $(BUILD)/flags | $(CONTRACT)
	$(call compile,$(CC))

# objects depend on the flags they were made with: a change of compiler must not link old with new. One object alone has the commit's name.
$(BUILD)/flags: made_with = $(CC) $(MPICC) $(ALL_CFLAGS)
$(BUILD)/commit: made_with = $(GIT)
$(BUILD)/ncurses: made_with = $(NCURSES_LIBRARY)
$(BUILD)/flags $(BUILD)/commit $(BUILD)/ncurses: FORCE
	@mkdir -p $(@D)
	@echo '$(made_with)' | cmp -s - $@ || echo '$(made_with)' > $@
	@$(if $(filter %/flags,$@),printf '%s\n' 'CC = $(CC)' 'ifeq ($$(filter environment%,$$(origin MPICC)),)' 'MPICC = $(MPICC)' endif \
		> $(BUILD)/compilers.mk.$$$$ && mv $(BUILD)/compilers.mk.$$$$ $(BUILD)/compilers.mk)
FORCE:

$(BUILD)/obj/noisegen/top/screen.o: private ALL_CFLAGS += $(if $(NCURSES_LIBRARY),-DNOISELAB_NCURSES $(shell $(PKG_CONFIG) --cflags $(NCURSES_LIBRARY)))
$(BUILD)/obj/noisegen/top/screen.o: $(BUILD)/ncurses
$(BUILD)/obj/common/base/version.o: private ALL_CFLAGS += -DNOISELAB_GIT='"$(GIT)"'
$(BUILD)/obj/common/base/version.o: $(BUILD)/commit

# ---- presets, scripts and the R package -----------------------------------------------------------------------------------------------------------

presets: $(PRESETS:noisegen/presets/%=$(BUILD)/share/noiselab/presets/%)

$(BUILD)/share/noiselab/presets/%: noisegen/presets/%
	@mkdir -p $(@D)
	@install -m 644 $< $@

scripts: $(SCRIPTS:%=$(BUILD)/bin/%) $(LIBEXEC:%=$(BUILD)/libexec/noiselab/%) $(BUILD)/libexec/noiselab/noiselab-sh $(BUILD)/libexec/noiselab/noiselab_run/compiled

$(R_PROGRAMS:%=$(BUILD)/bin/%): analysis/exec/noiselab-r.sh
# a health checker calls it by itself, on nodes that have nothing else of noiselab
$(BUILD)/bin/noiselab-node-health: experiments/node-health.sh
$(BUILD)/bin/noiselab-run: $(BUILD)/bin/%: experiments/%
# its help text names the experiments and exit statuses of the contract
$(BUILD)/bin/noiselab: common/contract/fill.sh experiments/noiselab common/contract/experiments.table common/contract/statuses.table
	@mkdir -p $(@D)
	@sh common/contract/fill.sh experiments/noiselab > $@.new && chmod 755 $@.new && mv $@.new $@
$(filter-out %/noiselab,$(SCRIPTS:%=$(BUILD)/bin/%)):
	@mkdir -p $(@D)
	install -m 755 $< $@

$(BUILD)/libexec/noiselab/%.sbatch: experiments/%.sbatch experiments/command/batch.sh
	@mkdir -p $(@D)
	sh experiments/command/batch.sh $* > $@.new && mv $@.new $@

# files that are gone are not left in it; where there is no Python it is compiled whenever it runs
$(BUILD)/libexec/noiselab/noiselab_run/compiled: $(RUNNER)
	@rm -rf $(@D) && mkdir -p $(@D)
	install -m 644 $^ $(@D)
	@$(call bytecode,$(@D)) || echo "$(PYTHON): noiselab run is not compiled" >&2
	@touch $@

# every command, option and operation, from the programs' own tables: for `noiselab help`, man pages and the completion of shells
WORDS := $(BUILD)/share/noiselab/words.tsv
COMPLETIONS := $(BUILD)/share/bash-completion/completions/noiselab $(BUILD)/share/zsh/site-functions/_noiselab
OPTIONS := $(BUILD)/share/doc/noiselab/options.md
MAN := $(patsubst docs/man/%,$(BUILD)/share/man/man1/%,$(wildcard docs/man/*.1))
words: $(WORDS) $(COMPLETIONS) $(OPTIONS) $(MAN)

$(WORDS): experiments/command/words.sh experiments/words.tsv $(PROGRAMS:%=$(BUILD)/bin/%) $(R_LIB)/noiselab/DESCRIPTION $(BUILD)/bin/noiselab \
		$(BUILD)/bin/noiselab-run $(BUILD)/libexec/noiselab/noiselab_run/compiled $(LIBEXEC:%=$(BUILD)/libexec/noiselab/%) | presets scripts
	@mkdir -p $(@D)
	sh experiments/command/words.sh $(BUILD) experiments/words.tsv > $@.new && mv $@.new $@

$(OPTIONS): experiments/command/options.sh docs/reference/options.md $(WORDS)
	@mkdir -p $(@D)
	sh experiments/command/options.sh $(abspath $(BUILD)) docs/reference/options.md > $@.new && mv $@.new $@

$(MAN): $(BUILD)/share/man/man1/%: docs/man/% experiments/command/man.sh $(WORDS)
	@mkdir -p $(@D)
	@bash experiments/command/man.sh $(BUILD) $< > $@.new && mv $@.new $@

$(COMPLETIONS): experiments/command/completion.sh $(WORDS)
	@mkdir -p $(@D)
	sh experiments/command/completion.sh $(if $(filter %/_noiselab,$@),zsh,bash) $(WORDS) > $@.new && mv $@.new $@

r: $(R_LIB)/noiselab/DESCRIPTION

$(R_LIB)/noiselab/DESCRIPTION: $(R_SOURCES)
	@mkdir -p $(R_LIB)
	@rm -rf $(BUILD)/r-source && mkdir $(BUILD)/r-source && cp -RL $(filter-out %/tests %/bench,$(wildcard analysis/*)) $(BUILD)/r-source
	@cd $(BUILD)/r-source/inst/contract && rm -f *.sh *.awk *.md # what is made of the tables is made before
	LC_ALL=C.UTF-8 R CMD INSTALL --no-docs --no-test-load --library=$(R_LIB) $(BUILD)/r-source >$(BUILD)/r-install.log 2>&1 || { cat $(BUILD)/r-install.log; exit 1; }
	@touch $@

# ---- what people do ------------------------------------------------------------------------------------------------------------------------

deps: ## install what is missing for make demo and make test (or say what is)
	@CC="$(CC)" MPICC="$(MPICC)" tests/deps.sh

demo: deps ## a sensitivity experiment on this machine, with its report
	@$(MAKE) -j$(JOBS) --no-print-directory all
	@rm -rf $(BUILD)/demo
	$(BUILD)/bin/noiselab run sensitivity --op barrier,allreduce,alltoall --bytes 2KiB --levels 0,0.01,0.1,1,5 --seconds 120 --out $(BUILD)/demo

# ONLY: one of them, or a pattern such as 'list-*'
docs-examples: all ## run the examples of the documents, and put their output and pictures in (a quarter of an hour, as root)
	@NOISELAB_BUILD=$(BUILD) docs/examples.sh refresh '$(ONLY)'

test: deps ## everything the tests need, then all tests
	@tests/deps.sh cluster || echo 'make test: goes on; tests on the test cluster will be skipped' >&2
	@tests/deps.sh agents || echo 'make test: goes on; tests with real agents will be skipped' >&2
	@tests/deps.sh report || echo 'make test: goes on; tests of reports in a browser will be skipped' >&2
	@$(MAKE) -j$(JOBS) --no-print-directory all tests-built
	@NOISELAB_BUILD=$(BUILD) tests/run.sh test

# NOISELAB_INSTALLED=PREFIX: of what is installed there
check: ## the quick tests: a minute and a half, the command line where 1.5 is written 1,5
	@$(MAKE) -j$(JOBS) --no-print-directory $(if $(NOISELAB_INSTALLED),,all) tests-built
	@NOISELAB_BUILD=$(BUILD) NOISELAB_COMMA=yes tests/run.sh check

check-mpi: ## a minute of tests with two ranks: a site's smoke test, which builds nothing where NOISELAB_INSTALLED=PREFIX is
	@$(if $(NOISELAB_INSTALLED),mkdir -p $(BUILD),$(MAKE) -j$(JOBS) --no-print-directory all)
	@NOISELAB_BUILD=$(BUILD) tests/run.sh mpi

# SECONDS: begin no further suite after that time; the next call goes on, as long as the version is the same. ONLY: some suites
test-long: deps ## everything that can be tested, hours: nightly, or before a release; results go to docs/evidence/test-long.csv
	@for group in cluster agents report; do tests/deps.sh $$group || exit; done
	@$(MAKE) -j$(JOBS) --no-print-directory all tests-built $(BUILD)/fuzz-mutate
	@NOISELAB_BUILD=$(BUILD) tests/long.sh $(if $(filter-out 60,$(SECONDS)),$(SECONDS),1000000) $(ONLY)

test-cluster: deps ## the tests on several nodes of this machine, with Slurm (as root; "make test" has them, too)
	@tests/deps.sh cluster
	@$(MAKE) -j$(JOBS) --no-print-directory all tests-built
	@NOISELAB_BUILD=$(BUILD) tests/run.sh cluster

.PHONY: tests-built
tests-built: $(UNIT_TESTS) $(MPI_TESTS) $(BENCHES) $(REFERENCE) $(BUILD)/fuzz-mutate $(BUILD)/fault/fault.so

r-check: r ## R CMD check of the package; its help pages are made from the comments (roxygen2)
	rm -rf $(BUILD)/r-check && mkdir $(BUILD)/r-check && cp -RL analysis $(BUILD)/r-check/noiselab
	cd $(BUILD)/r-check && R_LIBS="$(abspath $(R_LIB))" Rscript --vanilla -e 'roxygen2::roxygenise("noiselab", load_code = "installed")' && \
		R CMD build noiselab && _R_CHECK_FORCE_SUGGESTS_=false R CMD check --no-manual --no-tests noiselab_*.tar.gz

bench: all $(BENCHES) ## the numbers: harness overhead, generator accuracy, detection, memory, analysis speed
	@NOISELAB_BUILD=$(BUILD) tests/bench/bench.sh

# CAMPAIGNS: number per shape. PARTS: some of simulated, located, acceptance, agent, projection, pattern, advise, placebo
bench-stats: all $(REFERENCE) ## do the verdicts hold what they state: false alarms, coverage, power
	@NOISELAB_BUILD=$(BUILD) R_LIBS="$(R_LIB)" NOISELAB_R_LIB="$(abspath $(R_LIB))" \
		Rscript --vanilla analysis/bench/bench-stats.R $(CAMPAIGNS) $(PARTS)

# ---- tests ---------------------------------------------------------------------------------------------------------------------------------

TEST_PROGRAMS := $(UNIT_TESTS) $(MPI_TESTS) $(BENCHES)

# a test links the rooms above it
$(filter $(BUILD)/tests/unit/noisegen/%,$(UNIT_TESTS)): $(TOP) $(AGENT) $(RECORDER) $(GENERATOR)
$(filter $(BUILD)/tests/unit/detector/%,$(UNIT_TESTS)): $(DETECTOR)
$(filter $(BUILD)/tests/unit/detector/acceptance/%,$(UNIT_TESTS)): $(ACCEPTANCE)
$(filter $(BUILD)/tests/unit/experiments/%,$(UNIT_TESTS)): $(COMMAND)
$(UNIT_TESTS): LIBS += $(shell $(PKG_CONFIG) --libs cmocka)
$(MPI_TESTS): $(ACCEPTANCE) $(DETECTOR)
$(BENCHES): $(DETECTOR) $(AGENT) $(RECORDER) $(GENERATOR)

$(filter $(BUILD)/tests/unit/reference/%,$(UNIT_TESTS)): $(filter-out %/main.o,$(REFERENCE_OBJECTS))
$(REFERENCE): $(REFERENCE_OBJECTS)
	$(call quiet,LINK,$@) $(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lm
$(REFERENCE_OBJECTS): $(BUILD)/tests/%.o: tests/%.c $(BUILD)/flags | $(CONTRACT)
	$(call compile,$(CC))

$(TEST_PROGRAMS): %: %.o $(COMMON)
	$(call link,$(MPICC))

$(UNIT_TESTS:=.o): $(BUILD)/tests/%.o: tests/%.c $(BUILD)/flags | $(CONTRACT)
$(MPI_TESTS:=.o): $(BUILD)/tests-mpi/%.o: tests/mpi/%.c $(BUILD)/flags | $(CONTRACT)
$(BENCHES:=.o): $(BUILD)/bench/%.o: tests/bench/%.c $(BUILD)/flags | $(CONTRACT)
$(TEST_PROGRAMS:=.o):
	$(call compile,$(MPICC))

# OBJECTS: of every source there is. With CFLAGS=-fsyntax-only, what a compiler has to say of them
OBJECTS := $(SOURCES:%.c=$(BUILD)/obj/%.o) $(TEST_PROGRAMS:=.o) $(REFERENCE_OBJECTS)
.PHONY: objects
objects: $(OBJECTS)

# MATRIX: some of what tests/matrix.sh --list prints, such as 'openmpi5-gcc mpich-clang'
test-matrix: deps ## unit and command-line tests with Open MPI 4.1, Open MPI 5 and MPICH, each with gcc and clang
	@$(MAKE) --no-print-directory r
	@NOISELAB_BUILD=$(BUILD) tests/matrix.sh $(MATRIX)

$(BUILD)/fuzz-mutate: tests/fuzz/mutate.c $(BUILD)/flags | $(CONTRACT)
	$(CC) -I$(BUILD)/made $(ALL_CFLAGS) $(LDFLAGS) -o $@ $<

$(BUILD)/fault/fault.so: tests/fault/fault.c $(BUILD)/flags
	@mkdir -p $(@D)
	$(CC) -std=gnu11 -D_GNU_SOURCE $(WARNINGS) -O1 -g -shared -fPIC -o $@ $< -ldl

# SECONDS: for all of it together; ONLY: some of the page's names, or `page`
evidence: all tests-built ## every proof goes on where it stands, until SECONDS are over; docs/evidence.md is made anew
	@NOISELAB_BUILD=$(BUILD) tests/evidence.sh run $(if $(filter file,$(origin SECONDS)),0,$(SECONDS)) $(ONLY)

catalogue: ## docs/agents.md and its picture, from the rows of docs/evidence/agents.csv (tests/bench/catalogue.sh adds rows)
	Rscript tests/bench/catalogue.R docs/evidence/agents.csv docs/agents.md docs/images/agents.png

# REVISION: of an earlier state
mutants: all tests-built ## small faults (tests/mutants.tsv): does a test see each? Rows go to docs/evidence/mutants.csv
	@NOISELAB_BUILD=$(BUILD) tests/mutants.sh $(REVISION)

fault: all tests-built ## every system call of the programs fails once: are agents given back, loads ended, files what they say?
	@rm -rf $(BUILD)/fault/folder && mkdir -p $(BUILD)/fault/folder
	tests/fault/programs.sh $(abspath $(BUILD)/fault/fault.so $(BUILD)/bin $(BUILD)/bench/bench_busy $(BUILD)/fault/folder)

KILLS ?= 200
endurance: all tests-built ## KILLS (200) random kill -9 of running campaigns: is everything given back, and does each go on?
	@NOISELAB_BUILD=$(BUILD) tests/endurance.sh $(KILLS) $(SEED)

# SECONDS: of each part; SEED. The parsers of C are fuzzed by libFuzzer where clang has it
SECONDS = 60
SEED = 1
fuzz: all $(BUILD)/fuzz-mutate ## hostile files and command lines, SECONDS long (60)
	@NOISELAB_BUILD=$(BUILD) tests/fuzz/fuzz.sh $(SECONDS) $(SEED)

dist: ## an archive of the last commit, which builds without git
	@mkdir -p $(BUILD)
	git -c safe.directory='*' archive --format=tar.gz --prefix=noiselab-$(VERSION)/ --add-virtual-file=noiselab-$(VERSION)/.commit:$(GIT:%-dirty=%) \
		-o $(BUILD)/noiselab-$(VERSION).tar.gz HEAD

deb: dist ## Debian packages, into build/deb: noiselab (no R) and noiselab-analysis
	@tests/deps.sh packages
	packaging/deb.sh $(BUILD) $(VERSION)

rpm: dist ## RPM packages by OpenHPC's conventions, into build/rpm (Debian: rpm; nothing is asked of what is installed there)
	packaging/rpm.sh $(BUILD) $(VERSION)

# FOLDER: of the system that they are tried in; OLDER: a folder with packages of an earlier version, to upgrade from
FOLDER = /var/tmp/noiselab-try-deb
OLDER =
try-deb: deb ## install, upgrade (from OLDER), use and remove them in an emptied Debian 12 in FOLDER (as root; a quarter of an hour)
	packaging/try-deb.sh $(BUILD) $(FOLDER) $(OLDER)

census: words ## how much there is: lines, files, options, plots, R functions
	@NOISELAB_BUILD=$(BUILD) tests/census.sh

lint: all objects ## shellcheck, forbidden symbols, tables against documentation, both compilers without a warning
	@NOISELAB_BUILD=$(BUILD) tests/lint.sh

# the sanitizers' build lives in its own folder; the unit tests run in it
asan: ## unit tests with address and undefined-behaviour sanitizers
	@$(MAKE) -j$(JOBS) --no-print-directory BUILD=$(BUILD)/asan CFLAGS="-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all" programs tests-built
	@NOISELAB_BUILD=$(BUILD)/asan tests/run.sh unit

# ---- install -------------------------------------------------------------------------------------------------------------------------------

install-programs: programs ## install only the C programs: compute nodes need no R
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 $(PROGRAMS:%=$(BUILD)/bin/%) $(DESTDIR)$(PREFIX)/bin
	install -D -m 755 $(LIBRARY) $(DESTDIR)$(PREFIX)/lib/noiselab/$(notdir $(LIBRARY))
	install -D -m 755 $(RULES) $(DESTDIR)$(PREFIX)/libexec/noiselab/$(notdir $(RULES))
	install -d $(DESTDIR)$(PREFIX)/share/noiselab/presets
	install -m 644 $(PRESETS) $(DESTDIR)$(PREFIX)/share/noiselab/presets

install: all install-programs ## install under PREFIX (with DESTDIR for packages)
	install -d $(DESTDIR)$(PREFIX)/libexec/noiselab $(DESTDIR)$(PREFIX)/lib/noiselab/R $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 755 $(SCRIPTS:%=$(BUILD)/bin/%) $(DESTDIR)$(PREFIX)/bin
	install -m 644 $(LIBEXEC:%=$(BUILD)/libexec/noiselab/%) $(DESTDIR)$(PREFIX)/libexec/noiselab
	install -m 755 $(BUILD)/libexec/noiselab/noiselab-sh $(DESTDIR)$(PREFIX)/libexec/noiselab
	rm -rf $(DESTDIR)$(PREFIX)/libexec/noiselab/noiselab_run && install -d $(DESTDIR)$(PREFIX)/libexec/noiselab/noiselab_run
	install -m 644 $(RUNNER) $(DESTDIR)$(PREFIX)/libexec/noiselab/noiselab_run
	$(call bytecode,$(DESTDIR)$(PREFIX)/libexec/noiselab/noiselab_run) || true
	cp -R $(R_LIB)/noiselab $(DESTDIR)$(PREFIX)/lib/noiselab/R/
	install -m 644 $(MAN) $(DESTDIR)$(PREFIX)/share/man/man1
	install -d $(DESTDIR)$(PREFIX)/share/noiselab/live
	sed 's|/usr/bin/noiselab-top|$(PREFIX)/bin/noiselab-top|' packaging/systemd/noiselab-top.service > $(DESTDIR)$(PREFIX)/share/noiselab/live/noiselab-top.service
	install -m 644 docs/sample/noiselab-live.json $(DESTDIR)$(PREFIX)/share/noiselab/live
	install -m 644 $(WORDS) $(DESTDIR)$(PREFIX)/share/noiselab
	install -D -m 644 $(OPTIONS) $(DESTDIR)$(PREFIX)/share/doc/noiselab/options.md
	for file in $(COMPLETIONS:$(BUILD)/share/%=%); do install -D -m 644 $(BUILD)/share/$$file $(DESTDIR)$(PREFIX)/share/$$file; done
	# bash looks for a file of the command's name
	for name in $(PROGRAMS) $(filter-out noiselab,$(SCRIPTS)); do ln -sf noiselab $(DESTDIR)$(PREFIX)/share/bash-completion/completions/$$name; done

uninstall: ## remove what install put there
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/bin/,$(PROGRAMS) $(SCRIPTS))
	rm -rf $(DESTDIR)$(PREFIX)/libexec/noiselab $(DESTDIR)$(PREFIX)/lib/noiselab $(DESTDIR)$(PREFIX)/share/noiselab $(DESTDIR)$(PREFIX)/share/doc/noiselab
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/share/man/man1/,$(notdir $(MAN)))
	rm -f $(addprefix $(DESTDIR)$(PREFIX)/,$(COMPLETIONS:$(BUILD)/%=%)) $(addprefix $(DESTDIR)$(PREFIX)/share/bash-completion/completions/,$(PROGRAMS) $(SCRIPTS))

clean: ## remove build/
	rm -rf $(BUILD)

-include $(shell find $(BUILD)/obj $(BUILD)/shared $(BUILD)/tests $(BUILD)/tests-mpi $(BUILD)/bench -name '*.d' 2>/dev/null)
