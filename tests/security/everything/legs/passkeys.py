"""Passkeys."""

from collections.abc import Iterator

from tests.authenticator import Authenticator
from tests.security.everything.traveller import UNKNOWN, Traveller


def leg(ada: Traveller) -> Iterator[None]:
    """Add a passkey, sign in with it, right and wrong, rename and delete it."""
    call, device = ada.witness.call, Authenticator()
    for session in (ada.session, ada.session):
        options = call("passkeys.begin_registration", session=session).body
        created = {"response": device.create(options), "name": "Laptop"}
        call("passkeys.finish_registration", created, session=session)
        call("passkeys.finish_registration", created, session=session)
    yield
    options = call("passkeys.begin_sign_in", session=ada.session).body
    call("passkeys.sign_in", {"response": Authenticator(user_handle=b"nobody").get(options)})
    options = call("passkeys.begin_sign_in").body
    for _ in range(2):
        call("passkeys.sign_in", {"response": device.get(options)})
    yield
    known = {"id": call("passkeys.list_own", session=ada.session).body[0]["id"]}
    for passkey in (known, {"id": UNKNOWN}):
        call("passkeys.rename", {**passkey, "name": "Phone"}, session=ada.session)
        call("passkeys.remove", passkey, session=ada.session)
    yield
