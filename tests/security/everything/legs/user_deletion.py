"""Deletion of a user by the owner of the address."""

from collections.abc import Iterator

from tests.security.everything.traveller import FIRST, Traveller


def leg(ada: Traveller) -> Iterator[None]:
    """Create a user with the address of somebody else, who deletes it."""
    call = ada.witness.call
    call("authentication.sign_up_email", {"name": "Mallory", "email": "owner@example.com", "password": FIRST})
    token = ada.witness.not_me_token("verify-email")
    yield
    for _ in range(2):
        call("users.disown", {"token": token})
    yield
