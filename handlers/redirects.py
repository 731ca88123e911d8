"""Build redirects: a redirect URL that was accepted is checked again when it is used."""

from dataclasses import replace
from urllib.parse import quote, unquote_plus

from domain.errors import InvalidCallbackUrl, Refusal
from domain.policy import Policy
from handlers.reply import Header, Redirect


def absolute(policy: Policy, target: str) -> str:
    """Return a relative URL as origin of `base_url` + URL, any other unchanged."""
    return policy.base_url + target if target.startswith("/") else target  # defence: V10 absolute-target


def with_parameters(url: str, **parameters: str) -> str:
    """Put parameters into the query, replacing those of the same name, before any fragment.

    Values are percent-encoded; the rest of the query stays as it was written.
    """
    address, hash_sign, fragment = url.partition("#")
    path, _, query = address.partition("?")
    kept = [piece for piece in query.split("&") if piece and _name_of(piece) not in parameters]
    # defence: V60 quoted-parameters
    added = [f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in parameters.items()]
    joined = "&".join(kept + added)
    return path + (f"?{joined}" if joined else "") + hash_sign + fragment


def _name_of(piece: str) -> str:
    return unquote_plus(piece.partition("=")[0])


def to(policy: Policy, target: str, headers: tuple[Header, ...] = (), **parameters: str) -> Redirect:
    """Redirect to a URL with parameters such as `token`. Raises InvalidCallbackUrl unless it is trusted."""
    if not policy.origins.accepts(target):
        raise InvalidCallbackUrl
    return Redirect(with_parameters(absolute(policy, target), **parameters), headers)


def on(policy: Policy, target: str | None, otherwise: str, **parameters: str) -> Redirect:
    """Redirect to a URL that was accepted before, if there is one and it is still trusted; else to `otherwise`."""
    is_trusted = target is not None and policy.origins.accepts(target)
    url = absolute(policy, target) if target is not None and is_trusted else otherwise
    return Redirect(with_parameters(url, **parameters))


def refused(policy: Policy, target: str, refusal: Refusal) -> Redirect:
    """Redirect with the refusal's code as `error`; the rule's writes are rolled back. Raises InvalidCallbackUrl."""
    return replace(to(policy, target, error=refusal.code), refused=True)
