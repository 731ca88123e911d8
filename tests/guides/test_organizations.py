"""The guides about organizations, typed as they are written."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from tests.docs.typing_in import BASE, blocks, commands, guide, placed, typed, walk, write_files
from tests.guides.protected import ADA, APPLICATION, BOB, GATEWRIGHT, PATIENT, Application, protecting
from tests.guides.test_protected_applications import in_folder_of_express
from tests.labs.sdk.test_sdks import generate
from tests.live import serving

GUIDE = guide("organizations")


def shown(*endings: str) -> str:
    """Return the guide with only those of its files that have one of these endings."""
    text = GUIDE
    for block in blocks(GUIDE):
        if block.language != "sh" and block.title and not block.title.endswith(endings):
            text = text.replace(f'```{block.language} title="{block.title}"\n{block.text}```\n', "")
    return text


@dataclass(frozen=True, slots=True)
class Company:
    """The application of the guide, and an organization of Ada's in which Bob is a member."""

    application: Application
    tokens: dict[str, str]
    id: str

    def ask(self, method: str, email: str) -> httpx.Response:
        """Ask the application as a user."""
        headers = {"Authorization": f"Bearer {self.tokens[email]}"}
        url = f"{self.application.url}/invoices"
        return httpx.request(method, url, headers=headers, timeout=PATIENT, trust_env=False)

    def post(self, user: str, path: str, **body: object) -> httpx.Response:
        """Ask Gatewright as a user."""
        return self.application.post(f"/organization/{path}", body, self.tokens[user])


@pytest.fixture(scope="module", params=["fastapi", "express"])
def application(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Application]:
    """The application of the guide in each framework."""
    directory = tmp_path_factory.mktemp("gatewright")
    if request.param == "fastapi":
        place = tmp_path_factory.mktemp("fastapi")
        write_files(guide("protect-fastapi"), place)
        write_files(shown(".py"), place)
        variables = {"PYTHONPATH": str(generate("python"))}
    else:
        place = in_folder_of_express(tmp_path_factory.mktemp("express"))
        write_files(shown(".ts"), place)
        typed(commands(guide("protect-express"), "compile"), place)
        variables = {}
    serve = commands(GUIDE, f"serve-{request.param}")
    with protecting(GUIDE, place, directory, serve, **variables) as application:
        yield application


@pytest.fixture(scope="module")
def company(application: Application) -> Company:
    """An organization with its owner and a member."""
    tokens = {email: application.sign_in(email) for email in (ADA, BOB)}
    created = application.post("/organization/create", {"name": "Company", "slug": "company"}, tokens[ADA])
    company = Company(application, tokens, created.json()["id"])
    company.post(ADA, "invite-member", email=BOB, role="member")
    # The id is enough for a verified address.
    application.execute("UPDATE user SET email_verified = 1 WHERE email = ?", BOB)
    headers = {"Authorization": f"Bearer {tokens[BOB]}"}
    [invitation] = application.caller.get("/organization/list-user-invitations", headers=headers).json()
    company.post(BOB, "accept-invitation", invitationId=invitation["id"]).raise_for_status()
    return company


def test_what_the_guide_types_answers_as_it_says(application: Application, tmp_path: Path) -> None:
    places = {GATEWRIGHT: application.live.url, f":{APPLICATION}": f":{httpx.URL(application.url).port}"}
    script = "\n".join(commands(GUIDE, title) for title in ("try", "switch", "named", "permission"))

    printed = typed(placed(script, places), tmp_path)

    assert re.findall(r" (\d{3})$", printed, re.MULTILINE) == [
        "401",
        "403",
        "200",
        "200",
        "403",
        "200",
        "403",
    ]
    assert '"for":"Grace"' in printed
    assert '{"role":"owner"}' in printed
    assert '"success":true' in printed


def test_the_role_in_the_active_organization_decides(company: Company) -> None:
    answer = company.ask("GET", BOB)
    assert answer.json() == {"organization": company.id, "role": "member", "for": "Bob"}
    assert company.ask("DELETE", BOB).status_code == 403
    assert company.ask("DELETE", ADA).json() == {"deleted": company.id}


def test_a_switch_counts_from_the_next_request_on(company: Company) -> None:
    other = company.post(ADA, "create", name="Other", slug="other").json()
    assert company.ask("GET", ADA).json()["organization"] == other["id"]

    company.post(ADA, "set-active", organizationId=company.id)

    assert company.ask("GET", ADA).json()["organization"] == company.id


def test_a_removed_member_is_refused_at_once(company: Company) -> None:
    assert company.ask("GET", BOB).status_code == 200

    company.post(ADA, "remove-member", memberIdOrEmail=BOB)

    assert company.ask("GET", BOB).status_code == 403


def test_nobody_gets_in_while_gatewright_is_away(company: Company) -> None:
    with company.application.relay.away():
        answer = company.ask("GET", ADA)

    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert company.ask("GET", ADA).status_code == 200


@pytest.mark.parametrize(("name", "extended"), [("flask", "app.py"), ("django", "site_of_ada/urls.py")])
def test_other_frameworks_check_a_role_in_the_organization(
    name: str, extended: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    text, place = guide(f"protect-{name}"), tmp_path_factory.mktemp(name)
    for block in blocks(text, "sh"):
        if block.title == "start":
            typed(block.text, place)
    write_files(text, place)
    with (place / extended).open("a", encoding="utf-8") as file:
        file.writelines(block.text for block in blocks(text, "python") if not block.title)

    directory, sdk = tmp_path_factory.mktemp("gatewright"), str(generate("python"))
    with protecting(text, place, directory, PYTHONPATH=sdk) as application:
        tokens = {email: application.sign_in(email) for email in (ADA, BOB)}
        application.post("/organization/create", {"name": "Acme", "slug": "acme"}, tokens[ADA])

        def status(token: str) -> int:
            headers = {"Authorization": f"Bearer {token}"}
            url = f"{application.url}/invoices"
            return httpx.get(url, headers=headers, timeout=PATIENT, trust_env=False).status_code

        assert [status(token) for token in ("nonsense", tokens[BOB], tokens[ADA])] == [401, 403, 200]


def test_people_are_invited_as_the_guide_says(tmp_path: Path) -> None:
    with serving(tmp_path, {"mail.sender": "console", "organizations.enabled": "true"}) as live:
        # The guide writes files, so it is followed in a folder of its own.
        printed = walk(guide("organization-invitations"), live, tmp_path, {BASE: live.url})

    sent, accepted, refused, others = printed

    assert '"slug":"acme"' in sent
    assert '"status":"accepted"' in accepted
    assert '"organizationName":"Acme"' in accepted
    assert '"email":"bob@example.com"' in accepted
    assert "INVITATION_NOT_FOUND" in refused
    assert '"status":"canceled"' in others
