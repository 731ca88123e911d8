"""Rows ORG26 and ORG31: organizations while the mail server is down, and after a change of the settings."""

import json
from collections.abc import AsyncIterator

import pytest

from tests.conftest import MakeService
from tests.handlers.organization_steps import accept, add, ask, create, do, invite, join
from tests.handlers.steps import code, token_in
from tests.security.conftest import OpenInstance
from tests.security.mailing import Post, by_smtp, part
from tests.smtp_peer import SmtpPeer

GONE = "400 INVITATION_NOT_FOUND"
ROLE = {
    "organizations.roles": json.dumps(
        {"recruiter": {"invitation": ["create"], "member": ["update", "delete"], "team": ["create"]}}
    )
}


@pytest.fixture
async def peer() -> AsyncIterator[SmtpPeer]:
    """A mail server that is down."""
    peer = SmtpPeer()
    await peer.start()
    await peer.stop()
    yield peer
    await peer.stop()


@pytest.mark.threat("ORG26", "R10")
async def test_an_invitation_is_mailed_when_the_server_is_back(
    make_service: MakeService, peer: SmtpPeer
) -> None:
    service = await make_service({"limits.enabled": "false", **by_smtp(peer.port)})
    ada, bob = await add(service, "ada"), await add(service, "bob", verified=False)
    await create(service, ada)

    made = await invite(service, ada, bob.email)
    await service.services.worker.drain()
    await peer.start()
    service.clock.advance(minutes=5)
    mails = [
        mail
        for mail in await Post(service, peer).delivered()
        if mail["to"] == bob.email and "Acme" in part(mail, "plain")
    ]

    assert made["status"] == "pending"
    link = next(word for word in part(mails[0], "plain").split() if "/invitation/inv_" in word)
    assert (await accept(service, bob, token_in(link))).status_code == 200


@pytest.mark.threat("ORG31")
async def test_a_role_that_is_gone_grants_nothing(open_instance: OpenInstance) -> None:
    before = await open_instance(ROLE)
    ada, bob, eve, new = [await add(before, name) for name in ("ada", "bob", "eve", "new")]
    acme = (await create(before, ada))["id"]
    member = await join(before, ada, bob, "member,recruiter")
    sent = await invite(before, bob, eve.email)
    with_role = await invite(before, ada, new.email, "recruiter")

    service = await open_instance()
    found = {
        path: code(await ask(service, ("POST", path, {**body, "organizationId": acme}), bob.headers))
        for path, body in {
            "invite-member": {"email": "x@example.com", "role": "member"},
            "update-member-role": {"memberId": member, "role": "admin"},
            "remove-member": {"memberIdOrEmail": ada.email},
            "create-team": {"name": "Sales"},
        }.items()
    }
    checked = await do(service, "has-permission", bob.headers, permissions={"invitation": ["create"]})
    taken = await accept(service, eve, sent["id"])
    joined = await accept(service, new, with_role["id"])
    again = await ask(
        service, ("POST", "invite-member", {"email": "x@example.com", "role": "recruiter"}), ada.headers
    )
    shown = await service.get("/organization/get-active-member-role", headers=bob.headers)
    fixed = await do(service, "update-member-role", ada.headers, memberId=member, role="admin")

    assert {status.partition(" ")[0] for status in found.values()} == {"403"}
    assert checked["success"] is False
    assert [code(taken), code(again)] == [GONE, "400 ROLE_NOT_FOUND"]
    assert joined.status_code == 200
    powers = await do(service, "has-permission", new.headers, permissions={"invitation": ["create"]})
    assert powers["success"] is False
    assert shown.json() == {"role": "member,recruiter"}
    assert fixed["role"] == "admin"
