"""Signed tokens."""

from collections.abc import Iterator

from tests.security.everything.traveller import Traveller


def leg(ada: Traveller) -> Iterator[None]:
    ada.witness.call("jwt.issue", session=ada.session)
    ada.witness.call("jwt.issue", session=ada.session, query={"audience": "https://evil.test"})
    for operation in ("keys", "well_known_keys"):
        ada.witness.call(f"jwt.{operation}")
    yield
