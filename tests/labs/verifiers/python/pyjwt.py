"""Verify tokens by PyJWT, with nothing but the address of the keys."""

import os
import sys

import jwt

keys = jwt.PyJWKClient(os.environ["JWKS_URL"], cache_keys=False, lifespan=0.001)
for line in sys.stdin:
    token = line.strip()
    try:
        key = keys.get_signing_key_from_jwt(token)
        header = jwt.get_unverified_header(token)
        if header.get("typ") != "JWT" or header["alg"] != key.algorithm_name:
            raise jwt.InvalidTokenError
        claims = jwt.decode(
            token, key, ["ES256", "RS256", "EdDSA"], audience=os.environ["AUDIENCE"], issuer=os.environ["ISSUER"],
            options={"require": ["exp", "sub"]}, leeway=60,
        )  # fmt: skip
        print("ok", claims["sub"], flush=True)
    except jwt.PyJWTError as error:
        print("refused", type(error).__name__, flush=True)
