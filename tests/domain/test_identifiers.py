"""What users are called: the same rules in the contract and in the domain."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from domain import identifiers
from domain.identifiers import (
    InvalidDisplayUsername,
    InvalidEmail,
)

CONTRACT = Path(__file__).parents[2] / "openapi" / "components" / "schemas.yaml"

ADDRESSES = [
    "a@b.cd",
    "ada@example.com",
    "ada.lovelace+tag@sub.example.co.uk",
    "o'hara!#$%&*/?=^_`{|}~-@x.test",
    "=@b.test",
    "a=.?b==c?=d=@b.test",
    "?=@b.test",
    "1@2.test",
    "a@b.c",
    "a@1-2.x1",
    "a@xn--bcher-kva.example",
    "a" * 64 + "@example.com",
    "a@" + "b" * 63 + ".test",
]
NO_ADDRESSES = [
    "",
    "@",
    "a",
    "a@",
    "@b.test",
    "a@b",
    "a@b.",
    "a@.b",
    "a@b..c",
    ".a@b.test",
    "a.@b.test",
    "a..b@c.test",
    "a@-b.test",
    "a@b-.test",
    "a@b_c.test",
    "a@b.test.",
    "a@1.2.3.4",
    "a@[1.2.3.4]",
    "a@[IPv6:::1]",
    "a@b.1",
    '"a"@b.test',
    '"e@evil.test"@victim.test',
    "a b@c.test",
    "a@b c.test",
    " a@b.test",
    "a@b.test ",
    "a@b.test\n",
    "a\r\nBcc: x@b.test",
    "a(comment)@b.test",
    "a@b.test(comment)",
    "<a@b.test>",
    "A <a@b.test>",
    "group: a@b.test;",
    "a@b.test,c@d.test",
    "a@b.test;c@d.test",
    "a@evil.test,v@victim.test",
    "a@@b.test",
    "a@b@c.test",
    "a\\@b.test",
    "a" * 65 + "@example.com",
    "a@" + "b" * 64 + ".test",
    "a@" + ("b" * 61 + ".") * 4 + "example",
    "mailto:a@b.test",
    "a\x00@b.test",
    "=?utf-8?q?eve=40evil.test=2c?=@b.test",
    "=??=@b.test",
    "a=?b?=@b.test",
    "a.b==?c.d??=e@b.test",
    "a?=?b=?c?=@b.test",
]
# V75 and V76: what Unicode makes look alike, and what it hides.
LOOK_ALIKES = [
    "a\uff20x.test",
    "m\u0131ke@x.test",
    "\ufb01@x.test",
    "\u212a@x.test",
    "a@\u212a.test",
    "a@x\u3002test",
    "a\u200bb@x.test",
    "\u202ea@x.test",
    "\ufeffa@x.test",
    "a\u00adb@x.test",
    "a\u00a0b@x.test",
    "é@x.test",
    "a@é.test",
    "\uff11@x.test",
    "a@x.\u0661",
]


class TestEmail:
    @pytest.mark.parametrize("text", ADDRESSES)
    def test_gives_the_address(self, text: str) -> None:
        assert identifiers.email(text) == text

    @pytest.mark.threat("V77")
    def test_lower_cases(self) -> None:
        assert identifiers.email("Ada.LOVELACE@Example.COM") == "ada.lovelace@example.com"

    @pytest.mark.threat("V75", "V76", "V78")
    @pytest.mark.parametrize("text", NO_ADDRESSES + LOOK_ALIKES)
    def test_refuses_what_is_not_one_plain_address(self, text: str) -> None:
        with pytest.raises(InvalidEmail):
            identifiers.email(text)

    def test_254_characters_are_the_limit(self) -> None:
        domain = ("b" * 61 + ".") * 3 + "test"

        assert identifiers.email("a" * (253 - len(domain)) + "@" + domain)
        with pytest.raises(InvalidEmail):
            identifiers.email("a" * (254 - len(domain)) + "@" + domain)


def _is_email(text: str) -> bool:
    try:
        identifiers.email(text)
    except InvalidEmail:
        return False
    return True


@pytest.fixture(scope="module")
def properties() -> dict[str, Any]:
    schemas: dict[str, Any] = yaml.safe_load(CONTRACT.read_text())
    properties: dict[str, Any] = schemas["SignUpRequest"]["properties"]
    return properties


class TestContract:
    """The contract says what the domain does."""

    def test_quotes_the_pattern_of_addresses(self, properties: dict[str, Any]) -> None:
        assert properties["email"]["pattern"] == identifiers.EMAIL_PATTERN
        assert properties["email"]["maxLength"] == identifiers.EMAIL_LENGTH

    @pytest.mark.parametrize("text", ADDRESSES + NO_ADDRESSES + LOOK_ALIKES)
    def test_agrees_on_addresses(self, properties: dict[str, Any], text: str) -> None:
        schema = properties["email"]
        patterns = [schema["pattern"], *(part["pattern"] for part in schema["allOf"])]
        # `$` of other engines is the very end of the text; Python's spelling of that is `\Z`.
        allowed = all(re.search(pattern.removesuffix("$") + r"\Z", text) for pattern in patterns)

        assert (allowed and len(text) <= schema["maxLength"]) == _is_email(text)

    @settings(deadline=None)
    @given(text=st.text(max_size=20))
    def test_agrees_on_names(self, properties: dict[str, Any], text: str) -> None:
        pattern = properties["name"]["pattern"].removesuffix("$") + r"\Z"

        assert (re.search(pattern, text) is not None) == identifiers.is_name(text)
        assert properties["name"]["maxLength"] == identifiers.NAME_LENGTH


STEERING = [
    "\x00",
    "\t",
    "\n",
    "\r",
    "\x1f",
    "\x7f",
    "\x85",
    "\x9f",
    "\u2028",
    "\u2029",
    "\u202a",
    "\u202e",
    "\u2066",
    "\u2069",
]


class TestNames:
    @pytest.mark.parametrize(
        "text", ["Ada", "Ada  Lovelace", "李", "👩‍💻", "<b>{{7*7}}</b>", " ", "a\u200db", "e\u0301" * 32]
    )
    def test_free_text_is_a_name(self, text: str) -> None:
        assert identifiers.is_name(text)
        assert identifiers.display_username(text) == text

    @pytest.mark.threat("V76", "V79")
    @pytest.mark.parametrize("character", STEERING)
    def test_nothing_that_steers(self, character: str) -> None:
        assert not identifiers.is_name(f"a{character}b")
        with pytest.raises(InvalidDisplayUsername):
            identifiers.display_username(f"a{character}")
