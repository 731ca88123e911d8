"""A passkey, and ceremonies that were begun."""

from typing import Any, NamedTuple

from models import OneTimeToken, Purpose
from models.passkey import Passkey
from tests.authenticator import Authenticator
from tests.conftest import Headers
from tests.handlers import passkey_steps
from tests.security.matrix.cells import Way
from tests.security.matrix.subject import Subject
from tests.security.matrix.ways import sessions


class Begun(NamedTuple):
    """The registration of another authenticator, and the session that began it."""

    options: Any
    session: Headers


async def _add(subject: Subject) -> Authenticator:
    await passkey_steps.add(subject.service, subject.caller, subject.device)
    return subject.device


async def _use(subject: Subject, device: Authenticator) -> bool:
    return subject.is_let_in(await passkey_steps.use(subject.service, device))


async def _begin_sign_in(subject: Subject) -> Any:
    return await passkey_steps.options(subject.service, subject.caller)


async def _finish_sign_in(subject: Subject, options: Any) -> bool:
    body = {"response": subject.device.get(options)}
    return subject.is_let_in(await subject.post(passkey_steps.SIGN_IN, body))


async def _begin_registration(subject: Subject) -> Begun:
    [way, *_] = sessions.WAYS
    session = await subject.open(way)
    return Begun(await passkey_steps.register_options(subject.service, session), session)


async def _finish_registration(subject: Subject, begun: Begun) -> bool:
    body = {"response": Authenticator().create(begun.options)}
    return (await subject.post(passkey_steps.REGISTER, body, begun.session)).status_code == 200


WAYS = [
    Way("passkey", _add, _use, Passkey, is_read_only=True),
    Way("passkey sign-in begun", _begin_sign_in, _finish_sign_in, OneTimeToken, Purpose.PASSKEY_SIGN_IN),
    Way(
        "passkey registration begun",
        _begin_registration,
        _finish_registration,
        OneTimeToken,
        Purpose.PASSKEY_REGISTER,
    ),
]
