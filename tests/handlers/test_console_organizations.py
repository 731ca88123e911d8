"""Organizations in the console."""

import csv
import io
import re
from typing import Any

import pytest

from tests.conftest import MakeService
from tests.handlers.pages import SETTINGS, Browser, Page, other_profile, recorded, send, stored_user
from tests.handlers.steps import ADA, UNKNOWN, bearer, execute, set_user, sign_in
from tests.handlers.test_console_user import ROOT, add, administrator
from tests.service import PASSWORD, Service

LIST = "/console/organizations"
BOB = "bob@example.com"
ROLES = '{"clerk": {"organization": ["manage"]}, "reader": {"user": ["get", "list"]}}'
SCRIPT = "<script>alert(1)</script>"
ACTS = ("edit", "add-member", "member-roles", "remove-member", "cancel-invitation", "delete")


@pytest.fixture
async def service(make_service: MakeService) -> Service:
    return await make_service(
        {**SETTINGS, "limits.enabled": "false", "console.page_size": "10", "admin.roles": ROLES}
    )


@pytest.fixture
async def ada(service: Service) -> str:
    """The path of the page of a user."""
    return await add(service, ADA, name="Ada Lovelace")


@pytest.fixture
async def acme(service: Service, ada: str) -> str:
    """The path of the page of an organization of Ada, with an invitation."""
    organization = await create(service, "Acme")
    await as_ada(
        service,
        "/organization/invite-member",
        {"organizationId": organization, "email": "eve@example.com", "role": "admin"},
    )
    return f"{LIST}/{organization}"


@pytest.fixture
async def root(service: Service, acme: str) -> Browser:
    return await administrator(service)


async def as_ada(service: Service, path: str, body: dict[str, Any]) -> Any:
    """Call an operation as Ada, in another browser."""
    with other_profile(service):
        token = (await sign_in(service, ADA, PASSWORD)).json()["token"]
        service.client.cookies.clear()
        answer = await service.post(path, body, headers=bearer(token))
    assert answer.status_code == 200, answer.text
    return answer.json()


async def create(service: Service, name: str) -> str:
    """Create an organization of Ada; return its id."""
    slug = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")
    made = await as_ada(service, "/organization/create", {"name": name, "slug": slug})
    return str(made["id"])


async def the_member(service: Service, email: str = ADA) -> Any:
    """Return the row of the membership of a user."""
    [row] = await service.rows(
        'SELECT m.* FROM member m JOIN "user" u ON u.id = m.user_id WHERE u.email = :email', email=email
    )
    return row


async def the_invitation(service: Service) -> Any:
    [row] = await service.rows("SELECT * FROM invitation")
    return row


async def add_bob(service: Service, root: Browser, acme: str, *roles: str) -> Page:
    """Add Bob with the form."""
    if not await service.rows('SELECT id FROM "user" WHERE email = :email', email=BOB):
        await add(service, BOB)
    await root.open(f"{acme}/add-member")
    for role in roles:
        root.page.form(f"{acme}/add-member").fields[f"role-{role}"] = "true"
    return await root.submit(f"{acme}/add-member", member="BOB@example.com")


def names(page: Page) -> list[str]:
    """Return the names of the organizations in a list, in its order."""
    return [text for text, target in page.links.items() if re.search(r"/organizations/\w{32}$", target)]


