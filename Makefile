# `make` without a target lists all targets. .venv and build are generated and may be deleted at any time.

BIN := .venv/bin
INSTALLED := .venv/installed
SERVICE := .venv/service

.DEFAULT_GOAL := help
.PHONY: help setup run try-social test test-long test-ha test-keycloak test-oauth2-proxy test-upgrade test-package test-chart check format cost package release docs screenshots docs-serve reference table mutants fuzz fuzz-protocol page-quality faults contract contract-diff image \
  sdk-python sdk-typescript sdk types translations migrate migration bench bench-console bench-growth

help:
	@awk 'BEGIN {FS = ":.*## "} \
	  /^##@ / {printf "\n%s\n", substr($$0, 5)} \
	  /^[a-z-]+:.*## / {printf "  make %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Every day

setup: $(INSTALLED) ## create .venv, with the versions of constraints.txt

$(INSTALLED): pyproject.toml constraints.txt
	@.ci/setup.sh

# Targets that only run the service, or print the OpenAPI document, skip the development dependencies.
$(SERVICE): pyproject.toml constraints.txt
	@.ci/setup.sh service

run: $(SERVICE) ## run on http://localhost:8000 with SQLite; emails are printed to the terminal
	@exec env GATEWRIGHT_PROFILE=development $(BIN)/gatewright serve

try-social: setup ## try sign-in through a provider: run the service, the test provider and a demo page
	@$(BIN)/python -m tests.labs.provider.trying

# Tests start many processes; without a bytecode cache, each of them would compile the whole program again.
PYTEST := PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n auto --dist loadfile --no-loadscope-reorder

# These check the files of the project; `make check` runs them.
CHECKS := $(addprefix tests/,codegen/test_shapes.py contract/test_house_rules.py server/api/test_build.py test_layout.py test_licences.py test_packaging.py test_slices.py)

# The programs that the long tests need.
define TOOLS
@.ci/postgresql.sh
@.ci/redis.sh
@.ci/faketime.sh
@.ci/chromium.sh
@.ci/curl.sh
@.ci/haproxy.sh
@.ci/pgbouncer.sh
@.ci/proxies.sh
@.ci/verifiers.sh
@.ci/xmlsec.sh
@.ci/containers.sh
endef

test: setup ## run the tests (ARGS="tests/domain -k reset" for some) in about 5 minutes
	@.ci/postgresql.sh
	$(PYTEST) -m "not long" $(CHECKS:%=--ignore=%) $(ARGS)

test-long: setup ## run the rest: the second database, faults, SDKs, guides, browsers, many generated requests
	$(TOOLS)
	path=$$(.ci/node.sh) && PATH=$$path $(PYTEST) -m long $(ARGS)

test-ha: setup ## break a PostgreSQL cluster with failover under load (15 to 25 minutes; ARGS="--replication synchronous --only host", --help)
	@.ci/postgresql.sh
	@.ci/ha.sh
	$(BIN)/python -m tests.labs.ha $(ARGS)

check: setup ## lint, format, types, import rules, house rules, generated code, a test for every known attack
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m codegen.shapes --check
	$(BIN)/python -m codegen.catalogs --check
	$(BIN)/python -m tests.security.table --check
	$(BIN)/python -m tests.security.mutants --check
	$(BIN)/python -m docs.settings --check
	$(BIN)/python -m docs.emails --check
	@.ci/forge.sh
	$(BIN)/python -m pytest $(CHECKS)

format: setup ## fix lint and format problems automatically
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

cost: setup ## count the files that a capability edited: make cost RANGE=main..HEAD NAME=webhooks
	@test -n "$(RANGE)" -a -n "$(NAME)" || { echo 'RANGE or NAME is missing, for example: make cost RANGE=main..HEAD NAME=webhooks' >&2; exit 2; }
	@$(BIN)/python -m tests.capability_cost "$(RANGE)" $(foreach name,$(NAME),--name $(name))

package: setup ## build wheel and sdist into build/dist
	@.ci/package.sh

test-package: setup ## build wheel and sdist twice, compare the bytes, and try them with each Python that is here
	GATEWRIGHT_LONG=1 $(BIN)/python -m pytest tests/deploy/test_package.py

release: setup ## build, check and try everything that is released into build/release, and print what to tag and upload
	@.ci/release.sh

image: setup ## build the container image into build/image, without a daemon and a registry (ARCH=arm64 for the other processor)
	@.ci/image.sh $(ARCH)

##@ Documentation

docs: setup ## build the documentation site into build/site; warnings are errors
	@.ci/docs.sh build

screenshots: setup ## take pictures of every hosted page into build/screenshots (ARGS=--gallery: also for the documentation)
	@.ci/chromium.sh
	$(BIN)/python -m tests.labs.e2e.screenshots $(ARGS)

docs-serve: setup ## serve the site on http://127.0.0.1:8001 and rebuild it on changes
	@.ci/docs.sh serve

reference: setup ## generate the reference of settings, and the tables of emails, from the code
	$(BIN)/python -m docs.settings
	$(BIN)/python -m docs.emails

##@ Security

table: setup ## generate SECURITY-TESTS.md: every known attack and its tests
	$(BIN)/python -m tests.security.table

mutants: setup ## remove one defence at a time and expect a test to fail (slow; ARGS="V47 V12" or ARGS=--top for some)
	$(TOOLS)
	path=$$(.ci/node.sh) && PATH=$$path $(BIN)/python -m tests.security.mutants $(ARGS)

