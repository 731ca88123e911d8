"""The user signs in with an identity whose provider says that the address is verified."""

from tests.labs.provider import steps as provider_steps
from tests.security.matrix.cells import UNVERIFIED, Event, column, stays
from tests.security.matrix.events.emails import VERIFIED_ADDRESS
from tests.security.matrix.groups import ALL
from tests.security.matrix.subject import IDENTITY, Subject


async def _sign_in(subject: Subject) -> None:
    subject.service.client.cookies.clear()
    subject.be_at_provider(IDENTITY, email_verified=True)
    answer = await provider_steps.sign_in(subject.service)
    assert provider_steps.error_of(answer) is None


EVENTS = [
    Event(
        "the address is verified by a provider",
        _sign_in,
        ("email.verified",),
        column(
            rest=stays(
                "only sets emailVerified; the identity was linked by whoever holds the account",
                *ALL,
            )
        ),
        UNVERIFIED,
        VERIFIED_ADDRESS,
    )
]

OTHER_AUDIT_EVENTS = {
    "account.linked": "opens a way in",
    "account.link_refused": "a refusal",
    "provider_token.read": "reads",
    "provider_token.refreshed": "replaces a token of the provider, which lets nobody in here",
    "provider_token.failed": "a refusal",
    "oauth_state.refused": "a refusal",
}