class TestList:
    @pytest.mark.operation("console.organizations.show_list")
    @pytest.mark.both_databases
    async def test_pages_lead_forth_and_back(self, root: Browser, service: Service) -> None:
        for number in range(22):
            await create(service, f"Team {number:02}")
        page = await root.open(LIST)
        assert "23" in page.text
        seen = [names(page)]
        while "Older" in page.links:
            page = await root.open(page.links["Older"])
            seen.append(names(page))
        assert [len(each) for each in seen] == [10, 10, 3]
        assert len({name for each in seen for name in each}) == 23

        back = [names(page)]
        while "Newer" in page.links:
            page = await root.open(page.links["Newer"])
            back.append(names(page))
        assert back == seen[::-1]

    @pytest.mark.parametrize(
        ("query", "expected"),
        [("search=ACM", ["Acme"]), ("search=other", ["Other"]), ("search=%25", []),
         (f"member={ADA}", ["Other", "Acme"]),
         (f"member={ROOT}", []), ("member=nobody", []), ("withoutOwner=true", ["Other"]),
         ("search=&member=&withoutOwner=", ["Other", "Acme"])],
    )  # fmt: skip
    async def test_it_filters(self, root: Browser, service: Service, query: str, expected: list[str]) -> None:
        service.clock.advance(minutes=1)
        other = await create(service, "Other")
        await execute(
            service, "UPDATE member SET is_owner = :no WHERE organization_id = :id", no=False, id=other
        )

        page = await root.open(f"{LIST}?{query}")

        assert (page.status, names(page)) == (200, expected)

    async def test_an_empty_list_says_what_will_be_there(self, service: Service) -> None:
        browser = await administrator(service)

        assert "There are no organizations yet." in (await browser.open(LIST)).text
        assert "No organization matches." in (await browser.open(f"{LIST}?search=x")).text

    @pytest.mark.operation("console.organizations.export")
    @pytest.mark.threat("C4")
    async def test_what_is_filtered_is_downloaded(self, root: Browser, service: Service) -> None:
        await create(service, "Other")
        await execute(service, "UPDATE organization SET name = :name WHERE slug = 'acme'", name="=1+1")
        page = await root.open(f"{LIST}?search=acme")

        answer = await service.get(page.links["Export as CSV"])

        lines = list(csv.DictReader(io.StringIO(answer.text.removeprefix("\ufeff"))))
        assert [(line["slug"], line["name"], line["memberCount"]) for line in lines] == [
            ("acme", "'=1+1", "1")
        ]
        assert await recorded(service, "admin.exported") == 1

    async def test_the_search_of_the_console_finds_it(self, root: Browser, acme: str) -> None:
        assert (await root.open("/console/search?search=acm")).path == acme

    async def test_the_overview_counts_them(self, root: Browser, service: Service) -> None:
        page = await root.open("/console")

        assert page.links["Organizations"] == LIST

    @pytest.mark.threat("C6")
    @pytest.mark.parametrize(
        ("query", "name"),
        [("withoutOwner=perhaps", "withoutOwner"), ("search=a&search=b", "search"), ("search=%00", "search"),
         ("member=" + "x" * 255, "member"), ("after=WyJjcmVhdGVkIiwxXQ", "after"), ("before=-1.k", "before"),
         ("after=1.k&before=1.k", "before")],
    )  # fmt: skip
    async def test_a_query_that_no_page_made_is_refused_by_name(
        self, root: Browser, query: str, name: str
    ) -> None:
        page = await root.open(f"{LIST}?{query}")

        assert page.status == 400
        assert re.search(rf"\b{name}\b", page.text)


