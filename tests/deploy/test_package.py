"""The wheel and the source distribution, installed into a clean environment of each Python that is here."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Thread
from zipfile import ZipFile

import httpx
import pytest

from codegen.bundle import FOLDER, INDEX, forms
from tests.live import NOTHING, ROOT, Output

EVERY_PYTHON = pytest.mark.skipif(
    not os.environ.get("GATEWRIGHT_LONG"), reason="installs everything several times"
)
READ_ONLY = {"PYTHONDONTWRITEBYTECODE": "1"}
"""An environment in which Python keeps nothing that it compiles."""
STANDARD_LIBRARY = sysconfig.get_path("stdlib")

DEVELOPMENT_ONLY = {"flask", "openapi-spec-validator", "pytest", "schemathesis"}
NEWEST = 20
"""The highest minor version of Python 3 that is looked for."""
USABLE = "import ensurepip, venv"


@cache
def interpreters() -> dict[str, str]:
    """Return the Python interpreters that the package admits, by version."""
    found = {}
    # The programs that pyenv puts into PATH run only the versions that it is set to.
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob("versions/*/bin")
    path = os.pathsep.join([os.environ["PATH"], *map(str, sorted(pyenv))])
    for minor in range(11, NEWEST):
        for folder in path.split(os.pathsep):
            program = shutil.which(f"python3.{minor}", path=folder)
            if (
                program
                and subprocess.run([program, "-c", USABLE], check=False, capture_output=True).returncode == 0
            ):
                found[f"3.{minor}"] = program
                break
    return found


def variables(directory: Path) -> dict[str, str]:
    """Return an environment that knows nothing of this checkout."""
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("GATEWRIGHT_", "PYTHON"))
    }
    return {
        **inherited,
        "HOME": str(directory),
        "GATEWRIGHT_PROFILE": "development",
        "GATEWRIGHT_SERVER__PORT": "0",
    }


def installed(python: str, package: Path, environment: Path, extras: str = "") -> Path:
    """Install a package into a new environment; return the folder of its programs."""
    subprocess.run([python, "-m", "venv", environment], check=True)
    install: list[str | Path] = [environment / "bin/pip", "install", "-q", "--disable-pip-version-check"]
    subprocess.run(
        [*install, "--constraint", ROOT / "constraints.txt", f"{package}{extras}"],
        env={**os.environ, **READ_ONLY},
        check=True,
    )
    return environment / "bin"


@pytest.fixture(scope="module")
def built() -> Path:
    """Build both; return their folder."""
    subprocess.run([ROOT / ".ci" / "package.sh"], check=True, stdout=subprocess.DEVNULL)
    return ROOT / "build" / "dist"


@contextmanager
def served(program: Path, directory: Path, extra: Mapping[str, str] = NOTHING) -> Iterator[Output]:
    """Run `gatewright serve` in a folder, with `extra` variables; yield what it prints."""
    process = subprocess.Popen(
        [program, "serve"],
        cwd=directory,
        env={**variables(directory), **extra},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None
    output = Output()
    reader = Thread(target=output.read, args=(process.stdout,))
    reader.start()
    try:
        yield output
    finally:
        process.terminate()
        process.wait(60)
        reader.join()
        process.stdout.close()


def compiled(program: Path, directory: Path) -> set[str]:
    """Return the files that a start of the service compiles, without those of Python itself."""
    with served(program, directory, {**READ_ONLY, "PYTHONVERBOSE": "1"}) as output:
        output.wait_for(r"service\.started")
        printed = "".join(output.lines)
    sources = set(re.findall(r"^# code object from (\S+\.py)$", printed, re.MULTILINE))
    return {path for path in sources if "site-packages" in path or not path.startswith(STANDARD_LIBRARY)}


def copied(directory: Path) -> Path:
    """Copy what a clone with this state of the tree would have into a folder, and return it."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (directory / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, directory / name)
    return directory


def digests(folder: Path) -> dict[str, str]:
    """Return the digests of the files of a folder, by name."""
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in folder.iterdir()}


