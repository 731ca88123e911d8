"""Run an authenticator as a program: `python -m tests.labs.sdk.authenticator FILE create|get`.

It reads options from its input and prints a response. The credential is kept in FILE, so that journeys in any
language can add a passkey and sign in with it.
"""

import json
import sys
from pathlib import Path

from cryptography.hazmat.primitives import serialization

from tests.authenticator import Authenticator, base64url, decoded


def main(file: Path, ceremony: str) -> None:
    """Answer one ceremony."""
    device, options = Authenticator(), json.load(sys.stdin)
    if ceremony == "create":
        response = device.create(options)
        file.write_text(json.dumps(_written(device)))
    else:
        kept = json.loads(file.read_text())
        device.key = serialization.load_pem_private_key(kept["key"].encode(), None)
        device.credential_id, device.user_handle = decoded(kept["id"]), decoded(kept["user"])
        response = device.get(options)
    print(json.dumps(response))


def _written(device: Authenticator) -> dict[str, str]:
    key = device.key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return {
        "key": key.decode(),
        "id": base64url(device.credential_id),
        "user": base64url(device.user_handle or b""),
    }


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
