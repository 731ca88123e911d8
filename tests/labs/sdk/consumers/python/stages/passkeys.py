"""Passkeys."""

import json
import os
import subprocess

from client import ADA, of, ok, signed_in
from gatewright_client import models
from gatewright_client.api.passkeys import begin_registration, finish_registration, rename
from gatewright_client.api.passkeys import begin_sign_in as begin_passkey_sign_in
from gatewright_client.api.passkeys import list_own as list_passkeys
from gatewright_client.api.passkeys import remove as remove_passkey
from gatewright_client.api.passkeys import sign_in as sign_in_by_passkey


def stage() -> None:
    ada = signed_in()
    options = of(begin_registration.sync(client=ada), models.PasskeyRegistrationOptions)
    created = models.PasskeyRegistration.from_dict(authenticator("create", options.to_dict()))
    body = models.VerifyPasskeyRegistrationRequest(response=created, name="Laptop")
    added = of(finish_registration.sync(client=ada, body=body), models.Passkey)
    offer = of(begin_passkey_sign_in.sync(client=ada), models.PasskeySignInOptions)
    signed = models.PasskeyAuthentication.from_dict(authenticator("get", offer.to_dict()))
    answer = of(
        sign_in_by_passkey.sync(client=ada, body=models.VerifyPasskeySignInRequest(response=signed)),
        models.PasskeyAnswer,
    )
    assert of(answer.user, models.User).email == ADA
    renamed = of(
        rename.sync(client=ada, body=models.UpdatePasskeyRequest(id=added.id, name="Phone")),
        models.UpdatedPasskey,
    )
    assert [one.name for one in of(list_passkeys.sync(client=ada), list)] == [renamed.passkey.name]
    ok(remove_passkey.sync(client=ada, body=models.DeletePasskeyRequest(id=added.id)))


def authenticator(ceremony: str, options: dict[str, object]) -> dict[str, object]:
    """Ask the authenticator, which is a program, for its response."""
    command = [*os.environ["AUTHENTICATOR"].split(), ceremony]
    asked = subprocess.run(command, input=json.dumps(options), capture_output=True, text=True, check=True)
    response: dict[str, object] = json.loads(asked.stdout)
    return response
