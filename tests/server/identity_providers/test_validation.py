"""Tables that stop the start, each by a line that names the key."""

import pytest
from joserfc.jwk import ECKey, RSAKey

from server.config.groups.social import ProviderSettings
from server.config.sources import ConfigurationError
from tests.server.identity_providers.conftest import Load

OPENID = {"client_id": "ours", "client_secret": "hush", "issuer": "https://id.test"}
GITHUB = {"client_id": "ours", "client_secret": "hush", "preset": "github"}
PLAIN = {
    "client_id": "ours",
    "client_secret": "hush",
    "authorization_endpoint": "https://id.test/authorize",
    "token_endpoint": "https://id.test/token",
    "userinfo_endpoint": "https://id.test/user",
}
APPLE = {
    "client_id": "ours",
    "preset": "apple",
    "team_id": "TEAM",
    "key_id": "KEY",
    "private_key": ECKey.generate_key("P-256").as_pem(private=True).decode(),
}
DISCOVERY = "https://id.test/.well-known/openid-configuration"
ABSENT = "absent"


def table(id_: str, base: dict[str, str], **changes: str) -> dict[str, str]:
    keys = {key: value for key, value in {**base, **changes}.items() if value != ABSENT}
    return {f"providers.{id_}.{key}": value for key, value in keys.items()}


def refused(load: Load, settings: dict[str, str]) -> list[str]:
    with pytest.raises(ConfigurationError) as refusal:
        load(settings)
    return [line.partition(":")[0] for line in str(refusal.value).splitlines()]


class TestProblems:
    @pytest.mark.parametrize("base", [OPENID, GITHUB, PLAIN, APPLE])
    def test_are_none(self, load: Load, base: dict[str, str]) -> None:
        assert "x" in load(table("x", base)).named(ProviderSettings)

    @pytest.mark.parametrize(
        ("base", "changes", "keys"),
        [
            (OPENID, {"client_id": ABSENT}, ["client_id"]),
            (GITHUB, {"preset": "githup"}, ["preset"]),
            (OPENID, {"issuer": ABSENT}, ["discovery_url"]),
            (OPENID, {"issuer": ABSENT, "discovery_url": "https://id.test/metadata"}, ["issuer"]),
            (OPENID, {"token_endpoint": "https://id.test/token", "discovery_url": DISCOVERY}, ["token_endpoint"]),
            (PLAIN, {"token_endpoint": ABSENT}, ["token_endpoint"]),
            (PLAIN, {"userinfo_endpoint": ABSENT}, ["userinfo_endpoint"]),
            (GITHUB, {"discovery_url": "https://id.test"}, ["discovery_url"]),
            (OPENID, {"client_secret": ABSENT, "pkce": "false"}, ["client_secret"]),
            (OPENID, {"client_secret": "", "token_auth": "basic"}, ["client_secret"]),
            (GITHUB, {"client_secret": ABSENT}, ["client_secret"]),
            (APPLE, {"team_id": ABSENT, "key_id": ABSENT}, ["team_id", "key_id"]),
            (APPLE, {"private_key": ABSENT}, ["private_key"]),
            (APPLE, {"private_key": "no key"}, ["private_key"]),
            (APPLE, {"private_key": RSAKey.generate_key(2048).as_pem(private=True).decode()}, ["private_key"]),
            (APPLE, {"private_key": ECKey.generate_key("P-384").as_pem(private=True).decode()}, ["private_key"]),
            (OPENID, {"allowed_algorithms": "RS256,none"}, ["allowed_algorithms"]),
            (OPENID, {"allowed_algorithms": "HS256"}, ["allowed_algorithms"]),
            (OPENID, {"allowed_algorithms": "[]"}, ["allowed_algorithms"]),
            (OPENID, {"claims": '{"phone": "tel"}'}, ["claims"]),
            (OPENID, {"extra_params": '{"state": "x"}'}, ["extra_params"]),
            (OPENID, {"extra_params": '{"redirect_uri": "https://evil.test"}'}, ["extra_params"]),
            (OPENID, {"tenant": "example.com"}, ["tenant"]),
            (OPENID, {"issuer": "http://id.test"}, ["issuer"]),
            (PLAIN, {"token_endpoint": "http://id.test/token"}, ["token_endpoint"]),
            (PLAIN, {"userinfo_endpoint": "http://localhost.evil.test/"}, ["userinfo_endpoint"]),
        ],
    )  # fmt: skip
    def test_name_the_key(
        self, load: Load, base: dict[str, str], changes: dict[str, str], keys: list[str]
    ) -> None:
        assert refused(load, table("x", base, **changes)) == [f"providers.x.{key}" for key in keys]

    def test_allow_a_public_client_that_is_bound_by_pkce(self, load: Load) -> None:
        assert (
            load(table("x", OPENID, client_secret=ABSENT)).named(ProviderSettings)["x"].client_secret is None
        )

    def test_are_told_of_the_password_accounts_name(self, load: Load) -> None:
        assert refused(load, table("credential", OPENID)) == ["providers.credential"]

    @pytest.mark.parametrize("id_", ["x" * 33, "é"])
    def test_are_told_of_other_ids(self, load: Load, id_: str) -> None:
        assert refused(load, table(id_, OPENID))[0].startswith(("providers", "GATEWRIGHT_PROVIDERS"))

    def test_are_told_of_a_trusted_provider_that_is_none(self, load: Load) -> None:
        settings = {**table("x", OPENID), "account_linking.trusted_providers": "x,y"}

        assert refused(load, settings) == ["account_linking.trusted_providers"]

    def test_show_no_secret(self, load: Load) -> None:
        with pytest.raises(ConfigurationError) as refusal:
            load(table("x", APPLE, private_key="hush-hush", key_id=ABSENT))

        assert "hush" not in str(refusal.value)