class TestOrganization:
    @pytest.mark.operation("console.organization.show")
    @pytest.mark.both_databases
    async def test_it_shows_members_invitations_teams_and_events(
        self, root: Browser, service: Service, acme: str
    ) -> None:
        await create(service, "Other")

        page = await root.open(acme)

        for text in ("Ada Lovelace", ADA, "owner", "eve@example.com", "admin", "organization.created",
                     "invitation.sent"):  # fmt: skip
            assert text in page.text
        assert page.text.count("organization.created") == 1

    @pytest.mark.threat("C11")
    @pytest.mark.both_databases
    async def test_members_are_shown_page_by_page(self, root: Browser, service: Service, acme: str) -> None:
        organization = acme.rpartition("/")[2]
        for number in range(12):
            email = f"user{number:02}@example.com"
            await add(service, email)
            user = await stored_user(service, email)
            await execute(
                service,
                "INSERT INTO member SELECT :id, :organization, :user, 'member', :no, created_at, updated_at FROM member"
                " WHERE is_owner",
                id=f"member{number:02}", organization=organization, user=user.id, no=False,
            )  # fmt: skip
        first = await root.open(acme)
        assert first.text.count("@example.com") > 10
        second = await root.open(first.links["Next"])
        assert [text for text in second.links if text.startswith("User")] != []
        assert (await root.open(second.links["Previous"])).links.keys() == first.links.keys()

        found = await root.open(f"{acme}?search=user07")

        assert [text for text in found.links if re.fullmatch(r"User\d\d", text)] == ["User07"]
        assert "No member matches." in (await root.open(f"{acme}?search=zzz")).text

    @pytest.mark.threat("C11")
    async def test_few_invitations_are_shown_until_all_are_asked_for(
        self, root: Browser, service: Service, acme: str
    ) -> None:
        for number in range(60):
            await execute(
                service,
                "INSERT INTO invitation (id, organization_id, email, role, status, inviter_id, expires_at, created_at,"
                " updated_at) SELECT :id, organization_id, :email, role, status, inviter_id, expires_at, created_at,"
                " updated_at FROM invitation WHERE email = 'eve@example.com'",
                id=f"invitation{number}", email=f"guest{number}@example.com",
            )  # fmt: skip
        page = await root.open(acme)
        assert len(re.findall(r"(?:guest\d+|eve)@example\.com", page.text)) == 50

        page = await root.open(page.links["Show all"])

        assert len(re.findall(r"(?:guest\d+|eve)@example\.com", page.text)) == 61

    async def test_an_unknown_one_does_not_exist(self, root: Browser) -> None:
        for act in ("", *(f"/{act}" for act in ACTS)):
            assert (await root.open(f"{LIST}/{UNKNOWN}{act}")).status == 404

    async def test_the_page_of_a_user_has_their_organizations(
        self, root: Browser, service: Service, ada: str, acme: str
    ) -> None:
        page = await root.open(ada)

        assert (page.links["Acme"], "owner" in page.text) == (acme, True)
        for number in range(21):
            await create(service, f"Team {number:02}")
        page = await root.open(ada)
        assert (len(names(page)), f"{LIST}?member={ada.rpartition('/')[2]}" in page.targets) == (20, True)

    @pytest.mark.operation("console.organization.show_edit", "console.organization.update")
    async def test_it_is_changed(self, root: Browser, service: Service, acme: str) -> None:
        page = await root.open(acme)
        await root.open(page.links["Edit"])

        page = await root.submit(
            f"{acme}/edit", name="Acme Inc.", slug="ACME-2", logo="https://example.com/a.png"
        )

        assert (page.path, "The organization is saved." in page.text) == (acme, True)
        [row] = await service.rows("SELECT name, slug, logo FROM organization")
        assert tuple(row) == ("Acme Inc.", "acme-2", "https://example.com/a.png")
        await root.open(f"{acme}/edit")
        await root.submit(f"{acme}/edit", logo="")
        [row] = await service.rows("SELECT logo FROM organization")
        assert row.logo is None

    @pytest.mark.parametrize(
        ("field", "value"),
        [("name", ""), ("name", " "), ("name", "x" * 129), ("slug", "a b"), ("slug", ""), ("slug", "other"),
         ("logo", "javascript:alert(1)")],
    )  # fmt: skip
    async def test_a_wrong_field_is_refused(
        self, root: Browser, service: Service, acme: str, field: str, value: str
    ) -> None:
        await create(service, "Other")
        await root.open(f"{acme}/edit")

        page = await root.submit(f"{acme}/edit", **{field: value})

        assert (page.status, page.form(f"{acme}/edit").fields[field]) == (422, value)
        assert await recorded(service, "organization.updated") == 0

    @pytest.mark.threat("C8")
    async def test_the_second_of_two_administrators_is_told(
        self, root: Browser, service: Service, acme: str
    ) -> None:
        await root.open(f"{acme}/edit")
        seen = root.page
        service.clock.advance(seconds=1)
        await root.submit(f"{acme}/edit", name="First")
        root.page = seen

        page = await root.submit(f"{acme}/edit", name="Second")

        assert (page.status, "changed" in page.text) == (422, True)
        root.page = seen
        assert (await root.submit(f"{acme}/edit", name="First")).path == acme
        assert await recorded(service, "organization.updated") == 1

    @pytest.mark.operation("console.organization.show_deletion", "console.organization.delete")
    @pytest.mark.threat("C8")
    async def test_it_is_deleted_once_if_its_slug_is_typed(
        self, root: Browser, service: Service, acme: str
    ) -> None:
        await root.open(f"{acme}/delete")
        page = await root.submit(f"{acme}/delete", typedSlug="other")
        assert (page.status, page.form(f"{acme}/delete").fields["typedSlug"]) == (422, "other")
        assert len(await service.rows("SELECT id FROM organization")) == 1
        seen = root.page

        page = await root.submit(f"{acme}/delete", typedSlug=" ACME ")
        assert (page.path, "The organization is deleted." in page.text) == (LIST, True)
        root.page = seen
        page = await root.submit(f"{acme}/delete", typedSlug="acme")

        assert "This organization no longer exists." in page.text
        assert await recorded(service, "organization.deleted") == 1
        assert await stored_user(service, ADA)

    async def test_an_old_session_is_asked_to_prove_itself_before_a_deletion(
        self, root: Browser, service: Service, acme: str
    ) -> None:
        service.clock.advance(days=2)

        page = await root.open(f"{acme}/delete")
        answer = await send(service, f"{acme}/delete", account=ROOT, typedSlug="acme")

        assert (page.status, "SESSION_NOT_FRESH" in page.text or "/confirm" in page.path) == (
            page.status,
            True,
        )
        assert answer.status_code in (303, 403)
        assert len(await service.rows("SELECT id FROM organization")) == 1


