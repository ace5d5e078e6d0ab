# Every target sets up what it needs in .venv; nothing but Python 3.11 to 3.14 and make has to be there.
#   make compare                            the step-by-step comparison of all stages
#   make compare ARGS="--program doublings"  ... of one program (see: make compare ARGS=--help)
#   make compare ARGS="--html OUT.html"      ... as a page to step through
#   make compare ARGS=--relatives            ... of the algorithms of neighbouring papers
#   make test                               the tests         make campaign   the long ones too
#   make test PYTHON=python3.13             ... with another Python, in an environment of its own (.venv-python3.13)
#   make quick                              a part of them, at every save
#   make campaign FOR=3600 ARGS="--jobs 2"   random numba programs, for so many seconds; what fails goes to failures/
#                                           (ARGS="--variants special,raise": some of the ways to check them;
#                                           ARGS="--order 2": second derivatives;
#                                           ARGS="--generator idioms": programs made of idioms)
#   make mutants                            small changes of the rules, the tape and two passes: which does make quick find?
#                                           (ARGS="--sample 100 --suite": more of them, and what the suite finds;
#                                           ARGS="--targets tape --sample 0": all of the tape)
#   make check                              format, lint, types      make format    mend the first two
#   make bench                              times and memory, by pytest-benchmark; then the report bench/report/index.html
#   make bench-quick                        a part of it, in less than a minute
#   make bench-compare                      what became slower, between the last two of them (or ARGS="OLD.json NEW.json")
#   make bench-publish                      writes the last full one to bench/published/ and docs/benchmarks.md, to be checked in
#   make peers                              installs the other AD libraries (6 GB), which `make bench` then takes in
#   make compiled                           times of compiled gradients of numba functions
#   make first-calls                        times and memory of first calls, by part of the compiler, of 54 programs
#   make parallel                           times of those of parallel loops, beside one thread
#   make kernels                            times of CUDA kernels and their adjoints on a GPU, beside Warp
#                                           and JAX (make peers)
#   make machines                           times of sums over partitions by Dask, on one and two processes
#   make second                             times of Hessians and products with them, beside JAX and CasADi (make peers)
#   make sparse                             times of sparse Jacobians and Hessians, and of vmap, beside CasADi and JAX
#   make ode                                times of gradients of solutions of differential equations, beside SciPy's
#                                           differences and diffrax (make peers)
#   make styles                             times of RK4 with numbers and with small arrays, on both engines
#   make eager                              times and memory of array operations on the tape, beside autograd, JAX and
#                                           PyTorch (make peers)
#   make gradbench                          times of the twelve evals of GradBench (bench/gradbench/README.md)
#   make numbers                            all of these tables, one after another, in bench/runs/numbers (hours, on a machine
#                                           that does nothing else); ARGS="sparse second": some of them
#   make lantern ARGS="treelstm"            trains a model (treelstm, squeezenet, resnet50, deepspeech2) on generated data
#   make lantern-table                      times and losses of all four, beside PyTorch and JAX (make peers)
#   make docs                               the site, in site/: open site/index.html
#   make dist                               the wheel and the sdist, in dist/
#   make release-check                      ... of the last commit, checked for a release: docs/releasing.md
#   make figures                            paper_figures/ and docs/papers.md, made anew; some of it by ARGS="fig2 fig10"

.PHONY: compare test quick campaign mutants bench bench-quick bench-publish bench-compare compiled first-calls parallel machines second sparse ode styles eager \
    gradbench kernels numbers lantern lantern-table peers figures docs dist release-check check format clean
.DEFAULT_GOAL := compare

ARGS ?=
FOR ?=
# Each Python that is asked for by name or path has its own environment.
VENV := .venv$(if $(PYTHON),-$(subst /,-,$(PYTHON)))
BIN := $(VENV)/bin
SETUP := $(VENV)/.set-up
RUN := $(BIN)/python -m

compare: $(SETUP)
	$(RUN) stages $(ARGS)

test: $(SETUP)
	$(RUN) pytest -n 2 --dist loadfile -p no:benchmark $(ARGS)

# The files that find the most in the least time: both engines, errors, conventions, emitted code.
quick: $(SETUP)
	$(RUN) pytest -q -x -p no:benchmark @tests/quick.txt $(ARGS)

