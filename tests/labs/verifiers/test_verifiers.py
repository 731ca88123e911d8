"""Libraries for four languages verify tokens of a running service, with nothing but the address of its keys."""

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from joserfc import jws
from joserfc.jwk import RSAKey

from domain.jwt import rotation
from server.crypto import jwt as signer
from server.crypto.keyring import Keyring
from tests.docs.typing_in import guide, write_files
from tests.labs.sdk.test_sdks import run
from tests.live import PROGRAM, ROOT, environment, serving
from tests.packages import from_npm, installed
from tests.ports import free_port
from tests.security.test_jwt_threats import forged
from tests.service import PASSWORD

HERE = Path(__file__).parent
ISSUER, AUDIENCE = "https://auth.example.com", "https://api.example.com"
SETTINGS = {
    "secrets": "s" * 32, "jwt.algorithms": "ES256,RS256,EdDSA", "jwt.issuer": ISSUER,
    "jwt.audiences": f"{AUDIENCE},https://other.example.com",
}  # fmt: skip


def joserfc(place: Path) -> list[str | Path]:
    """The sample of the guide."""
    write_files(guide("verify-tokens"), place)
    shutil.copy(HERE / "python" / "joserfc_sample.py", place)
    return [sys.executable, place / "joserfc_sample.py"]


def pyjwt(place: Path) -> list[str | Path]:
    pip = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        "--target",
        "packages",
    ]
    packages = installed(
        "verifiers-python", HERE / "python" / "requirements.txt", [*pip, "-r", "requirements.txt"]
    )
    shutil.copy(HERE / "python" / "pyjwt.py", packages / "packages" / "verify_by_pyjwt.py")
    return [sys.executable, packages / "packages" / "verify_by_pyjwt.py"]


def node_jose(place: Path) -> list[str | Path]:
    packages = from_npm("verifiers-node", HERE / "node" / "package.json")
    return ["node", shutil.copy(HERE / "node" / "verify.mjs", packages)]


def in_go(name: str, *modules: str, sources: Path = HERE / "go") -> list[str | Path]:
    """Return the command of a program below `sources`, which is built in build/ with these modules."""
    need("go")
    folder = ROOT / "build" / "verifiers-go" / name
    source = sources / name / "main.go"
    if not (folder / "main.go").exists() or (folder / "main.go").read_bytes() != source.read_bytes():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        run("go", "mod", "init", "example.com/verify", where=folder)
        run("go", "get", *modules, where=folder)
        shutil.copy(source, folder)
        run("go", "mod", "tidy", where=folder)
    run("go", "build", "-o", "verify", where=folder)
    return [folder / "verify"]


def go_jose(place: Path) -> list[str | Path]:
    return in_go("gojose", "github.com/go-jose/go-jose/v4@v4.1.0")


def golang_jwt(place: Path) -> list[str | Path]:
    return in_go(
        "golangjwt", "github.com/golang-jwt/jwt/v5@v5.2.2", "github.com/MicahParks/keyfunc/v3@v3.3.10"
    )


def nimbus(place: Path) -> list[str | Path]:
    need("mvn")
    folder = ROOT / "build" / "verifiers-java"
    shutil.copytree(HERE / "java", folder, dirs_exist_ok=True)
    run("mvn", "--quiet", "--batch-mode", "package", where=folder)
    return ["java", "-cp", f"{folder}/target/classes:{folder}/target/dependency/*", "Verify"]


