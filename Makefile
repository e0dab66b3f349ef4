# Two commands matter: `make demo` and `make test`. Both install what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/python -m uv
PEERS := .venv-peers
PREFECT_3_9 := .venv-prefect-3.9
# Tests start hundreds of processes: what they import is compiled once, whatever the shell says.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: install demo test test-merge check test-cluster quick quick-tests torture test-image bench bench-quick lint docs lock stats release version clean

install: $(VENV)/.installed
	@echo "Callsheet is installed. To use the callsheet command in any folder, run once:"
	@echo '  mkdir -p ~/.local/bin && ln -sf "$(abspath $(BIN))/callsheet" ~/.local/bin/callsheet'
	@echo '  export PATH="$$HOME/.local/bin:$$PATH"    # if ~/.local/bin is not on it yet'
	@echo "Then go to the folder of your sheet and run: callsheet run SHEET --sandbox"

# Runtime only: what you need to make videos, and the sandbox to try it with.
$(VENV)/.installed: constraints.txt constraints-parquet.txt constraints-mcp.txt \
		constraints-sandbox.txt pyproject.toml $(VENV)/.uv
	@echo "Installing Callsheet into $(VENV) (one to three minutes, no account needed)"
	@$(UV) pip install --quiet --python $(BIN)/python --require-hashes \
		-r constraints.txt -r constraints-parquet.txt -r constraints-mcp.txt \
		-r constraints-sandbox.txt
	@$(UV) pip install --quiet --python $(BIN)/python --no-deps -e .
	@touch $@

# What the tests, the linters and the benchmarks need as well.
$(VENV)/.installed-dev: constraints-dev.txt $(VENV)/.installed
	@echo "Installing the tools of the tests"
	@$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r constraints-dev.txt
	@touch $@

$(VENV)/.uv:
	@$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if (3, 11) <= v < (3, 14) else "Callsheet needs Python 3.11 to 3.13, this is %d.%d: make PYTHON=python3.12 ..." % v[:2])'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check uv==0.13.8
	@touch $@

# The tests of pages click through them in a real browser.
$(VENV)/.browser: $(VENV)/.installed-dev
	@$(BIN)/python -m tests.browser
	@touch $@

# The unit tests of the alert rules are Prometheus' own.
$(VENV)/.promtool: $(VENV)/.installed-dev
	@$(BIN)/python -m tests.promtool
	@touch $@

# Completion is tested in the shells that people have.
$(VENV)/.shells: $(VENV)/.installed-dev
	@$(BIN)/python -m tests.shells
	@touch $@

# Prefect keeps its history in a PostgreSQL with extensions, which no package of Python's brings.
$(VENV)/.postgres: $(VENV)/.installed-dev
	@$(BIN)/python -m tests.cluster.postgres
	@touch $@

demo: $(VENV)/.installed
	@echo "callsheet run configs/campaigns/spring-launch.csv --sandbox --yes --budget 400"
	@$(BIN)/callsheet run configs/campaigns/spring-launch.csv --sandbox --yes --budget 400
	@echo "Next, review the videos in your browser: $(BIN)/callsheet board --sandbox --open"

# Programs are started from the wheel, as somebody has it who installs it.
test: $(VENV)/.installed-dev $(VENV)/.browser $(VENV)/.promtool $(VENV)/.shells
	@$(BIN)/python -m tests.wheel $(VENV)/wheel
	@TESTED_WHEEL=$(CURDIR)/$(VENV)/wheel $(BIN)/python -m pytest --forks 8 -o cache_dir=$(VENV)/.pytest_cache

# The other tests, which have to pass before a change lands: real programs, and further cases.
test-merge: $(VENV)/.installed-dev $(VENV)/.browser $(VENV)/.promtool $(VENV)/.shells
	@$(BIN)/python -m tests.wheel $(VENV)/wheel
	@TESTED_WHEEL=$(CURDIR)/$(VENV)/wheel $(BIN)/python -m pytest --forks 8 \
		-m "merge and not always and not slow" -o cache_dir=$(VENV)/.pytest_cache

# The tests of what changed since a commit, for at most a minute: make check SINCE=main
check: $(VENV)/.installed-dev
	@$(BIN)/python -m tests.check $(SINCE)

# Two thousand rows by four workers, which die, stop and lose their servers: five minutes.
test-cluster: $(VENV)/.installed-dev $(VENV)/.postgres
	@$(BIN)/python -m tests.cluster $(CLUSTER)

