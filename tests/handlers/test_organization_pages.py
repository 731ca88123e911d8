"""The operations of openapi/paths/organization_pages.yaml, through the public door and without scripts."""

import io
import re

import pytest

from models.invitation import Invitation
from models.member import Member
from models.organization import Organization
from models.team import Team, TeamMember
from tests.conftest import MakeService
from tests.handlers.pages import SETTINGS, Browser, act_as, other_profile, send, signed_in
from tests.handlers.steps import ADA, EVE, count, execute, join, last_link, set_user
from tests.scim import add_directory, group
from tests.service import PASSWORD, Service

LIST = "/account/organizations"
ON = {
    **SETTINGS,
    "organizations.enabled": "true",
    "organizations.teams.enabled": "true",
    "organizations.teams.default_team": "false",
    "organizations.roles": '{"billing": {"member": ["update"]}}',
}
NO_TEAMS = {"organizations.teams.enabled": "false"}
BOB = "bob@example.com"


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service(ON)


@pytest.fixture
def browser(service: Service) -> Browser:
    return Browser(service)


@pytest.fixture
async def ada(service: Service, browser: Browser) -> Browser:
    """The browser of Ada, who owns the organization Acme, on its page."""
    await join(service)
    await browser.open(LIST)
    await browser.submit(LIST, name="Acme", slug="acme")
    return browser


def home_of(browser: Browser) -> str:
    """Return the path of the page that a browser shows, without its query."""
    return browser.page.path.partition("?")[0]


async def invite(browser: Browser, email: str = BOB, role: str = "member") -> str:
    """Invite an address on the page of the organization; return the path of the mailed link."""
    here = home_of(browser)
    await browser.submit(f"{here}/invitations", email=email, role=role)
    return await link_to(browser.service, email)


async def link_to(service: Service, email: str = BOB) -> str:
    """Return the path of the link in the last invitation of an address."""
    link = await last_link(service, "organization-invitation", email)
    return link.removeprefix(str(service.client.base_url).rstrip("/"))


async def add(ada: Browser, email: str = BOB, role: str = "member") -> None:
    """Make a user a member of Ada's organization, by an invitation; her page shows it afterwards."""
    here = home_of(ada)
    link = await invite(ada, email, role)
    with other_profile(ada.service):
        await join(ada.service, email)
        visitor = Browser(ada.service)
        await visitor.open(link)
        await visitor.submit(f"{link}/accept")
    await ada.open(here)


async def manage(browser: Browser, email: str) -> None:
    """Open the page of a member of the organization that the browser shows."""
    [row] = await browser.service.rows(
        'SELECT m.id FROM member m JOIN "user" u ON u.id = m.user_id WHERE u.email = :email', email=email
    )
    path = f"{home_of(browser)}/member?member={row.id}"
    assert path in browser.page.targets
    await browser.open(path)


async def copy_member(service: Service, name: str) -> None:
    """Make a user like Ada a plain member of her organization, without the many steps of an invitation."""
    same = "name, email_verified, two_factor_enabled, banned, role, created_at, updated_at"
    await execute(
        service,
        f'INSERT INTO "user" (id, email, {same}) SELECT :new, :email, {same} FROM "user" WHERE email = :ada',
        new=name,
        email=f"{name}@example.com",
        ada=ADA,
    )
    await execute(
        service,
        "INSERT INTO member (id, organization_id, user_id, role, is_owner, created_at, updated_at)"
        " SELECT :new, organization_id, :new, 'member', false, created_at, updated_at FROM member WHERE is_owner",
        new=name,
    )


async def roles(service: Service) -> dict[str, str]:
    """Return the roles of members by the address of their user."""
    rows = await service.rows('SELECT u.email, m.role FROM member m JOIN "user" u ON u.id = m.user_id')
    return {row.email: row.role for row in rows}


async def id_of(service: Service, table: str) -> str:
    """Return the id of the newest row of a table."""
    rows = await service.rows(f"SELECT id FROM {table} ORDER BY created_at DESC, id")
    return str(rows[0].id)


