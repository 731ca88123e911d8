"""The client of the OAuth provider that schemathesis is while it knocks at operations of the protocol."""

import base64

CLIENT_SECRET = "s" * 40

BASIC = "Basic " + base64.b64encode(f"shop:{CLIENT_SECRET}".encode()).decode()
