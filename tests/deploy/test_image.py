"""The image that `make image` builds, run as an operator would: as its own user, on a read-only file system."""

import json
import re
import resource
import shutil
import signal
import subprocess
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import IO, Any
from uuid import uuid4

import httpx
import pytest
from sqlalchemy import make_url

from tests.live import ROOT, Output
from tests.ports import free_port
from tests.postgres import Cluster

PROGRAMS = ("buildah", "dpkg", "podman", "runc")
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        None in map(shutil.which, PROGRAMS),
        reason="needs Debian with buildah, podman and runc, which .ci/containers.sh installs where it may",
    ),
]

IMAGE = "localhost/gatewright:latest"
SIZE_LIMIT = 200_000_000
USER = {"name": "Ada", "email": "ada@example.com", "password": "seven red bicycles"}
SETTINGS = {
    "GATEWRIGHT_BASE_URL": "https://auth.example.com",
    "GATEWRIGHT_DATABASE_URL": "sqlite:////var/lib/gatewright/gatewright.db",
    "GATEWRIGHT_SECRETS_FILE": "/run/secrets/service_keys",
    "GATEWRIGHT_MAIL__SENDER": "smtp",
    "GATEWRIGHT_MAIL__FROM": "accounts@example.com",
    "GATEWRIGHT_MAIL__SMTP__HOST": "127.0.0.1",
    "GATEWRIGHT_MAIL__SMTP__PORT": "9",
}
FORBIDDEN = {"apt-get", "bash", "busybox", "cc", "dash", "dpkg", "gcc", "ld", "perl", "pip", "pip3", "sh"}

LOAD_EVERYTHING = """
import ctypes, pathlib, sys
libraries = [*pathlib.Path("/usr").rglob("*.so"), *pathlib.Path("/usr").rglob("*.so.*")]
failures = []
for library in libraries:
    try:
        ctypes.CDLL(str(library))
    except OSError as error:
        failures.append(str(error))
print(len(libraries), *failures, sep="\\n")
"""


@dataclass(frozen=True, slots=True)
class Image:
    """The archive that `docker load` reads: the configuration and the members of the layers."""

    configuration: Mapping[str, Any]
    members: list[tarfile.TarInfo]


@pytest.fixture(scope="module")
def image() -> Image:
    """Build the image; it replaces one that was built before."""
    subprocess.run([ROOT / ".ci/image.sh"], check=True, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    architecture = run("dpkg", "--print-architecture").strip()
    with tarfile.open(ROOT / f"build/image/gatewright-{architecture}.tar") as archive:
        [manifest] = json.loads(content(archive, "manifest.json"))
        configuration = json.loads(content(archive, manifest["Config"]))
        layers = [archive.extractfile(name) for name in manifest["Layers"]]
        members = [member for layer in layers for member in members_of(layer)]
    return Image(configuration["config"], members)


def members_of(layer: IO[bytes] | None) -> list[tarfile.TarInfo]:
    """Return the members of a layer."""
    with tarfile.open(fileobj=layer) as archive:
        return archive.getmembers()


def content(archive: tarfile.TarFile, name: str) -> bytes:
    """Return a file of an archive."""
    file = archive.extractfile(name)
    assert file is not None
    return file.read()


def run(*command: str) -> str:
    """Return what a command prints. Raises AssertionError with its errors if it fails."""
    finished = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished.stdout


@dataclass(frozen=True)
class Containers:
    """How this test runs containers: with no rights, and with folders for secrets and the database."""

    folder: Path

    def command(self, *arguments: str, name: str = "", settings: Mapping[str, str] = SETTINGS) -> list[str]:
        """Return the command that runs the image with these arguments."""
        # Where the test may not raise its own limits, podman's defaults above them would fail.
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        variables = [f"--env={name}={value}" for name, value in settings.items()]
        options = [
            *("--rm", "--read-only", "--tmpfs=/tmp", "--network=host", "--no-healthcheck"),
            *("--cap-drop=all", "--security-opt=no-new-privileges"),
            *(f"--ulimit=nofile={files}:{files}", "--ulimit=nproc=1000:1000"),
            f"--volume={self.folder}/secrets:/run/secrets:ro",
            f"--volume={self.folder}/data:/var/lib/gatewright",
            f"--name={name or f'gatewright-{uuid4()}'}",
        ]
        return ["podman", "--runtime=runc", "run", *options, *variables, *arguments]

    @contextmanager
    def serving(self, settings: Mapping[str, str]) -> Iterator[tuple[str, str, Output]]:
        """Run the service; yield its URL, the name of the container and its output.

        Raises AssertionError if it does not end with status 0 after SIGTERM.
        """
        name, port = f"gatewright-{uuid4()}", free_port()
        command = self.command(
            IMAGE, name=name, settings={**SETTINGS, **settings, "GATEWRIGHT_SERVER__PORT": str(port)}
        )
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        assert process.stdout is not None
        output = Output()
        reader = Thread(target=output.read, args=(process.stdout,))
        reader.start()
        try:
            output.wait_for(r"service\.started")
            yield f"http://127.0.0.1:{port}", name, output
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)
            reader.join()
            process.stdout.close()
        assert process.returncode == 0, "".join(output.lines)