@pytest.mark.operation("organization_pages.show_organizations", "organization_pages.create_organization")
class TestCreation:
    async def test_the_page_exists_only_while_organizations_are_on(self, make_service: MakeService) -> None:
        service = await make_service({**SETTINGS, "organizations.enabled": "false", **NO_TEAMS})
        await join(service)
        browser = Browser(service)

        assert (await browser.open(LIST)).status == 404
        assert LIST not in (await browser.open("/account")).targets

    async def test_a_signed_out_browser_signs_in_first(self, service: Service, browser: Browser) -> None:
        assert (await browser.open(LIST)).path.startswith(
            "/account/sign-in?callbackURL=%2Faccount%2Forganizations"
        )

    async def test_creates_an_organization_and_makes_it_active(self, service: Service, ada: Browser) -> None:
        page = ada.page

        assert (page.status, page.title) == (200, "Acme · Gatewright")
        assert "The organization has been created." in page.text
        assert "Your role Owner" in page.text
        assert (await service.get("/get-session")).json()["session"]["activeOrganizationId"] in page.path
        assert LIST in (await ada.open("/account")).targets

    @pytest.mark.parametrize(
        ("typed", "text"),
        [
            ({"name": "", "slug": "acme"}, "Enter a name."),
            ({"name": " ", "slug": "acme"}, "Enter a name."),
            ({"name": "Acme", "slug": "-"}, "begin and end with a letter or digit."),
            ({"name": "Acme", "slug": ""}, "Fill in this field."),
            ({"name": "Other", "slug": "ACME"}, "Another organization has this short name."),
        ],
    )
    async def test_a_wrong_field_is_named_and_entries_are_kept(
        self, service: Service, ada: Browser, typed: dict[str, str], text: str
    ) -> None:
        await ada.open(LIST)
        page = await ada.submit(LIST, **typed)

        assert page.status == 422
        assert text in page.text
        assert page.inputs["slug"]["value"] == typed["slug"]
        assert await count(service, Organization) == 1

    @pytest.mark.threat("H7")
    async def test_a_form_that_is_sent_twice_creates_one(self, service: Service, ada: Browser) -> None:
        await ada.open(LIST)
        fields = ada.page.form(LIST).fields | {"name": "Other", "slug": "Other"}

        sent = [await send(service, LIST, **fields) for _ in range(2)]

        assert [answer.status_code for answer in sent] == [303, 303]
        assert sent[0].headers["location"] == sent[1].headers["location"]
        assert await count(service, Organization) == 2

    async def test_who_may_not_create_sees_no_form(self, make_service: MakeService) -> None:
        service = await make_service({**ON, "organizations.creation": "admins"})
        await join(service)
        browser = Browser(service)
        page = await browser.open(LIST)
        answer = await send(service, LIST, account=ADA, name="Acme", slug="acme")

        assert "Create an organization" not in page.text
        assert "You are not allowed to create a new organization" in answer.text
        assert await count(service, Organization) == 0


@pytest.mark.operation("organization_pages.set_active_organization", "organization_pages.show_organizations")
class TestActiveOrganization:
    async def test_is_marked_and_changed(self, service: Service, ada: Browser) -> None:
        acme = home_of(ada).rpartition("/")[2]
        await ada.open(LIST)
        await ada.submit(LIST, name="Other", slug="other")
        await ada.open(LIST)
        page = await ada.submit(f"{LIST}/active")

        assert "This is your active organization now." in page.text
        assert (await service.get("/get-session")).json()["session"]["activeOrganizationId"] == acme

        await send(service, f"{LIST}/active", account=ADA, organization="")
        assert "activeOrganizationId" not in (await service.get("/get-session")).json()["session"]

    async def test_a_foreign_organization_leads_to_the_list(self, service: Service, ada: Browser) -> None:
        acme = home_of(ada).rpartition("/")[2]
        with other_profile(service):
            await join(service, EVE)
            answer = await send(service, f"{LIST}/active", account=EVE, organization=acme)

        assert answer.headers["location"] == f"{LIST}?reason=gone"


