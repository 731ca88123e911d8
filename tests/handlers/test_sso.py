"""The operations of openapi/paths/sso.yaml."""

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import select
from sqlmodel import col

from domain import tokens
from domain.context import Context
from domain.sso_connections import configuration, operator, recheck
from domain.sso_connections.errors import DomainTaken
from models import Account, Session
from models.sso_connection import CONFIG, ConnectionRow, ConnectionSource, SsoConnection
from models.sso_domain import DomainRow
from models.sso_session import SsoSession
from models.webhook_event import PAYLOAD
from server.saml.names import REDIRECT
from tests import rows
from tests.conftest import MakeService
from tests.contract.webhook_events import check_webhook, contract
from tests.handlers import organization_steps
from tests.handlers.people import Person, add_person
from tests.handlers.steps import bearer, code, execute, join, set_user, sign_in, works
from tests.name_server import NameServer, name_server
from tests.receiver import Receiver, redirect, respond
from tests.server.saml.provider import ISSUER, LOGOUT, SIGN_IN, key
from tests.server.saml.test_metadata import bare, metadata
from tests.service import BASE_URL, Service, running_service
from tests.sso import connection, discovered, issuer_of, oidc
from tests.trail import of_event, only
from tests.webhooks import add_endpoint

LABEL = "_gatewright-acme"
ENDPOINTS = {
    "authorization_endpoint": "https://login.acme.example/authorize",
    "token_endpoint": "https://login.acme.example/token",
    "jwks_uri": "https://login.acme.example/keys",
}


@pytest.fixture
async def service(make_service: MakeService, names: NameServer) -> Service:
    """In tests owners of organizations manage connections (tests/settings/sso.py)."""
    return await make_service({"limits.enabled": "false", "sso.resolvers": f'["{names.address}"]'})


@pytest.fixture
async def admin(service: Service) -> Person:
    return await add_person(service, "admin", "root@example.com")


@pytest.fixture
async def owner(service: Service) -> Person:
    return await organization_steps.add_verified(service, "ada@example.com")


@pytest.fixture
async def acme(service: Service, owner: Person) -> str:
    """The id of the organization of the owner."""
    return str((await organization_steps.create(service, owner))["id"])


async def post(service: Service, by: Person, path: str, **body: Any) -> httpx.Response:
    return await service.post(f"/sso/{path}", body, headers=by.headers)


async def register(service: Service, by: Person, provider_id: str = "acme", **more: Any) -> Any:
    body = {name: value for name, value in connection(provider_id, **more).items() if value is not None}
    answer = await post(service, by, "register", **body)
    assert answer.status_code == 200, answer.text
    return answer.json()


async def get(service: Service, by: Person, provider_id: str = "acme") -> Any:
    answer = await service.get("/sso/get-provider", params={"providerId": provider_id}, headers=by.headers)
    return answer.json() if answer.status_code == 200 else code(answer)


async def listed(service: Service, by: Person) -> list[str]:
    answer = await service.get("/sso/providers", headers=by.headers)
    assert answer.status_code == 200, answer.text
    return [one["providerId"] for one in answer.json()["providers"]]


async def update(service: Service, by: Person, **fields: Any) -> Any:
    answer = await post(service, by, "update-provider", providerId="acme", **fields)
    return answer.json() if answer.status_code == 200 else code(answer)


async def verify(service: Service, by: Person, provider_id: str = "acme") -> str:
    return code(await post(service, by, "verify-domain", providerId=provider_id))


async def register_domains(service: Service, by: Person, names: NameServer, number: int) -> None:
    """Create a connection with so many domains, whose records are there."""
    domains = [f"acme-{one}.example" for one in range(number)]
    made = await register(service, by, domain=",".join(domains))
    names.texts = {f"{LABEL}.{domain}": [made["domainVerificationToken"]] for domain in domains}


async def create_by_operator(service: Service, **more: Any) -> None:
    """Create a connection as `gatewright sso create` does."""

    async def job(ctx: Context) -> None:
        sent = connection(**more)
        prepared = await operator.prepare(ctx, sent, None)
        organization_id = sent.get("organizationId")
        await operator.create(ctx, "acme", organization_id, prepared, ConnectionSource.CLI)

    await service.services.unit_of_work.run(job)


async def update_by_operator(service: Service, **sent: Any) -> None:
    """Change a connection as `gatewright sso update` does."""

    async def job(ctx: Context) -> None:
        seen = await operator.find(ctx, "acme")
        await operator.update(ctx, seen, await operator.prepare(ctx, sent, seen))

    await service.services.unit_of_work.run(job)


async def copy_connections(service: Service, number: int) -> None:
    """Add connections that are like the only one, each with its domain."""
    for table, names, own in (
        ("sso_connection", ConnectionRow._fields, {"id", "provider_id"}),
        ("sso_domain", DomainRow._fields, {"id", "connection_id"}),
    ):
        values = ", ".join("'copy-' || numbers.n" if name in own else f"one.{name}" for name in names)
        await execute(
            service,
            "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < :number)"
            f" INSERT INTO {table} ({', '.join(names)}) SELECT {values} FROM {table} one, numbers",
            number=number,
        )


async def add_identity(service: Service, person: Person, provider_id: str = "acme") -> None:
    """Make a person known at a connection, with the session of theirs opened through it."""
    async with service.services.database.begin() as db:
        statement = select(col(SsoConnection.id)).where(col(SsoConnection.provider_id) == provider_id)
        connection_id = (await db.execute(statement)).scalar()
        session_id = (
            await db.execute(select(col(Session.id)).where(col(Session.user_id) == person.id))
        ).scalar()
    times: dict[str, Any] = {"created_at": rows.NOW, "updated_at": rows.NOW}
    account = Account(
        id=tokens.token(),
        user_id=person.id,
        provider_id=f"sso:{connection_id}",
        issuer="https://login.acme.example",
        account_id=person.id,
        **times,
    )
    session = SsoSession(session_id=session_id, connection_id=connection_id, subject=b"digest", **times)
    await rows.add(service.services.database, account, session)


async def identities(service: Service) -> int:
    async with service.services.database.begin() as db:
        statement = select(col(Account.id)).where(col(Account.provider_id).like("sso:%"))
        return len(await db.execute(statement))


def verified(shown: Any) -> dict[str, bool]:
    """Return the domains of a connection as an operation shows it, and whether they are verified."""
    return {one["domain"]: one["verified"] for one in shown["domains"]}


