"""Every message: to whom, by which sender, with which link, until when."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from domain.context import Context, RequestFacts, Resources
from domain.emails import mails as email_mails
from domain.mail import outbox
from domain.passwords import mails as password_mails
from domain.ports import Cipher, Ports
from domain.two_factor import mails as two_factor_mails
from models import OutboxRow, User
from server.crypto.keyring import Keyring
from tests.policies import policy

NOW = datetime(2026, 1, 1, 12, 0, tzinfo=UTC)
CIPHER = Keyring(["k" * 32])
ADA = User(
    id="a" * 32,
    name="Ada",
    email="ada@example.com",
    email_verified=True,
    created_at=NOW,
    updated_at=NOW,
)
BASE = "https://auth.example.com"


def context(**changes: Any) -> Context:
    """A context without a database: filing mail needs none."""
    none = cast(Any, None)
    port = Ports()
    port.add(Cipher, CIPHER)
    resources = Resources(policy(**changes), database=none, port=port, clock=none, run=none)
    return Context(resources, RequestFacts(NOW))


def payload(row: OutboxRow) -> dict[str, str | None]:
    opened = CIPHER.decrypt("outbox.payload", row.payload)
    assert opened is not None
    return cast(dict[str, str | None], json.loads(opened))


class TestSecondFactor:
    def test_a_code_goes_to_the_stored_address_and_dies_with_its_mail(self) -> None:
        ctx = context()

        two_factor_mails.otp(ctx, ADA, "492039")

        [row] = ctx.outbox
        assert (row.template, row.sender, row.expires_at - NOW) == ("otp", "smtp", timedelta(minutes=3))
        assert payload(row) == {
            "to": "ada@example.com",
            "name": "Ada",
            "locale": "en",
            "code": "492039",
            "expires": (NOW + timedelta(minutes=3)).isoformat(),
        }

    async def test_notices_say_what_happened(self) -> None:
        ctx = context()

        await two_factor_mails.two_factor_changed(ctx, ADA, enabled=True)
        await two_factor_mails.two_factor_changed(ctx, ADA, enabled=False)
        await two_factor_mails.second_factor_locked(ctx, ADA, NOW + timedelta(minutes=15))

        on, off, locked = (payload(row) for row in ctx.outbox)
        assert (on["switched"], off["switched"]) == ("on", "off")
        assert locked["until"] == (NOW + timedelta(minutes=15)).isoformat()
        assert {row.expires_at - NOW for row in ctx.outbox} == {timedelta(hours=24)}

    async def test_notices_can_be_switched_off_and_a_code_is_none(self) -> None:
        ctx = context(send_email_notifications=False)

        two_factor_mails.otp(ctx, ADA, "492039")
        await two_factor_mails.two_factor_changed(ctx, ADA, enabled=True)
        await two_factor_mails.second_factor_locked(ctx, ADA, NOW)

        assert [row.template for row in ctx.outbox] == ["otp"]


class TestExpiry:
    async def test_is_that_of_the_link_or_of_patience_whichever_is_first(self) -> None:
        ctx = context(email_verification={"token_expires_in": "1h"}, reset_token_expiry_hours=7 * 24)

        email_mails.change_email(ctx, ADA, "countess@example.com", "t", None)
        password_mails.reset_password(ctx, ADA, "t", None)
        await password_mails.password_changed(ctx, ADA)

        assert [row.expires_at - NOW for row in ctx.outbox] == [
            timedelta(hours=1),
            timedelta(hours=24),
            timedelta(hours=24),
        ]
        assert {row.next_attempt for row in ctx.outbox} == {NOW}


def test_retries_double_from_half_a_minute_to_an_hour() -> None:
    delays = [outbox.retry_delay(attempts).total_seconds() for attempts in (1, 2, 3, 4, 7, 8, 9, 100)]

    assert delays == [30, 60, 120, 240, 1920, 3600, 3600, 3600]
