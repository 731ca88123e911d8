"""Headers that set and clear the cookies of the service. A cookie is cleared with the same attributes as it is set."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from domain.policy import Cookies
from handlers.responses.reply import Header

PENDING = "two-factor"
"""The name, after `session.cookie_prefix`, of the cookie with the token of a sign-in that waits for a second factor."""

TRUSTED = "trust-device"
"""The name, after `session.cookie_prefix`, of the cookie with the token of a trusted device."""

ADMIN = "admin-session"
"""The name, after `session.cookie_prefix`, of the cookie that keeps the token of an administrator's own session while
they act in the name of a user. It authenticates nothing."""

NOTICE = "console-notice"
"""The name, after `session.cookie_prefix`, of the cookie with the name of a notice that the console shows once."""

BROWSER = "browser"
"""The name, after `session.cookie_prefix`, of the cookie that identifies the browser on the hosted pages. It
authenticates nothing."""

SHOWN_ONCE = "shown-once"
"""The name, after `session.cookie_prefix`, of the cookie with the encrypted content of a page that is shown once."""

STATE = "oauth-state-"
"""The name, after `session.cookie_prefix`, of the cookie that binds a sign-in at a provider to the browser. The first
characters of the `state` follow."""
STATE_LETTERS = 8

_DOMAIN = b"; Domain="


def set_session(cookies: Cookies, token: str, *, max_age: int | None) -> Header:
    """Return the Set-Cookie header for a session token.

    `max_age` is the remaining lifetime in seconds; None makes a cookie that the browser deletes when it closes.
    """
    return _set(cookies, cookies.session_name, token, max_age)


def clear_session(cookies: Cookies) -> Header:
    """Return the Set-Cookie header that clears the session cookie."""
    return _set(cookies, cookies.session_name, "", 0)


def clear_sessions(cookies: Cookies, sent: Callable[[bytes], Sequence[str]]) -> tuple[Header, ...]:
    """Return the headers that clear the session cookie and, if sent, the cookie of an administrator's own session.

    `sent` returns the values of the cookie with a given name that the browser has sent.
    """
    return clear_session(cookies), *clear_sent_admin(cookies, sent)


def set_admin(cookies: Cookies, token: str) -> Header:
    """Return the Set-Cookie header that keeps an administrator's own token while they act in the name of a user."""
    return _set(cookies, admin_name(cookies), token, None)


def clear_sent_admin(cookies: Cookies, sent: Callable[[bytes], Sequence[str]]) -> tuple[Header, ...]:
    """Return the header that clears the cookie of an administrator's own session; empty if it was not sent.

    `sent` returns the values of the cookie with a given name that the browser has sent.
    """
    name = admin_name(cookies)
    return (_set(cookies, name, "", 0),) if sent(name.encode()) else ()


def admin_name(cookies: Cookies) -> str:
    """Return the name of the cookie that keeps an administrator's own session."""
    return cookies.prefix + ADMIN


def set_notice(cookies: Cookies, name: str) -> Header:
    """Return the Set-Cookie header with the name of a notice that is shown once, within 60 seconds."""
    return _set(cookies, notice_name(cookies), name, 60)


def clear_notice(cookies: Cookies) -> Header:
    """Return the Set-Cookie header that clears the name of a notice."""
    return _set(cookies, notice_name(cookies), "", 0)


def notice_name(cookies: Cookies) -> str:
    """Return the name of the cookie with the name of a notice."""
    return cookies.prefix + NOTICE


def set_pending(cookies: Cookies, token: str, *, max_age: int) -> Header:
    """Return the Set-Cookie header for a pending two-factor token; `max_age` is in seconds."""
    return _set(cookies, pending_name(cookies), token, max_age)


def clear_pending(cookies: Cookies) -> Header:
    """Return the Set-Cookie header that clears the pending two-factor token."""
    return _set(cookies, pending_name(cookies), "", 0)


def pending_name(cookies: Cookies) -> str:
    """Return the name of the cookie with the pending two-factor token."""
    return cookies.prefix + PENDING


def set_trusted(cookies: Cookies, token: str, *, max_age: int) -> Header:
    """Return the Set-Cookie header for the token of a trusted device; `max_age` is in seconds."""
    return _set(cookies, trusted_name(cookies), token, max_age)


