"""The origin check and CORS: which origins may send requests, and which may read responses."""

from collections.abc import Callable
from functools import lru_cache

from domain import errors
from domain.trusted_origins import TrustedOrigins, origin_of
from handlers.responses.reply import Header
from server.api.headers import RequestHeaders

_ORIGINS_REMEMBERED = 256

_EXPOSED = b"set-auth-token, set-auth-jwt, Retry-After, X-Retry-After, X-Request-Id"

ANY_ORIGIN: tuple[Header, ...] = ((b"access-control-allow-origin", b"*"),)
"""The CORS headers that let any origin read a response, but only of a request without credentials."""

PREFLIGHT: tuple[Header, ...] = (
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", b"Content-Type, Authorization"),
    (b"access-control-max-age", b"600"),
)
"""Headers of a preflight response for a trusted origin."""


def check(origins: TrustedOrigins, head: RequestHeaders, *, signs_in: bool) -> None:
    """Refuse a POST that may come from a page of an untrusted origin; `signs_in` is true for sign-up and sign-in.

    Raises CrossSiteNavigationLoginBlocked, MissingOrNullOrigin, InvalidOrigin.
    """
    site = head.fields.get(b"sec-fetch-site")
    # A form on a foreign page could sign a visitor in to the attacker's account (login CSRF).
    if signs_in and site == b"cross-site" and head.fields.get(b"sec-fetch-mode") == b"navigate":
        raise errors.CrossSiteNavigationLoginBlocked  # defence: V11 cross-site-navigation
    sent = head.every(b"origin")
    if sent:  # defence: V11 V12 sent-origin
        _check_origin(origins, sent)
    elif b"referer" in head.fields:
        _check_referers(origins, head.every(b"referer"))  # defence: V11 referer
    # A browser that names another site, and neither Origin nor Referer, hides which page has sent the request.
    elif site is not None and site not in (b"same-origin", b"none"):  # defence: V11 fetch-site
        raise errors.MissingOrNullOrigin


def check_script(origins: TrustedOrigins, head: RequestHeaders) -> None:
    """Refuse a GET that a script of an untrusted origin sent; links and images send no Origin.

    Raises MissingOrNullOrigin, InvalidOrigin.
    """
    if sent := head.every(b"origin"):
        _check_origin(origins, sent)


def check_same_origin(base_url: str, head: RequestHeaders) -> None:
    """Raise CrossSiteForm unless a form was sent by a page of this service.

    Browsers send no Sec-Fetch-Site at an http URL, and old ones never do: then Origin must be that of `base_url`.
    """
    site = head.every(b"sec-fetch-site")
    # defence: H1 same-origin
    if site != [b"same-origin"] and (site or head.every(b"origin") != [base_url.encode()]):
        raise errors.CrossSiteForm


def cors(origins: TrustedOrigins) -> Callable[[RequestHeaders], tuple[Header, ...]]:
    """Return a function that computes the CORS headers of a response: none unless the origin is trusted."""

    @lru_cache(maxsize=_ORIGINS_REMEMBERED)
    def headers_for(origin: bytes) -> tuple[Header, ...]:
        if not origins.trusts(origin.decode("latin-1")):  # defence: V12 cors
            return ()
        return (
            # The origin itself, because browsers refuse `*` together with credentials.
            (b"access-control-allow-origin", origin),
            (b"access-control-allow-credentials", b"true"),
            (b"access-control-expose-headers", _EXPOSED),
        )

    def headers_of(head: RequestHeaders) -> tuple[Header, ...]:
        origin = head.fields.get(b"origin")
        # Several origins are ambiguous; a proxy in between may have read another one.
        if origin is None or not head.occurs_once(b"origin"):
            return ()
        return headers_for(origin)

    return headers_of


def is_preflight(head: RequestHeaders, cors: tuple[Header, ...]) -> bool:
    """Return whether a request is a preflight of a trusted origin; `cors` holds the CORS headers of its response."""
    return bool(cors) and b"access-control-request-method" in head.fields


def _check_origin(origins: TrustedOrigins, sent: list[bytes]) -> None:
    # Sandboxed frames and redirects send `null`, so it can come from any page.
    if b"null" in sent:
        raise errors.MissingOrNullOrigin  # defence: V11 null-origin
    if not all(origins.trusts(origin.decode("latin-1")) for origin in sent):
        raise errors.InvalidOrigin


def _check_referers(origins: TrustedOrigins, sent: list[bytes]) -> None:
    for referer in sent:
        origin = origin_of(referer.decode("latin-1"))
        if origin is None or not origins.trusts(origin):
            raise errors.InvalidOrigin