class TestRegister:
    @pytest.mark.operation("sso.register")
    async def test_a_connection_of_an_organization(self, service: Service, owner: Person, acme: str) -> None:
        made = await register(service, owner, organizationId=acme, groupRoles={"ops": "admin"}, name="Acme")

        assert made["redirectURI"] == f"{BASE_URL}/sso/callback/acme"
        assert len(made.pop("domainVerificationToken")) == 32
        assert made == await get(service, owner)
        assert (made["type"], made["state"], made["organizationId"]) == ("oidc", "active", acme)
        assert made["domains"] == [
            {
                "domain": "acme.example",
                "verified": False,
                "required": False,
                "recordName": "_gatewright-acme.acme.example",
                "verifiedAt": None,
                "missedAt": None,
            }
        ]
        assert (made["domain"], made["domainVerified"]) == ("acme.example", False)
        assert made["oidcConfig"] == {
            "clientIdLastFour": "****x7Qz",
            "pkce": True,
            "authorizationEndpoint": "https://93.184.215.14/authorize",
            "tokenEndpoint": "https://93.184.215.14/token",
            "jwksEndpoint": "https://93.184.215.14/keys",
            "scopes": ["openid", "email", "profile"],
            "tokenEndpointAuthentication": "client_secret_basic",
            "overrideUserInfo": False,
            "mapping": {},
        }
        [record] = await of_event(service, "sso.connection_created")
        assert (record.details["provider"], record.details["organizationId"]) == ("acme", acme)

    @pytest.mark.threat("SSO10")
    async def test_the_secret_is_encrypted_and_never_shown(self, service: Service, admin: Person) -> None:
        made = await register(service, admin)

        [row] = await service.rows("SELECT config FROM sso_connection")
        sealed = bytes(row[0])
        assert b"a-secret-of-the-provider" not in sealed
        assert "a-secret-of-the-provider" in (service.services.cipher.decrypt(CONFIG, sealed) or "")
        assert "secret-of-the" not in str(made)

    async def test_a_name_is_used_once(
        self, service: Service, admin: Person, owner: Person, acme: str
    ) -> None:
        await register(service, admin)

        again = await post(service, owner, "register", **connection(organizationId=acme))

        assert code(again) == "409 SSO_PROVIDER_EXISTS"

    @pytest.mark.threat("SSO10")
    async def test_only_who_may(self, service: Service, owner: Person, acme: str) -> None:
        member = await organization_steps.add_verified(service, "mia@example.com")
        await organization_steps.join(service, owner, member, "admin")
        stranger = await add_person(service, email="eve@example.com")
        for by, organization in ((member, acme), (stranger, acme), (owner, None), (owner, "x" * 32)):
            refused = await post(service, by, "register", **connection(organizationId=organization))
            assert code(refused) == "403 FORBIDDEN"
        assert await listed(service, owner) == []

    @pytest.mark.threat("SSO10")
    async def test_owners_only_if_the_operator_lets_them(self, make_service: MakeService) -> None:
        service = await make_service({"sso.management": "operators"})
        owner = await organization_steps.add_verified(service, "ada@example.com")
        acme = (await organization_steps.create(service, owner))["id"]
        admin = await add_person(service, "admin", "root@example.com")

        refused = await post(service, owner, "register", **connection(organizationId=acme))

        assert code(refused) == "403 FORBIDDEN"
        await register(service, admin, organizationId=acme)
        assert (await listed(service, owner), await get(service, owner)) == ([], "404 SSO_PROVIDER_NOT_FOUND")

    @pytest.mark.threat("SSO10")
    async def test_an_organization_has_so_many(self, make_service: MakeService) -> None:
        service = await make_service({"sso.limit_per_organization": "1"})
        owner = await organization_steps.add_verified(service, "ada@example.com")
        acme = (await organization_steps.create(service, owner))["id"]
        await register(service, owner, organizationId=acme)

        refused = await post(service, owner, "register", **connection("other", organizationId=acme))

        assert code(refused) == "403 TOO_MANY_SSO_PROVIDERS"

    @pytest.mark.threat("SSO9")
    @pytest.mark.parametrize(
        "domain",
        [
            "gmail.com",
            "GMAIL.com",
            "co.uk",
            "github.io",
            "acme",
            "127.0.0.1",
            "a b.example",
            "-acme.example",
            ".",
            ".".join(("a" * 63, "b" * 63, "c" * 63, "d" * 50, "example")),
        ],
    )
    async def test_domains_that_no_organization_has(
        self, service: Service, admin: Person, domain: str
    ) -> None:
        refused = await post(service, admin, "register", **connection(domain=f"acme.example,{domain}"))

        assert code(refused) == "400 INVALID_SSO_DOMAIN"

    async def test_domains_are_stored_in_one_form(self, service: Service, admin: Person) -> None:
        made = await register(service, admin, domain=" ACME.example., Bücher.example ,acme.EXAMPLE")

        assert made["domain"] == "acme.example,xn--bcher-kva.example"

    @pytest.mark.parametrize(
        ("fields", "named"),
        [
            ({"oidcConfig": None}, "oidcConfig"),
            ({"oidcConfig": {"clientId": "a"}}, "oidcConfig.clientSecret"),
            ({"oidcConfig": oidc(jwksEndpoint=None)}, "oidcConfig.jwksEndpoint"),
            ({"samlConfig": {"entryPoint": "https://a.example", "cert": "x"}}, "samlConfig"),
            ({"oidcConfig": None, "samlConfig": {}}, "samlConfig.entryPoint"),
            ({"oidcConfig": None, "samlConfig": {"entryPoint": "https://a.example", "cert": "x"}}, "samlConfig.cert"),
            (
                {"oidcConfig": None, "samlConfig": {"idpMetadata": {"metadata": "<a/>"}}},
                "samlConfig.idpMetadata.metadata",
            ),
            ({"providerId": "Acme"}, "providerId"),
            ({"domain": ","}, "domain"),
            ({"state": "on"}, "state"),
            ({"groupRoles": {"ops": "unknown"}}, "groupRoles"),
            ({"requiredDomains": ["acme.example"]}, "requiredDomains"),
        ],
    )  # fmt: skip
    async def test_a_field_that_is_wrong_is_named(
        self, service: Service, admin: Person, fields: dict[str, Any], named: str
    ) -> None:
        body = {**connection(), **fields}
        body = {name: value for name, value in body.items() if value is not None}
        body["oidcConfig"] = {k: v for k, v in body.get("oidcConfig", {}).items() if v is not None}
        if "oidcConfig" in fields and fields["oidcConfig"] is None:
            del body["oidcConfig"]

        refused = await post(service, admin, "register", **body)

        assert code(refused) == "400 VALIDATION_ERROR", refused.text
        assert refused.json()["fields"][0]["name"] == named, refused.text

    @pytest.mark.threat("SSO10")
    @pytest.mark.parametrize(
        "fields", [{"defaultRole": "owner"}, {"groupRoles": {"ops": "member,owner"}}], ids=str
    )
    async def test_no_provider_makes_owners(
        self, service: Service, admin: Person, fields: dict[str, Any]
    ) -> None:
        refused = await post(service, admin, "register", **connection(), **fields)

        assert code(refused) == "400 VALIDATION_ERROR", refused.text
        assert refused.json()["fields"][0]["name"] in fields

    async def test_it_is_off_until_it_is_switched_on(self, make_service: MakeService) -> None:
        service = await make_service({"sso.enabled": "false", "scim.enabled": "false"})
        admin = await add_person(service, "admin", "root@example.com")

        assert code(await post(service, admin, "register", **connection())) == "404 NOT_FOUND"


