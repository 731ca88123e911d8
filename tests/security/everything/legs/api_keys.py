"""API keys."""

from collections.abc import Iterator

from tests.security.everything.traveller import UNKNOWN, Traveller

VERIFIER = "the-token-of-a-service-that-verifies-keys"
SETTINGS = {"api_keys.verifiers": f"files:{VERIFIER}"}
SECRETS = (VERIFIER,)


def leg(ada: Traveller) -> Iterator[None]:
    call, session = ada.witness.call, ada.session
    created = call("api_keys.create", {"name": "ci", "prefix": "ci_"}, session=session)
    call("api_keys.create", {"prefix": "rvk_"}, session=session)
    yield
    key, known = created.body["key"], {"keyId": created.body["id"]}
    for text, token in (
        (key, VERIFIER),
        (key[:-1], VERIFIER),
        (key, UNKNOWN),
        (key, key),
        (VERIFIER, VERIFIER),
    ):
        call("api_keys.verify", {"key": text}, session=token)
    call("sessions.get_current", session=key)
    call("api_keys.get", session=session, query={"id": known["keyId"]})
    call("api_keys.list_own", session=session)
    call("api_keys.update", {**known, "enabled": False}, session=session)
    call("api_keys.verify", {"key": key}, session=VERIFIER)
    call("api_keys.delete", known, session=session)
    yield
