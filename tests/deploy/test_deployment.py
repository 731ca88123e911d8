"""What deploy/ holds would run: its settings are settings, its probes are operations, its schemas and bounds hold."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from codegen.bundle import bundle
from server.config import profiles
from server.config.groups.mail import MailSettings
from server.config.groups.server import ServerSettings
from server.services import load_settings
from tests.live import PROGRAM, ROOT

DEPLOY = ROOT / "deploy"
MANIFESTS = sorted(path.name for path in (DEPLOY / "kubernetes").glob("*.yaml"))
PREFIX = "GATEWRIGHT_"


def read(name: str) -> Any:
    """Return a YAML file of deploy/."""
    return yaml.safe_load((DEPLOY / name).read_text("utf-8"))


COMPOSE = read("compose.yaml")
CHOSEN = {
    "GATEWRIGHT_BASE_URL": "https://auth.example.com",
    "GATEWRIGHT_MAIL__FROM": "accounts@example.com",
} | {"GATEWRIGHT_MAIL__SMTP__HOST": "smtp.example.com"}
"""What compose.yaml asks for; `${NAME:-}` is empty unless chosen."""


def of_compose() -> dict[str, str]:
    """Return the environment of the service as compose makes it."""
    written = COMPOSE["services"]["service"]["environment"]
    chosen = {
        name: re.sub(r"\$\{(\w+):.*\}", lambda found: CHOSEN.get(found[1], ""), text)
        for name, text in written.items()
    }
    assert "$" not in "".join(chosen.values())
    return chosen


def of_systemd() -> dict[str, str]:
    """Return the environment of the service as systemd makes it, from the unit and its file of settings."""
    lines = (DEPLOY / "systemd/gatewright.env").read_text("utf-8").splitlines()
    unit = (DEPLOY / "systemd/gatewright.service").read_text("utf-8")
    lines += re.findall(r"^Environment=(.*)$", unit, re.MULTILINE)
    return dict(line.split("=", 1) for line in lines if line.startswith(PREFIX))


def of_kubernetes() -> dict[str, str]:
    """Return the environment of the service as Kubernetes makes it."""
    return dict(read("kubernetes/settings.yaml")["data"])


def with_files(environ: Mapping[str, str], directory: Path) -> dict[str, str]:
    """Return the environment with files of its own for the secrets."""
    contents = {"secrets": "s" * 64, "database_url": "postgresql://gatewright:secret@database/gatewright"}
    files = {name: directory / name for name in environ if name.endswith("_FILE")}
    for name, path in files.items():
        subject = name.removeprefix(PREFIX).removesuffix("_FILE").lower()
        path.write_text(contents.get(subject, "correct horse battery") + "\n", "utf-8")
    return {**environ, **{name: str(path) for name, path in files.items()}}


@pytest.mark.parametrize(
    "environ", [of_compose(), of_systemd(), of_kubernetes()], ids=["compose", "systemd", "kubernetes"]
)
def test_its_settings_are_known_hold_no_secret_and_let_it_start(
    environ: dict[str, str], tmp_path: Path
) -> None:
    secrets = {name for name in environ if re.search(r"SECRETS|PASSWORD(?!_RESET)|DATABASE_URL", name)}
    chosen = with_files(environ, tmp_path)

    settings = load_settings(chosen, tmp_path)

    assert settings.profile == "production"
    assert settings[MailSettings].sender == "smtp"
    assert settings.base_url == "https://auth.example.com"
    assert profiles.warnings(chosen, tmp_path) == []
    assert [name for name in secrets if not name.endswith("_FILE")] == []


def test_whoever_stops_the_service_waits_longer_than_the_service_for_requests_in_flight() -> None:
    grace = ServerSettings().shutdown_grace
    unit = (DEPLOY / "systemd/gatewright.service").read_text("utf-8")
    pod = pod_of("deployment.yaml")
    pause = pod["containers"][0]["lifecycle"]["preStop"]["sleep"]["seconds"]

    assert seconds(COMPOSE["services"]["service"]["stop_grace_period"]) > grace
    assert seconds(re.findall(r"^TimeoutStopSec=(\d+)$", unit, re.MULTILINE)[0]) > grace
    assert seconds(pod["terminationGracePeriodSeconds"]) > seconds(pause) + grace


def seconds(written: int | str) -> timedelta:
    return timedelta(seconds=int(str(written).removesuffix("s")))


def pod_of(manifest: str) -> Any:
    """Return the specification of the pods that a manifest describes."""
    return read(f"kubernetes/{manifest}")["spec"]["template"]["spec"]


def test_the_probes_are_operations() -> None:
    paths = bundle()["paths"]
    container = pod_of("deployment.yaml")["containers"][0]
    probes = [container[f"{name}Probe"]["httpGet"] for name in ("startup", "liveness", "readiness")]
    command = COMPOSE["services"]["service"]["healthcheck"]["test"][-1]
    [of_compose] = re.findall(r"http://127\.0\.0\.1:8000(/[a-z]+)", command)

    assert all("get" in paths[path] for path in (of_compose, *(probe["path"] for probe in probes)))
    assert of_compose == "/ready"
    assert {probe["port"] for probe in probes} <= {port["name"] for port in container["ports"]}


class TestKubernetes:
    @pytest.mark.parametrize("name", [name for name in MANIFESTS if name != "kustomization.yaml"])
    def test_knows_every_field(self, name: str) -> None:
        document = read(f"kubernetes/{name}")

        kubernetes_validate.validate(document, kubernetes_validate.latest_version(), strict=True)

    def test_gets_each_manifest_that_exists(self) -> None:
        listed = set(read("kubernetes/kustomization.yaml")["resources"])

        assert listed | {"kustomization.yaml", "migration.yaml"} == set(MANIFESTS)

    def test_lets_one_namespace_each_reach_a_port_of_the_pods(self) -> None:
        deployment, policy = read("kubernetes/deployment.yaml"), read("kubernetes/network.yaml")["spec"]
        ports = {port["name"] for port in pod_of("deployment.yaml")["containers"][0]["ports"]}

        assert policy["podSelector"] == deployment["spec"]["selector"]
        assert {port["port"] for rule in policy["ingress"] for port in rule["ports"]} == ports
        assert all(len(rule["from"]) == len(rule["ports"]) == 1 for rule in policy["ingress"])

    @pytest.mark.parametrize("name", ["deployment.yaml", "migration.yaml"])
    def test_gives_pods_their_secrets_and_nothing_they_do_not_need(self, name: str) -> None:
        pod = pod_of(name)
        rights = pod["containers"][0]["securityContext"]
        mounts = pod["containers"][0]["volumeMounts"]
        files = [value for name, value in of_kubernetes().items() if name.endswith("_FILE")]

        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        assert pod["enableServiceLinks"] is False
        assert rights["readOnlyRootFilesystem"] is True
        assert rights["allowPrivilegeEscalation"] is False
        assert rights["capabilities"] == {"drop": ["ALL"]}
        assert [str(Path(file).parent) for file in files] == [mounts[0]["mountPath"]] * 3

    def test_and_compose_migrate_before_they_serve(self) -> None:
        services = COMPOSE["services"]

        assert services["service"]["depends_on"] == {
            "migration": {"condition": "service_completed_successfully"}
        }
        assert (
            pod_of("migration.yaml")["containers"][0]["args"]
            == services["migration"]["command"]
            == ["migrate"]
        )
        assert (
            of_kubernetes()["GATEWRIGHT_DATABASE__MIGRATE"]
            == of_compose()["GATEWRIGHT_DATABASE__MIGRATE"]
            == "check"
        )


class TestCommandBesideSystemd:
    """The script that runs commands with the settings of the unit."""

    def test_reads_the_settings_and_the_secrets_of_the_unit(self, tmp_path: Path) -> None:
        for name, text in (
            ("gatewright.env", (DEPLOY / "systemd/gatewright.env").read_text("utf-8")),
            ("secrets", "s" * 64),
            ("database_url", "postgresql://gatewright:secret@database/gatewright"),
            ("smtp_password", "correct horse battery"),
        ):
            (tmp_path / name).write_text(text, "utf-8")
        script = (DEPLOY / "systemd/gatewright").read_text("utf-8").replace("/etc/gatewright", str(tmp_path))
        script = script.replace("/opt/gatewright/bin/gatewright", str(PROGRAM))

        checked = subprocess.run(
            ["sh", "-c", script, "gatewright", "check-config"],
            capture_output=True, text=True, check=False, cwd=tmp_path, env={"PATH": os.environ["PATH"]},
        )  # fmt: skip

        assert checked.returncode == 0, checked.stderr
        assert "database    postgresql://gatewright:***@database/gatewright" in checked.stdout

    def test_names_every_secret_of_the_unit(self) -> None:
        unit, script = (
            (DEPLOY / "systemd" / name).read_text("utf-8") for name in ("gatewright.service", "gatewright")
        )

        named = set(re.findall(r"^(\w+_FILE)=", script, re.MULTILINE))

        assert named == set(re.findall(r"^Environment=(\w+_FILE)=", unit, re.MULTILINE))
        for path in re.findall(r"^LoadCredential=\w+:(.*)$", unit, re.MULTILINE):
            assert path in script


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is part of systemd")
class TestSystemd:
    def test_understands_the_unit(self, tmp_path: Path) -> None:
        unit = tmp_path / "gatewright.service"
        program = Path(sys.executable).with_name("gatewright")
        written = (DEPLOY / "systemd/gatewright.service").read_text("utf-8")
        unit.write_text(written.replace("/opt/gatewright/bin/gatewright", str(program)), "utf-8")

        said = subprocess.run(
            ["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False
        )

        assert unit.read_text("utf-8") != written
        assert (said.returncode, said.stderr) == (0, "")

    def test_lets_hashing_threads_step_back(self) -> None:
        """They do it by a system call that stands among those that an intruder could take resources with."""
        unit = (DEPLOY / "systemd/gatewright.service").read_text("utf-8")
        allowed: set[str] = set()
        for words in re.findall(r"^SystemCallFilter=(.*)$", unit, re.MULTILINE):
            calls = {call for word in words.removeprefix("~").split() for call in system_calls(word)}
            allowed = allowed - calls if words.startswith("~") else allowed | calls

        assert {"accept4", "setpriority"} <= allowed
        assert not {"mount", "setrlimit"} & allowed

    def test_finds_little_that_an_intruder_could_do(self) -> None:
        unit = DEPLOY / "systemd/gatewright.service"

        # The threshold is ten times the exposure that systemd prints.
        said = subprocess.run(
            ["systemd-analyze", "security", "--offline=true", "--threshold=20", unit],
            capture_output=True,
            text=True,
            check=False,
        )

        assert said.returncode == 0, said.stdout


def system_calls(name: str) -> set[str]:
    """Return the system calls of one of systemd's groups and of those in it; anything else is a call itself."""
    if not name.startswith("@"):
        return {name}
    said = subprocess.run(
        ["systemd-analyze", "syscall-filter", name], capture_output=True, text=True, check=True
    )
    members = [line.strip() for line in said.stdout.splitlines() if line.startswith(" ")]
    return {call for member in members if not member.startswith("#") for call in system_calls(member)}


