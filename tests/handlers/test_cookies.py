"""The Set-Cookie headers (behaviour 3.3, interface 5.5)."""

import pytest

from domain.policy import Cookies
from handlers import cookies

DEFAULT = Cookies(
    "service.session-token", "service.", secure=True, http_only=True, same_site="Lax", domain=None
)
OPEN = Cookies("sid", "x-", secure=False, http_only=False, same_site="None", domain="example.com")


def attributes(header: tuple[bytes, bytes]) -> list[str]:
    name, value = header
    assert name == b"set-cookie"
    return value.decode().split("; ")


class TestSetSession:
    def test_carries_the_raw_token_and_its_remaining_life(self) -> None:
        sent = attributes(cookies.set_session(DEFAULT, "t0k3n", max_age=604800))

        assert sent[0] == "service.session-token=t0k3n"
        assert sorted(sent[1:]) == ["HttpOnly", "Max-Age=604800", "Path=/", "SameSite=Lax", "Secure"]

    def test_ends_with_the_browser_when_not_remembered(self) -> None:
        assert "Max-Age" not in "".join(attributes(cookies.set_session(DEFAULT, "t", max_age=None)))

    def test_follows_the_settings(self) -> None:
        sent = attributes(cookies.set_session(OPEN, "t", max_age=1))

        assert sorted(sent) == ["Domain=example.com", "Max-Age=1", "Path=/", "SameSite=None", "sid=t"]


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