class TestDiscovery:
    async def test_what_the_provider_announces(self, service: Service, admin: Person) -> None:
        async with Receiver() as provider:
            methods = ["private_key_jwt", "client_secret_post"]
            provider.otherwise = discovered(provider, token_endpoint_auth_methods_supported=methods)
            config = {"clientId": "client", "clientSecret": "secret"}

            made = await register(service, admin, issuer=issuer_of(provider), oidcConfig=config)

        [request] = provider.requests
        assert request.target == "/.well-known/openid-configuration"
        assert made["oidcConfig"]["discoveryEndpoint"] == provider.url("/.well-known/openid-configuration")
        assert made["oidcConfig"]["tokenEndpointAuthentication"] == "client_secret_post"
        assert "tokenEndpoint" not in made["oidcConfig"]

    @pytest.mark.threat("SSO14")
    async def test_what_cannot_be_used_has_a_reason(self, service: Service, admin: Person) -> None:
        async with Receiver() as provider:
            for behaviour, reason in (
                (discovered(provider, issuer="https://evil.example"), "issuer_mismatch"),
                (discovered(provider, jwks_uri=None), "incomplete"),
                (discovered(provider, token_endpoint="javascript:alert(1)"), "incomplete"),
                (
                    discovered(provider, token_endpoint_auth_methods_supported=["private_key_jwt"]),
                    "token_auth",
                ),
                (respond(200, b"[]"), "invalid_json"),
                (respond(200, b"{"), "invalid_json"),
                (respond(200, b" " * (1024 * 1024 + 1)), "size"),
                (respond(404), "status"),
                (redirect(302, "http://127.0.0.1:1/"), "redirect"),
            ):
                provider.otherwise = behaviour
                config = {"clientId": "client", "clientSecret": "secret"}
                body = connection(issuer=issuer_of(provider), oidcConfig=config)

                refused = await post(service, admin, "register", **body)

                assert (code(refused), refused.json()["reason"]) == ("400 DISCOVERY_FAILED", reason)
        gone = await post(service, admin, "register", **body)
        assert gone.json()["reason"] == "connect"

    async def test_the_metadata_is_fetched_from_its_url(self, service: Service, admin: Person) -> None:
        async with Receiver() as provider:
            provider.otherwise = respond(200, metadata())
            url = provider.url("/saml/metadata")
            made = await register(service, admin, **saml_connection(idpMetadata={"metadataUrl": url}))

        [request] = provider.requests
        assert (request.target, request.headers["accept"].split(",")[0]) == (
            "/saml/metadata",
            "application/samlmetadata+xml",
        )
        assert (made["issuer"], made["samlConfig"]["entryPoint"]) == (ISSUER, SIGN_IN)

    @pytest.mark.threat("SSO14")
    async def test_metadata_that_cannot_be_fetched_has_a_reason(
        self, service: Service, admin: Person
    ) -> None:
        async with Receiver() as provider:
            body = saml_body(metadataUrl=provider.url("/metadata"))
            for behaviour, reason in (
                (respond(200, b" " * (1024 * 1024 + 1)), "size"),
                (respond(404), "status"),
                (redirect(302, "http://127.0.0.1:1/"), "redirect"),
            ):
                provider.otherwise = behaviour
                refused = await post(service, admin, "register", **body)
                assert (code(refused), refused.json()["reason"]) == ("400 DISCOVERY_FAILED", reason)
            provider.otherwise = respond(200, b"<html/>")
            refused = await post(service, admin, "register", **body)
            assert "samlConfig.idpMetadata.metadataUrl" in refused.json()["message"]
        for url in ("https://10.0.0.1/x", "http://login.acme.example/"):
            body = saml_body(metadataUrl=url)
            refused = await post(service, admin, "register", **body)
            assert (code(refused), "metadataUrl" in refused.text) == ("400 INVALID_PROVIDER_URL", True)
        both = saml_body(metadataUrl="https://93.184.215.14/", metadata="<a/>")
        assert code(await post(service, admin, "register", **both)) == "400 VALIDATION_ERROR"

    @pytest.mark.threat("SSO14")
    async def test_no_request_to_a_private_network(self, service: Service, admin: Person) -> None:
        for url in ("https://10.0.0.1/x", "http://login.acme.example/", "https://169.254.169.254/"):
            body = connection(oidcConfig=oidc(tokenEndpoint=url))
            assert code(await post(service, admin, "register", **body)) == "400 INVALID_PROVIDER_URL"
        for url in ("javascript:alert(1)", "http://login.acme.example/"):
            body = connection(oidcConfig=oidc(authorizationEndpoint=url))
            assert code(await post(service, admin, "register", **body)) == "400 INVALID_PROVIDER_URL"