@pytest.mark.operation(
    "organization_pages.accept_invitation",
    "organization_pages.reject_invitation",
    "organization_pages.show_invitation",
)
class TestInvitation:
    async def test_leads_a_new_person_through_sign_up_to_the_organization(
        self, service: Service, ada: Browser
    ) -> None:
        here, link = home_of(ada), await invite(ada)
        with other_profile(service):
            bob = Browser(service)
            page = await bob.open(link)
            assert "Ada (ada@example.com) has invited you." in page.text.replace("( ", "(").replace(" )", ")")
            assert "The invitation is for bob@example.com" in page.text
            page = await bob.open(page.links["Create an account"])
            assert page.inputs["email"]["value"] == BOB

            page = await bob.submit("/account/sign-up", name="Bob", password=PASSWORD)
            assert page.path == link
            page = await bob.submit(f"{link}/accept")

            assert "Welcome to Acme" in page.text
            assert (await bob.open(page.links["Go to the organization"])).path == here
            assert "Invitations" not in bob.page.text
        assert await roles(service) == {ADA: "owner", BOB: "member"}

    async def test_opening_the_link_uses_nothing_up(self, service: Service, ada: Browser) -> None:
        link = await invite(ada)
        with other_profile(service):
            for _ in range(3):
                page = await Browser(service).open(link)
            assert page.headers["referrer-policy"] == "same-origin"
            assert page.headers["cache-control"] == "no-store"

        rows = await service.rows("SELECT status FROM invitation")
        assert [row.status for row in rows] == ["pending"]

    @pytest.mark.threat("ORG3")
    async def test_the_secret_is_in_no_log(
        self, service: Service, ada: Browser, log_stream: io.BytesIO
    ) -> None:
        link = await invite(ada)
        secret = link.rpartition("/")[2]
        with other_profile(service):
            bob = Browser(service)
            await bob.open(link)
            await bob.open(bob.page.links["Sign in"])
            await join(service, BOB)
            await bob.open(link)
            await bob.submit(f"{link}/accept")

        assert secret.startswith("inv_")
        assert b"/account/invitation/{id}" in log_stream.getvalue()
        assert secret.encode() not in log_stream.getvalue()

    @pytest.mark.threat("ORG3")
    async def test_a_signed_out_browser_learns_nothing_from_an_identifier(
        self, service: Service, ada: Browser
    ) -> None:
        await invite(ada)
        row_id = await id_of(service, "invitation")
        with other_profile(service):
            real = await Browser(service).open(f"/account/invitation/{row_id}")
            unknown = await Browser(service).open(f"/account/invitation/{'x' * 32}")

        assert real.text == unknown.text
        assert "Sign in to see the invitation" in real.text
        assert "Acme" not in real.text
        assert BOB not in real.links["Create an account"]

    @pytest.mark.threat("ORG1")
    async def test_another_account_is_named_and_can_be_switched(self, service: Service, ada: Browser) -> None:
        link = await invite(ada)
        with other_profile(service):
            await join(service, EVE)
            eve = Browser(service)
            page = await eve.open(link)
            assert (
                "The invitation is for bob@example.com , and you are signed in as eve@example.com"
                in page.text
            )
            assert (await send(service, f"{link}/accept", account=EVE)).status_code == 422

            page = await eve.submit("/account/sign-out")
            assert page.path == link
            assert await signed_in(service) is None
        assert EVE not in await roles(service)

    @pytest.mark.threat("ORG1")
    async def test_another_account_learns_no_address_from_an_identifier(
        self, service: Service, ada: Browser
    ) -> None:
        await invite(ada)
        row_id = await id_of(service, "invitation")
        with other_profile(service):
            await join(service, EVE)
            page = await Browser(service).open(f"/account/invitation/{row_id}")

        assert "the invitation is not for this address" in page.text
        assert BOB not in page.text
        assert "Acme" not in page.text

    @pytest.mark.threat("ORG2")
    async def test_an_unverified_address_with_an_identifier_is_verified_first(
        self, service: Service, ada: Browser
    ) -> None:
        await invite(ada)
        link = f"/account/invitation/{await id_of(service, 'invitation')}"
        with other_profile(service):
            await join(service, BOB)
            bob = Browser(service)
            page = await bob.open(link)
            assert "Verify your email address first" in page.text
            assert "Acme" not in page.text
            assert "Acme" not in (await bob.open(LIST)).text
            assert (await send(service, f"{link}/accept", account=BOB)).status_code == 422
            assert BOB not in await roles(service)

            await bob.open(link)
            await bob.submit("/account/verify-email/send")
            mailed = await last_link(service, "verify-email", BOB)
            await bob.open(mailed)
            page = await bob.submit("/account/verify-email")
            page = await bob.open(page.links["Continue"])

            assert page.path == link
            await bob.submit(f"{link}/accept")
        assert (await roles(service))[BOB] == "member"

    @pytest.mark.parametrize("end", ["canceled", "expired", "unknown", "rejected", "inviter"])
    async def test_what_is_gone_has_one_page(self, service: Service, ada: Browser, end: str) -> None:
        here, link = home_of(ada), await invite(ada)
        match end:
            case "canceled":
                await ada.submit(f"{here}/invitations/cancel")
            case "expired":
                service.clock.advance(days=3)
            case "unknown":
                link = f"/account/invitation/inv_{'x' * 32}"
            case "rejected":
                await execute(service, "UPDATE invitation SET status = 'rejected'")
            case "inviter":
                await set_user(service, ADA, banned=True)
        with other_profile(service):
            await join(service, BOB)
            page = await Browser(service).open(link)

        assert "This invitation is no longer valid" in page.text
        assert "Acme" not in page.text
        assert (page.status, [form for form in page.forms if "accept" in form.action]) == (200, [])

    async def test_is_declined(self, service: Service, ada: Browser) -> None:
        link = await invite(ada)
        with other_profile(service):
            await join(service, BOB)
            bob = Browser(service)
            await bob.open(link)
            page = await bob.submit(f"{link}/reject")

            assert "You have declined the invitation" in page.text
            assert "This invitation is no longer valid" in (await bob.open(link)).text
        assert await roles(service) == {ADA: "owner"}

    @pytest.mark.threat("H7")
    async def test_accepting_twice_is_accepting_once(self, service: Service, ada: Browser) -> None:
        link = await invite(ada)
        with other_profile(service):
            await join(service, BOB)
            bob = Browser(service)
            await bob.open(link)
            fields = bob.page.form(f"{link}/accept").fields
            answers = [await send(service, f"{link}/accept", **fields) for _ in range(2)]

            assert [answer.status_code for answer in answers] == [303, 303]
            assert "Welcome to Acme" in (await bob.open(answers[1].headers["location"])).text
            assert "You are a member of Acme" in (await bob.open(link)).text
        assert await count(service, Member) == 2

    async def test_leads_on_to_the_configured_home(self, make_service: MakeService) -> None:
        service = await make_service({**ON, "pages.home_url": "https://app.example.com/start"})
        await join(service)
        ada = Browser(service)
        await ada.open(LIST)
        await ada.submit(LIST, name="Acme", slug="acme")
        link = await invite(ada)
        with other_profile(service):
            await join(service, BOB)
            bob = Browser(service)
            await bob.open(link)
            page = await bob.submit(f"{link}/accept")

        assert "/account/organizations/" in page.links["Go to the organization"]
        assert page.links["Continue"].startswith(("https://app.example.com/start", "/account/leaving"))

    @pytest.mark.parametrize(
        ("key", "text"),
        [
            ("membership_limit", "The organization has as many members as are allowed."),
            ("limit_per_user", "You are in as many organizations as are allowed."),
        ],
    )
    async def test_a_limit_is_told_and_the_invitation_stays(
        self, make_service: MakeService, key: str, text: str
    ) -> None:
        service = await make_service({**ON, f"organizations.{key}": "1"})
        await join(service)
        ada = Browser(service)
        await ada.open(LIST)
        await ada.submit(LIST, name="Acme", slug="acme")
        link = await invite(ada)
        with other_profile(service):
            await join(service, BOB)
            bob = Browser(service)
            await bob.open(LIST)
            await bob.submit(LIST, name="Own", slug="own")
            await bob.open(link)
            page = await bob.submit(f"{link}/accept")

        assert page.status == 422
        assert text in page.text
        assert f"{link}/accept" in {form.action for form in page.forms}

    async def test_waiting_ones_are_listed_for_a_verified_address(
        self, service: Service, ada: Browser
    ) -> None:
        await invite(ada)
        row_id = await id_of(service, "invitation")
        with other_profile(service):
            await join(service, BOB)
            await set_user(service, BOB, email_verified=True)
            bob = Browser(service)
            page = await bob.open(LIST)
            assert "Invitations to you" in page.text
            page = await bob.submit(f"/account/invitation/{row_id}/accept")
            assert "Welcome to Acme" in page.text
            assert "Invitations to you" not in (await bob.open(LIST)).text

    @pytest.mark.threat("ORG22")
    async def test_an_administrator_does_not_answer_in_the_name_of_a_user(
        self, service: Service, ada: Browser
    ) -> None:
        link = await invite(ada)
        service.client.cookies.clear()
        await join(service, BOB)
        await act_as(service, BOB)

        assert (await send(service, f"{link}/accept", account=BOB)).status_code == 403
        assert BOB not in await roles(service)


