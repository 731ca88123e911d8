"""`gatewright export`: everything that is held about one user, and users who move to another Gatewright."""

import asyncio
import json
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import LargeBinary
from sqlalchemy import text as sql

from domain.data_export import export
from domain.two_factor.errors import UndecipherableSecret
from models import metadata
from models.oauth_client import ClientSource
from server.cli.export import write_users
from server.database.database import open_database
from server.importers.json_lines import JsonLines
from tests import oauth_flow
from tests.authenticator import EDDSA, Authenticator
from tests.conftest import MakeService
from tests.handlers import device_steps, passkey_steps
from tests.handlers.steps import bearer, execute, join, set_user, sign_in
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.labs.provider.steps import as_user, enter
from tests.oauth import REDIRECT_URI, add_client
from tests.security import second_factor
from tests.server.importers.moving import HASH, counts, take, take_lines, write_lines
from tests.server.terminal import Run, complaint, lines, mode
from tests.service import PASSWORD, Service

APPLICATIONS = ("oauthClients", "oauthConsents", "oauthGrants", "oauthCodes", "deviceRequests")
ADA, BOB = "ada@example.com", "bob@example.com"


async def held_about(service: Service, identifier: str) -> dict[str, Any]:
    held: dict[str, Any] = await service.services.unit_of_work.run(
        lambda ctx: export.export_user(ctx, identifier)
    )
    return held


class TestEverything:
    def test_no_table_is_forgotten(self) -> None:
        names = {"user", "audit", *(table.__tablename__ for table in export.SECTIONS.values())}
        about_users = {
            table.name
            for table in metadata.sorted_tables
            if {"user_id", "owner_id"} & {*table.columns.keys()}
        }

        # Copies of the user's data for the endpoints of webhooks, which are erased after a few days.
        assert (about_users - {"webhook_event"}) | {"user"} == names
        assert {table.name for table in metadata.sorted_tables} - names == {
            "counter",
            "daily_count",
            "delivery",
            "initial_access_token",
            "instance",
            "invitation",
            "invitation_team",
            "lease",
            # It names a user, and is deleted after minutes.
            "logout_delivery",
            "oauth_request",
            "oauth_revoked_token",
            "saml_message",
            "scim_directory",
            "scim_failure",
            "scim_token",
            "sso_connection",
            "sso_domain",
            # It names a session, and ends with it.
            "sso_session",
            # It belongs to a grant, which is exported.
            "oauth_token",
            "organization",
            "signing_key",
            "team",
            "webhook_endpoint",
            "webhook_event",
        }

    async def test_every_kind_of_row(self, social: Service, provider: ProviderProcess) -> None:
        as_user(provider, ADA, "1001")
        await enter(social)
        await join(social, BOB)
        owner = await second_factor.enrol(social, "carol@example.com", username="carol")
        await second_factor.trusted_device(social, owner)
        await social.post("/request-password-reset", {"email": owner.email})
        await social.inbox()

        held = await held_about(social, "carol")

        assert held["user"]["email"] == owner.email
        for name in ("accounts", "sessions", "grants", "twoFactor", "backupCodes", "trustedDevices",
                     "knownNetworks", "mails", "audit"):  # fmt: skip
            assert held[name], name
        text = json.dumps(held, default=str)
        assert BOB not in text
        assert ADA not in text

    @pytest.mark.threat("ORG2")
    async def test_organizations_and_invitations(self, make_service: MakeService) -> None:
        service = await make_service(
            {
                "organizations.enabled": "true",
                "organizations.teams.enabled": "true",
                "email_verification.enabled": "true",
                "mail.sender": "file",
            }
        )
        owner = await join(service, ADA)
        await join(service, BOB)

        async def post(name: str, /, **body: Any) -> Any:
            answer = await service.post(f"/organization/{name}", body, headers=owner)
            assert answer.is_success, answer.text
            return answer.json()

        acme = await post("create", name="Acme", slug="acme")
        await post("invite-member", email=BOB, role="admin")
        await post("invite-member", email="eve@example.com", role="member")

        held, unproven = await held_about(service, ADA), await held_about(service, BOB)
        await set_user(service, BOB, email_verified=True)
        proven = await held_about(service, BOB)

        [membership] = held["organizationMemberships"]
        assert (membership["organizationName"], membership["role"]) == ("Acme", "owner")
        [place] = held["teamMemberships"]
        assert (place["teamName"], place["organizationName"]) == ("Acme", "Acme")
        sent = [(one["email"], one["organizationName"]) for one in held["invitationsSent"]]
        assert sorted(sent) == [(BOB, "Acme"), ("eve@example.com", "Acme")]
        assert (held["invitationsReceived"], unproven["invitationsReceived"]) == ([], [])
        [received] = proven["invitationsReceived"]
        assert (received["role"], received["organizationId"]) == ("admin", acme["id"])
        assert received["secretDigest"] is True

    async def test_applications(self, service: Service) -> None:
        ada, eve = await join(service, ADA), await join(service, BOB)
        [row] = await service.rows('SELECT id FROM "user" WHERE email = :email', email=ADA)
        shop = await add_client(service, source=ClientSource.USER, owner_id=row.id)
        television = await device_steps.add_television(service)
        code = oauth_flow.query_of(await oauth_flow.allow(service, shop, ada))["code"]
        form = {"grant_type": "authorization_code", "code": code, "redirect_uri": REDIRECT_URI}
        redeemed = await service.client.post(
            "/oauth2/token", data={**shop.form, **form, "code_verifier": oauth_flow.VERIFIER}
        )
        device = await device_steps.start(service, television)
        await device_steps.approve(service, device["user_code"], ada)
        await oauth_flow.allow(service, shop, eve)

        held, of_bob = await held_about(service, ADA), await held_about(service, BOB)
        page = await service.get("/account/data", headers=ada)

        [own], consents, [grant], [used], [request] = (held[name] for name in APPLICATIONS)
        assert (own["clientName"], own["secret"]) == ("Shop", True)
        assert {one["clientId"] for one in consents} == {shop.client_id, television.client_id}
        assert (grant["clientId"], used["clientId"]) == (shop.client_id, shop.client_id)
        assert (used["code"], used["codeChallenge"], used["grantId"]) == (True, True, grant["id"])
        assert (request["clientId"], request["status"], request["userCode"]) == (
            television.client_id,
            "approved",
            True,
        )
        text = json.dumps(held, default=str)
        for secret in (
            code,
            shop.form["client_secret"],
            redeemed.json()["access_token"],
            device["user_code"],
            device["device_code"],
        ):
            assert secret not in text
        assert [len(of_bob[name]) for name in APPLICATIONS] == [0, 1, 0, 1, 0]
        assert "1 application that you registered; it stops working" in page.text
        assert "1 sign-in to an application" in page.text
        assert not re.findall(r"oauth[A-Z]|deviceRequests", page.text)

    async def test_nothing_that_opens_anything(self, service: Service) -> None:
        owner = await second_factor.enrol(service)
        device = await second_factor.trusted_device(service, owner)
        await service.post("/request-password-reset", {"email": owner.email})
        mails = await service.inbox()
        tokens = re.findall(r"[A-Za-z0-9]{32}", " ".join(mail["link"] or "" for mail in mails))
        hashes = [row.password for row in await service.rows("SELECT password FROM account")]

        held = await held_about(service, owner.email)

        text = json.dumps(held, default=str)
        assert tokens
        for secret in (*tokens, *hashes, *owner.backup_codes, owner.secret, device, PASSWORD, "$argon2"):
            assert secret not in text
        assert [account["password"] for account in held["accounts"]] == [True]
        assert held["twoFactor"][0]["secret"] is True

    def test_a_column_of_bytes_is_never_shown(self) -> None:
        columns = [column for table in metadata.sorted_tables for column in table.columns]
        texts = {column.name for column in columns if not isinstance(column.type, LargeBinary)}

        suspicious = {
            name for name in texts if re.search(r"token|secret|password|code|digest|key|hash", name)
        }

        # `token` of a domain stands in its public record; the tokens of other tables are bytes.
        assert suspicious - export.SECRET == {
            "access_token_expires_at", "refresh_token_expires_at", "token_type", "code", "token",
        }  # fmt: skip