@pytest.fixture
def containers(image: Image, tmp_path: Path) -> Containers:
    """Return containers with service keys, and a folder for the database, that user 10001 owns."""
    for name in ("secrets", "data"):
        (tmp_path / name).mkdir()
        shutil.chown(tmp_path / name, 10001, 10001)
    keys = tmp_path / "secrets" / "service_keys"
    keys.write_text("k" * 64)
    shutil.chown(keys, 10001)
    return Containers(tmp_path)


def test_is_small_and_has_no_shell_no_compiler_and_no_setuid_file(image: Image) -> None:
    names = {Path(member.name).name for member in image.members if not member.isdir()}

    assert sum(member.size for member in image.members) < SIZE_LIMIT
    assert names & FORBIDDEN == set()
    assert "python3.13" in names
    assert [member.name for member in image.members if member.isfile() and member.mode & 0o6000] == []
    assert [member.name for member in image.members if member.isfile() and member.mode & 0o022] == []
    assert {member.name for member in image.members if member.uid == 10001} == {"var/lib/gatewright"}


def test_says_what_it_is_and_how_to_run_and_check_it(image: Image) -> None:
    configuration = image.configuration
    labels = {
        name.removeprefix("org.opencontainers.image."): text for name, text in configuration["Labels"].items()
    }

    assert configuration["User"] == "10001:10001"
    assert configuration["Entrypoint"] == ["gatewright"]
    assert configuration["Cmd"] == ["serve"]
    assert configuration["ExposedPorts"].keys() == {"8000/tcp", "9464/tcp"}
    assert configuration["StopSignal"] == "SIGTERM"
    assert labels["licenses"] == "MIT"
    assert re.fullmatch(r"\d+\.\d+\.\d+", labels["version"])
    assert re.fullmatch(r"[0-9a-f]{40}", labels["revision"])


def test_has_every_library_that_another_needs(containers: Containers) -> None:
    count, *failures = run(
        *containers.command("--entrypoint=python3", IMAGE, "-c", LOAD_EVERYTHING)
    ).splitlines()

    assert failures == []
    assert int(count) > 100


def test_keeps_users_in_sqlite_on_a_volume(containers: Containers) -> None:
    """It also becomes healthy, has compiled bytecode of all that a start loads, and ends with status 0."""
    run(*containers.command(IMAGE, "migrate"))
    with containers.serving({"PYTHONVERBOSE": "1"}) as (url, name, output):
        check = json.loads(run("podman", "image", "inspect", "--format={{json .HealthCheck.Test}}", IMAGE))
        assert httpx.post(f"{url}/sign-up/email", json=USER).status_code == 200
        run("podman", "--runtime=runc", "exec", name, *check[1:])
        printed = "".join(output.lines)
    with containers.serving({}) as (url, _, _):
        signed_in = httpx.post(f"{url}/sign-in/email", json=USER)

    assert signed_in.status_code == 200
    assert "import 'server.app" in printed
    assert re.findall(r"^# code object from '?(/\S+\.py)'?$", printed, re.MULTILINE) == []


def test_keeps_users_in_postgresql(containers: Containers, cluster: Cluster) -> None:
    url = make_url(cluster.create()).set(drivername="postgresql").render_as_string(hide_password=False)
    settings = {"GATEWRIGHT_DATABASE_URL": url}
    run(*containers.command(IMAGE, "migrate", settings={**SETTINGS, **settings}))

    with containers.serving(settings) as (address, _, _):
        assert httpx.post(f"{address}/sign-up/email", json=USER).status_code == 200
        assert httpx.post(f"{address}/sign-in/email", json=USER).status_code == 200


def test_reports_the_database_when_it_is_not_healthy(containers: Containers) -> None:
    """The health check is the request that fails while no service responds."""
    check = json.loads(run("podman", "image", "inspect", "--format={{json .HealthCheck.Test}}", IMAGE))
    variables = {**SETTINGS, "GATEWRIGHT_SERVER__PORT": str(free_port())}
    command = containers.command("--entrypoint", check[1], IMAGE, *check[2:], settings=variables)

    finished = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert finished.returncode == 1
    assert "Connection refused" in finished.stderr