class TestMembers:
    @pytest.mark.operation("console.organization.show_addition", "console.organization.add_member")
    async def test_a_user_is_added(self, root: Browser, service: Service, acme: str) -> None:
        page = await add_bob(service, root, acme, "admin")

        assert (page.path, "The member is added." in page.text) == (acme, True)
        assert (await the_member(service, BOB)).role == "member,admin"
        page = await add_bob(service, root, acme)
        assert (page.status, "a member" in page.text) == (422, True)

    async def test_who_is_to_be_added_and_as_what_has_to_be_said(
        self, root: Browser, service: Service, acme: str
    ) -> None:
        await root.open(f"{acme}/add-member")
        page = await root.submit(f"{acme}/add-member", member="nobody")
        assert (page.status, "There is no such user." in page.text) == (422, True)

        del root.page.form(f"{acme}/add-member").fields["role-member"]
        page = await root.submit(f"{acme}/add-member", member=ROOT)

        assert (page.status, "roles" in page.text.lower()) == (422, True)
        assert len(await service.rows("SELECT id FROM member")) == 1

    @pytest.mark.operation("console.organization.show_roles", "console.organization.set_roles")
    async def test_roles_are_changed(self, root: Browser, service: Service, acme: str) -> None:
        await add_bob(service, root, acme)
        bob = await the_member(service, BOB)
        await execute(service, "UPDATE member SET role = 'member,former' WHERE id = :id", id=bob.id)
        page = await root.open(f"{acme}/member-roles?member={bob.id}")
        assert "will be removed: former" in page.text

        form = page.form(f"{acme}/member-roles")
        form.fields["role-owner"] = "true"
        page = await root.submit(f"{acme}/member-roles")

        assert (page.path, "The roles are saved." in page.text) == (acme, True)
        changed = await the_member(service, BOB)
        assert (set(changed.role.split(",")), bool(changed.is_owner)) == ({"member", "owner"}, True)

    @pytest.mark.threat("C8")
    async def test_roles_that_were_changed_meanwhile_are_kept(
        self, root: Browser, service: Service, acme: str
    ) -> None:
        await add_bob(service, root, acme)
        bob = await the_member(service, BOB)
        await root.open(f"{acme}/member-roles?member={bob.id}")
        seen = root.page
        service.clock.advance(seconds=1)
        await root.submit(f"{acme}/member-roles", **{"role-admin": "true"})
        root.page = seen

        page = await root.submit(f"{acme}/member-roles", **{"role-owner": "true"})

        assert (page.status, "changed" in page.text) == (422, True)
        assert "owner" not in (await the_member(service, BOB)).role

    @pytest.mark.operation("console.organization.show_removal", "console.organization.remove_member")
    @pytest.mark.threat("C8")
    async def test_a_member_is_removed_once(self, root: Browser, service: Service, acme: str) -> None:
        await add_bob(service, root, acme)
        bob = await the_member(service, BOB)
        await root.open(f"{acme}/remove-member?member={bob.id}")
        seen = root.page

        page = await root.submit(f"{acme}/remove-member")
        assert (page.path, "The member is removed." in page.text) == (acme, True)
        root.page = seen
        page = await root.submit(f"{acme}/remove-member")

        assert "This user is no longer a member." in page.text
        assert await recorded(service, "member.removed") == 1
        for act in ("member-roles", "remove-member"):
            page = await root.open(f"{acme}/{act}?member={bob.id}")
            assert (page.path, "This user is no longer a member." in page.text) == (acme, True)

    @pytest.mark.threat("C3")
    async def test_the_last_owner_stays(self, root: Browser, service: Service, acme: str) -> None:
        ada = await the_member(service)
        await root.open(f"{acme}/member-roles?member={ada.id}")
        fields = root.page.form(f"{acme}/member-roles").fields
        fields["role-admin"] = fields.pop("role-owner")
        page = await root.submit(f"{acme}/member-roles")
        assert (page.status, "an owner" in page.text) == (422, True)

        await root.open(f"{acme}/remove-member?member={ada.id}")
        page = await root.submit(f"{acme}/remove-member")

        assert (page.status, "owner" in page.text) == (422, True)
        assert bool((await the_member(service)).is_owner)

    @pytest.mark.operation("console.organization.show_cancellation", "console.organization.cancel_invitation")
    @pytest.mark.threat("C8")
    async def test_an_invitation_is_canceled_once(self, root: Browser, service: Service, acme: str) -> None:
        sent = await the_invitation(service)
        await root.open(f"{acme}/cancel-invitation?invitation={sent.id}")
        seen = root.page

        page = await root.submit(f"{acme}/cancel-invitation")
        assert (page.path, "The invitation is canceled." in page.text) == (acme, True)
        root.page = seen
        page = await root.submit(f"{acme}/cancel-invitation")

        assert "That invitation has been answered or canceled" in page.text
        assert (await the_invitation(service)).status == "canceled"
        assert await recorded(service, "invitation.canceled") == 1


