"""Rows of the outbox in each state, for tests of emails."""

import json
from datetime import timedelta
from typing import Any

from domain.mail import outbox
from models import MailState, Outbox
from tests import rows
from tests.service import START, Service


async def add_mail(
    service: Service,
    name: str,
    state: MailState = MailState.FAILED,
    *,
    to: str = "ada@example.com",
    **more: Any,
) -> str:
    """Store an email and return its id, which is its name; without `payload` it has all that a notice has."""
    payload = more.pop("payload", {"to": to, "name": "Ada", "locale": "en", "expires": None})
    values: dict[str, Any] = {
        "template": "password-changed",
        "sender": "file",
        "attempts": 1,
        "next_attempt": START,
        "expires_at": START + timedelta(days=1),
        "created_at": START,
        "updated_at": START,
        "last_error": "smtp: 550 5.1.1" if state == MailState.FAILED else None,
        **more,
    }
    sealed = None if payload is None else service.services.cipher.encrypt(outbox.PURPOSE, json.dumps(payload))
    await rows.add(service.services.database, Outbox(id=name, state=state, payload=sealed, **values))
    return name


async def state_of(service: Service, mail_id: str) -> tuple[str, str | None]:
    """Return the state and the last error of an email."""
    [row] = await service.rows("SELECT state, last_error FROM outbox WHERE id = :id", id=mail_id)
    return row[0], row[1]
