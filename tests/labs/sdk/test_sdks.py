"""The generated SDKs, installed as their users install them, drive a running service through every operation."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from codegen.bundle import bundle
from codegen.client_forms import client_forms
from codegen.walk import operations
from codegen.webhooks import requests
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.live import LiveService, administrator, serving
from tests.service import declared_settings
from tests.settings.api_keys import VERIFIER

ROOT = Path(__file__).parents[3]
CONSUMERS = Path(__file__).parent / "consumers"
BUILD = ROOT / "build" / "sdk"
TIME_LIMIT = 600.0

NEEDS = {
    "go": "go", "java": "mvn", "kotlin": "mvn", "php": "php", "ruby": "ruby", "rust": "cargo", "typescript": "npm",
}  # fmt: skip
"""The program that must be there to build what is generated for a language."""

SLOW = pytest.mark.skipif(
    "GATEWRIGHT_TEST_ALL_SDKS" not in os.environ,
    reason="building it takes minutes; set GATEWRIGHT_TEST_ALL_SDKS=1 to do it",
)

Command = list[str | Path]


def run(*command: str | Path, where: Path = ROOT, **environment: str) -> None:
    """Run a command to its end; what it prints is the text of the failure."""
    finished = subprocess.run(
        command, cwd=where, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=TIME_LIMIT, check=False,
    )  # fmt: skip
    assert finished.returncode == 0, f"{command}\n{finished.stdout}\n{finished.stderr}"


@cache
def generate(language: str) -> Path:
    """Generate the SDK of a language, once; give its folder. Skips where the language's own tools are not installed."""
    needed = [NEEDS[language]] if language in NEEDS else []
    if language not in ("python", "typescript"):
        needed.append("java")  # openapi-generator
    missing = [program for program in needed if shutil.which(program) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} not installed, so an SDK for {language} cannot be built")
    run(ROOT / ".ci" / "sdk.sh", language)
    return BUILD / language


def drive(
    directory: Path, provider: ProviderProcess, *command: str | Path, where: Path, **environment: str
) -> None:
    """Run a journey beside a service of its own, and see that it asked for every operation of the contract."""
    provider.reset()
    settings = {
        **social_settings(provider),
        **declared_settings("WITH_MAIL"),
        "magic_links.page": "",
        "magic_links.confirm": "false",
    }
    with serving(directory, settings) as live:
        mails = str(directory / "mail.jsonl")
        admin = administrator(live.url, directory)
        known = {
            "ADMIN_EMAIL": admin,
            "VERIFIER": VERIFIER,
            "SERVICE_ROOT": live.url,
            "PROVIDER_ISSUER": provider.issuer,
            "MAIL_FILE": mails,
            "AUTHENTICATOR": f"{sys.executable} -m tests.labs.sdk.authenticator {directory / 'authenticator.json'}",
            "PYTHONPATH": str(ROOT),
        }
        run(*command, where=where, **known, **environment)
        live.process.terminate()
        live.process.wait(timeout=60)
        asked = requests_of(live)

    every = {(operation.method.upper(), operation.path) for operation in operations(client_forms(bundle()))}
    assert every - asked == set()


def receive(*command: str | Path, where: Path) -> None:
    """Hand an example of every event to a receiver of webhooks that uses the generated types, and read what it says."""
    bodies = [
        request["requestBody"]["content"]["application/json"]["example"]
        for request in requests(bundle()).values()
    ]
    finished = subprocess.run(
        command, cwd=where, input="".join(f"{json.dumps(body)}\n" for body in bodies),
        capture_output=True, text=True, timeout=TIME_LIMIT, check=False,
    )  # fmt: skip

    assert finished.returncode == 0, f"{command}\n{finished.stdout}\n{finished.stderr}"
    assert finished.stdout.splitlines() == [f"{body['type']}: {_about(body)}" for body in bodies]


def _about(event: dict[str, Any]) -> str:
    """Return what consumers/*/events.* say of an event."""
    match event:
        case {"type": "user.created", "data": {"method": about}}:
            return str(about)
        case {"type": "user.deleted", "data": {"user": {"id": about}}}:
            return str(about)
        case {"type": "session.revoked", "data": {"sessionIds": ids}}:
            return ",".join(ids)
        case {"type": "member.role_changed", "data": {"previousRole": before, "role": after}}:
            return f"{before} -> {after}"
        case {"type": "signing_key.created", "data": {"kid": about}}:
            return str(about)
    return event["data"]["actorId"] or "nobody"


def drive_shortly(directory: Path, *command: str | Path, where: Path = ROOT, **environment: str) -> None:
    """Run a journey through signing in, sessions, the profile and a second factor beside services of its own."""
    with serving(directory, {}) as live, open_service(directory) as open_root:
        run(*command, where=where, SERVICE_ROOT=live.url, OPEN_ROOT=open_root, **environment)