def need(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed, so libraries of its language cannot be tried")


VERIFIERS = [joserfc, pyjwt, node_jose, go_jose, golang_jwt, nimbus]


class Peer:
    """A running verifier: a token goes in, its verdict comes out."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def verdict(self, token: str) -> str:
        """Return `ok` with the user, or `refused`."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(token + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the verifier has ended"
        return line.strip() if line.startswith("ok ") else line.split()[0]


@contextmanager
def verifying(command: Sequence[str | Path], url: str) -> Iterator[Peer]:
    variables = {"JWKS_URL": f"{url}/jwks", "ISSUER": ISSUER, "AUDIENCE": AUDIENCE}
    process = subprocess.Popen(
        command, env={**os.environ, **variables}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield Peer(process)
    finally:
        process.communicate(timeout=60)


def private_keys(directory: Path) -> dict[str, tuple[str, Any]]:
    """Return by algorithm the id and the private key of what signs."""
    with closing(sqlite3.connect(directory / "gatewright.db")) as database:
        rows = database.execute(
            "SELECT algorithm, kid, private_jwk FROM signing_key ORDER BY created_at"
        ).fetchall()
    keyring = Keyring([SETTINGS["secrets"]])
    return {
        algorithm: (kid, signer.import_jwk(keyring.decrypt(rotation.PURPOSE, sealed) or ""))
        for algorithm, kid, sealed in rows
        if sealed
    }


def token_of(url: str, session: str) -> str:
    answer = httpx.get(f"{url}/token", headers={"Authorization": f"Bearer {session}"})
    return str(answer.json()["token"])


def tokens(keys: dict[str, tuple[str, Any]], document: dict[str, Any]) -> dict[str, str]:
    """Return tokens that are to be refused, all but those called good."""
    now = int(datetime.now(UTC).timestamp())
    claims = {"iss": ISSUER, "aud": AUDIENCE, "sub": "ada", "iat": now, "exp": now + 300}
    made: dict[str, str] = {}
    for algorithm, (kid, key) in keys.items():

        def signed(
            kid: str = kid, typ: str = "JWT", key: Any = key, algorithm: str = algorithm, **more: Any
        ) -> str:
            written = {name: value for name, value in {**claims, **more}.items() if value is not None}
            return signer.sign(key, algorithm, kid, written, typ=typ)

        made |= {
            f"good {algorithm}": signed(),
            f"within the leeway {algorithm}": signed(exp=now - 30),
            f"expired {algorithm}": signed(exp=now - 90),
            f"endless {algorithm}": signed(exp=None),
            f"other audience {algorithm}": signed(aud="https://other.example.com"),
            f"other issuer {algorithm}": signed(iss="https://evil.test"),
            f"other kind {algorithm}": signed(typ="at+jwt"),
            f"unknown key {algorithm}": signed(kid="x" * 43),
        }
    (es, key), (rs, _), (ed, _) = (keys[algorithm] for algorithm in ("ES256", "RS256", "EdDSA"))
    own = signer.generate("ES256")
    thief = signer.import_jwk(own.private_jwk)
    published = {each["kid"]: each for each in document["keys"]}
    whole = {"typ": "JWT", "alg": "ES256", "kid": own.kid}
    places: list[dict[str, Any]] = [
        {"jwk": published[es] | {"kid": own.kid}}, {"jku": "https://evil.test/"}, {"x5u": "https://evil.test/"}
    ]  # fmt: skip
    return made | {
        "alg none": forged({"alg": "none", "kid": es}, claims),
        **{
            f"HS256 over {kid}": forged({"alg": "HS256", "kid": kid}, claims, secret)
            for kid, secret in (
                (rs, RSAKey.import_key(published[rs]).as_pem(private=False)),
                (ed, published[ed]["x"].encode()),
            )
        },
        "ES256 under the RSA key": signer.sign(key, "ES256", rs, claims),
        "own key": signer.sign(thief, "ES256", es, claims),
        **{
            f"brings {set(place)}": jws.serialize_compact(
                {**whole, **place}, orjson.dumps(claims), thief, algorithms=["ES256"]
            )
            for place in places
        },
    }


@pytest.mark.threat("JWT1", "JWT4", "JWT8")
@pytest.mark.parametrize("verifier", VERIFIERS, ids=lambda one: one.__name__)
def test_a_library_verifies(verifier: Any, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    command = verifier(tmp_path_factory.mktemp("verifier"))
    port = free_port()
    with serving(tmp_path, SETTINGS, port=port) as live:
        body = {"name": "Ada", "email": "ada@example.com", "password": PASSWORD}
        joined = httpx.post(f"{live.url}/sign-up/email", json=body).json()
        first = token_of(live.url, joined["token"])
        made = tokens(private_keys(tmp_path), httpx.get(f"{live.url}/jwks").json())
        with verifying(command, live.url) as peer:
            verdicts = {name: peer.verdict(token) for name, token in made.items()}
            before = peer.verdict(first)
            subprocess.run(
                [PROGRAM, "signing-keys", "rotate", "--now"],
                cwd=tmp_path, env=environment(SETTINGS), check=True, capture_output=True, timeout=60,
            )  # fmt: skip
            live.process.terminate()
            live.process.wait(timeout=60)
            with serving(tmp_path, SETTINGS, port=port) as again:
                rotated = token_of(again.url, joined["token"])
                after = [peer.verdict(rotated), peer.verdict(first)]

    good = {name for name, verdict in verdicts.items() if verdict == "ok ada"}
    kinds = ("good", "within the leeway")
    assert good == {f"{kind} {algorithm}" for kind in kinds for algorithm in ("ES256", "RS256", "EdDSA")}
    assert set(verdicts.values()) == {"ok ada", "refused"}
    assert [before, *after] == [f"ok {joined['user']['id']}"] * 3