def clear_trusted(cookies: Cookies) -> Header:
    """Return the Set-Cookie header that clears the token of a trusted device."""
    return _set(cookies, trusted_name(cookies), "", 0)


def trusted_name(cookies: Cookies) -> str:
    """Return the name of the cookie of a trusted device."""
    return cookies.prefix + TRUSTED


def set_state(cookies: Cookies, state: str, binding: str, *, max_age: int) -> Header:
    """Return the Set-Cookie header that binds a sign-in at a provider to this browser.

    `binding` is the value of the cookie; `max_age` is in seconds.
    """
    return _set(_for_pages(cookies), state_name(cookies, state), binding, max_age)


def clear_state(cookies: Cookies, state: str) -> Header:
    """Return the Set-Cookie header that clears the cookie with which `set_state` has bound a sign-in."""
    return _set(_for_pages(cookies), state_name(cookies, state), "", 0)


def state_name(cookies: Cookies, state: str) -> str:
    """Return the name of the cookie that `set_state` sets. Each sign-in has its own, so that several tabs work."""
    return cookies.prefix + STATE + state[:STATE_LETTERS]


def clear_host_only_cookies(headers: Sequence[Header]) -> tuple[Header, ...]:
    """Return headers that clear cookies of the same names without a domain, for each cookie with a domain in `headers`.

    A browser may have stored such a cookie under other settings, and would send it in addition to the new one.
    """
    return tuple(
        (name, _host_only(value)) for name, value in headers if name == b"set-cookie" and _DOMAIN in value
    )


def _host_only(value: bytes) -> bytes:
    """Return the value of a Set-Cookie header that clears the host-only cookie of the same name."""
    # Browsers identify a cookie by name, domain and path (RFC 6265, 5.3), so `Domain` selects the cookie to clear.
    name, *attributes = value.split(b"; ")
    kept = [one for one in attributes if not one.startswith((b"Domain=", b"Max-Age="))]
    return b"; ".join([name.partition(b"=")[0] + b"=", *kept, b"Max-Age=0"])


def set_browser(cookies: Cookies, token: str) -> Header:
    """Return the Set-Cookie header for the token that identifies a browser until the browser closes."""
    return _set(_for_pages(cookies), browser_name(cookies), token, None)


def browser_name(cookies: Cookies) -> str:
    """Return the name of the cookie with the token that identifies a browser."""
    return cookies.prefix + BROWSER


def set_shown_once(cookies: Cookies, sealed: str, *, max_age: int) -> Header:
    """Return the Set-Cookie header for the content of a page that is shown once; `max_age` is in seconds."""
    return _set(_for_pages(cookies), shown_once_name(cookies), sealed, max_age)


def clear_shown_once(cookies: Cookies) -> Header:
    """Return the Set-Cookie header that clears the content of a page that was shown."""
    return _set(_for_pages(cookies), shown_once_name(cookies), "", 0)


def shown_once_name(cookies: Cookies) -> str:
    """Return the name of the cookie with the content of a page that is shown once."""
    return cookies.prefix + SHOWN_ONCE


def _for_pages(cookies: Cookies) -> Cookies:
    """Return the attributes of cookies that only navigations use: SameSite=Lax and HttpOnly.

    Lax, because a browser may return from another site.
    """
    return replace(cookies, same_site="Lax", http_only=True)


def _set(cookies: Cookies, name: str, value: str, max_age: int | None) -> Header:
    # Path=/ always: a `__Host-` cookie requires it (RFC 6265bis), and one path means one cookie.
    parts = [f"{name}={value}", "Path=/", f"SameSite={cookies.same_site}"]
    if cookies.domain is not None:
        parts.append(f"Domain={cookies.domain}")
    if max_age is not None:
        parts.append(f"Max-Age={max_age}")
    if cookies.http_only:
        parts.append("HttpOnly")
    # Also to clear a cookie: browsers ignore a Set-Cookie with a `__Host-` or `__Secure-` name without it (RFC
    # 6265bis, 4.1.3).
    if cookies.secure:
        parts.append("Secure")
    return b"set-cookie", "; ".join(parts).encode("ascii")
