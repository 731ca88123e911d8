"""Where redirects lead."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from domain import urls
from domain.errors import InvalidCallbackUrl
from domain.trusted_origins import TrustedOrigins
from handlers.responses import redirects
from tests.policies import policy

POLICY = replace(
    policy(),
    base_url="https://auth.test",
    base_path="/api/auth",
    origins=TrustedOrigins.parse("https://auth.test", ("https://app.test", "myapp://callback/")),
)


class TestWithParameters:
    @pytest.mark.parametrize(
        ("url", "result"),
        [
            ("https://app.test", "https://app.test?token=T"),
            ("https://app.test/", "https://app.test/?token=T"),
            ("https://app.test/x?", "https://app.test/x?token=T"),
            ("https://app.test/x?a=b", "https://app.test/x?a=b&token=T"),
            ("https://app.test/x?token=old", "https://app.test/x?token=T"),
            ("https://app.test/x?token=1&a=%20+b&token=2&c", "https://app.test/x?a=%20+b&c&token=T"),
            ("https://app.test/x?%74oken=old&a", "https://app.test/x?a&token=T"),
            ("https://app.test/x?token", "https://app.test/x?token=T"),
            ("https://app.test/x?tokens=a", "https://app.test/x?tokens=a&token=T"),
            ("https://app.test/x#token=a", "https://app.test/x?token=T#token=a"),
            ("https://app.test/x?a=b#/route?c=d", "https://app.test/x?a=b&token=T#/route?c=d"),
            ("https://app.test/x?a=//evil.test?b", "https://app.test/x?a=//evil.test?b&token=T"),
            ("https://app.test/%0d%0aSet-Cookie:x=1", "https://app.test/%0d%0aSet-Cookie:x=1?token=T"),
            ("myapp://callback/x", "myapp://callback/x?token=T"),
        ],
    )
    def test_goes_into_the_query_before_any_fragment(self, url: str, result: str) -> None:
        assert urls.with_parameters(url, token="T") == result

    def test_encodes_values(self) -> None:
        url = urls.with_parameters("/x", error="a&b=c#d\r\nLocation: é/?")

        assert url == "/x?error=a%26b%3Dc%23d%0D%0ALocation%3A%20%C3%A9%2F%3F"


class TestTo:
    @pytest.mark.threat("V1")
    @pytest.mark.parametrize(
        "target", ["https://evil.test", "//evil.test", "", "/x\r\nSet-Cookie: a=b", "https://app.test\n"]
    )
    def test_checks_again(self, target: str) -> None:
        with pytest.raises(InvalidCallbackUrl):
            redirects.to(POLICY, target, token="T")

    @pytest.mark.threat("V79")
    @settings(deadline=None)
    @given(
        target=st.text(max_size=20).map("/".__add__) | st.text(max_size=20).map("https://app.test/".__add__),
        error=st.text(),
    )
    def test_no_location_can_hold_a_line_end(self, target: str, error: str) -> None:
        try:
            location = redirects.to(POLICY, target, error=error).location
        except InvalidCallbackUrl:
            return
        assert location.isascii()
        assert location.isprintable()
        assert " " not in location