fuzz: setup ## compare random sequences of operations with a model (ARGS="--seconds 3600 --database postgresql", --help)
	@.ci/postgresql.sh
	$(BIN)/python -m tests.labs.fuzz $(ARGS)

fuzz-protocol: setup ## send more generated requests to every operation than test-long, and many to those of OAuth (EXAMPLES=1000, each)
	GATEWRIGHT_EXAMPLES=$(or $(EXAMPLES),300) $(BIN)/python -m pytest tests/contract/test_schemathesis.py

page-quality: setup ## check every hosted page in Chromium, with Lighthouse and the console in Arabic, which test-long omits; Firefox if it is here
	@.ci/chromium.sh
	path=$$(.ci/node.sh) && PATH=$$path GATEWRIGHT_LONG=1 $(BIN)/python -m pytest tests/labs/e2e/test_page_quality.py tests/labs/e2e/test_firefox.py

faults: setup ## test failures of database, disk, mail and providers, with the slow tests that test-long omits (40 minutes)
	@.ci/postgresql.sh
	GATEWRIGHT_LONG=1 $(BIN)/python -m pytest -s tests/labs/faults tests/server/webhooks/test_storms.py $(ARGS)

test-upgrade: setup ## upgrade from every release on both databases, under load (3 minutes)
	@.ci/postgresql.sh
	GATEWRIGHT_LONG=1 $(BIN)/python -m pytest tests/labs/upgrades $(ARGS)

test-keycloak: setup ## sign users in through Keycloak in a browser, by SAML and OpenID Connect (10 minutes, by hand and before a release)
	@.ci/postgresql.sh
	@.ci/chromium.sh
	home=$$(.ci/keycloak.sh) && GATEWRIGHT_TEST_KEYCLOAK=$$home $(BIN)/python -m pytest tests/labs/keycloak $(ARGS)

test-oauth2-proxy: setup ## build oauth2-proxy, and protect a page by it in a browser
	@.ci/chromium.sh
	GATEWRIGHT_LONG=1 $(BIN)/python -m pytest tests/labs/e2e/test_oauth2_proxy.py

test-chart: setup ## build Helm, render the chart with several values, and compare it with the plain manifests
	GATEWRIGHT_LONG=1 $(BIN)/python -m pytest tests/deploy/test_chart.py

##@ OpenAPI document and clients

contract: setup ## check the rules for openapi/, and bundle it into build/openapi.json
	$(BIN)/python -m pytest tests/contract/test_house_rules.py
	@mkdir -p build
	$(BIN)/gatewright openapi > build/openapi.json

contract-diff: setup ## list breaking changes since another version: make contract-diff BASE=main (or a file)
	@test -n "$(BASE)" || { echo 'BASE is missing, for example: make contract-diff BASE=main' >&2; exit 2; }
	@program=$$(.ci/oasdiff.sh) && $(BIN)/python -m codegen.diff "$(BASE)" --oasdiff "$$program"

sdk-python: $(SERVICE) ## generate the Python SDK into build/sdk/python (NAME=acme-auth names the package)
	@.ci/sdk.sh python $(NAME)

sdk-typescript: $(SERVICE) ## generate the TypeScript SDK into build/sdk/typescript (NAME=@acme/auth names the package)
	@.ci/sdk.sh typescript $(NAME)

sdk: $(SERVICE) ## generate an SDK in another language: make sdk LANG=go (java, kotlin, php, ruby, rust, ...)
	@.ci/sdk.sh "$(LANG)"

types: setup ## generate handlers/shapes.py from openapi/
	$(BIN)/python -m codegen.shapes

##@ Languages

translations: setup ## collect the texts of pages, emails and errors into domain/locales/, and list what is not translated
	$(BIN)/python -m codegen.catalogs

##@ Database

migrate: $(SERVICE) ## migrate the configured database (default profile: development)
	@GATEWRIGHT_PROFILE=$${GATEWRIGHT_PROFILE:-development} $(BIN)/gatewright migrate

migration: setup ## draft a migration from models/: make migration NAME="audit records"
	@test -n "$(NAME)" || { echo 'NAME is missing, for example: make migration NAME="audit records"' >&2; exit 1; }
	@mkdir -p build && rm -f build/migration.db
	$(BIN)/alembic -x url=sqlite:///build/migration.db upgrade head
	$(BIN)/alembic -x url=sqlite:///build/migration.db revision --autogenerate -m "$(NAME)" \
	  --rev-id "$$(printf %04d $$(($$(ls models/migrations/versions/[0-9]*.py | wc -l) + 1)))"

##@ Benchmarks

bench: setup ## compare with a bare ASGI application and Better Auth (ARGS="--help" for options)
	@.ci/postgresql.sh
	@tests/labs/bench/wrk.sh
	$(BIN)/python -m tests.labs.bench $(ARGS)

bench-console: setup ## measure the users of the console with 10 thousand and 1 million users (ARGS="--audit 30000000" for every page; --help)
	@.ci/postgresql.sh
	$(BIN)/python -m tests.labs.bench.console $(ARGS)

bench-growth: setup ## measure with 10 thousand, 1 million and 10 million sessions (slow; ARGS="--sizes 10000,100000 --ended 10000")
	@.ci/postgresql.sh
	$(BIN)/python -m tests.labs.bench.growth $(ARGS)
