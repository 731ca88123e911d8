"""The user forgets their trusted devices."""

from tests.handlers.pages import SAME_ORIGIN
from tests.handlers.steps import token_of
from tests.security.matrix.cells import WITH_TWO_FACTOR, Event, column, ends, stays
from tests.security.matrix.groups import ALL, DEVICE
from tests.security.matrix.subject import Subject
from tests.security.second_factor import SESSION, cookie

PATH = "/account/second-factor/devices/forget-all"


async def _forget(subject: Subject) -> None:
    subject.service.client.cookies.clear()
    headers = {**SAME_ORIGIN, **cookie(SESSION, token_of(subject.caller))}
    answer = await subject.service.client.post(PATH, data={"account": subject.email}, headers=headers)
    assert answer.status_code == 303, answer.text


EVENTS = [
    Event(
        "the trusted devices are forgotten",
        _forget,
        ("trusted_device.removed",),
        column(
            ends("every device is forgotten", DEVICE),
            rest=stays("a device replaces the second factor only", *ALL),
        ),
        WITH_TWO_FACTOR,
        "without a second factor, there is none to skip",
    )
]

OTHER_AUDIT_EVENTS = {
    "trusted_device.added": "opens a way in",
    "trusted_device.used": "replaces the token of this device",
}
