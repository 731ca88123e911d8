"""The guide "API keys for your customers and services": its dependency for FastAPI, as it is written."""

from pathlib import Path

import httpx

from tests.docs.typing_in import guide, write_files
from tests.guides.protected import PATIENT, calling, running
from tests.labs.sdk.test_sdks import generate
from tests.live import promote, serving
from tests.ports import free_port
from tests.service import PASSWORD

VERIFIER = "v" * 40
APPLICATION = """
from api_key import ReadsFiles
from fastapi import FastAPI

app = FastAPI()


@app.get("/files")
async def files(key: ReadsFiles) -> dict[str, str]:
    return {"for": key.reference_id}
"""


def test_an_application_lets_in_what_the_keys_permit(tmp_path: Path) -> None:
    place, directory, port = tmp_path / "application", tmp_path / "gatewright", free_port()
    place.mkdir()
    directory.mkdir()
    write_files(guide("api-keys"), place)
    (place / "app.py").write_text(APPLICATION)
    with serving(directory, {"api_keys.verifiers": f"files:{VERIFIER}"}) as live, calling(live) as ada:
        person = {"name": "Ada", "email": "ada@example.com", "password": PASSWORD}
        ada.headers["Authorization"] = f"Bearer {ada.post('/sign-up/email', json=person).json()['token']}"
        promote("ada@example.com", directory, {})
        limited = {"permissions": {"files": ["read"]}, "remaining": 1}
        plain, key = (ada.post("/api-key/create", json=body).json()["key"] for body in ({}, limited))
        command = f"uvicorn app:app --port {port}"
        variables = {"AUTH_URL": live.url, "VERIFIER": VERIFIER, "PYTHONPATH": str(generate("python"))}
        with running(command, place, port, directory / "printed.txt", **variables):

            def status(sent: str) -> int:
                url, headers = f"http://127.0.0.1:{port}/files", {"x-api-key": sent}
                return httpx.get(url, headers=headers, timeout=PATIENT, trust_env=False).status_code

            assert [status(sent) for sent in ("nonsense", plain, key, key)] == [401, 403, 200, 429]
            live.process.terminate()
            live.process.wait(timeout=60)
            assert status(key) == 503
