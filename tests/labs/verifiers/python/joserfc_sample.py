"""Verify tokens by the sample of the guide (joserfc), with nothing but the address of the keys."""

import json
import os
import sys
from typing import Any
from urllib.request import urlopen

from tokens import InvalidToken, Keys, verify


def fetch() -> Any:
    """Return the key document."""
    with urlopen(os.environ["JWKS_URL"], timeout=10) as response:
        return json.load(response)


keys = Keys(fetch, pause=0)
for line in sys.stdin:
    try:
        claims = verify(line.strip(), keys, issuer=os.environ["ISSUER"], audience=os.environ["AUDIENCE"])
        print("ok", claims["sub"], flush=True)
    except InvalidToken:
        print("refused", flush=True)