@pytest.mark.operation(
    "organization_pages.show_organization",
    "organization_pages.show_organization_form",
    "organization_pages.update_organization",
)
class TestOrganization:
    async def test_is_changed(self, service: Service, ada: Browser) -> None:
        here = home_of(ada)
        await ada.open(f"{here}/edit")
        page = await ada.submit(
            f"{here}/edit", name="Acme Inc", slug="ACME-inc", logo="https://example.com/a.png"
        )

        assert page.path.startswith(here)
        assert "Your changes are saved." in page.text
        assert "acme-inc" in page.text
        assert "https://example.com/a.png" in page.text

        await ada.open(f"{here}/edit")
        page = await ada.submit(f"{here}/edit", logo="")
        assert "https://example.com/a.png" not in page.text

    @pytest.mark.threat("H6")
    async def test_a_stale_form_overwrites_nothing(self, service: Service, ada: Browser) -> None:
        here = home_of(ada)
        await ada.open(f"{here}/edit")
        old = dict(ada.page.form(f"{here}/edit").fields)
        service.clock.advance(seconds=1)
        await ada.submit(f"{here}/edit", name="Theirs")
        answer = await send(service, f"{here}/edit", **{**old, "name": "Mine"})

        assert answer.status_code == 422
        assert "This was changed after you opened the form" in answer.text
        assert "Stored now: “<bdi>Theirs</bdi>”" in answer.text
        assert 'value="Mine"' in answer.text
        again = await send(service, f"{here}/edit", **{**old, "name": "Theirs"})
        assert again.status_code == 303

    async def test_a_plain_member_sees_and_may_do_little(self, service: Service, ada: Browser) -> None:
        here = home_of(ada)
        await add(ada)
        ada_id = (await service.rows("SELECT id FROM member WHERE is_owner"))[0].id
        with other_profile(service):
            await service.post("/sign-in/email", {"email": BOB, "password": PASSWORD})
            bob = Browser(service)
            page = await bob.open(here)
            assert "ada@example.com" in page.text
            drawn = {form.action for form in page.forms} | page.targets
            for rest in ("/edit", "/delete", "/invitations", "/teams", "/member"):
                assert not [one for one in drawn if one and one.startswith(here + rest)], rest

            for path in (f"{here}/edit", f"{here}/delete", f"{here}/member?member={ada_id}"):
                assert "Your role does not allow this." in (await bob.open(path)).text, path
                assert home_of(bob) == here
            tried = {
                "/edit": {"name": "Mine", "slug": "mine"},
                "/delete": {"typedSlug": "acme"},
                "/member": {"member": ada_id, "former": "owner", "role": "member"},
                "/member/remove": {"member": ada_id},
                "/invitations": {"email": EVE, "role": "member"},
                "/teams": {"teamName": "Mine"},
            }
            for rest, fields in tried.items():
                answer = await send(service, here + rest, account=BOB, **fields)
                if answer.status_code == 302:
                    assert answer.headers["location"] == f"{here}?reason=not-allowed", rest
                else:
                    assert (answer.status_code, "You are not allowed to" in answer.text) == (422, True), rest
        assert await roles(service) == {ADA: "owner", BOB: "member"}
        assert (await count(service, Team), await count(service, Invitation)) == (0, 1)

    @pytest.mark.threat("ORG8", "ORG9")
    @pytest.mark.parametrize("known", [True, False])
    async def test_a_stranger_is_led_to_the_list(self, service: Service, ada: Browser, known: bool) -> None:
        here = home_of(ada) if known else f"{LIST}/{'x' * 32}"
        with other_profile(service):
            await join(service, EVE)
            eve = Browser(service)
            for rest in ("", "/edit", "/leave", "/delete", "/team?team=x", "/team/remove?team=x"):
                page = await eve.open(here + rest)
                assert page.path == f"{LIST}?reason=gone", rest
                assert "you are not a member of it" in page.text
            for rest in ("/member?member=x", "/member/remove?member=x"):
                assert (await eve.open(here + rest)).path == f"{LIST}?reason=gone", rest
            for rest, fields in {
                "/edit": {"name": "Mine", "slug": "mine"},
                "/leave": {},
                "/delete": {"typedSlug": "acme"},
                "/invitations": {"email": EVE, "role": "member"},
            }.items():
                answer = await send(service, here + rest, account=EVE, **fields)
                assert answer.headers["location"] == f"{LIST}?reason=gone", rest

    @pytest.mark.threat("H3")
    async def test_markup_in_names_is_text(self, service: Service, ada: Browser) -> None:
        here = home_of(ada)
        await ada.open(f"{here}/edit")
        await ada.submit(f"{here}/edit", name="<b>Acme</b>")
        answer = await service.get(here)

        assert "&lt;b&gt;Acme&lt;/b&gt;" in answer.text
        assert "<b>Acme" not in answer.text

    @pytest.mark.threat("H8")
    async def test_a_form_of_another_account_is_refused(self, service: Service, ada: Browser) -> None:
        here = home_of(ada)
        await ada.open(f"{here}/edit")
        old = dict(ada.page.form(f"{here}/edit").fields)
        with other_profile(service):
            await join(service, EVE)
            answer = await send(service, f"{here}/edit", **old)

        assert answer.status_code == 409
        assert ADA in answer.text
        assert EVE in answer.text

    @pytest.mark.threat("H1")
    async def test_a_foreign_page_changes_nothing(self, service: Service, ada: Browser) -> None:
        here = home_of(ada)
        foreign = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example.com"}
        answer = await send(service, f"{here}/leave", foreign, account=ADA)

        assert answer.status_code == 403
        assert await count(service, Member) == 1

    async def test_many_members_have_several_pages(self, service: Service, ada: Browser) -> None:
        here = home_of(ada)
        for number in range(100):
            await copy_member(service, f"u{number:03}")
        first = await ada.open(here)
        second = await ada.open(first.links["Next page"])

        assert first.text.count("@example.com · ") == 100
        assert second.text.count("@example.com · ") == 1
        assert second.links["Previous page"] == f"{here}?number=1"
        assert "There are no members on this page." in (await ada.open(f"{here}?number=3")).text


