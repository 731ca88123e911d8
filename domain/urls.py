"""Build public URLs; the configured base alone decides where they lead."""

from urllib.parse import quote

from domain.policy import Policy


def public_url(policy: Policy, path: str, **query: str | None) -> str:
    """Return `base_url` + `base_path` + `path` with the query percent-encoded; a value of None is left out.

    `path` begins with a slash and needs no encoding: it is fixed text, or fixed text and a token.
    """
    return with_query(policy.base_url + policy.base_path + path, **query)


def with_query(url: str, **query: str | None) -> str:
    """Return an absolute URL with further parameters, percent-encoded; a value of None is left out."""
    given = [f"{name}={quote(value, safe='')}" for name, value in query.items() if value is not None]
    address, hash_sign, fragment = url.partition("#")
    joint = "&" if "?" in address else "?"
    return f"{address}{joint}{'&'.join(given)}{hash_sign}{fragment}" if given else url