campaign: $(SETUP)
ifeq ($(FOR),)
	$(RUN) pytest -m "slow or not slow" --hypothesis-profile=campaign $(ARGS)
else
	cd tests && ../$(RUN) fuzzing.campaign --seconds $(FOR) --seed "$$(date +%s)" --save ../failures $(ARGS)
endif

mutants: $(SETUP)
	$(RUN) tools.mutants $(ARGS)

# The report is written even if a benchmark fails, and says which have no time.
BENCH = $(RUN) pytest bench/suite -q -p no:xdist --benchmark-disable-gc --benchmark-quiet
RUNS := bench/runs
NOW := $(shell date -u +%Y%m%d-%H%M%S)

bench bench-quick compiled first-calls second sparse ode styles eager gradbench lantern-table: export OMP_NUM_THREADS := 1

bench: $(SETUP)
	@mkdir -p $(RUNS)
	$(BENCH) --benchmark-json=$(RUNS)/$(NOW).json $(ARGS); status=$$?; \
	$(RUN) bench.reporting $(RUNS)/$(NOW).json --to bench/report && exit $$status

bench-quick: $(SETUP)
	@mkdir -p $(RUNS)
	$(BENCH) --quick --benchmark-json=$(RUNS)/$(NOW)-quick.json $(ARGS); status=$$?; \
	$(RUN) bench.reporting $(RUNS)/$(NOW)-quick.json --to bench/report/quick && exit $$status

bench-publish: $(SETUP)
	$(RUN) bench.reporting --publish $(ARGS)
	$(RUN) paper_figures table1 scaling

bench-compare: $(SETUP)
	$(RUN) bench.compare $(ARGS)

compiled: $(SETUP)
	$(RUN) bench.compiled --second $(ARGS)

first-calls: $(SETUP)
	$(RUN) bench.first_calls $(ARGS)

parallel: $(SETUP)
	$(RUN) bench.parallel $(ARGS)

kernels: $(SETUP)
	$(RUN) bench.kernels $(ARGS)

machines: $(SETUP)
	$(RUN) bench.many_machines $(ARGS)

second: $(SETUP)
	$(RUN) bench.second $(ARGS)

sparse: $(SETUP)
	$(RUN) bench.sparse $(ARGS)

ode: $(SETUP)
	$(RUN) bench.ode $(ARGS)

styles: $(SETUP)
	$(RUN) bench.styles $(ARGS)

eager: $(SETUP)
	$(RUN) bench.eager $(ARGS)

gradbench: $(SETUP)
	$(RUN) bench.gradbench.table $(ARGS)

numbers: $(SETUP)
	$(RUN) bench.numbers $(ARGS)

lantern: $(SETUP)
	$(RUN) examples.lantern $(or $(ARGS),--help)

lantern-table: $(SETUP)
	$(RUN) examples.lantern.beside $(ARGS)

peers: $(SETUP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[peers]'

# Warnings are errors; nothing is fetched once the extra is installed.
docs: $(SETUP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	rm -rf site
	PYTHONPATH=. $(RUN) sphinx -q -W --keep-going -c docs -d .sphinx -b html . site
	@echo "the site: site/index.html"

dist: $(SETUP)
	rm -rf build dist
	$(RUN) build --no-isolation

release-check: $(SETUP)
	$(RUN) tools.release_check $(ARGS)

figures: $(SETUP)
	$(RUN) paper_figures $(ARGS)
	$(RUN) paper_figures.walkthrough_pictures
	$(RUN) paper_figures.papers

check: $(SETUP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(SETUP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv .venv-* build dist *.egg-info .pytest_cache .ruff_cache .mypy_cache .hypothesis

# The first of these that runs and is new enough. PYTHON=... on the command line overrides the search.
# The stamp is written last: a set-up that was cut off starts again.
$(SETUP): pyproject.toml Makefile
	@python="$(PYTHON)"; \
	for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	    [ -n "$$python" ] && break; \
	    $$candidate -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null && python=$$candidate; \
	done; \
	[ -n "$$python" ] || { echo "dualrev needs Python 3.11 to 3.14; none was found. Try: make $(MAKECMDGOALS) PYTHON=/path/to/python3.12"; exit 1; }; \
	echo "setting up $(VENV) with $$($$python --version)"; \
	$$python -m venv --clear $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,lint]'
	@touch $@
