# Two commands do everything: `make crawl` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
URL ?=
ARGS ?=

# What the installed package depends on: metadata, and the modules that are compiled.
# In the order in which they need each other.
PACKAGES := packages/robots packages/pages .
SOURCES := $(wildcard packages/*/src)
BUILD_INPUTS := $(wildcard pyproject.toml packages/*/pyproject.toml) packages/robots/src/comity_robots/_building.py \
	$(wildcard $(SOURCES:=/*/_compiled.py)) packages/pages/src/comity_pages/html/tree.py \
	$(shell grep -rl --include='*.py' 'import cython' $(SOURCES)) $(shell find $(SOURCES) -name '*.pyx' -o -name '*.pxd')

.PHONY: crawl test test-all test-all-compiled test-all-interpreted test-compiled test-interpreted test-long test-engines sanitize dist lint format lock docs docs-serve man league peers figures bench-engine bench-bulk bench-client bench-crawl bench-broad bench-names soak profile-crawl bench-politeness bench-frontier bench-extraction bench-hosts test-kills test-tampering compare conformance fuzz clean

crawl: $(VENV)/installed ## crawl the bundled demo site, or URL=https://example.com/
	@$(BIN)/comity crawl $(if $(URL),$(URL),--demo) $(ARGS) || \
		{ [ $$? = 2 ] && echo 'Some pages failed$(if $(URL),, as the demo site means them to): failures.jsonl says which.'; }

# Tests start the command as a process of its own: without bytecode kept, each start would compile all of it anew.
unexport PYTHONDONTWRITEBYTECODE
# Three times as many at a time as there are processors: much of a test is waiting for servers and processes. As many as
# there are where most of it is computing; both at once, so that what computes runs while the others wait.
PROCESSORS = $$(getconf _NPROCESSORS_ONLN)
PYTEST = $(BIN)/pytest -p no:xdist --processes $$(($(PROCESSORS) * 3))
INTERPRETED = exec env COMITY_NO_EXTENSIONS=1 $(BIN)/pytest -p no:xdist --processes $(PROCESSORS)
# $(call beside,A,B): the target A, and beside it B, whose output comes after that of A. Ctrl-C ends both: what a shell
# has in the background is deaf to it.
beside = @trap 'kill $$other' INT; $(MAKE) --no-print-directory $(2) >$(VENV)/beside 2>&1 & other=$$!; first=0; second=0; \
	$(MAKE) --no-print-directory $(1) || first=$$?; wait $$other || second=$$?; cat $(VENV)/beside; \
	exit $$((first || second))

BOTH_FORMS = $(shell grep -rl both_forms packages/*/tests tests --include='test_*.py')

test: $(VENV)/tested ## the tests, on both forms of the hot modules
	$(call beside,test-compiled,test-interpreted)

test-compiled: $(VENV)/tested
	@$(BIN)/comity --version
	$(PYTEST) -m 'not long' $(ARGS)

test-interpreted: $(VENV)/tested ## the tests of what is compiled, and a thin path through the rest
	@COMITY_NO_EXTENSIONS=1 $(BIN)/comity --version
	$(INTERPRETED) -m 'both_forms and not long and not interpreted_long' $(BOTH_FORMS) $(ARGS)

test-all: $(VENV)/tested ## `make test` and `make test-long` at once, so that what is slow runs beside the rest
	$(call beside,test-all-compiled,test-all-interpreted)

test-all-compiled: $(VENV)/tested
	@$(BIN)/comity --version
	$(PYTEST) --hypothesis-profile=thorough -o faulthandler_timeout=3600 $(ARGS)

test-all-interpreted: $(VENV)/tested
	@COMITY_NO_EXTENSIONS=1 $(BIN)/comity --version
	$(INTERPRETED) -m 'both_forms and (not long or hypothesis)' --hypothesis-profile=thorough \
		-o faulthandler_timeout=3600 $(BOTH_FORMS) $(ARGS)

test-engines: $(VENV)/tested ## verdicts over columns inside Polars, DuckDB, pandas, Ray, Spark (needs Java), Dask and Daft; crawls on Ray; chunks in LangChain and LlamaIndex
	@$(call install,--quiet --group engines)
	$(BIN)/pytest packages/comity/tests/bulk/test_bulk_engines.py packages/comity/tests/crawler/cluster/test_on_ray.py \
		packages/comity/tests/crawler/test_into_stores.py $(ARGS)

test-long: $(VENV)/tested ## what is slow by nature, and tests of any input with five times the examples
	$(PYTEST) -m 'long or hypothesis' --hypothesis-profile=thorough -o faulthandler_timeout=3600 $(ARGS)
	$(INTERPRETED) -m 'both_forms and (hypothesis or interpreted_long)' --hypothesis-profile=thorough $(BOTH_FORMS) $(ARGS)

# The compiled modules lie in a copy of the sources, in which only what changed is compiled again. Python itself is not
# made for the look for leaks, and its own allocator, as that of pyarrow, would hide what ours do.
SANITIZED := $(abspath $(VENV))/sanitized
SANITIZE := -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
sanitize: $(VENV)/tested ## the tests of what is compiled, under address and undefined-behaviour sanitizers; needs GCC
	@mkdir -p $(SANITIZED)
	@tar cf - --exclude='*.so' --exclude='*.c' packages setup.py pyproject.toml README.md LICENSE | tar xf - -C $(SANITIZED)
	export CC=gcc CFLAGS='$(SANITIZE)' LDFLAGS='$(SANITIZE)' COMITY_REQUIRE_EXTENSIONS=1; for each in $(PACKAGES); do \
		(cd $(SANITIZED)/$$each && $(abspath $(BIN))/python setup.py --quiet build_ext --inplace) || exit 1; done
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
		ASAN_OPTIONS=detect_leaks=0 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc ARROW_DEFAULT_MEMORY_POOL=system \
		PYTHONPATH=$(SANITIZED)/packages/robots/src:$(SANITIZED)/packages/pages/src:$(SANITIZED)/packages/comity/src $(BIN)/pytest --processes $(PROCESSORS) -m 'both_forms and not long' $(BOTH_FORMS) $(ARGS)

lint: $(VENV)/linted ## formatting, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python .ci/lines.py
	$(BIN)/mypy

dist: $(BIN)/python ## sdist and wheels of what is committed, each installed where nothing else is; ARGS=--quick: no compiled one
	@$(call install,--quiet --group dist)
	$(BIN)/python .ci/dist.py $(ARGS)

PARTS ?=
figures: $(VENV)/tested $(VENV)/benched ## docs/figures.md, measured; PARTS='engine client' for these alone
	$(BIN)/python benchmarks/figures.py $(PARTS)

bench-engine: $(VENV)/benched ## the robots engine beside its peers, compiled and interpreted
	$(BIN)/python benchmarks/engine.py
	COMITY_NO_EXTENSIONS=1 $(BIN)/python benchmarks/engine.py

lock: $(BIN)/python ## .ci/lock.txt: the versions that the workflows test with, on all systems
	$(BIN)/uv pip compile --system-certs --quiet --upgrade --universal --python-version 3.11 --custom-compile-command 'make lock' \
		--group test --group lint --extra speed pyproject.toml --output-file .ci/lock.txt

docs: $(VENV)/installed ## the documentation as a site in build/docs/site, each link followed
	@$(call install,--quiet --group docs)
	$(BIN)/python docs/site.py

man: $(VENV)/installed ## the manual pages of all commands in build/man
	$(BIN)/comity man --write build/man

docs-serve: $(VENV)/installed ## the same, served on PORT=8000
	@$(call install,--quiet --group docs)
	$(BIN)/python docs/site.py --serve $(or $(PORT),8000)

league: $(VENV)/benched ## docs/engines.md: robots.txt parsers of several languages on the same questions
	$(BIN)/python benchmarks/league.py $(ARGS)

peers: $(VENV)/tested ## the tests of other robots.txt libraries, of those that lie in PEERS=FOLDER; fetches nothing
	$(BIN)/python benchmarks/peers.py $(PEERS)

bench-bulk: $(VENV)/tested $(VENV)/benched ## verdicts over columns beside Protego, URLS=10000000 for ten million
	$(BIN)/python benchmarks/bulk.py $(URLS)
	$(BIN)/python benchmarks/bulk_engines.py

bench-client: $(VENV)/benched ## what asking costs: a GET beside aiohttp's and httpx's, a check, a thousand origins
	$(BIN)/python benchmarks/client.py

bench-signatures: $(VENV)/tested ## what it costs to sign a request and to verify it, beside http-message-signatures
	$(BIN)/python benchmarks/signatures.py

bench-crawl: $(VENV)/benched ## one site beside Scrapy and Crawlee, and spider and Colly where cargo and go are, on nginx
	$(BIN)/python benchmarks/crawl.py $(ARGS)

HOSTS ?= 200
COPIES ?= 2
bench-broad: $(VENV)/benched ## real pages on HOSTS=200 hosts over TLS, beside Scrapy; needs nginx and the corpus
	$(BIN)/python benchmarks/broad.py --hosts $(HOSTS) --copies $(COPIES) $(if $(DELAY),--delay) $(ARGS)

bench-workers: $(VENV)/benched ## one process beside several, ARGS=--real for real pages over TLS; needs nginx
	$(BIN)/python benchmarks/workers.py $(ARGS)

NAMES ?= 10000
bench-names: $(VENV)/tested ## host names of which a third is dead, on a name server of its own
	$(BIN)/python benchmarks/names.py --names $(NAMES)

profile-crawl: $(VENV)/installed ## where the time of a page goes in a crawl
	$(BIN)/python benchmarks/crawl_profile.py

INTERVAL ?= 1
bench-politeness: HOSTS := 1000
bench-politeness: $(VENV)/installed ## HOSTS=1000 at INTERVAL=1 seconds each, by the server's own clock
	$(BIN)/python benchmarks/politeness.py --hosts $(HOSTS) --interval $(INTERVAL) $(ARGS)

bench-hosts: HOSTS := 1000000
bench-hosts: $(VENV)/installed ## what a host costs that was met and waits, HOSTS=1000000
	$(BIN)/python benchmarks/hosts.py --hosts $(HOSTS)

URLS ?= 1000000
bench-frontier: $(VENV)/installed ## the durable frontier, URLS=10000000 for ten million
	$(BIN)/python benchmarks/frontier.py $(URLS)
	$(BIN)/python benchmarks/frontier_postgresql.py $(URLS)

PAGES ?= ../shared/corpus/pages
bench-extraction: $(VENV)/benched ## a page as Markdown beside other libraries: the web, Python's documentation, hostile pages
	$(BIN)/python benchmarks/extraction_model.py $(PAGES) --folds $(VENV)/extraction-folds
	$(BIN)/python benchmarks/extraction.py web --corpus $(PAGES) --folds $(VENV)/extraction-folds
	$(BIN)/python benchmarks/extraction.py titles --corpus $(PAGES)
	$(BIN)/python benchmarks/extraction.py documentation --pages 100
	$(BIN)/python benchmarks/extraction.py hostile
	$(BIN)/python benchmarks/structure.py
	$(BIN)/python benchmarks/bounds.py --corpus $(PAGES)

KILLS ?= 100
FORMAT ?= jsonl
test-kills: $(VENV)/tested ## a crawl killed KILLS=100 times and resumed, FORMAT=jsonl, sqlite, warc, parquet, files or markdown
	$(BIN)/python tests/endurance/kills.py --kills $(KILLS) --format $(FORMAT)

test-cluster: $(VENV)/tested test-cluster-store ## crawls whose workers are killed, CLUSTER_HOSTS=2000 CLUSTER_BLOWS=100 for long
	$(BIN)/python tests/endurance/cluster.py

test-cluster-store: $(VENV)/tested ## the same in PostgreSQL by two commands, and the database fails too; on Ray where that is
	$(BIN)/python tests/endurance/cluster_store.py
	@! $(BIN)/python -c 'import importlib.util, sys; sys.exit(not importlib.util.find_spec("ray"))' || \
		$(BIN)/python tests/endurance/cluster_store.py --engine ray

test-tampering: $(VENV)/installed ## a crawl's evidence tampered with in each way, and what `comity prove` says to it
	$(BIN)/python tests/endurance/tampering.py

conformance: $(VENV)/tested ## the protocol's own suite on comity mcp; installs it and Node 22 into .conformance with npm
	$(BIN)/python tests/endurance/conformance.py

soak: $(VENV)/installed ## many hosts, slow and failing ones among them: memory, descriptors, journal; SECONDS=3600
	$(BIN)/python tests/endurance/soak.py $(if $(SECONDS),--seconds $(SECONDS)) $(ARGS)

compare: $(VENV)/installed ## the engine's two forms, and columns, asked the same: QUESTIONS=10000000 of them
	$(BIN)/python fuzz/compare_forms.py --questions $(or $(QUESTIONS),1000000)

fuzz: SECONDS ?= 60
fuzz: $(VENV)/fuzzed ## look for inputs that break the engine, SECONDS=3600 for an hour
	@mkdir -p .fuzz && cp -n fuzz/corpus/* .fuzz/
	COMITY_NO_EXTENSIONS=1 $(BIN)/python fuzz/fuzz_robots.py .fuzz -max_total_time=$(SECONDS) -max_len=3000
	$(BIN)/python fuzz/fuzz_robots.py .fuzz -runs=0 # what was found interesting, on the compiled engine

format: $(VENV)/linted
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf $(VENV) build packages/*/build dist $(SOURCES:=/*.egg-info)
	find $(SOURCES) \( -name '*.so' -o -name '*.c' \) -delete

# $(call install,WHAT): by uv, which takes a quarter of pip's time; by pip where uv does not run or finds no index.
install = $(BIN)/uv pip install --system-certs --python $(BIN)/python $(1) || { \
	echo 'uv could not install that: pip does' && $(BIN)/python -m pip install --upgrade 'pip>=25.1' && \
	$(BIN)/python -m pip install $(1); }

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "comity needs Python 3.11 or later: make PYTHON=python3.11 ...")'
	@echo 'Creating the environment $(VENV)'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv || echo 'no uv for this machine'

# Which C compiler there is: where one comes, the modules are built again.
COMPILER := $(shell command -v cc || command -v gcc || command -v clang)
.PHONY: look
$(VENV)/compiler: look | $(BIN)/python
	@[ -e $@ ] || { echo '$(COMPILER)' >$@; touch -t 200001010000 $@; }
	@echo '$(COMPILER)' | cmp -s - $@ || echo '$(COMPILER)' >$@

$(VENV)/installed: $(BIN)/python $(VENV)/compiler $(BUILD_INPUTS)
	@echo 'Installing what compiles'
	@$(call install,--quiet 'setuptools>=77' 'Cython>=3.2')
	@echo 'Installing comity and what it needs, and compiling beside it'
	@(for each in $(PACKAGES); do (cd $$each && exec $(abspath $(BIN))/python setup.py --quiet build_ext --inplace) & all="$$all $$!"; done; \
		trap 'kill $$all' TERM; for each in $$all; do wait $$each || failed=1; done; exit $$failed) & \
		compiling=$$!; trap 'kill $$compiling' INT; \
		unset COMITY_REQUIRE_EXTENSIONS; export COMITY_NO_EXTENSIONS=1; : compiled there, and not once more; \
		{ $(call install,--no-build-isolation --editable packages/robots --editable packages/pages --editable '.[speed]'); }; \
		installed=$$?; wait $$compiling && exit $$installed
	@$(BIN)/comity --version
	@$(BIN)/comity --version | grep -q '(compiled' || \
		echo 'Modules could not be compiled: they are interpreted, which is slower, until a C compiler is there.'
	@touch $@

$(VENV)/tested: $(VENV)/installed
	@$(call install,--quiet --group test)
	@# pytest compiles each test module, and Hypothesis, when first imported: once here, not in each of its processes.
	@$(BIN)/pytest --collect-only -q -p no:xdist >/dev/null || true # what is wrong with it is said when the tests run
	@touch $@

$(VENV)/linted: $(VENV)/installed
	@$(call install,--quiet --group test --group lint)
	@touch $@

$(VENV)/benched: $(VENV)/installed
	@$(call install,--quiet --group bench)
	@touch $@

$(VENV)/fuzzed: $(VENV)/installed
	@$(call install,--quiet --group fuzz)
	@touch $@