@pytest.mark.operation(
    "organization_pages.delete_organization",
    "organization_pages.leave_organization",
    "organization_pages.show_leaving",
    "organization_pages.show_organization_deletion",
)
class TestEnd:
    async def test_the_only_owner_cannot_leave(self, service: Service, ada: Browser) -> None:
        here = home_of(ada)
        page = await ada.open(f"{here}/leave")
        answer = await send(service, f"{here}/leave", account=ADA)

        assert "An organization needs an owner" in page.text
        assert f"{here}/leave" not in {form.action for form in page.forms}
        assert answer.status_code == 422
        assert "An organization needs an owner" in answer.text

    async def test_a_member_leaves(self, service: Service, ada: Browser) -> None:
        here = home_of(ada)
        await add(ada, role="owner")
        await ada.open(f"{here}/leave")
        fields = ada.page.form(f"{here}/leave").fields
        page = await ada.submit(f"{here}/leave")

        assert "You have left the organization." in page.text
        assert "You are in no organization yet." in page.text
        assert (await send(service, f"{here}/leave", **fields)).headers["location"] == f"{LIST}?reason=gone"
        assert await roles(service) == {BOB: "owner"}

    async def test_deletion_takes_the_slug(self, service: Service, ada: Browser) -> None:
        here = home_of(ada)
        await ada.open(f"{here}/delete")
        page = await ada.submit(f"{here}/delete", typedSlug="acne")
        assert (page.status, await count(service, Organization)) == (422, 1)
        assert "This is not the short name of the organization." in page.text

        page = await ada.submit(f"{here}/delete", typedSlug="Acme ")
        assert "The organization has been deleted." in page.text
        assert await count(service, Organization) == 0

    async def test_deletion_takes_a_fresh_session(self, service: Service, ada: Browser) -> None:
        here = home_of(ada)
        service.clock.advance(days=2)

        assert (await ada.open(f"{here}/delete")).path.startswith("/account/confirm")
        assert (
            (await send(service, f"{here}/delete", account=ADA, typedSlug="acme"))
            .headers["location"]
            .startswith("/account/confirm")
        )
        assert await count(service, Organization) == 1

    async def test_deletion_can_be_off(self, make_service: MakeService) -> None:
        service = await make_service({**ON, "organizations.deletion": "false"})
        await join(service)
        ada = Browser(service)
        await ada.open(LIST)
        await ada.submit(LIST, name="Acme", slug="acme")
        here = home_of(ada)

        assert f"{here}/delete" not in ada.page.targets
        assert "Your role does not allow this." in (await ada.open(f"{here}/delete")).text
        assert (await send(service, f"{here}/delete", account=ADA, typedSlug="acme")).headers[
            "location"
        ] == f"{here}?reason=not-allowed"
        assert await count(service, Organization) == 1


