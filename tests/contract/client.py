"""The client of the OAuth provider that schemathesis is while it knocks at operations of the protocol."""

import base64

CLIENT_SECRET = "s" * 40

AUTHORIZATION = {
    "client_id": "shop",
    "redirect_uri": "https://shop.example/callback",
    "scope": "openid email",
    "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
}
"""Parameters of its authorization requests."""

BASIC = "Basic " + base64.b64encode(f"shop:{CLIENT_SECRET}".encode()).decode()
