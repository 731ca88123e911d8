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
    "a@b.cd", "ada@example.com", "ada.lovelace+tag@sub.example.co.uk", "o'hara!#$%&*/?=^_`{|}~-@x.test", "=@b.test",
    "a=.?b==?c=?d=@b.test", "?=@b.test", "1@2.test", "a@b.c", "a@1-2.x1", "a@xn--bcher-kva.example",
    "a" * 64 + "@example.com", "a@" + "b" * 63 + ".test",
]  # fmt: skip
NO_ADDRESSES = [
    "", "@", "a", "a@", "@b.test", "a@b", "a@b.", "a@.b", "a@b..c", ".a@b.test", "a.@b.test", "a..b@c.test",
    "a@-b.test", "a@b-.test", "a@b_c.test", "a@b.test.", "a@1.2.3.4", "a@[1.2.3.4]", "a@[IPv6:::1]", "a@b.1",
    '"a"@b.test', '"c@d.test"@b.test', '"c@d.test" <a@b.test>', "a b@c.test", "a@b c.test", " a@b.test",
    "a@b.test ", "a@b.test\t", "a@b.test\n", "a@b.test\nc@d.test", "a@b.test\r\nBcc: c@d.test", "a@b.test%0ac@d.test",
    "a(comment)@b.test", "a@b.test(comment)", "a@b.test(", "<a@b.test>", "A <a@b.test>", "group: a@b.test;",
    "a@b.test,c@d.test", "a@b.test;c@d.test", "a@b.test c@d.test", "a@c.test,a@b.test", "a@@b.test", "a@b@c.test",
    "@c.test:a@b.test", "c.test!a@b.test@", "a\\@b.test", "a" * 65 + "@example.com", "a@" + "b" * 64 + ".test",
    "a@" + ("b" * 61 + ".") * 4 + "example", "mailto:a@b.test", "mailto:a@b.test?cc=c@d.test", "a\x00@b.test",
    "a@b.test\x00c@d.test", "=?utf-8?q?eve=40evil.test=2c?=@b.test", "a.=?us-ascii?b?ZXZlQGV2aWwudGVzdA==?=@b.test",
    "=??=@b.test", "a=?b?=@b.test", "a.b==?c.d??=e@b.test", "a?=?b=?c?=@b.test",
]  # fmt: skip
"""What is no address, or what a lenient reader takes for two, or for another one."""
LOOK_ALIKES = [
    "mike\uff20example.com", "m\u0131ke@example.com", "\ufb01@example.com", "mi\u212ae@example.com",
    "mike@\u212aexample.com", "mike@example\u3002com", "mike@example\uff0ecom", "\uff4dike@example.com",
    "mike@e\u0445ample.com", "mike@\u24d4xample.com", "MI\u0136E@example.com", "mi\u017fe@example.com",
    "mike@xn--exmple-cua.com\u0301", "mi\u200bke@example.com", "mike\u200d@example.com", "\u202emike@example.com",
    "mike@example.com\u202c", "\u2066mike@example.com", "\ufeffmike@example.com", "mi\u00adke@example.com",
    "mike\u00a0@example.com", "mike@exa\u200cmple.com", "mike@example.com\u2028", "mi\u180eke@example.com",
    "mi\u034fke@example.com", "\u00e9@x.test", "a@\u00e9.test", "\uff11@x.test", "a@x.\u0661",
]  # fmt: skip
"""What normalisation, case folding or IDNA mapping makes of another address, and what hides characters (V75, V76)."""


STEERING = [*"\x00\t\n\r\x1f\x7f\x85\x9f\u2028\u2029\u202a\u202e\u2066\u2069"]
"""The ends of every range of characters that no name may hold."""


@pytest.fixture(scope="module")
def properties() -> dict[str, Any]:
    schemas: dict[str, Any] = yaml.safe_load(CONTRACT.read_text())
    properties: dict[str, Any] = schemas["SignUpRequest"]["properties"]
    return properties


def allows(schema: dict[str, Any], text: str) -> bool:
    """Return whether the contract allows the text as an address."""
    patterns = [schema["pattern"], *(part["pattern"] for part in schema["allOf"])]
    # `$` of other engines is the very end of the text; Python's spelling of that is `\Z`.
    matches = all(re.search(pattern.removesuffix("$") + r"\Z", text) for pattern in patterns)
    return matches and len(text) <= schema["maxLength"]


class TestEmail:
    """The contract and the domain agree."""

    @pytest.mark.parametrize("text", ADDRESSES)
    def test_gives_the_address(self, properties: dict[str, Any], text: str) -> None:
        assert identifiers.email(text) == text
        assert allows(properties["email"], text)

    @pytest.mark.threat("V75", "V76", "V78")
    @pytest.mark.parametrize("text", NO_ADDRESSES + LOOK_ALIKES)
    def test_refuses_what_is_not_one_plain_address(self, properties: dict[str, Any], text: str) -> None:
        assert not allows(properties["email"], text)
        with pytest.raises(InvalidEmail):
            identifiers.email(text)

    def test_the_contract_quotes_the_pattern(self, properties: dict[str, Any]) -> None:
        assert properties["email"]["pattern"] == identifiers.EMAIL_PATTERN

    def test_254_characters_are_the_limit(self, properties: dict[str, Any]) -> None:
        domain = ("b" * 61 + ".") * 3 + "test"

        assert identifiers.email("a" * (253 - len(domain)) + "@" + domain)
        assert properties["email"]["maxLength"] == 254
        with pytest.raises(InvalidEmail):
            identifiers.email("a" * (254 - len(domain)) + "@" + domain)


class TestNames:
    @settings(deadline=None)
    @given(text=st.text(max_size=20))
    def test_agrees_on_names(self, properties: dict[str, Any], text: str) -> None:
        pattern = properties["name"]["pattern"].removesuffix("$") + r"\Z"

        assert (re.search(pattern, text) is not None) == identifiers.is_name(text)
        assert properties["name"]["maxLength"] == identifiers.NAME_LENGTH

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