class TestAccess:
    @pytest.mark.threat("C1")
    async def test_it_needs_the_permission(self, service: Service, ada: str, acme: str) -> None:
        browser = await administrator(service, "reader")
        member, sent = await the_member(service), await the_invitation(service)
        fields = {"account": ROOT, "name": "x", "slug": "acme", "typedSlug": "acme",
                  "member": member.id, "invitation": sent.id,
                  "role-member": "true"}  # fmt: skip

        assert "Acme" not in (await browser.open(ada)).text
        assert "Organizations" not in (await browser.open("/console")).links
        for path in (LIST, f"{LIST}/export", acme, *(f"{acme}/{act}" for act in ACTS)):
            assert (path, (await browser.open(path)).status) == (path, 403)
        for act in ACTS:
            assert (act, (await send(service, f"{acme}/{act}", **fields)).status_code) == (act, 403)
        [row] = await service.rows("SELECT name FROM organization")
        assert (row.name, (await the_member(service)).role) == ("Acme", "owner")
        assert (await the_invitation(service)).status == "pending"

    async def test_a_role_with_it_alone_sees_no_users_and_no_events(
        self, service: Service, acme: str
    ) -> None:
        browser = await administrator(service, "clerk")

        page = await browser.open(acme)

        assert (page.status, "organization.created" in page.text) == (200, False)
        assert not any("/console/users/" in target for target in page.targets)

    @pytest.mark.threat("C2")
    async def test_a_permission_that_was_taken_away_meanwhile_is_missing(
        self, root: Browser, service: Service, acme: str
    ) -> None:
        await root.open(f"{acme}/edit")
        await set_user(service, ROOT, role="reader")

        page = await root.submit(f"{acme}/edit", name="Other")

        assert page.status == 403
        assert await recorded(service, "organization.updated") == 0

    @pytest.mark.threat("C5")
    async def test_a_foreign_page_posts_nothing(self, root: Browser, service: Service, acme: str) -> None:
        for act in ACTS:
            foreign = await send(
                service, f"{acme}/{act}", {"Sec-Fetch-Site": "cross-site"}, account=ROOT, typedSlug="acme"
            )
            assert (act, foreign.status_code) == (act, 403)
        assert len(await service.rows("SELECT id FROM organization")) == 1

    @pytest.mark.threat("C4")
    async def test_what_others_have_set_is_text(
        self, root: Browser, service: Service, ada: str, acme: str
    ) -> None:
        member, sent = await the_member(service), await the_invitation(service)
        await set_user(service, ADA, name=SCRIPT)
        await execute(
            service, "UPDATE organization SET name = :script, logo = :script, custom_data = :script, slug = :script",
            script=SCRIPT,
        )  # fmt: skip
        await execute(service, "UPDATE member SET role = :script", script=f"owner,{SCRIPT}")
        await execute(service, "UPDATE invitation SET role = :script, email = :script", script=SCRIPT)
        await execute(service, "UPDATE team SET name = :script", script=SCRIPT)

        for path in (
            LIST, acme, ada, f"{acme}/edit", f"{acme}/add-member", f"{acme}/delete",
            f"{acme}/member-roles?member={member.id}", f"{acme}/remove-member?member={member.id}",
            f"{acme}/cancel-invitation?invitation={sent.id}", "/console/search?search=script",
        ):  # fmt: skip
            answer = await service.get(path)
            assert (path, answer.status_code in (200, 302), SCRIPT in answer.text) == (path, True, False)

    async def test_objects_of_another_organization_are_unknown(
        self, root: Browser, service: Service, acme: str
    ) -> None:
        member, sent = await the_member(service), await the_invitation(service)
        other = f"{LIST}/{await create(service, 'Other')}"

        for act, field, row in (
            ("remove-member", "member", member),
            ("member-roles", "member", member),
            ("cancel-invitation", "invitation", sent),
        ):
            page = await root.open(f"{other}/{act}?{field}={row.id}")
            assert page.path == other
            fields = {"account": ROOT, field: row.id, "role-member": "true"}
            answer = await send(service, f"{other}/{act}", **fields)
            assert answer.headers["location"].endswith(other)
        assert await recorded(service, "member.removed") == 0
        assert (await the_invitation(service)).status == "pending"

    async def test_nothing_is_there_while_organizations_are_off(self, make_service: MakeService) -> None:
        service = await make_service(
            {**SETTINGS, "organizations.enabled": "false", "organizations.teams.enabled": "false"}
        )
        browser = await administrator(service)

        for path in (
            LIST,
            f"{LIST}/export",
            f"{LIST}/{UNKNOWN}",
            *(f"{LIST}/{UNKNOWN}/{act}" for act in ACTS),
        ):
            assert (await browser.open(path)).status == 404
        assert "Organizations" not in (await browser.open("/console")).links