class TestList:
    @pytest.mark.operation("sso.list", "sso.get")
    @pytest.mark.threat("SSO10")
    async def test_each_caller_has_their_own(
        self, service: Service, admin: Person, owner: Person, acme: str
    ) -> None:
        other = await organization_steps.add_verified(service, "olga@example.com")
        others = (await organization_steps.create(service, other, "others"))["id"]
        await register(service, admin)
        service.clock.advance(seconds=1)
        await register(service, owner, "of-acme", organizationId=acme)
        service.clock.advance(seconds=1)
        await register(service, other, "of-others", organizationId=others)

        assert await listed(service, admin) == ["acme", "of-acme", "of-others"]
        assert await listed(service, owner) == ["of-acme"]
        for provider_id in ("acme", "of-others", "unknown"):
            assert await get(service, owner, provider_id) == "404 SSO_PROVIDER_NOT_FOUND"
        assert (await get(service, owner, "of-acme"))["providerId"] == "of-acme"
        member = await organization_steps.add_verified(service, "mia@example.com")
        await organization_steps.join(service, owner, member, "admin")
        assert await listed(service, member) == []

    @pytest.mark.both_databases
    async def test_more_connections_than_a_statement_has_parameters(
        self, service: Service, admin: Person
    ) -> None:
        await register(service, admin)
        await copy_connections(service, 33_000)

        found = await service.services.unit_of_work.run(operator.list_all)

        assert len(found) == 33_001
        assert all([one.domain for one in own] == ["acme.example"] for _, own in found)


class TestUpdate:
    @pytest.mark.operation("sso.update")
    async def test_the_fields_that_are_sent(self, service: Service, owner: Person, acme: str) -> None:
        await register(service, owner, organizationId=acme)

        changed = await update(
            service, owner, name="ACME", state="paused", oidcConfig={"clientSecret": "new"}
        )

        assert (changed["name"], changed["state"], changed["signUp"]) == ("ACME", "paused", True)
        assert changed["oidcConfig"]["clientIdLastFour"] == "****x7Qz"
        [row] = await service.rows("SELECT config FROM sso_connection")
        assert '"new"' in (service.services.cipher.decrypt(CONFIG, bytes(row[0])) or "")
        record = await only(service, "sso.connection_updated")
        assert record.details["fields"] == ["name", "oidcConfig", "state"]
        await update(service, owner, state="active")
        await update(service, owner, state="paused")
        assert len(await of_event(service, "sso.connection_paused")) == 1

    @pytest.mark.threat("SSO10")
    @pytest.mark.both_databases
    async def test_another_provider_ends_identities_and_sessions(
        self, service: Service, admin: Person
    ) -> None:
        await register(service, admin)
        for fields in (
            {"issuer": "https://evil.example", "oidcConfig": {"clientSecret": "new"}},
            {"oidcConfig": {"clientId": "other"}},
            {"oidcConfig": {"jwksEndpoint": "https://93.184.215.14/evil"}},
        ):
            ada = await add_person(service, email=f"{tokens.token(8)}@acme.example")
            bob = await add_person(service, email=f"{tokens.token(8)}@acme.example")
            await add_identity(service, ada)
            await update(service, admin, name="Same provider", oidcConfig={"clientSecret": "new"})
            assert (await identities(service), await works(service, ada.headers)) == (1, True)

            assert "providerId" in await update(service, admin, **fields)

            assert (await identities(service), await works(service, ada.headers)) == (0, False)
            assert await works(service, bob.headers)
        assert len(await of_event(service, "sso.connection_updated", identities_ended=1)) == 3

    @pytest.mark.threat("SSO10")
    async def test_the_secret_goes_to_no_other_provider(
        self, service: Service, owner: Person, acme: str
    ) -> None:
        await register(service, owner, organizationId=acme)
        issuer, evil = "https://login.acme.example", "https://93.184.215.14/evil"
        for fields in (
            {"issuer": "https://evil.example"},
            {"issuer": "https://evil.example", "oidcConfig": {"clientId": "other"}},
            {"oidcConfig": {"tokenEndpoint": evil}},
            {"oidcConfig": {"tokenEndpoint": evil, "skipDiscovery": True}},
            {"oidcConfig": {"discoveryEndpoint": evil}},
        ):
            refused = await post(service, owner, "update-provider", providerId="acme", **fields)
            assert code(refused) == "400 VALIDATION_ERROR", refused.text
            assert [one["name"] for one in refused.json()["fields"]] == ["oidcConfig.clientSecret"], fields
        assert (await get(service, owner))["issuer"] == issuer

        await update_by_operator(service, oidcConfig={"tokenEndpoint": f"{evil}-no-more"})
        moved = await update(service, owner, oidcConfig={"tokenEndpoint": evil, "clientSecret": "for-both"})

        assert moved["oidcConfig"]["tokenEndpoint"] == evil
        same = await update(service, owner, issuer=issuer, oidcConfig={"tokenEndpoint": evil})
        assert same["issuer"] == issuer

    @pytest.mark.threat("SSO10")
    async def test_an_owner_gives_only_roles_below_their_own(self, make_service: MakeService) -> None:
        roles = '{"sso-admin": {"sso": ["manage"]}}'
        service = await make_service({"organizations.roles": roles})
        owner = await organization_steps.add_verified(service, "ada@example.com")
        acme = (await organization_steps.create(service, owner))["id"]
        await register(service, owner, organizationId=acme)
        helper = await organization_steps.add_verified(service, "hal@example.com")
        await organization_steps.join(service, owner, helper, "sso-admin")

        assert (await update(service, helper, name="ACME"))["name"] == "ACME"
        assert await update(service, helper, groupRoles={"all": "admin"}) == "403 FORBIDDEN"
        assert await update(service, helper, defaultRole="admin") == "403 FORBIDDEN"
        assert (await update(service, owner, groupRoles={"all": "admin"}))["groupRoles"] == {"all": "admin"}

    @pytest.mark.threat("SSO10")
    async def test_changes_need_a_fresh_session(
        self, service: Service, owner: Person, admin: Person, acme: str
    ) -> None:
        await register(service, owner, organizationId=acme)
        service.clock.advance(days=2)

        for path, body in (
            ("register", connection("other", organizationId=acme)),
            ("update-provider", {"providerId": "acme", "name": "x"}),
            ("delete-provider", {"providerId": "acme"}),
            ("verify-domain", {"providerId": "acme"}),
            ("request-domain-verification", {"providerId": "acme"}),
        ):
            for by in (owner, admin):
                assert code(await post(service, by, path, **body)) == "403 SESSION_NOT_FRESH", path
        assert await listed(service, owner) == ["acme"]

    @pytest.mark.threat("SSO10")
    async def test_foreign_connections_do_not_exist(
        self, service: Service, admin: Person, owner: Person, acme: str
    ) -> None:
        await register(service, admin)

        for path in ("update-provider", "delete-provider", "verify-domain", "request-domain-verification"):
            for provider_id in ("acme", "unknown"):
                answer = await post(service, owner, path, providerId=provider_id, name="x")
                assert code(answer) == "404 SSO_PROVIDER_NOT_FOUND"

    async def test_without_a_field_nothing_is_changed(self, service: Service, admin: Person) -> None:
        await register(service, admin)

        assert await update(service, admin) == "400 VALIDATION_ERROR"