class TestMovingOn:
    async def test_to_another_gatewright_and_back_to_work(
        self, make_service: MakeService, dialect: str, provider: ProviderProcess, tmp_path: Path
    ) -> None:
        settings = social_settings(provider, issuer=provider.issuer)
        old = await make_service(settings)
        as_user(provider, BOB, "1002")
        await enter(old)
        ada = await second_factor.enrol(old, ADA, username="ada_l")
        device = Authenticator(EDDSA)
        await passkey_steps.add(old, ada.session, device, name="Phone")
        rows = await moving_out(old)
        new = await make_service({**settings, "app_name": "Another"})

        file = write_lines(tmp_path / "users.jsonl", [json.loads(orjson.dumps(row)) for row in rows])
        with file.open("rb") as lines:
            report = await take(new, JsonLines(lines))

        pending = await sign_in(new, ADA)
        code = ada.code(new, steps=1)
        entered = await second_factor.enter(new, "totp", code, bearer(pending.json()["token"]))
        assert counts(report) == (2, 0, 0)
        assert entered.status_code == 200
        assert [unhashed(row) for row in await moving_out(new)] == [unhashed(row) for row in rows]
        assert (await passkey_steps.use(new, device)).json()["user"]["email"] == ADA
        await enter(new)
        assert len(await moving_out(new)) == 2

    async def test_with_every_issuer_that_may_be_chosen(
        self, make_service: MakeService, tmp_path: Path
    ) -> None:
        old, new = await make_service(), await make_service({"app_name": "Another"})
        issuer = "\u202eShop\u2028" + "x" * 58
        ada = await join(old, ADA)
        secret, _ = await second_factor.begin(old, ada, issuer=issuer)
        code = second_factor.Owner(ADA, ada, secret, []).code(old)
        await old.post("/two-factor/verify-totp", {"code": code}, headers=ada)

        report = await take_lines(new, tmp_path / "users.jsonl", map(orjson.dumps, await moving_out(old)))

        assert counts(report) == (1, 0, 0)
        [row] = await moving_out(new)
        assert row["twoFactor"]["issuer"] == issuer

    async def test_all_are_as_they_were_at_one_moment(self, service: Service, tmp_path: Path) -> None:
        many = [{"email": f"user{number}@example.com"} for number in range(2 * export.PAGE + 1)]
        await take_lines(service, tmp_path / "users.jsonl", many)
        url = service.services.settings.database_url.get_secret_value()
        statement = "UPDATE \"user\" SET name = 'Eve'"

        with ThreadPoolExecutor(1) as others:
            first = Interrupted(lambda: others.submit(asyncio.run, elsewhere(url, statement)).result(60))
            number = await write_users(service.services.unit_of_work, first)

        rows = [json.loads(line) for line in first.getvalue().splitlines()]
        assert number == len(many)
        assert {row["name"] for row in rows} == {row["email"].partition("@")[0] for row in many}
        after = await moving_out(service)
        assert {row["name"] for row in after} == {"Eve"}
        assert sorted(row["email"] for row in after) == sorted(row["email"] for row in many)

    async def test_a_secret_under_a_lost_key_is_no_silent_loss(self, service: Service) -> None:
        await second_factor.enrol(service)
        await execute(service, "UPDATE two_factor SET secret = :other", other=b"sealed by nobody")

        with pytest.raises(UndecipherableSecret):
            await moving_out(service)