@pytest.mark.long
def test_the_packages_have_the_same_bytes_wherever_they_are_built(tmp_path: Path) -> None:
    """Here the wheel is built from the source distribution; in the copy, both are built from the tree, and the wheel a
    second time from what an image gets: without .gitignore, with what an editable installation left."""
    copy = copied(tmp_path / "copy")
    for file in copy.rglob("*"):
        file.chmod(0o700 if file.is_dir() or file.stat().st_mode & 0o100 else 0o600)
        os.utime(file, (1_900_000_000, 1_900_000_000))
    elsewhere = {**os.environ, "TZ": "Asia/Tokyo", "LC_ALL": "C", "PYTHONHASHSEED": "7"}

    subprocess.run([ROOT / ".ci/package.sh", tmp_path / "here"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--sdist", "--wheel", "--outdir", tmp_path / "there"],
        cwd=copy, env=elsewhere, umask=0o077, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip

    (copy / ".gitignore").unlink()
    (copy / "openapi" / FOLDER).mkdir()
    (copy / "openapi" / FOLDER / "contract.json").write_text("of an editable installation")
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", tmp_path / "image"],
        cwd=copy, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip

    assert len(digests(tmp_path / "here")) == 2
    assert digests(tmp_path / "there") == digests(tmp_path / "here")
    assert digests(tmp_path / "image").items() < digests(tmp_path / "here").items()


@pytest.mark.long
def test_set_up_leaves_nothing_to_compile(tmp_path: Path) -> None:
    """As `make setup` and `make run` do it in a new clone."""
    copied(tmp_path)
    environ = {**os.environ, **READ_ONLY}
    subprocess.run([tmp_path / ".ci/setup.sh", "service"], env=environ, check=True, stdout=subprocess.DEVNULL)

    assert compiled(tmp_path / ".venv/bin/gatewright", tmp_path) == set()


@EVERY_PYTHON
def test_the_wheel_has_the_bundled_contract_and_swagger_ui(built: Path) -> None:
    [wheel] = built.glob("*.whl")
    with ZipFile(wheel) as archive:
        names = [Path(name).name for name in archive.namelist()]
        assert {"swagger-ui.css", "swagger-ui-bundle.js", "swagger-ui-license.txt"} <= set(names)
        for form, content in forms(INDEX).items():
            assert archive.read(f"openapi/{FOLDER}/{form}.json") == content


@EVERY_PYTHON
@pytest.mark.parametrize(
    ("version", "kind"),
    [*((version, "*.whl") for version in interpreters()), (next(iter(interpreters())), "*.tar.gz")],
)
def test_migrates_serves_and_mails(version: str, kind: str, built: Path, tmp_path: Path) -> None:
    [package] = built.glob(kind)
    program = installed(interpreters()[version], package, tmp_path / "env") / "gatewright"
    directory = tmp_path / "empty"
    directory.mkdir()

    assert compiled(program, directory) == set()
    subprocess.run([program, "migrate"], cwd=directory, env=variables(directory), check=True)
    with served(program, directory) as output:
        address = output.wait_for(r"\b(localhost:[1-9]\d*)\b")[1]
        user = {"name": "Ada", "email": "ada@example.com", "password": "seven red bicycles"}
        with httpx.Client(base_url=f"http://{address}", trust_env=False, timeout=60) as client:
            assert client.get("/ok").status_code == 200
            assert client.post("/sign-up/email", json=user).status_code == 200
            assert client.get("/docs").status_code == 200
            query = output.wait_for(r"^http\S+/verify-email(\?\S+)$")[1]
            assert client.get(f"/verify-email{query}").json()["user"]["emailVerified"]


@EVERY_PYTHON
def test_every_python_builds_the_same_bytes(built: Path, tmp_path: Path) -> None:
    """As somebody does who verifies a release: in an isolated environment, with the tools of constraints.txt."""
    copy = copied(tmp_path / "copy")
    pinned = {**os.environ, "PIP_CONSTRAINT": str(ROOT / "constraints.txt")}
    for version, python in interpreters().items():
        environment = tmp_path / version
        subprocess.run([python, "-m", "venv", environment], check=True)
        subprocess.run([environment / "bin/pip", "install", "-q", "build"], env=pinned, check=True)
        subprocess.run(
            [environment / "bin/python", "-m", "build", "--outdir", environment / "dist"],
            cwd=copy, env=pinned, check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip

        assert digests(environment / "dist") == digests(built), version


@EVERY_PYTHON
def test_the_bill_of_materials_is_complete_and_reproducible(built: Path, tmp_path: Path) -> None:
    [wheel] = built.glob("*.whl")
    subprocess.run([ROOT / ".ci/sbom.sh", wheel, tmp_path / "sbom.json"], check=True)
    text = (tmp_path / "sbom.json").read_text("utf-8")
    document = json.loads(text)

    names = {component["name"].lower() for component in document["components"]}
    assert {"swagger-ui-dist", "connexion", "cryptography", "opentelemetry-sdk"} <= names
    assert not {"pip", "setuptools"} & names | DEVELOPMENT_ONLY & names
    assert all(component["licenses"] for component in document["components"])
    assert {reference["ref"] for reference in document["dependencies"]} == {
        "root-component", *(component["bom-ref"] for component in document["components"]),
    }  # fmt: skip
    # What would differ from one run to the next, or from one machine to the next.
    assert "serialNumber" not in document
    assert "timestamp" not in document["metadata"]
    assert "file:" not in text


IMPORT_ALL = """
import json, pkgutil, sys
from importlib import import_module
from importlib.metadata import distributions

failed = {}
for package in ("domain", "handlers", "models", "server"):
    for module in pkgutil.walk_packages(import_module(package).__path__, f"{package}."):
        try:
            import_module(module.name)
        except ModuleNotFoundError as error:
            failed[module.name] = error.name
        except AttributeError:
            assert module.name == "models.migrations.env", module.name  # only Alembic can load it
print(json.dumps([sorted(each.name.lower() for each in distributions()), failed]))
"""


@EVERY_PYTHON
@pytest.mark.parametrize(
    ("extras", "missing"),
    [("", {"server.observability.opentelemetry": "opentelemetry"}), ("[otel]", {})],
)
def test_every_module_can_be_imported_with_what_is_declared(
    extras: str, missing: Mapping[str, str], built: Path, tmp_path: Path
) -> None:
    """`tests/test_packaging.py` shows that nothing more is declared."""
    [wheel] = built.glob("*.whl")
    programs = installed(next(iter(interpreters().values())), wheel, tmp_path / "env", extras)

    printed = subprocess.run(
        [programs / "python", "-c", IMPORT_ALL],
        cwd=tmp_path, env=variables(tmp_path), capture_output=True, check=True,
    ).stdout  # fmt: skip
    names, failed = json.loads(printed)

    assert failed == missing
    assert not DEVELOPMENT_ONLY & set(names)
