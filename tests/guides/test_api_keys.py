"""The guide "API keys for your customers and services": its application in FastAPI, as it is written."""

from pathlib import Path

import httpx

from tests.docs.typing_in import BASE, Shell, blocks, commands, guide, placed, write_files
from tests.guides.protected import PATIENT, running
from tests.labs.sdk.test_sdks import generate
from tests.live import promote, serving
from tests.ports import free_port

GUIDE = guide("api-keys")
PORT = "3002"
"""The port of the application in the guide."""
VERIFIER = "v" * 40


def test_an_application_lets_in_what_the_keys_permit(tmp_path: Path) -> None:
    place, directory, port = tmp_path / "application", tmp_path / "gatewright", free_port()
    place.mkdir()
    directory.mkdir()
    write_files(GUIDE, place)
    (directory / "gatewright.verifier").write_text(VERIFIER)
    create = blocks(GUIDE, "sh")[0].text
    with serving(directory, {"api_keys.verifiers": f"files:{VERIFIER}"}) as live:
        places = {BASE: live.url, PORT: str(port)}
        serve = placed(commands(GUIDE, "serve"), places)
        with running(serve, place, port, directory / "printed.txt", PYTHONPATH=str(generate("python"))):
            shell = Shell(directory)
            shell.type(placed(create, places))
            promote("ada.keys@example.com", directory, {})
            printed = shell.type(placed(commands(GUIDE, "try"), places))
            key = shell.type('echo "$KEY"').strip()
            assert shell.leave() == 0

            live.process.terminate()
            live.process.wait(timeout=60)
            url = f"http://127.0.0.1:{port}/files"
            after = httpx.get(url, headers={"x-api-key": key}, timeout=PATIENT, trust_env=False)

    assert [line.rpartition(" ")[2] for line in printed.splitlines() if line] == ["401", "403", "200", "429"]
    assert after.status_code == 503
