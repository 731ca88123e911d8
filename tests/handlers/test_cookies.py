"""The Set-Cookie headers."""

import pytest

from domain.policy import Cookies
from handlers.responses import cookies

DEFAULT = Cookies(
    "service.session-token", "service.", secure=True, http_only=True, same_site="Lax", domain=None
)
OPEN = Cookies("sid", "x-", secure=False, http_only=False, same_site="None", domain="example.com")


def attributes(header: tuple[bytes, bytes]) -> list[str]:
    name, value = header
    assert name == b"set-cookie"
    return value.decode().split("; ")


class TestClearing:
    @pytest.mark.parametrize("settings", [DEFAULT, OPEN])
    def test_uses_the_same_attributes(self, settings: Cookies) -> None:
        was_set = attributes(cookies.set_session(settings, "t", max_age=60))

        cleared = attributes(cookies.clear_session(settings))

        assert cleared[0] == f"{settings.session_name}="
        assert [part for part in cleared if part != "Max-Age=0"][1:] == [
            part for part in was_set if part != "Max-Age=60"
        ][1:]

    def test_the_pending_cookie_has_the_prefix(self) -> None:
        assert attributes(cookies.clear_pending(DEFAULT))[0] == "service.two-factor="
        assert attributes(cookies.clear_pending(OPEN))[0] == "x-two-factor="
