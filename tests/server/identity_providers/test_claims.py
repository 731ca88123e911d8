"""Who a profile is of: subject, address, name and picture."""

from typing import Any

import pytest
from joserfc.jwk import ECKey

from domain.identity_provider import Identity, SubjectMissing
from server.identity_providers.claims import completed, found, identity_of
from server.identity_providers.configuration import Configuration
from tests.server.identity_providers.conftest import Configured

ADA = {"sub": "1001", "email": "ada@example.com", "email_verified": True, "name": "Ada"}


@pytest.fixture
def one(configured: Configured) -> Configuration:
    """Some OpenID provider."""
    return configured(issuer="https://id.test")


def read(configuration: Configuration, **profile: Any) -> Identity:
    return identity_of(configuration, "", {"sub": "7", "id": "7", **profile})


class TestSubject:
    @pytest.mark.parametrize(
        ("said", "subject"), [("7", "7"), (7, "7"), (-7, "-7"), (2**63, str(2**63)), ("a|b c", "a|b c")]
    )
    def test_is_text_or_a_number(self, one: Configuration, said: Any, subject: str) -> None:
        assert read(one, sub=said).subject == subject

    @pytest.mark.parametrize(
        "said", [None, "", 0, True, False, 1.0, 1e30, [], {}, "a\nb", "\u0000", "\ud800", "x" * 256]
    )
    def test_is_nothing_else(self, one: Configuration, said: Any) -> None:
        with pytest.raises(SubjectMissing):
            read(one, sub=said)

    def test_does_not_fall_back_to_another_name_than_what_is_said(self, configured: Configured) -> None:
        github = configured(preset="github")

        with pytest.raises(SubjectMissing):
            read(github, id=0, sub="someone")
        with pytest.raises(SubjectMissing):
            read(github, id=None, sub="someone")


class TestAddress:
    def test_is_verified_by_the_text_of_apple(self, configured: Configured) -> None:
        apple = _apple(configured)

        assert read(apple, email_verified="true").email_verified
        assert not read(apple, email_verified="false").email_verified

    @pytest.mark.parametrize(
        ("profile", "verified"),
        [
            ({}, False),
            ({"email_verified": True}, True),
            ({"xms_edov": True}, True),
            ({"xms_edov": "1"}, False),
            ({"email_verified": False, "xms_edov": False}, False),
        ],
    )
    def test_of_microsoft_is_verified_by_a_claim_that_says_so(
        self, configured: Configured, profile: dict[str, Any], verified: bool
    ) -> None:
        assert read(configured(preset="microsoft"), **profile).email_verified is verified

    @pytest.mark.parametrize("preset", ["facebook", "spotify"])
    def test_counts_as_unverified_where_nobody_says(self, configured: Configured, preset: str) -> None:
        identity = read(configured(preset=preset), email="a@x.test", email_verified=True, verified=True)

        assert (identity.email, identity.email_verified) == ("a@x.test", False)

    def test_of_discord_is_verified_by_its_own_mark(self, configured: Configured) -> None:
        discord = configured(preset="discord")

        assert read(discord, verified=True).email_verified
        assert not read(discord, email_verified=True).email_verified

    @pytest.mark.parametrize("said", [None, "", 7, [], {"a": 1}])
    def test_is_text_or_nothing(self, one: Configuration, said: Any) -> None:
        assert read(one, email=said).email is None


class TestName:
    @pytest.mark.parametrize(
        ("said", "name"),
        [
            ("Ada", "Ada"),
            ("  Ada\tL.\u202e ", "AdaL."),
            ("x" * 300, "x" * 256),
            (None, ""),
            (7, ""),
            ("\u0000", ""),
        ],
    )
    def test_is_cleaned(self, one: Configuration, said: Any, name: str) -> None:
        assert read(one, name=said).name == name

    def test_is_the_first_that_there_is(self, configured: Configured) -> None:
        github = configured(preset="github")

        assert read(github, name=None, login="ada").name == "ada"
        assert read(github, name="Ada", login="ada").name == "Ada"


class TestImage:
    @pytest.mark.parametrize(
        "said", ["javascript:alert(1)", "//x.test/a", "https://x.test/<", "https://", "x" * 10, 7, None]
    )
    def test_is_an_address_or_nothing(self, one: Configuration, said: Any) -> None:
        assert read(one, picture="https://x.test/a.png?b=c").image == "https://x.test/a.png?b=c"
        assert read(one, picture=said).image is None

    def test_is_short_enough(self, one: Configuration) -> None:
        assert read(one, picture="https://x.test/" + "a" * 2033).image is not None
        assert read(one, picture="https://x.test/" + "a" * 2034).image is None

    def test_is_found_where_each_puts_it(self, configured: Configured) -> None:
        facebook, spotify, discord = (configured(preset=name) for name in ("facebook", "spotify", "discord"))

        assert read(facebook, picture={"data": {"url": "https://x.test/f"}}).image == "https://x.test/f"
        assert read(spotify, images=[{"url": "https://x.test/s"}]).image == "https://x.test/s"
        assert read(spotify, images=[]).image is None
        assert read(discord, avatar="a_1f").image == "https://cdn.discordapp.com/avatars/7/a_1f.png"
        assert read(discord, avatar="../../evil").image is None


class TestNames:
    def test_may_be_others(self, configured: Configured) -> None:
        one = configured(
            issuer="https://id.test",
            claims='{"id": "oid", "email": "https://x.test/mail", "email_verified": "flags.mail", "name": "n.0"}',
        )

        identity = read(
            one,
            oid="9",
            sub="7",
            n=["Ada"],
            flags={"mail": True},
            **{"https://x.test/mail": "ada@x.test"},
        )

        assert (identity.subject, identity.email, identity.email_verified, identity.name) == (
            "9",
            "ada@x.test",
            True,
            "Ada",
        )

    @pytest.mark.parametrize("name", ["b", "a.b", "a.0", "l.a", "l.7", "l.0.x", "t.0", ""])
    def test_that_lead_nowhere_find_nothing(self, name: str) -> None:
        assert found({"a": {}, "l": ["x"], "t": "text"}, name) is None


class TestCompleted:
    def test_keeps_the_mark_with_its_address(self, one: Configuration) -> None:
        signed = {"sub": "1001", "email": "ada@example.com"}

        same = completed(one, signed, ADA)
        other = completed(one, signed, {**ADA, "email": "eve@example.com"})
        moved = completed(one, {"sub": "1001", "email_verified": True}, {**ADA, "email_verified": False})

        assert same["email_verified"] is True
        assert (other["email"], other.get("email_verified")) == ("ada@example.com", None)
        assert moved["email_verified"] is False


def _apple(configured: Configured) -> Configuration:
    pem = ECKey.generate_key("P-256").as_pem(private=True).decode()
    return configured(preset="apple", team_id="T", key_id="K", private_key=pem)