class TestRemove:
    @pytest.mark.operation("sso.remove")
    @pytest.mark.threat("SSO10")
    @pytest.mark.both_databases
    async def test_its_identities_and_sessions_end(self, service: Service, owner: Person, acme: str) -> None:
        await register(service, owner, organizationId=acme)
        ada = await add_person(service, email="mia@acme.example")
        await add_identity(service, ada)

        answer = await post(service, owner, "delete-provider", providerId="acme")

        assert answer.json() == {"success": True}
        assert await get(service, owner) == "404 SSO_PROVIDER_NOT_FOUND"
        assert (await identities(service), await works(service, ada.headers)) == (0, False)
        assert await works(service, owner.headers)

    @pytest.mark.threat("SSO10")
    async def test_they_end_with_the_organization(self, service: Service, owner: Person, acme: str) -> None:
        await register(service, owner, organizationId=acme)
        ada = await add_person(service, email="mia@acme.example")
        await add_identity(service, ada)

        deleted = await service.post("/organization/delete", {"organizationId": acme}, headers=owner.headers)

        assert deleted.status_code == 200
        assert (await identities(service), await works(service, ada.headers)) == (0, False)


class TestDomains:
    @pytest.mark.operation("sso.request_domain", "sso.verify_domain")
    async def test_the_record_verifies_a_domain(
        self, service: Service, owner: Person, acme: str, names: NameServer
    ) -> None:
        token = (await register(service, owner, organizationId=acme))["domainVerificationToken"]
        requested = await post(service, owner, "request-domain-verification", providerId="acme")
        assert (requested.status_code, requested.json()) == (201, {"domainVerificationToken": token})
        assert await verify(service, owner) == "502 DOMAIN_VERIFICATION_FAILED"

        for text in (token, f"{LABEL}={token}"):
            names.texts[f"{LABEL}.acme.example"] = ["v=spf1 -all", text]
            assert await verify(service, owner) == "204"
            assert (await get(service, owner))["domainVerified"]
            assert await verify(service, owner) == "409 DOMAIN_VERIFIED"
            again = await post(service, owner, "request-domain-verification", providerId="acme")
            assert code(again) == "409 DOMAIN_VERIFIED"
            await update(service, owner, domain="other.example")
            await update(service, owner, domain="acme.example")
            assert not (await get(service, owner))["domainVerified"]
        assert len(await of_event(service, "sso.domain_verified")) == 2

    async def test_domains_that_are_found_are_kept(
        self, service: Service, admin: Person, names: NameServer
    ) -> None:
        made = await register(service, admin, domain="acme.example,acme.test")
        names.texts[f"{LABEL}.acme.test"] = [made["domainVerificationToken"]]

        refused = await post(service, admin, "verify-domain", providerId="acme")

        assert code(refused) == "502 DOMAIN_VERIFICATION_FAILED"
        assert "acme.example" in refused.json()["message"]
        shown = await get(service, admin)
        assert [(one["domain"], one["verified"]) for one in shown["domains"]] == [
            ("acme.example", False),
            ("acme.test", True),
        ]

    @pytest.mark.threat("SSO9")
    async def test_an_owner_proves_domains_also_of_connections_of_the_operator(
        self, service: Service, owner: Person, acme: str
    ) -> None:
        await create_by_operator(service, organizationId=acme)

        changed = await update(service, owner, domain="acme.example,victim.example")

        assert verified(changed) == {"acme.example": True, "victim.example": False}
        assert await update(service, owner, requiredDomains=["victim.example"]) == "400 VALIDATION_ERROR"

    async def test_the_operator_proves_none_also_of_connections_of_owners(
        self, service: Service, owner: Person, acme: str
    ) -> None:
        await register(service, owner, organizationId=acme)

        await update_by_operator(service, domain="acme.example,acme.test")

        shown = await get(service, owner)
        assert verified(shown) == {"acme.example": True, "acme.test": True}
        assert len(await of_event(service, "sso.domain_verified", domain="acme.example")) == 1
        [record] = await of_event(service, "sso.connection_updated")
        assert record.details["fields"] == ["domain"]

    @pytest.mark.threat("SSO9")
    async def test_only_the_very_name_counts(
        self, service: Service, admin: Person, names: NameServer
    ) -> None:
        token = (await register(service, admin))["domainVerificationToken"]
        name = f"{LABEL}.acme.example"

        names.aliases[name] = "evil.example"
        names.texts["evil.example"] = [token]
        assert await verify(service, admin) == "502 DOMAIN_VERIFICATION_FAILED"
        names.aliases.clear()
        names.texts["*.acme.example"] = [token]
        assert await verify(service, admin) == "502 DOMAIN_VERIFICATION_FAILED"
        names.texts = {f"{LABEL}.sub.acme.example": [token], "acme.example": [token]}
        assert await verify(service, admin) == "502 DOMAIN_VERIFICATION_FAILED"
        names.texts = {name: [token]}
        names.fails = True
        assert await verify(service, admin) == "502 DOMAIN_VERIFICATION_FAILED"
        names.fails = False
        assert await verify(service, admin) == "204"

    @pytest.mark.threat("SSO9")
    async def test_two_name_servers_must_agree(self, make_service: MakeService) -> None:
        async with name_server() as one, name_server() as two:
            service = await make_service({"sso.resolvers": f'["{one.address}", "{two.address}"]'})
            admin = await add_person(service, "admin", "root@example.com")
            token = (await register(service, admin))["domainVerificationToken"]
            name = f"{LABEL}.acme.example"
            one.texts[name] = [token]

            assert await verify(service, admin) == "502 DOMAIN_VERIFICATION_FAILED"
            two.fails = True
            assert await verify(service, admin) == "204"

    @pytest.mark.threat("SSO9")
    @pytest.mark.both_databases
    async def test_a_verified_domain_has_one_connection(
        self, service: Service, admin: Person, owner: Person, acme: str, names: NameServer
    ) -> None:
        for by, provider_id, organization in ((admin, "acme", None), (owner, "claimed", acme)):
            made = await register(service, by, provider_id, organizationId=organization)
            names.texts[f"_gatewright-{provider_id}.acme.example"] = [made["domainVerificationToken"]]
        assert await verify(service, owner, "claimed") == "204"

        assert await verify(service, admin) == "409 DOMAIN_TAKEN"
        await post(service, owner, "delete-provider", providerId="claimed")
        assert await verify(service, admin) == "204"

    @pytest.mark.both_databases
    async def test_a_domain_that_is_taken_takes_no_other_away(
        self, service: Service, admin: Person, names: NameServer
    ) -> None:
        claimed = await register(service, admin, "claimed", domain="acme.test")
        made = await register(service, admin, domain="acme.example,acme.test,acme.zone,missing.example")
        names.texts = {
            f"_gatewright-{provider_id}.{domain}": [token]
            for provider_id, domain, token in (
                ("claimed", "acme.test", claimed["domainVerificationToken"]),
                ("acme", "acme.example", made["domainVerificationToken"]),
                ("acme", "acme.test", made["domainVerificationToken"]),
                ("acme", "acme.zone", made["domainVerificationToken"]),
            )
        }
        assert await verify(service, admin, "claimed") == "204"

        for _ in range(2):
            refused = await post(service, admin, "verify-domain", providerId="acme")
            assert (code(refused), "acme.test" in refused.json()["message"]) == ("409 DOMAIN_TAKEN", True)

        assert verified(await get(service, admin)) == {
            "acme.example": True,
            "acme.test": False,
            "acme.zone": True,
            "missing.example": False,
        }
        events = await of_event(service, "sso.domain_verified", provider="acme")
        assert sorted(event.details["domain"] for event in events) == ["acme.example", "acme.zone"]

    async def test_the_operator_changes_nothing_with_a_domain_that_is_taken(
        self, service: Service, admin: Person, names: NameServer
    ) -> None:
        await register(service, admin)
        claimed = await register(service, admin, "claimed", domain="acme.test")
        names.texts["_gatewright-claimed.acme.test"] = [claimed["domainVerificationToken"]]
        assert await verify(service, admin, "claimed") == "204"

        with pytest.raises(DomainTaken, match=r"acme\.test"):
            await update_by_operator(service, name="ACME", domain="acme.test,acme.zone")

        shown = await get(service, admin)
        assert (shown["name"], verified(shown)) == ("acme", {"acme.example": False})

    @pytest.mark.threat("SSO10")
    async def test_a_record_verifies_no_other_connection_of_the_same_name(
        self, service: Service, admin: Person, owner: Person, acme: str, names: NameServer
    ) -> None:
        token = (await register(service, admin))["domainVerificationToken"]
        names.texts[f"{LABEL}.acme.example"] = [token]
        names.is_held = True
        verification = asyncio.create_task(verify(service, admin))
        await names.is_reached.wait()
        await post(service, admin, "delete-provider", providerId="acme")
        await register(service, owner, organizationId=acme)

        names.release()

        assert await verification == "404 SSO_PROVIDER_NOT_FOUND"
        assert not (await get(service, owner))["domainVerified"]

    async def test_eight_records_are_looked_up_at_once(
        self, service: Service, admin: Person, names: NameServer
    ) -> None:
        await register_domains(service, admin, names, 9)
        names.is_held, names.expected = True, 8

        verification = asyncio.create_task(verify(service, admin))
        async with asyncio.timeout(4):
            await names.is_reached.wait()
        names.release()

        assert await verification == "204"

    @pytest.mark.threat("SSO9")
    async def test_only_verified_domains_can_be_required(
        self, service: Service, admin: Person, names: NameServer
    ) -> None:
        token = (await register(service, admin))["domainVerificationToken"]
        assert await update(service, admin, requiredDomains=["acme.example"]) == "400 VALIDATION_ERROR"
        names.texts[f"{LABEL}.acme.example"] = [token]
        assert await verify(service, admin) == "204"

        changed = await update(service, admin, requiredDomains=["ACME.example"])

        assert changed["domains"][0]["required"]
        assert not (await update(service, admin, requiredDomains=[]))["domains"][0]["required"]


