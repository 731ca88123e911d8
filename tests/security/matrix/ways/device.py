"""A device that the user has approved, and that has not fetched its session yet."""

from typing import NamedTuple

from models.device_request import DeviceRequest
from tests.handlers import device_steps
from tests.oauth import OAuthTestClient
from tests.security.matrix.cells import UNPROVEN, Way, column, ends, stays
from tests.security.matrix.groups import CALLER_ENDS, CALLER_STAYS, SIGN_INS_BY_MAIL
from tests.security.matrix.subject import Subject


class _Approved(NamedTuple):
    client: OAuthTestClient
    device_code: str


async def _approve(subject: Subject) -> _Approved:
    client = await device_steps.add_television(subject.service)
    started = await device_steps.start(subject.service, client)
    await subject.do("/device/approve", {"userCode": started["user_code"]})
    return _Approved(client, started["device_code"])


async def _by_code(subject: Subject, held: _Approved) -> bool:
    answer = await device_steps.poll(subject.service, held.client, held.device_code)
    return answer.status_code == 200


WAYS = [
    Way(
        "approved device",
        _approve,
        _by_code,
        DeviceRequest,
        cells=column(
            ends("an approval ends with the session that has approved", *CALLER_ENDS),
            ends("the sessions from before the mailbox was proven end", *SIGN_INS_BY_MAIL, users=UNPROVEN),
            rest=stays("the session that has approved stays", *CALLER_STAYS, *SIGN_INS_BY_MAIL),
        ),
    )
]
