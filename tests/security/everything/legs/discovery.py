"""The documents of the OAuth provider."""

from collections.abc import Iterator

from tests.security.everything.traveller import Traveller


def leg(ada: Traveller) -> Iterator[None]:
    for operation in ("openid", "oauth"):
        ada.witness.call(f"discovery.{operation}")
    yield