class Interrupted(BytesIO):
    """A file during whose first row something else happens."""

    def __init__(self, event: Callable[[], object]) -> None:
        super().__init__()
        self.event = event

    def write(self, row: Any) -> int:
        if not self.tell():
            self.event()
        return super().write(row)


async def elsewhere(url: str, statement: str) -> None:
    """Change a database, as another process would."""
    database = await open_database(url, pool_size=3, timeout=30)
    try:
        async with database.transaction() as session:
            await session.execute(sql(statement))
    finally:
        await database.close()


async def moving_out(service: Service) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    while page := await service.services.unit_of_work.run(
        partial(export.export_all, after=rows[-1]["id"] if rows else "")
    ):
        rows += page
    return rows


def unhashed(row: dict[str, Any]) -> dict[str, Any]:
    """Return a user without what a sign-in renews, and what every service keeps in its own time."""
    return {name: value for name, value in row.items() if name not in ("passwordHash", "updatedAt")}


class TestCommand:
    def test_one_user_and_all_of_them(self, run: Run, tmp_path: Path) -> None:
        write_lines(tmp_path / "users.jsonl", [{"email": ADA, "passwordHash": HASH}, {"email": BOB}])
        run("import", "json-lines", "users.jsonl")

        printed = run("export", "user", "Ada@Example.com")
        written = run("export", "user", ADA, "--output", "ada.json")
        everybody = run("export", "users")

        assert (printed.exit_code, written.exit_code, written.stdout) == (0, 0, "")
        held = json.loads((tmp_path / "ada.json").read_text("utf-8"))
        assert json.loads(printed.stdout)["user"] == held["user"]
        assert held["user"]["createdAt"].endswith("Z")
        assert mode(tmp_path / "ada.json") == "0o600"
        assert HASH not in printed.stdout
        rows = [json.loads(line) for line in everybody.stdout.splitlines()]
        assert {row["email"]: row.get("passwordHash") for row in rows} == {ADA: HASH, BOB: None}
        assert everybody.stderr.endswith("Exported 2 users.\n")

    def test_a_file_that_others_could_read_is_closed_first(self, run: Run, tmp_path: Path) -> None:
        write_lines(tmp_path / "users.jsonl", [{"email": ADA}])
        run("import", "json-lines", "users.jsonl")
        (tmp_path / "out.jsonl").write_text("something longer than what comes\n" * 100, "utf-8")
        (tmp_path / "out.jsonl").chmod(0o644)

        run("export", "users", "--output", "out.jsonl")

        assert mode(tmp_path / "out.jsonl") == "0o600"
        assert [row["email"] for row in lines(tmp_path / "out.jsonl")] == [ADA]

    @pytest.mark.parametrize(
        "words", [["user", "nobody@example.com"], ["users", "--output", "no/such/folder"]]
    )
    def test_nobody_and_nowhere(self, run: Run, words: list[str]) -> None:
        done = run("export", *words)

        assert (done.exit_code, done.stdout) == (1, "")
        assert "\n" not in complaint(done.stderr)
