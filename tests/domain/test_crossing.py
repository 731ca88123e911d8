"""What was let in before a revocation does nothing after it; what was checked before a change is checked again."""

from functools import partial
from typing import Any

import pytest

from domain import errors
from domain.context import Caller, Context, RequestFacts
from domain.emails import emails
from domain.passwords import passwords
from domain.passwords.errors import InvalidPassword
from domain.sessions import sessions
from domain.user_deletion import deletion
from domain.users import profile
from tests.handlers.steps import sign_in
from tests.service import PASSWORD, Service

ADA = {"name": "Ada", "email": "ada@example.com", "password": PASSWORD}
NEW = "an entirely different one"

JOBS = {
    "change password": partial(passwords.change, current=PASSWORD, new=NEW, revoke_others=True),
    "change email": partial(emails.change, new_email="eve@example.com", callback_url=None),
    "update user": partial(profile.update, changes={"name": "Eve"}),
    "delete user": partial(deletion.delete_user, password=PASSWORD, token=None, callback_url=None),
    "revoke others": sessions.revoke_others,
    "revoke all": sessions.revoke_all,
}


async def let_in(service: Service) -> Caller:
    """Sign up, and give the caller as the pipeline would find them."""
    token = (await service.post("/sign-up/email", ADA)).json()["token"]
    caller = await service.services.sessions.find([token], service.clock.now, by_cookie=False)
    assert caller is not None
    return caller


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS.keys())
async def test_a_session_revoked_meanwhile_does_nothing_any_more(service: Service, job: Any) -> None:
    caller = await let_in(service)
    bearer = {"Authorization": f"Bearer {caller.token}"}
    await service.post("/revoke-sessions", headers=bearer)

    with pytest.raises(errors.Unauthenticated):
        await service.services.unit_of_work.run(job, RequestFacts(service.services.clock(), caller=caller))

    signed_in = await service.post("/sign-in/email", ADA)
    assert signed_in.status_code == 200
    assert (signed_in.json()["user"]["name"], signed_in.json()["user"]["email"]) == ("Ada", "ada@example.com")


async def test_a_password_changed_after_its_check_is_checked_again(service: Service) -> None:
    caller = await let_in(service)
    tries: list[str] = []

    async def job(ctx: Context) -> None:
        checked = await passwords.check(ctx, PASSWORD)
        tries.append(checked)
        if len(tries) == 1:
            change = {"currentPassword": PASSWORD, "newPassword": NEW}
            await service.post(
                "/change-password", change, headers={"Authorization": f"Bearer {caller.token}"}
            )
        await passwords.lock_caller(ctx, checked)

    with pytest.raises(InvalidPassword):
        await service.services.unit_of_work.run(job, RequestFacts(service.services.clock(), caller=caller))

    assert len(tries) == 1
    assert (await sign_in(service, password=NEW)).status_code == 200
