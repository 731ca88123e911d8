"""Try sign-in by a provider on this machine: `make try-social` runs the test provider and the service beside it.

Nothing is kept: database and mails lie in a folder that is removed at the end. GATEWRIGHT_SERVER__PORT names another
port than 8000.
"""

import contextlib
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

import httpx

from tests.labs.provider.process import ProviderProcess, providing
from tests.labs.provider.settings import social_settings
from tests.live import ROOT

PORT = int(os.environ.get("GATEWRIGHT_SERVER__PORT", "8000"))
BASE = f"http://localhost:{PORT}"
TAKEN = f"Port {PORT} is taken; name another, as in: GATEWRIGHT_SERVER__PORT=8001 make try-social"
INVITATION = """
Open   {application}
and sign in as Ada, Bob or Eve. The service is at {service}, its documentation at {service}/docs.
Ctrl-C ends both.
"""


def main() -> int:
    """Run both until Ctrl-C, and print where to begin; give the exit status of the service, 1 where it has no port."""
    if _is_taken():
        print(TAKEN, file=sys.stderr)
        return 1
    with (
        tempfile.TemporaryDirectory(prefix="gatewright-try-") as directory,
        providing(name="of the tests") as provider,
    ):
        service = subprocess.Popen(_command(), cwd=directory, env=_environment(provider))
        try:
            if _answers(service):
                print(INVITATION.format(application=_application(provider), service=BASE), flush=True)
            return service.wait()
        except KeyboardInterrupt:
            return service.wait(timeout=60)


def _is_taken() -> bool:
    """Return whether another program listens already; it would be taken for the service, for it may answer as well."""
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", PORT)) == 0


def _answers(service: "subprocess.Popen[bytes]") -> bool:
    """Wait until the service answers; False if it ends before that."""
    while service.poll() is None:
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(f"{BASE}/ok", trust_env=False).status_code == 200
        time.sleep(0.1)
    return False


def _command() -> list[str]:
    return [str(Path(sys.executable).with_name("gatewright")), "serve", "--port", str(PORT)]


def _environment(provider: ProviderProcess) -> dict[str, str]:
    """Return the environment of a service that knows the provider; browsers get its cookies over http."""
    settings = {**social_settings(provider), "session.cookie_secure": "false", "profile": "development"}
    named = {f"GATEWRIGHT_{name.upper().replace('.', '__')}": value for name, value in settings.items()}
    return {**os.environ, "PYTHONPATH": str(ROOT), **named}


def _application(provider: ProviderProcess) -> str:
    """Return the URL of the demo page, at the host of the service: browsers send cookies within one site only."""
    host = provider.issuer.replace("127.0.0.1", "localhost")
    return f"{host}/app?service={quote(BASE, safe='')}"


if __name__ == "__main__":
    sys.exit(main())
