"""The provider as a process of its own, and the control of it from a test."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Thread
from typing import Any

import httpx

from tests.live import ROOT, Output


@dataclass(frozen=True)
class ProviderProcess:
    """A running provider: its issuer, and what a test may tell and ask it (`state.Controls` names the controls)."""

    issuer: str
    process: "subprocess.Popen[bytes]" = field(repr=False)
    http: httpx.Client = field(repr=False)

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.issuer.rpartition(":")[2])

    def control(self, **changes: Any) -> None:
        """Change how it behaves, as in `control(user={"sub": "7"}, misbehave={"token": {"status": 500}})`."""
        self._post("/control", changes)

    def reset(self, **changes: Any) -> None:
        """Forget everything but the first keys, and then change how it behaves."""
        self._post("/control/reset", {})
        self.control(**changes)

    def rotate_keys(self) -> dict[str, Any]:
        """Replace the signing keys; give the new public ones."""
        keys: dict[str, Any] = self._post("/control/rotate-keys", {}).json()
        return keys

    def mint(self, **wanted: Any) -> str:
        """Return an ID token; `claims` and `header` override, None removes; `sign_with`, `algorithm` as in control."""
        token: str = self._post("/control/mint", wanted).json()["id_token"]
        return token

    def log(self, endpoint: str | None = None) -> list[dict[str, Any]]:
        """Return the requests it has seen since the reset, oldest first; those of one endpoint only, if named."""
        answer = self.http.get("/control/log")
        answer.raise_for_status()
        return [seen for seen in answer.json() if endpoint in {None, seen["endpoint"]}]

    def stop(self) -> None:
        """End the process, as when the provider is down; another may be started on the same port."""
        self.process.terminate()
        self.process.wait(timeout=30)

    def _post(self, path: str, body: dict[str, Any]) -> httpx.Response:
        answer = self.http.post(path, json=body)
        assert answer.status_code == 200, answer.text
        return answer


@contextmanager
def providing(*, name: str = "one", port: int = 0) -> Iterator[ProviderProcess]:
    """Run a provider on the loopback, on a free port unless one is named, and end it afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.labs.provider", "--name", name, "--port", str(port)],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None
    output = Output()
    reader = Thread(target=output.read, args=(process.stdout,))
    reader.start()
    try:
        issuer = json.loads(output.wait_for(r'^\{"issuer".*\}$')[0])["issuer"]
        with httpx.Client(base_url=issuer, trust_env=False, timeout=30) as http:
            yield ProviderProcess(issuer, process, http)
    finally:
        process.terminate()
        process.wait(timeout=30)
        reader.join()
        process.stdout.close()