# What shows within a minute or two that another Python will do: make quick PYTHON=python3.13
quick:
	@$(MAKE) --no-print-directory quick-tests \
		VENV=.venv-$$($(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')

quick-tests: $(VENV)/.installed-dev
	folder=$$(mktemp -d) && cd $$folder && trap "rm -rf $$folder" EXIT && \
		$(CURDIR)/$(BIN)/callsheet run $(CURDIR)/configs/campaigns/spring-launch.csv \
		--sandbox --yes --budget 400
	$(BIN)/python -m pytest -q --forks 3 -o cache_dir=$(VENV)/.pytest_cache \
		-k "not postgres" tests/unit tests/guards

# Every crash point, fault and model step, and the tests' own tests: three quarters of an hour.
# Where the newest Prefect cannot be installed, the tests with it are left out.
torture: $(VENV)/.installed-dev
	-@$(MAKE) --no-print-directory $(PREFECT_3_9)/.installed
	@$(BIN)/python -m tests.torture

# The image, built and at work without a container engine: some minutes, as root on Linux.
test-image: $(VENV)/.installed-dev
	@$(BIN)/python -m tests.containers

# Two tables of the same lines: half an hour, or two minutes with smaller numbers. Where the
# other engines cannot be installed, their lines say so.
bench: $(VENV)/.installed-dev
	-@$(MAKE) --no-print-directory $(PEERS)/.installed
	@$(BIN)/python -m tests.bench $(BENCH)

bench-quick: $(VENV)/.installed-dev
	-@$(MAKE) --no-print-directory $(PEERS)/.installed
	@$(BIN)/python -m tests.bench --quick $(BENCH)

# Engines that `make bench` compares with and that do not agree with what Callsheet pins.
$(PEERS)/.installed: constraints-peers.txt $(VENV)/.uv
	$(PYTHON) -m venv $(PEERS)
	$(UV) pip install --quiet --python $(PEERS)/bin/python --require-hashes -r constraints-peers.txt
	@touch $@

# The flow tests are run with this Prefect as well. It asks for a newer certifi than every index
# has, so what it needs is what the others need.
$(PREFECT_3_9)/.installed: constraints-prefect-3.9.txt constraints-dev.txt $(VENV)/.uv
	$(PYTHON) -m venv $(PREFECT_3_9)
	$(UV) pip install --quiet --python $(PREFECT_3_9)/bin/python --require-hashes \
		-r constraints-dev.txt
	$(UV) pip install --quiet --python $(PREFECT_3_9)/bin/python --require-hashes --no-deps \
		-r constraints-prefect-3.9.txt
	$(UV) pip install --quiet --python $(PREFECT_3_9)/bin/python --no-deps -e .
	@touch $@

lint: $(VENV)/.installed-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@# What Windows and macOS lack.
	$(BIN)/mypy --platform win32 --cache-dir .mypy_cache/win32
	$(BIN)/mypy --platform darwin --cache-dir .mypy_cache/darwin

# docs/ as a site in build/site. A broken link, or a page that zensical.toml does not list, fails.
docs: $(VENV)/.installed-dev
	@$(BIN)/python -m tests.site.site build/site

# Pin everything anew; the newest versions of Prefect's own dependencies break it, so the caps in
# pyproject.toml stand. Prefect itself is pinned to what every index can install.
lock: $(VENV)/.uv
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate --upgrade pyproject.toml --extra dev --extra demo --extra otel \
		-c tests/prefect-3.8.txt \
		-o constraints-dev.txt
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate pyproject.toml -c constraints-dev.txt -o constraints.txt
	for extra in parquet mcp sandbox demo otel; do $(BIN)/python -m tests.containers.extra $$extra | $(UV) pip \
		compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate - -c constraints-dev.txt -o constraints-$$extra.txt; done
	$(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
		--no-annotate --upgrade tests/bench/peers/requirements.in -o constraints-peers.txt

# The size of the program: lines, files, imports, tests, glossary.
stats:
	@$(PYTHON) -m tests.stats

# Build a release of this commit into dist/, and check it: some minutes. Nothing is uploaded.
release: $(VENV)/.installed-dev
	@$(BIN)/python -m tests.release

# Write a new version everywhere: make version VERSION=1.2.0
version: $(VENV)/.installed-dev
	@$(BIN)/python -m tests.release.version $(VERSION)

clean:
	rm -rf $(VENV) .venv-3.* $(PEERS) $(PREFECT_3_9) build dist *.egg-info .callsheet deliveries