class TestImage:
    """An image cannot be built everywhere; what would go into one can be installed and asked."""

    def test_holds_what_the_program_needs(self, tmp_path: Path) -> None:
        source, installed = tmp_path / "source", tmp_path / "installed"
        source.mkdir()
        for name in copied():
            (source / name).parent.mkdir(exist_ok=True)
            copy(ROOT / name, source / name)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps"]
        subprocess.run([*pip, "--target", installed, source], check=True, stdin=subprocess.DEVNULL)

        built = subprocess.run(
            [sys.executable, "-c", "from server.cli.main import app; app()", "openapi"],
            cwd=tmp_path,
            env={"PYTHONPATH": str(installed)},
            capture_output=True,
            check=True,
        )

        packages = {
            path.relative_to(source) for path in data(source) if len(path.relative_to(source).parts) > 1
        } - {Path("deploy/rootfs.sh")}  # It makes the image.
        assert packages - {path.relative_to(installed) for path in data(installed)} == set()
        assert b'"openapi"' in built.stdout

    def test_leaves_out_what_the_ignore_file_leaves_out(self) -> None:
        ignore = (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8").splitlines()

        assert {line.removeprefix("!") for line in ignore if line.startswith("!")} == set(copied())


def copy(path: Path, target: Path) -> None:
    """Copy a file, or a folder without what Python has compiled."""
    if path.is_file():
        shutil.copy(path, target)
    else:
        shutil.copytree(path, target, ignore=shutil.ignore_patterns("__pycache__"))


def copied() -> list[str]:
    """Return the names that the Dockerfile copies from the project."""
    lines = re.findall(r"^COPY (?!--)(.*)$", (DEPLOY / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    return [name for line in lines for name in line.split()[:-1]]


def data(folder: Path) -> set[Path]:
    """Return the files of a folder that a program may need; what makes SDKs is used from a checkout alone."""
    passed_over = re.compile(r"/(__pycache__|build|bin|sdk|[^/]+-info)/|\.(pyc|so)$")
    return {path for path in folder.rglob("*") if path.is_file() and not passed_over.search(str(path))}