@pytest.mark.operation(
    "organization_pages.change_member_role",
    "organization_pages.remove_member",
    "organization_pages.show_member",
    "organization_pages.show_member_removal",
)
class TestMembers:
    async def test_the_role_is_changed(self, service: Service, ada: Browser) -> None:
        here = home_of(ada)
        await add(ada)
        await manage(ada, BOB)
        page = await ada.submit(f"{here}/member", role="admin")

        assert "The role has been changed." in page.text
        assert await roles(service) == {ADA: "owner", BOB: "admin"}

    @pytest.mark.threat("H6")
    async def test_a_stale_form_changes_no_role(self, service: Service, ada: Browser) -> None:
        here = home_of(ada)
        await add(ada)
        await manage(ada, BOB)
        old = dict(ada.page.form(f"{here}/member").fields)
        await ada.submit(f"{here}/member", role="admin")
        answer = await send(service, f"{here}/member", **{**old, "role": "billing"})

        assert answer.status_code == 422
        assert "This was changed after you opened the form" in answer.text
        assert (await send(service, f"{here}/member", **{**old, "role": "admin"})).status_code == 303
        assert (await roles(service))[BOB] == "admin"

    @pytest.mark.threat("ORG7")
    async def test_only_roles_are_offered_that_the_caller_may_grant(
        self, service: Service, ada: Browser
    ) -> None:
        here = home_of(ada)
        await add(ada, role="admin")
        await add(ada, EVE)
        eve_id = (await service.rows("SELECT id FROM member WHERE role = 'member'"))[0].id
        ada_id = (await service.rows("SELECT id FROM member WHERE is_owner"))[0].id
        with other_profile(service):
            await service.post("/sign-in/email", {"email": BOB, "password": PASSWORD})
            bob = Browser(service)
            await bob.open(f"{here}/member?member={eve_id}")
            answer = await service.get(f"{here}/member?member={eve_id}")
            assert re.findall(r'<option value="(\w+)"', answer.text) == ["member", "admin", "billing"]
            assert "Your role does not allow this." in (await bob.open(f"{here}/member?member={ada_id}")).text
            refused = await send(
                service, f"{here}/member", account=BOB, member=eve_id, former="member", role="owner"
            )
        assert refused.status_code == 422
        assert (await roles(service))[EVE] == "member"

    async def test_the_only_owner_keeps_the_role(self, service: Service, ada: Browser) -> None:
        here = home_of(ada)
        await manage(ada, ADA)
        page = await ada.submit(f"{here}/member", role="member")

        assert page.status == 422
        assert "An organization needs an owner" in page.text

    async def test_is_removed_after_a_question(self, service: Service, ada: Browser) -> None:
        here = home_of(ada)
        await add(ada)
        await manage(ada, BOB)
        page = await ada.open(ada.page.links["Remove"])
        assert "Remove this member?" in page.text
        fields = page.form(f"{here}/member/remove").fields
        page = await ada.submit(f"{here}/member/remove")

        assert "That person is no longer a member." in page.text
        assert await roles(service) == {ADA: "owner"}
        assert (await send(service, f"{here}/member/remove", **fields)).headers[
            "location"
        ] == f"{here}?reason=member-removed"

    async def test_is_not_removed_by_address(self, service: Service, ada: Browser) -> None:
        here = home_of(ada)
        await add(ada)
        answer = await send(service, f"{here}/member/remove", account=ADA, member=BOB)

        assert answer.status_code in (302, 422)
        assert BOB in await roles(service)


