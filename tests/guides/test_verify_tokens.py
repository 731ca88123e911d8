"""The guide "Verify tokens in FastAPI, Express and Go without a request", typed as it is written."""

import shutil
from pathlib import Path

import httpx
import pytest

from tests.docs.typing_in import commands, guide, placed, typed, write_files
from tests.guides.protected import APPLICATION, GATEWRIGHT, running
from tests.live import serving
from tests.ports import free_port

GUIDE = guide("verify-tokens")


@pytest.mark.threat("JWT1", "JWT3", "JWT12")
@pytest.mark.parametrize(("name", "program"), [("python", "pip"), ("express", "npm"), ("go", "go")])
def test_an_application_of_the_guide_verifies_alone(name: str, program: str, tmp_path: Path) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed, so the guide for {name} cannot be followed")
    place, directory, port, ours = tmp_path / name, tmp_path / "gatewright", free_port(), free_port()
    for folder in (place, directory):
        folder.mkdir()
    write_files(GUIDE, place)
    typed(commands(GUIDE, f"install-{name}"), place)
    url = f"http://127.0.0.1:{ours}"
    places = {
        GATEWRIGHT: url,
        f"PORT={APPLICATION}": f"PORT={port}",
        f"--port {APPLICATION}": f"--port {port}",
    }

    with (
        serving(directory, {"base_url": url, "server.port": str(ours)}, port=ours) as live,
        running(placed(commands(GUIDE, f"serve-{name}"), places), place, port, tmp_path / "printed.txt"),
    ):
        asked = placed(commands(GUIDE, "try"), {GATEWRIGHT: url, f":{APPLICATION}": f":{port}"})
        printed = typed(asked, directory)
        body = {"name": "Ada", "email": "ada@example.com", "password": "seven red bicycles"}
        with httpx.Client(base_url=url) as client:
            session = client.post("/sign-up/email", json=body).json()
            client.cookies.clear()
            bearer = {"Authorization": f"Bearer {session['token']}"}
            token = client.get("/token", headers=bearer).json()["token"]
        live.process.terminate()
        live.process.wait(timeout=60)
        application = f"http://127.0.0.1:{port}/me"
        alone = httpx.get(application, headers={"Authorization": f"Bearer {token}"})
        forged = httpx.get(application, headers={"Authorization": f"Bearer {token[:-4]}AAAA"})

    assert printed.split() == ["401", "401", "200", "401"]
    assert (alone.status_code, alone.json(), forged.status_code) == (200, {"id": session["user"]["id"]}, 401)
