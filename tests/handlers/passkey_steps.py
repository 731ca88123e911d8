"""Steps of tests with passkeys: add one, sign in with one."""

from typing import Any

import httpx

from tests.authenticator import Authenticator
from tests.conftest import Headers
from tests.service import Service

REGISTER_OPTIONS = "/passkey/generate-register-options"
REGISTER = "/passkey/verify-registration"
SIGN_IN_OPTIONS = "/passkey/generate-authenticate-options"
SIGN_IN = "/passkey/verify-authentication"
LIST = "/passkey/list-user-passkeys"
RENAME = "/passkey/update-passkey"
DELETE = "/passkey/delete-passkey"

Json = dict[str, Any]


async def register_options(service: Service, session: Headers) -> Json:
    answer = await service.get(REGISTER_OPTIONS, headers=session)
    assert answer.status_code == 200, answer.text
    options: Json = answer.json()
    return options


async def register(service: Service, session: Headers, device: Authenticator, **more: Any) -> httpx.Response:
    """Add the credential of an authenticator."""
    response = device.create(await register_options(service, session))
    return await service.post(REGISTER, {"response": response, **more}, headers=session)


async def add(service: Service, session: Headers, device: Authenticator | None = None, **more: Any) -> Json:
    """Add a passkey; return what the answer says of it."""
    answer = await register(service, session, device or Authenticator(), **more)
    assert answer.status_code == 200, answer.text
    shape: Json = answer.json()
    return shape


async def options(service: Service, session: Headers | None = None) -> Json:
    answer = await service.get(SIGN_IN_OPTIONS, headers=session or {})
    assert answer.status_code == 200, answer.text
    shape: Json = answer.json()
    return shape


async def use(service: Service, device: Authenticator, **more: Any) -> httpx.Response:
    """Sign in with an authenticator."""
    response = device.get(await options(service))
    answer = await service.post(SIGN_IN, {"response": response, **more})
    service.client.cookies.clear()
    return answer


async def passkeys_of(service: Service, session: Headers) -> list[Json]:
    answer = await service.get(LIST, headers=session)
    assert answer.status_code == 200, answer.text
    listed: list[Json] = answer.json()
    return listed