@pytest.mark.operation(
    "organization_pages.cancel_invitation",
    "organization_pages.invite_member",
    "organization_pages.resend_invitation",
)
class TestInvitations:
    @pytest.mark.threat("H7")
    async def test_are_sent_again_and_canceled(self, service: Service, ada: Browser) -> None:
        here, first = home_of(ada), await invite(ada)
        assert "bob@example.com Member" in ada.page.text
        service.clock.advance(hours=1)
        fields = ada.page.form(f"{here}/invitations/resend").fields
        page = await ada.submit(f"{here}/invitations/resend")
        assert "The invitation has been sent again." in page.text
        second = await link_to(service)
        await send(service, f"{here}/invitations/resend", **fields)

        assert second != first
        assert await link_to(service) == second, "a double click mails once"

        page = await ada.submit(f"{here}/invitations/cancel")
        assert "The invitation has been canceled." in page.text
        answer = await send(service, f"{here}/invitations/resend", **fields)
        assert answer.headers["location"].endswith("reason=invitation-gone")

    @pytest.mark.threat("H7")
    async def test_a_form_that_is_sent_twice_invites_once(self, service: Service, ada: Browser) -> None:
        here = home_of(ada)
        fields = {"account": ADA, "email": BOB, "role": "member"}
        answers = [await send(service, f"{here}/invitations", **fields) for _ in range(2)]
        service.clock.advance(minutes=1)
        later = await send(service, f"{here}/invitations", **fields)

        assert [answer.status_code for answer in answers] == [303, 303]
        assert later.status_code == 422
        assert "There is an open invitation for this address." in later.text
        assert await count(service, Invitation) == 1

    @pytest.mark.parametrize(
        ("email", "text"),
        [
            ("nobody", "Enter an email address"),
            ("", "Enter your email address."),
            (ADA, "The user with this address is a member already."),
        ],
    )
    async def test_a_wrong_address_is_told_beside_the_field(
        self, service: Service, ada: Browser, email: str, text: str
    ) -> None:
        here = home_of(ada)
        page = await ada.submit(f"{here}/invitations", email=email, role="admin")

        assert page.status == 422
        assert text in page.text
        assert page.form(f"{here}/invitations").fields["role"] == "admin"
        assert page.form(f"{here}/invitations").fields["email"] == email

    async def test_an_invitation_to_a_team_joins_it(self, service: Service, ada: Browser) -> None:
        here = home_of(ada)
        await ada.submit(f"{here}/teams", teamName="Sales")
        await ada.submit(f"{here}/invitations", email=BOB, role="member", team=await id_of(service, "team"))
        link = await link_to(service)
        with other_profile(service):
            await join(service, BOB)
            bob = Browser(service)
            await bob.open(link)
            await bob.submit(f"{link}/accept")

        assert await count(service, TeamMember) == 1