@contextmanager
def open_service(directory: Path) -> Iterator[str]:
    """Serve where no session is required, so that null is an answer; give the origin."""
    (directory / "open").mkdir()
    with serving(directory / "open", {"require_authentication": "false"}) as live:
        yield live.url


def journey_in(language: str) -> Path:
    """Put the project that uses a language's SDK beside that SDK; give its folder."""
    return Path(shutil.copytree(CONSUMERS / language, BUILD / f"journey-{language}", dirs_exist_ok=True))


def requests_of(live: LiveService) -> set[tuple[str, str]]:
    """Return method and path, as the contract writes it, of every request a service has logged."""
    events = (json.loads(line) for line in live.output.lines if line.startswith("{"))
    return {(event["method"], event["path"]) for event in events if event["event"] == "request"}


def test_python(tmp_path: Path, provider_process: ProviderProcess) -> None:
    sdk = generate("python")
    place = BUILD / ".tools" / "consumer"
    python = place / "bin" / "python"
    # What the SDK says it needs must be enough, so nothing else is there; checking its types is this project's part.
    run(sys.executable, "-m", "venv", "--clear", "--without-pip", place)
    pip: Command = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile"]
    run(*pip, "--disable-pip-version-check", sdk, "pyotp")

    journey = journey_in("python")
    mypy: Command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", python]
    for checked in (journey, sdk / "gatewright_client"):
        # What needs a framework is checked by test_python_kit.py, in an environment that has one.
        run(*mypy, "--exclude", "/kit/", "--cache-dir", tmp_path / "mypy", checked, where=tmp_path)
    receive(python, journey / "events.py", where=tmp_path)
    # Calls need no extra of the package.
    run(python, CONSUMERS / "python_kit" / "calls.py", where=tmp_path)
    drive(tmp_path, provider_process, python, journey / "journey.py", where=tmp_path)


def test_typescript(tmp_path: Path, provider_process: ProviderProcess) -> None:
    generate("typescript")
    place = journey_in("typescript")
    shutil.copy(CONSUMERS / "tsconfig.json", place)
    run("npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error", where=place)

    run("npx", "tsc", where=place)
    receive("node", "dist/events.js", where=place)
    drive(tmp_path, provider_process, "node", "dist/journey.js", where=place)


@SLOW
@pytest.mark.parametrize("document", ["openapi-clients.json", "openapi.json"])
def test_another_generator_reads_what_is_served(document: str, tmp_path: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    place = journey_in("fetch")
    shutil.copy(CONSUMERS / "tsconfig.json", place)
    run("npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error", where=place)

    with serving(tmp_path, {}) as live:
        run("npx", "openapi-typescript", f"{live.url}/{document}", "--output", "schema.ts", where=place)
    run("npx", "tsc", where=place)

    (tmp_path / "anew").mkdir()
    drive_shortly(tmp_path / "anew", "node", "dist/journey.js", where=place)


def test_go(tmp_path: Path) -> None:
    run("go", "vet", "./...", where=generate("go"))
    place = journey_in("go")

    run("go", "mod", "tidy", where=place)
    run("go", "build", "-o", "journey", where=place)
    drive_shortly(tmp_path, place / "journey")


@SLOW
def test_rust(tmp_path: Path) -> None:
    generate("rust")
    place = journey_in("rust")

    run("cargo", "build", "--quiet", where=place)
    drive_shortly(tmp_path, place / "target" / "debug" / "journey")


@SLOW
def test_php(tmp_path: Path) -> None:
    sdk = generate("php")
    if not Path("/usr/share/php/GuzzleHttp").is_dir():
        pytest.skip("Guzzle is not installed as a Debian package: php-guzzlehttp-guzzle")

    drive_shortly(tmp_path, "php", CONSUMERS / "journey.php", SDK=str(sdk))


@SLOW
def test_ruby(tmp_path: Path) -> None:
    sdk = generate("ruby")
    if subprocess.run(["ruby", "-e", "require 'typhoeus'"], check=False, capture_output=True).returncode != 0:
        pytest.skip("Typhoeus is not installed; on Debian: ruby-typhoeus")

    drive_shortly(tmp_path, "ruby", "-I", sdk / "lib", CONSUMERS / "journey.rb")


@SLOW
def test_kotlin(tmp_path: Path) -> None:
    generate("kotlin")
    place = journey_in("kotlin")

    run("mvn", "--quiet", "--batch-mode", "compile", where=place)
    classes = f"{place}/target/classes{os.pathsep}{place}/target/libraries/*"
    drive_shortly(tmp_path, "java", "-cp", classes, "JourneyKt")


@SLOW
def test_java(tmp_path: Path) -> None:
    sdk = generate("java")
    copy = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
    run("mvn", "--quiet", "--batch-mode", "compile", copy, "-DoutputDirectory=target/libraries", where=sdk)

    classes = f"{sdk}/target/classes{os.pathsep}{sdk}/target/libraries/*"
    drive_shortly(tmp_path, "java", "-cp", classes, CONSUMERS / "Journey.java")
