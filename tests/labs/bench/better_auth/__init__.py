"""Better Auth as a peer, where Node is present: installed by npm into a folder outside the project."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tests.labs.bench.servers import Server
from tests.ports import free_port

_HERE = Path(__file__).parent
_FILES = ("package.json", "server.mjs")


class PeerAbsent(Exception):
    """Better Auth cannot be measured here; the message says why."""


def install() -> Path:
    """Install the pinned versions, unless they are there, and give the folder. Raises PeerAbsent."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        raise PeerAbsent("node or npm is missing")
    folder = _cache() / "better-auth"
    folder.mkdir(parents=True, exist_ok=True)
    wanted, installed = (_HERE / "package.json").read_text(), folder / "installed.json"
    for name in _FILES:
        shutil.copy(_HERE / name, folder)
    if not installed.exists() or installed.read_text() != wanted:
        _run_npm(folder)
        installed.write_text(wanted)
    return folder


def server(name: str, database_url: str, folder: Path, directory: Path) -> Server:
    """Return Better Auth, installed in `folder`, on a database; its log goes to `directory`."""
    port = free_port()
    return Server(
        name=name,
        command=["node", "server.mjs"],
        port=port,
        log=directory / f"{name.replace(' ', '-')}.log",
        base_path="/api/auth",
        environment={"NODE_ENV": "production", "PORT": str(port), "DATABASE_URL": database_url},
        directory=folder,
    )


def _cache() -> Path:
    return Path(os.environ.get("TMPDIR") or tempfile.gettempdir()) / "gatewright-bench"


def _run_npm(folder: Path) -> None:
    done = subprocess.run(
        ["npm", "install", "--no-audit", "--no-fund"],
        cwd=folder, text=True, check=False, stdin=subprocess.DEVNULL, capture_output=True,
    )  # fmt: skip
    if done.returncode:
        raise PeerAbsent(f"npm could not install it: {done.stderr.strip()[-500:]}")
