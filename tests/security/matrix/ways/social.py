"""A linked identity, and flows through a provider that are open in a browser."""

from models import Account, OneTimeToken, Purpose
from tests.labs.provider import steps as provider_steps
from tests.labs.provider.steps import Flow
from tests.security.matrix.cells import Way
from tests.security.matrix.subject import IDENTITY, Subject
from tests.security.matrix.ways import sessions

OTHER_IDENTITY = "1002"


async def _link(subject: Subject) -> str:
    subject.be_at_provider(IDENTITY, email_verified=True)
    answer = await provider_steps.link(subject.service, subject.caller)
    assert provider_steps.error_of(answer) is None
    return IDENTITY


async def _by_identity(subject: Subject, identity: str) -> bool:
    return await subject.is_let_in_by_provider(await subject.by_provider())


async def _begin_sign_in(subject: Subject) -> Flow:
    subject.service.client.cookies.clear()
    return await provider_steps.begin(subject.service)


async def _finish_sign_in(subject: Subject, flow: Flow) -> bool:
    return await subject.is_let_in_by_provider(await subject.by_provider(flow))


async def _begin_link(subject: Subject) -> Flow:
    [session, *_] = sessions.WAYS
    return await provider_steps.begin_link(subject.service, await subject.open(session))


async def _finish_link(subject: Subject, flow: Flow) -> bool:
    subject.service.client.cookies.clear()
    subject.be_at_provider(OTHER_IDENTITY, email_verified=True)
    return provider_steps.error_of(await provider_steps.go_through(subject.service, flow)) is None


WAYS = [
    Way("linked identity", _link, _by_identity, Account),
    Way("sign-in open at a provider", _begin_sign_in, _finish_sign_in, OneTimeToken, Purpose.OAUTH_STATE),
    Way("link open at a provider", _begin_link, _finish_link, OneTimeToken, Purpose.OAUTH_STATE),
]
