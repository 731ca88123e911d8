"""Presets, and tables completed by them."""

import pytest

from server.identity_providers.configuration import configurations, stored_issuers
from server.identity_providers.presets import PRESETS
from tests.server.identity_providers.conftest import Configured, Load

OPENID = ("openid", "email", "profile")
TENANT = "11111111-2222-3333-4444-555555555555"
BASE = "https://login.example.com"


class TestPresets:
    def test_are_eleven_and_https_throughout(self) -> None:
        addresses = [
            address for one in PRESETS.values() for address in (one.issuer, *(one.endpoints or ())) if address
        ]

        assert len(PRESETS) == 11
        assert all(address.startswith("https://") for address in addresses)


class TestDiscovery:
    def test_follows_from_the_preset(self, configured: Configured) -> None:
        google = configured(preset="google")

        assert google.discovery_url == "https://accounts.google.com/.well-known/openid-configuration"
        assert google.issuers == ("https://accounts.google.com", "accounts.google.com")

    def test_follows_from_an_own_servers_issuer(self, configured: Configured) -> None:
        gitlab = configured(preset="gitlab", issuer="https://git.example.com/")

        assert gitlab.discovery_url == "https://git.example.com/.well-known/openid-configuration"
        assert gitlab.issuers == ("https://git.example.com/",)

    @pytest.mark.parametrize(("tenant", "named"), [("", "common"), ("example.com", "example.com")])
    def test_names_the_tenant(self, configured: Configured, tenant: str, named: str) -> None:
        microsoft = configured(preset="microsoft", tenant=tenant)

        base = f"https://login.microsoftonline.com/{named}/v2.0"
        assert microsoft.discovery_url == f"{base}/.well-known/openid-configuration"

    def test_says_the_issuer(self, configured: Configured) -> None:
        one = configured(discovery_url="https://id.test/realm/.well-known/openid-configuration")

        assert one.issuers == ("https://id.test/realm", "https://id.test/realm/")

    def test_yields_to_a_configured_issuer(self, configured: Configured) -> None:
        one = configured(discovery_url="https://id.test/metadata", issuer="https://issuer.test")

        assert one.issuers == ("https://issuer.test",)
        assert one.discovery_url == "https://id.test/metadata"


class TestTables:
    def test_win_over_the_preset(self, configured: Configured) -> None:
        one = configured(
            preset="twitch",
            scopes="openid,chat:read",
            pkce="true",
            token_auth="basic",
            id_token_sign_in="false",
            allowed_algorithms="ES256",
            claims='{"name": "nickname"}',
            extra_params='{"claims": "", "prompt": "login"}',
            sync_profile="true",
        )

        assert one.traits.scopes == ("openid", "chat:read")
        assert (one.pkce, one.token_auth, one.algorithms) == (True, "basic", ("ES256",))
        assert not one.traits.takes_id_tokens
        assert one.traits.sync_profile
        assert one.names["name"] == ("nickname",)
        assert one.names["id"] == ("sub",)
        assert dict(one.extra_params) == {"claims": "", "prompt": "login"}

    def test_lead_a_preset_to_an_own_server(self, configured: Configured) -> None:
        one = configured(preset="github", userinfo_endpoint="https://git.test/api/user")

        assert one.endpoints is not None
        assert one.endpoints.userinfo == "https://git.test/api/user"
        assert one.endpoints.token == "https://github.com/login/oauth/access_token"

    def test_without_discovery_are_plain_oauth(self, configured: Configured) -> None:
        names = ("authorization_endpoint", "token_endpoint", "userinfo_endpoint")

        one = configured(**{name: f"https://id.test/{name}" for name in names})

        assert not one.traits.is_openid
        assert not one.traits.takes_id_tokens
        assert one.issuers == ()

    def test_let_http_in_for_development_only(self, configured: Configured, load: Load) -> None:
        production = load(
            {
                "profile": "production",
                "base_url": "https://auth.example.com",
                "secrets": "0123456789abcdef0123456789abcdef",
                "providers.x.client_id": "ours",
                "providers.x.issuer": "https://id.test",
            }
        )

        assert configured(issuer="https://id.test").loopback_http
        assert not configurations(production)["x"].loopback_http


class TestStoredIssuers:
    """Imported identities get the issuer that a sign-in through the provider will find them by, or none."""

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
    def test_of_a_provider(self, load: Load, table: dict[str, str], issuer: str | None) -> None:
        table = {"client_id": "service", "client_secret": "of-the-service", **table}

        settings = load({f"providers.one.{name}": value for name, value in table.items()})

        assert stored_issuers(settings) == {"one": issuer}
