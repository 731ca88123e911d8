"""All that a user may hold of the service at once: a live token of every kind; and what the service keeps of them."""

from dataclasses import dataclass
from typing import Any

from tests.conftest import Headers
from tests.handlers import passkey_steps, steps
from tests.handlers.steps import bearer
from tests.security.second_factor import (
    Owner,
    challenge,
    enrol,
    mailed_code,
    token_in,
    trusted_device,
)
from tests.service import Service

SETTINGS = {"delete_user.confirm_by_mail": "true", "limits.enabled": "false"}
"""With a mailed token for deleting too, and without the limits that sweeps over all operations would meet."""


@dataclass(frozen=True, slots=True)
class Belongings:
    """A verified two-factor user, and one live secret of each kind, by its name."""

    owner: Owner
    user_id: str
    secrets: dict[str, str]

    @property
    def email(self) -> str:
        """The user's address."""
        return self.owner.email

    @property
    def session(self) -> Headers:
        """The headers of the user's session, by bearer."""
        return self.owner.session


async def gather(service: Service, email: str) -> Belongings:
    """Make a user and everything that can be had."""
    owner = await enrol(service, email, username=email.partition("@")[0] + "_l")
    user_id = (await steps.user_of(service, owner.session))["id"]
    trust = await trusted_device(service, owner)
    pending = await challenge(service, email)
    otp = await mailed_code(service, bearer(pending), email)
    await service.post("/change-email", {"newEmail": f"new.{email}"}, headers=owner.session)
    await service.post("/delete-user", headers=owner.session)
    passkey = await passkey_steps.add(service, owner.session)
    [row, *_] = await service.rows("SELECT id FROM session WHERE user_id = :user", user=user_id)
    secrets = {
        "session": token_in(owner.session),
        "handle": f"rvk_{row.id}",
        "verify": steps.token_in(await steps.last_link(service, "verify-email", email)),
        "change-email": steps.token_in(await steps.last_link(service, "change-email", f"new.{email}")),
        "reset": await steps.reset_token(service, email),
        "delete": steps.token_in(await steps.last_link(service, "delete-account", email)),
        "pending": pending,
        "otp": otp,
        "trust": trust,
        "passkey": passkey["id"],
        "backup-code": owner.backup_codes[0],
        "id": user_id,
    }
    return Belongings(owner, user_id, secrets)


async def kept(service: Service, user_id: str) -> dict[str, list[str]]:
    """Return everything the service keeps of one user, to see whether it has changed."""
    tables = ("account", "session", "grant", "two_factor", "backup_code", "trusted_device", "passkey")
    found = {"user": [repr(tuple(row)) for row in await _rows(service, "user", "id", user_id)]}
    for table in tables:
        found[table] = sorted(repr(tuple(row)) for row in await _rows(service, table, "user_id", user_id))
    return found


async def _rows(service: Service, table: str, column: str, user_id: str) -> list[Any]:
    return await service.rows(f'SELECT * FROM "{table}" WHERE {column} = :user', user=user_id)