class TestRecheck:
    @pytest.mark.threat("SSO9")
    async def test_a_record_that_stays_away_loses_the_domain(
        self, service: Service, owner: Person, acme: str, names: NameServer
    ) -> None:
        token = (await register(service, owner, organizationId=acme))["domainVerificationToken"]
        name = f"{LABEL}.acme.example"
        names.texts[name] = [token]
        assert await verify(service, owner) == "204"
        await update(service, owner, requiredDomains=["acme.example"])
        names.texts.clear()
        names.questions.clear()

        await service.services.unit_of_work.run(recheck.run)
        assert names.questions == []
        service.clock.advance(days=7)
        for _ in range(2):
            await service.services.unit_of_work.run(recheck.run)
        assert (await get_domain(service))[:2] == (True, True)
        [mail] = await service.inbox("ada@example.com", "sso-domain-missing")
        assert all(text in mail["text"] for text in (name, f"TXT {token}", "22 January 2026"))

        service.clock.advance(days=14)
        await service.services.unit_of_work.run(recheck.run)

        assert await get_domain(service) == (False, False, False)
        assert (await only(service, "sso.domain_lost")).details["domain"] == "acme.example"
        assert len(await service.inbox("ada@example.com", "sso-domain-lost")) == 1

    async def test_a_record_that_is_back_keeps_it(
        self, service: Service, admin: Person, names: NameServer
    ) -> None:
        name = f"{LABEL}.acme.example"
        names.texts[name] = [(await register(service, admin))["domainVerificationToken"]]
        assert await verify(service, admin) == "204"
        records, names.texts = names.texts, {}
        service.clock.advance(days=8)
        await service.services.unit_of_work.run(recheck.run)
        names.texts = records

        await service.services.unit_of_work.run(recheck.run)
        service.clock.advance(days=14)
        await service.services.unit_of_work.run(recheck.run)

        assert (await get_domain(service))[:2] == (True, False)

    async def test_eight_records_are_looked_up_at_once(
        self, service: Service, admin: Person, names: NameServer
    ) -> None:
        await register_domains(service, admin, names, 9)
        assert await verify(service, admin) == "204"
        service.clock.advance(days=8)
        names.is_held, names.expected = True, 8

        run = asyncio.create_task(service.services.unit_of_work.run(recheck.run))
        async with asyncio.timeout(4):
            await names.is_reached.wait()
        names.release()
        await run

        names.questions.clear()
        await service.services.unit_of_work.run(recheck.run)
        assert names.questions == []

    @pytest.mark.both_databases
    async def test_the_next_run_begins_with_what_is_left(
        self, service: Service, admin: Person, names: NameServer
    ) -> None:
        await register_domains(service, admin, names, 3)
        assert await verify(service, admin) == "204"
        service.clock.advance(days=8)
        names.fails = True
        runs = []
        for _ in range(2):
            names.questions.clear()
            service.clock.advance(hours=1)
            await service.services.unit_of_work.run(partial(recheck.run, most=2))
            runs.append({*names.questions})

        assert [len(names) for names in runs] == [2, 2]
        assert len(runs[0] | runs[1]) == 3

    async def test_name_servers_that_do_not_respond_take_no_domain_away_at_once(
        self, service: Service, admin: Person, names: NameServer
    ) -> None:
        names.texts[f"{LABEL}.acme.example"] = [(await register(service, admin))["domainVerificationToken"]]
        assert await verify(service, admin) == "204"
        names.fails = True

        service.clock.advance(days=20)
        await service.services.unit_of_work.run(recheck.run)
        assert (await get_domain(service))[:2] == (True, False)
        service.clock.advance(days=2)
        await service.services.unit_of_work.run(recheck.run)
        assert (await get_domain(service))[:2] == (True, True)
        service.clock.advance(days=14)
        await service.services.unit_of_work.run(recheck.run)

        assert (await get_domain(service))[:2] == (False, False)