@pytest.mark.operation(
    "organization_pages.add_team_member",
    "organization_pages.create_team",
    "organization_pages.remove_team",
    "organization_pages.remove_team_member",
    "organization_pages.rename_team",
    "organization_pages.show_team",
    "organization_pages.show_team_removal",
)
class TestTeams:
    async def test_of_a_directory_have_no_forms(self, service: Service, ada: Browser) -> None:
        here = home_of(ada)
        with other_profile(service):
            directory = await add_directory(service, here.rpartition("/")[2], "acme.example")
            team = (await directory.send("POST", "/Groups", group("Sales"))).json()["id"]
        page = await ada.open(here)
        assert "team" not in page.form(f"{here}/invitations").fields

        page = await ada.open(page.links["Sales"])

        assert "A directory manages this team" in page.text
        assert not [form for form in page.forms if "/team" in form.action]
        page = await ada.open(f"{here}/team/remove?team={team}")
        assert page.path.partition("?")[0] == f"{here}/team"

    async def test_a_team_from_beginning_to_end(self, service: Service, ada: Browser) -> None:
        here = home_of(ada)
        await ada.submit(f"{here}/teams", teamName="Sales")
        page = await ada.submit(f"{here}/teams", teamName="Support")
        assert "The team has been created." in page.text
        page = await ada.open(page.links["Sales"])
        assert "This team has no members yet." in page.text
        page = await ada.submit(f"{here}/team/members/add", email="Ada@example.com")
        assert "That person is in the team now." in page.text
        page = await ada.submit(f"{here}/team", teamName="Marketing")
        assert "The new name is saved." in page.text
        page = await ada.submit(f"{here}/team/members/remove")
        assert "That person is no longer in the team." in page.text
        await ada.open(page.links["Remove"])
        page = await ada.submit(f"{here}/team/remove")
        assert "The team has been removed." in page.text
        rows = await service.rows("SELECT name FROM team")
        assert [row.name for row in rows] == ["Support"]

    async def test_only_members_of_the_organization_join(self, service: Service, ada: Browser) -> None:
        here = home_of(ada)
        page = await ada.submit(f"{here}/teams", teamName="Sales")
        await ada.open(page.links["Sales"])
        page = await ada.submit(f"{here}/team/members/add", email=EVE)

        assert page.status == 422
        assert "No member of the organization has this address." in page.text
        assert await count(service, TeamMember) == 0

    @pytest.mark.threat("H7")
    async def test_a_form_that_is_sent_twice_creates_one(self, service: Service, ada: Browser) -> None:
        here = home_of(ada)
        fields = ada.page.form(f"{here}/teams").fields | {"teamName": "Sales"}
        answers = [await send(service, f"{here}/teams", **fields) for _ in range(2)]

        assert [answer.status_code for answer in answers] == [303, 303]
        assert await count(service, Team) == 1

    @pytest.mark.threat("H6")
    async def test_a_stale_form_renames_nothing(self, service: Service, ada: Browser) -> None:
        here = home_of(ada)
        page = await ada.submit(f"{here}/teams", teamName="Sales")
        await ada.submit(f"{here}/teams", teamName="Service")
        await ada.open(page.links["Sales"])
        old = dict(ada.page.form(f"{here}/team", "former").fields)
        await ada.submit(f"{here}/team", teamName="Marketing")
        answer = await send(service, f"{here}/team", **{**old, "teamName": "Support"})

        assert answer.status_code == 422
        assert "This was changed after you opened the form" in answer.text
        removed = await send(service, f"{here}/team/remove", account=ADA, team=old["team"])
        assert removed.status_code == 303
        gone = await send(service, f"{here}/team", **{**old, "teamName": "Support"})
        assert gone.headers["location"] == f"{here}?reason=team-gone"

    @pytest.mark.threat("ORG19")
    async def test_only_managers_see_who_is_in_it(self, make_service: MakeService) -> None:
        service = await make_service({**ON, "organizations.member_directory": "managers"})
        await join(service)
        ada = Browser(service)
        await ada.open(LIST)
        await ada.submit(LIST, name="Acme", slug="acme")
        here = home_of(ada)
        await ada.submit(f"{here}/teams", teamName="Sales")
        await add(ada)
        team = await id_of(service, "team")
        await ada.open(f"{here}/team?team={team}")
        await ada.submit(f"{here}/team/members/add", email=ADA)
        with other_profile(service):
            await service.post("/sign-in/email", {"email": BOB, "password": PASSWORD})
            bob = Browser(service)
            page = await bob.open(f"{here}/team?team={team}")
            assert "Only members of the team see who is in it." in page.text
            answer = await send(service, f"{here}/team/members/add", account=BOB, team=team, email=EVE)
            assert "You are not allowed to create a new member" in answer.text
        await ada.submit(f"{here}/team/members/add", email=BOB)
        with other_profile(service):
            await service.post("/sign-in/email", {"email": BOB, "password": PASSWORD})
            assert ADA not in (await Browser(service).open(f"{here}/team?team={team}")).text
            assert ADA not in (await Browser(service).open(here)).text

    async def test_there_are_none_unless_they_are_on(self, make_service: MakeService) -> None:
        service = await make_service({**ON, **NO_TEAMS})
        await join(service)
        ada = Browser(service)
        await ada.open(LIST)
        page = await ada.submit(LIST, name="Acme", slug="acme")

        assert "Teams" not in page.text
        assert (await ada.open(f"{home_of(ada)}/team?team=x")).status == 404
