"""The issuer that an imported identity gets: the one a sign-in through the provider will find it by, or none."""

from pathlib import Path

import pytest

from server import profiles
from server.importing.issuers import issuers

TENANT = "11111111-2222-3333-4444-555555555555"
BASE = "https://login.example.com"


@pytest.mark.parametrize(
    ("table", "issuer"),
    [
        ({"preset": "google"}, "https://accounts.google.com"),
        ({"preset": "github"}, ""),
        ({"preset": "microsoft", "tenant": TENANT}, f"https://login.microsoftonline.com/{TENANT}/v2.0"),
        ({"preset": "microsoft", "tenant": "contoso.onmicrosoft.com"}, None),
        ({"preset": "microsoft"}, None),
        ({"discovery_url": f"{BASE}/.well-known/openid-configuration"}, None),
        ({"discovery_url": f"{BASE}/.well-known/openid-configuration", "issuer": f"{BASE}/"}, f"{BASE}/"),
    ],
)
def test_of_a_provider(tmp_path: Path, table: dict[str, str], issuer: str | None) -> None:
    table = {"client_id": "service", "client_secret": "of-the-service", **table}
    variables = {f"GATEWRIGHT_PROVIDERS__ONE__{name.upper()}": value for name, value in table.items()}

    settings = profiles.load({"GATEWRIGHT_PROFILE": "development", **variables}, tmp_path)

    assert issuers(settings) == {"one": issuer}