class TestEvents:
    async def test_endpoints_receive_what_happens(
        self, service: Service, owner: Person, acme: str, names: NameServer
    ) -> None:
        async def remove_acme(ctx: Context) -> None:
            await operator.remove(ctx, await operator.find(ctx, "acme"))

        await add_endpoint(service, "https://93.184.215.14/hook", events=("sso.*",))
        names.texts[f"{LABEL}.acme.example"] = [
            (await register(service, owner, organizationId=acme))["domainVerificationToken"]
        ]
        assert await verify(service, owner) == "204"
        await update(service, owner, name="ACME", state="paused", defaultRole="admin")
        await update(service, owner, state="active")
        await update(service, owner, state="paused")
        names.texts.clear()
        for days in (8, 15):
            service.clock.advance(days=days)
            await service.services.unit_of_work.run(recheck.run)
        await service.services.unit_of_work.run(remove_acme)

        sealed = [
            row[0] for row in await service.rows("SELECT payload FROM webhook_event ORDER BY created_at")
        ]
        events = [json.loads(service.services.cipher.decrypt(PAYLOAD, bytes(one)) or "") for one in sealed]
        for event in events:
            check_webhook(contract(), json.dumps(event).encode())
        assert {event["type"] for event in events} == {
            "sso.connection_created",
            "sso.domain_verified",
            "sso.connection_updated",
            "sso.connection_paused",
            "sso.domain_lost",
            "sso.connection_deleted",
        }
        changed = [event["data"]["changed"] for event in events if event["type"] == "sso.connection_updated"]
        assert ["defaultRole", "name", "state"] in changed


class TestConfiguration:
    @pytest.mark.both_databases
    async def test_the_table_follows_it(self, migrated_url: str, tmp_path: Path) -> None:
        configured = {
            "issuer": "https://login.acme.example",
            "domains": ["configured.example"],
            "group_roles": {"ops": "admin"},
            "oidc": {"client_id": "client", "client_secret": "first", **ENDPOINTS},
        }
        saml = {
            "issuer": ISSUER,
            "domains": ["acme.example", "saml.example"],
            "required_domains": ["saml.example"],
            "saml": {"entry_point": SIGN_IN, "certificates": [key().certificate]},
        }

        problems: list[Any] = []

        async def started(**connections: Any) -> dict[str, Any]:
            """Start a service with these connections; return all that there are then."""
            chosen = {"sso.connections": json.dumps(connections)}
            async with running_service(migrated_url, tmp_path, chosen) as service:
                sent = connection(oidcConfig=oidc(), domain="acme.example")
                root = await join(service, "root@example.com") if not connections else None
                if root is None:
                    signed_in = await sign_in(service, "root@example.com")
                    root = bearer(signed_in.json()["token"])
                else:
                    await set_user(service, "root@example.com", role="admin")
                    made = await service.post("/sso/register", sent, headers=root)
                    assert made.status_code == 200
                    await execute(service, "UPDATE sso_domain SET verified_at = created_at")
                problems.append(await service.services.unit_of_work.run(configuration.apply))
                answer = await service.get("/sso/providers", headers=root)
                return {one["providerId"]: one for one in answer.json()["providers"]}

        assert [*await started()] == ["acme"]
        first = await started(configured=configured, saml=saml)
        assert {name: one["source"] for name, one in first.items()} == {
            "acme": "operation",
            "configured": "config",
            "saml": "config",
        }
        assert (first["configured"]["domainVerified"], first["configured"]["groupRoles"]) == (
            True,
            {"ops": "admin"},
        )
        # A domain that another connection has verified stays there.
        assert (first["acme"]["domain"], first["saml"]["domain"]) == ("acme.example", "saml.example")
        assert first["saml"]["domains"][0]["required"]
        assert problems[-1] == [("saml", "acme.example is verified by another connection")]
        assert await started(configured=configured, saml=saml) == first

        moved = {**configured, "domains": ["saml.example"], "state": "paused"}
        last = await started(configured=moved, absent={**saml, "organization": "no-such"})
        assert problems[-1] == [("absent", "there is no organization no-such")]
        assert {name: (one["domain"], one["state"]) for name, one in last.items()} == {
            "acme": ("acme.example", "active"),
            "configured": ("saml.example", "paused"),
        }

    async def test_its_connections_are_read_only(self, make_service: MakeService) -> None:
        whole = {
            "issuer": "https://login.acme.example",
            "domains": ["acme.example"],
            "oidc": {"client_id": "client", "client_secret": "first", **ENDPOINTS},
        }
        service = await make_service({"sso.connections": json.dumps({"acme": whole})})
        admin = await add_person(service, "admin", "root@example.com")
        await service.services.unit_of_work.run(configuration.apply)

        assert await update(service, admin, name="x") == "400 SSO_PROVIDER_READ_ONLY"
        removed = await post(service, admin, "delete-provider", providerId="acme")
        assert code(removed) == "400 SSO_PROVIDER_READ_ONLY"


