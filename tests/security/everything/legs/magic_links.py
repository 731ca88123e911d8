"""Links by email."""

from collections.abc import Iterator

from tests.security.everything.traveller import Traveller

SETTINGS = {
    "magic_links.enabled": "true",
    "magic_links.page": "http://127.0.0.1/confirm",
    "trusted_origins": "http://127.0.0.1",
}


def leg(ada: Traveller) -> Iterator[None]:
    """Sign in by links, as a user of their own."""
    call, address = ada.witness.call, {"email": "link@example.com"}
    call("magic_links.request", {**address, "callbackURL": "/welcome"})
    link = ada.witness.token_in("magic-link")
    call("magic_links.peek", query={"token": link})
    yield
    call("magic_links.confirm", {"token": link})
    call("magic_links.verify", query={"token": link})
    yield
    call("magic_links.request", address)
    call("magic_links.verify", query={"token": ada.witness.token_in("magic-link")})
    yield
