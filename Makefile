# `make` alone explains what there is. The two folders it makes, .venv and build, may be deleted at any time.

BIN := .venv/bin
INSTALLED := .venv/installed
SERVICE := .venv/service

.DEFAULT_GOAL := help
.PHONY: help setup run try-social test test-long check format docs docs-serve reference table mutants fuzz faults contract contract-diff \
  sdk-python sdk-typescript sdk types migrate migration bench bench-growth

help:
	@awk 'BEGIN {FS = ":.*## "} \
	  /^##@ / {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Every day

setup: $(INSTALLED) ## make .venv with everything in the versions of constraints.txt

$(INSTALLED): pyproject.toml constraints.txt
	@.ci/setup.sh

# What only runs the service, or asks it for the contract, does without the tools of development.
$(SERVICE): pyproject.toml constraints.txt
	@.ci/setup.sh service

run: $(SERVICE) ## serve on http://127.0.0.1:8000 with SQLite, mail printed here
	@GATEWRIGHT_PROFILE=development $(BIN)/gatewright serve

try-social: setup ## try sign-in by a provider: serve beside the test provider, with a page to begin at
	@$(BIN)/python -m tests.provider.trying

# Tests start many processes, each of which would compile the whole program anew where Python may not keep its bytecode.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

test: setup ## run the tests (ARGS="tests/domain -k reset" for some) in at most 5 minutes; needs PostgreSQL
	@.ci/postgresql.sh
	$(PYTEST) -m "not long" $(ARGS)

test-long: setup ## run the rest: the second database, faults, SDKs, guides, browsers, many generated requests
	@.ci/postgresql.sh
	@.ci/redis.sh
	@.ci/faketime.sh
	@.ci/chromium.sh
	@.ci/curl.sh
	@.ci/haproxy.sh
	@.ci/pgbouncer.sh
	path=$$(.ci/node.sh) && PATH=$$path $(PYTEST) -m long $(ARGS)

check: setup ## lint, formatting, types, the law of imports, generated code, a test for every known attack
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m codegen.shapes --check
	$(BIN)/python -m tests.security.table --check
	$(BIN)/python -m tests.security.mutants --check
	$(BIN)/python -m docs.settings --check

format: setup ## mend what can be mended by itself
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

##@ Documentation

docs: setup ## build the documentation site into build/site; whatever does not hold together fails
	@.ci/docs.sh build

docs-serve: setup ## show the site on http://127.0.0.1:8001 while it is written
	@.ci/docs.sh serve

reference: setup ## write docs/pages/reference/settings.md anew from the settings classes
	$(BIN)/python -m docs.settings

##@ Attacks

table: setup ## write SECURITY-TESTS.md anew: every known attack, and the tests that stand for it
	$(BIN)/python -m tests.security.table

mutants: setup ## remove one defence after the other and expect a test to fail (long; ARGS="V47 V12" or ARGS=--top for some)
	@.ci/postgresql.sh
	@.ci/redis.sh
	$(BIN)/python -m tests.security.mutants $(ARGS)

fuzz: setup ## random sequences of operations against a model (ARGS="--seconds 3600 --database postgresql", --help)
	@.ci/postgresql.sh
	$(BIN)/python -m tests.fuzz $(ARGS)

faults: setup ## break database, disk, mail and providers, in forms that `make test-long` leaves out too (40 minutes)
	@.ci/postgresql.sh
	GATEWRIGHT_LONG=1 $(BIN)/python -m pytest -s tests/faults $(ARGS)

##@ The contract

contract: setup ## check openapi/ by its house rules, and put it together as build/openapi.json
	$(BIN)/python -m pytest tests/contract/test_house_rules.py
	@mkdir -p build
	$(BIN)/gatewright openapi > build/openapi.json

contract-diff: setup ## what breaks clients of an older contract, as in: make contract-diff BASE=main (or a file)
	@test -n "$(BASE)" || { echo 'Say what to compare with, as in: make contract-diff BASE=main' >&2; exit 2; }
	@program=$$(.ci/oasdiff.sh) && $(BIN)/python -m codegen.diff "$(BASE)" --oasdiff "$$program"

sdk-python: $(SERVICE) ## generate the Python SDK into build/sdk/python
	@.ci/sdk.sh python

sdk-typescript: $(SERVICE) ## generate the TypeScript SDK into build/sdk/typescript
	@.ci/sdk.sh typescript

sdk: $(SERVICE) ## generate an SDK in another language, as in: make sdk LANG=go (java, kotlin, php, ruby, rust, ...)
	@.ci/sdk.sh "$(LANG)"

types: setup ## write handlers/shapes.py anew from openapi/
	$(BIN)/python -m codegen.shapes

##@ The database

migrate: $(SERVICE) ## bring the configured database up to date (the profile is development unless set)
	@GATEWRIGHT_PROFILE=$${GATEWRIGHT_PROFILE:-development} $(BIN)/gatewright migrate

migration: setup ## draft the next migration from models/, as in: make migration NAME="audit records"
	@test -n "$(NAME)" || { echo 'Give it a name: make migration NAME="audit records"' >&2; exit 1; }
	@mkdir -p build && rm -f build/migration.db
	$(BIN)/alembic -x url=sqlite:///build/migration.db upgrade head
	$(BIN)/alembic -x url=sqlite:///build/migration.db revision --autogenerate -m "$(NAME)" \
	  --rev-id "$$(printf %04d $$(($$(ls models/migrations/versions/[0-9]*.py | wc -l) + 1)))"

##@ Measuring

bench: setup ## measure beside a bare ASGI application and Better Auth (ARGS="--help" for choices)
	@.ci/postgresql.sh
	@tests/bench/wrk.sh
	$(BIN)/python -m tests.bench $(ARGS)

bench-growth: setup ## measure with 10 thousand, 1 million and 10 million sessions (long; ARGS="--sizes 10000,100000 --ended 10000")
	@.ci/postgresql.sh
	$(BIN)/python -m tests.bench.growth $(ARGS)
