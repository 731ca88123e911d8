"""Build public URLs, always from the configured base URL."""

from urllib.parse import quote, unquote_plus

from domain.policy import Policy


def public_url(policy: Policy, path: str, **query: str | None) -> str:
    """Return `base_url` + `base_path` + `path` with the query percent-encoded; a value of None is left out.

    `path` begins with a slash and is not encoded: it is fixed text, or fixed text and a token.
    """
    return with_parameters(policy.base_url + policy.base_path + path, **query)


def with_parameters(url: str, **parameters: str | None) -> str:
    """Add parameters to the query of a URL, replacing those of the same name.

    Values are percent-encoded, and None is left out. Other parameters and the fragment stay unchanged.
    """
    if "?" not in url and not any(value is not None for value in parameters.values()):
        return url
    address, hash_sign, fragment = url.partition("#")
    path, _, query = address.partition("?")
    kept = [piece for piece in query.split("&") if piece and _name_of(piece) not in parameters]
    # A value from a provider or client could otherwise add parameters, or split the header.
    # defence: V60 quoted-parameters
    added = [
        f"{quote(name, safe='')}={quote(value, safe='')}"
        for name, value in parameters.items()
        if value is not None
    ]
    joined = "&".join(kept + added)
    return path + (f"?{joined}" if joined else "") + hash_sign + fragment


def _name_of(piece: str) -> str:
    return unquote_plus(piece.partition("=")[0])