def saml_connection(**config: Any) -> dict[str, Any]:
    """Return the fields of a connection to a SAML identity provider, by its metadata."""
    settings = {"idpMetadata": {"metadata": metadata().decode()}, **config}
    return {"oidcConfig": None, "samlConfig": settings}


def saml_body(**metadata: str) -> dict[str, Any]:
    """Return the body that registers a connection to a SAML identity provider."""
    fields = connection(samlConfig={"idpMetadata": metadata})
    return {name: value for name, value in fields.items() if name != "oidcConfig"}


async def stored_config(service: Service) -> dict[str, Any]:
    """Return the stored configuration of the only connection."""
    [row] = await service.rows("SELECT config FROM sso_connection")
    values: dict[str, Any] = json.loads(service.services.cipher.decrypt(CONFIG, bytes(row.config)) or "")
    return values


async def get_domain(service: Service) -> tuple[bool, bool, bool]:
    """Return whether the only domain is verified, missing and required."""
    [row] = await service.rows("SELECT verified_at, missed_at, required FROM sso_domain")
    return row[0] is not None, row[1] is not None, bool(row[2])


class TestSaml:
    @pytest.mark.operation("sso.metadata")
    async def test_a_connection_of_metadata(self, service: Service, admin: Person) -> None:
        made = await register(service, admin, **saml_connection())

        assert (made["type"], made["issuer"], made["oidcConfig"]) == ("saml", ISSUER, None)
        config = made["samlConfig"]
        assert (config["entryPoint"], config["logoutUrl"]) == (SIGN_IN, LOGOUT)
        assert [one["subject"] for one in config["certificate"]] == ["CN=provider"]
        assert config["spCertificate"].startswith("-----BEGIN CERTIFICATE-----")
        assert made["redirectURI"] == config["callbackUrl"] == f"{BASE_URL}/sso/saml2/sp/acs/acme"
        answer = await service.get("/sso/saml2/sp/metadata", params={"providerId": "acme"})
        assert answer.headers["content-type"] == "application/samlmetadata+xml"
        assert f'entityID="{config["audience"]}"' in answer.text
        assert config["callbackUrl"] in answer.text
        assert "PRIVATE KEY" not in answer.text + str(made)

    async def test_requests_are_signed_if_the_metadata_wants_it(
        self, service: Service, admin: Person
    ) -> None:
        role = 'protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"'
        silent = {"idpMetadata": {"metadata": metadata(role=role).decode()}}
        asking = saml_connection()["samlConfig"]

        wanted = await register(service, admin, **saml_connection())
        refused = await update(service, admin, samlConfig={"authnRequestsSigned": False})
        renewed = await update(service, admin, samlConfig=asking)
        kept = await update(service, admin, samlConfig=silent)

        signed = [each["samlConfig"]["authnRequestsSigned"] for each in (wanted, refused, renewed, kept)]
        assert signed == [True, False, True, True]

    async def test_the_url_of_logout_responses_is_stored(self, service: Service, admin: Person) -> None:
        url = "https://idp.example.com/done"
        both = f'<md:SingleLogoutService Binding="{REDIRECT}" Location="{LOGOUT}" ResponseLocation="{url}"/>'
        whole = {"idpMetadata": {"metadata": metadata(logout=both).decode()}}
        await register(service, admin, **saml_connection(**whole))
        found = [(await stored_config(service)).get("logout_response_url")]
        moved = {"singleLogoutService": [{"Binding": REDIRECT, "Location": f"{LOGOUT}/new"}]}
        for config in (
            {"authnRequestsSigned": False},
            {"idpMetadata": moved},
            whole,
            saml_connection()["samlConfig"],
        ):
            assert "providerId" in await update(service, admin, samlConfig=config)
            found.append((await stored_config(service))["logout_response_url"])

        assert found == [url, url, None, url, None]
        script = metadata(logout=both.replace(url, "http://login.acme.example/")).decode()
        refused = await update(service, admin, samlConfig={"idpMetadata": {"metadata": script}})
        assert refused == "400 INVALID_PROVIDER_URL"

    async def test_a_configuration_without_the_url_of_logout_responses_is_read(
        self, service: Service, admin: Person
    ) -> None:
        await register(service, admin, **saml_connection())
        values = await stored_config(service)
        del values["logout_response_url"]
        older = service.services.cipher.encrypt(CONFIG, json.dumps(values))
        await execute(service, "UPDATE sso_connection SET config = :config", config=older)

        changed = await update(service, admin, samlConfig={"authnRequestsSigned": False})

        assert changed["samlConfig"]["logoutUrl"] == LOGOUT

    async def test_certificates_are_replaced_without_an_end_of_identities(
        self, service: Service, admin: Person
    ) -> None:
        await register(service, admin, **saml_connection())
        ada = await add_person(service, email="mia@acme.example")
        await add_identity(service, ada)
        before = (await get(service, admin))["samlConfig"]

        two = [key("provider").certificate, bare(key("next").certificate)]
        changed = await update(service, admin, samlConfig={"cert": two, "authnRequestsSigned": True})

        assert [one["subject"] for one in changed["samlConfig"]["certificate"]] == ["CN=provider", "CN=next"]
        assert changed["samlConfig"]["spCertificate"] == before["spCertificate"]
        assert await identities(service) == 1
        await update(service, admin, samlConfig={"entryPoint": "https://evil.example/sso"})
        assert await identities(service) == 0

    async def test_there_is_no_metadata_of_other_connections(self, service: Service, admin: Person) -> None:
        await register(service, admin)

        for provider_id in ("acme", "unknown"):
            answer = await service.get("/sso/saml2/sp/metadata", params={"providerId": provider_id})
            assert code(answer) == "404 SSO_PROVIDER_NOT_FOUND"

    async def test_a_connection_whose_configuration_cannot_be_read(
        self, service: Service, admin: Person
    ) -> None:
        await register(service, admin)
        await execute(service, "UPDATE sso_connection SET config = :config", config=b"of another key")

        shown = await get(service, admin)
        assert (shown["oidcConfig"], shown["samlConfig"]) == (None, None)
        assert await update(service, admin, oidcConfig={"clientId": "x"}) == "400 VALIDATION_ERROR"
        assert (await update(service, admin, name="ACME"))["name"] == "ACME"
        fixed = await update(service, admin, issuer="https://login.acme.example", oidcConfig=oidc())
        assert fixed["oidcConfig"]["clientIdLastFour"] == "****x7Qz"
