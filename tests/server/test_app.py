"""What is switched on: the mount, the documents beside it, and a contract that says what this service does."""

import pytest

from codegen.walk import operations
from tests.conftest import MakeService
from tests.service import BASE_URL, PASSWORD, Service

ADA = {"name": "Ada", "email": "ada@example.com", "password": PASSWORD}


class TestBasePath:
    @pytest.fixture
    async def mounted(self, make_service: MakeService) -> Service:
        return await make_service({"base_path": "/api/auth"})

    async def test_every_operation_moves_under_it(self, mounted: Service) -> None:
        under = [
            (await mounted.get(path)).status_code for path in ("/ok", "/ready", "/error", "/get-session")
        ]
        bare = [
            (await mounted.client.get(BASE_URL + path)).status_code
            for path in ("/ok", "/error", "/get-session", "/docs", "/openapi.json", "/api/auth", "/api/auth/")
        ]

        assert under == [200, 200, 200, 401]
        assert bare == [404] * 7

    async def test_mailed_links_and_the_document_name_it(self, mounted: Service) -> None:
        await mounted.post("/sign-up/email", ADA)

        [mail] = await mounted.inbox(template="verify-email")
        document = (await mounted.get("/openapi.json")).json()

        assert mail["link"].startswith(f"{BASE_URL}/api/auth/verify-email?token=")
        assert document["servers"] == [{"url": "/api/auth"}]
        assert "/sign-up/email" in document["paths"]


class TestDocument:
    async def test_is_served_with_an_etag_and_ids_that_generators_can_use(self, service: Service) -> None:
        first = await service.get("/openapi.json")
        again = await service.get("/openapi.json", headers={"If-None-Match": first.headers["etag"]})

        ids = [each.spec["operationId"] for each in operations(first.json())]
        assert len(ids) == 42
        assert "sessions_revoke_others" in ids
        assert (again.status_code, again.content) == (304, b"")

    async def test_names_the_cookies_of_this_service(self, make_service: MakeService) -> None:
        service = await make_service({"session.cookie_name": "sid", "session.cookie_prefix": "my."})

        schemes = (await service.get("/openapi.json")).json()["components"]["securitySchemes"]
        token = (await service.post("/sign-up/email", ADA)).json()["token"]

        assert (schemes["cookieAuth"]["name"], schemes["pendingCookieAuth"]["name"]) == (
            "sid",
            "my.two-factor",
        )
        assert (await service.get("/get-session", headers={"Cookie": f"sid={token}"})).status_code == 200

    async def test_demands_the_current_password_only_where_the_service_does(
        self, make_service: MakeService
    ) -> None:
        strict, lenient = await make_service(), await make_service({"require_current_password": "false"})

        schemas = [
            (await each.get("/openapi.json")).json()["components"]["schemas"]["ChangePasswordRequest"]
            for each in (strict, lenient)
        ]

        assert [schema["required"] for schema in schemas] == [
            ["currentPassword", "newPassword"],
            ["newPassword"],
        ]
