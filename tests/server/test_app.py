"""What is switched on: the mount, the documents beside it, and a contract that says what this service does."""

import pytest

from server.app import contract, switched_off
from server.config.settings import AllSettings
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
            for path in (
                "/ok",
                "/ready",
                "/error",
                "/get-session",
                "/docs",
                "/openapi.json",
                "/",
                "/favicon.ico",
            )
        ]

        assert under == [200, 200, 200, 401]
        assert bare == [404] * 8

    async def test_mailed_links_and_the_document_name_it(self, mounted: Service) -> None:
        await mounted.post("/sign-up/email", ADA)

        [mail] = await mounted.inbox(template="verify-email")
        document = (await mounted.get("/openapi.json")).json()

        assert mail["link"].startswith(f"{BASE_URL}/api/auth/account/verify-email?token=")
        assert document["servers"] == [{"url": "/api/auth"}]
        assert "/sign-up/email" in document["paths"]


class TestSwitches:
    @pytest.mark.parametrize(
        ("switch", "message"),
        [
            ("username.enabeld", "there is no setting username.enabeld"),
            ("username", "there is no setting username"),
            ("app_name", "app_name, which is not a boolean or list"),
        ],
    )
    def test_one_that_is_no_boolean_setting_stops_the_start(self, switch: str, message: str) -> None:
        settings = AllSettings()
        document = contract(settings, internal=True)
        document["paths"]["/ok"]["get"]["x-gatewright"] = {"switch": switch}

        with pytest.raises(ValueError, match=message):
            switched_off(document, settings)


class TestDocument:
    @pytest.mark.parametrize("path", ["/openapi.json", "/openapi-clients.json"])
    async def test_says_nothing_to_clients_that_is_for_the_service_alone(
        self, service: Service, path: str
    ) -> None:
        assert "x-gatewright" not in (await service.get(path)).text

    @pytest.mark.parametrize("base_path", ["", "/api/auth"])
    async def test_does_not_exist_where_documents_are_switched_off(
        self, make_service: MakeService, base_path: str
    ) -> None:
        service = await make_service({"documents.enabled": "false", "base_path": base_path})
        paths = ("/openapi.json", "/openapi-clients.json", "/docs", "/docs/start.js", "/docs/swagger-ui.css")

        answers = [await service.get(path, headers={"If-None-Match": "*"}) for path in paths]
        asked = [await service.client.options(path) for path in paths]

        assert [(answer.status_code, answer.json()["code"]) for answer in answers] == [(404, "NOT_FOUND")] * 5
        assert [answer.status_code for answer in asked] == [404] * 5
        assert (await service.get("/ok")).status_code == 200

    async def test_exists_in_production_too(self, make_service: MakeService) -> None:
        production = {
            "base_url": BASE_URL,
            "allow_http": "true",
            "secrets": "s" * 32,
            "profile": "production",
        }
        service = await make_service(production)

        found = [await service.get(path) for path in ("/openapi.json", "/openapi-clients.json", "/docs")]

        assert [answer.status_code for answer in found] == [200] * 3
        assert {answer.headers["cache-control"] for answer in found} == {"no-cache"}

    async def test_names_the_documents(self, service: Service) -> None:
        description = (await service.get("/openapi.json")).json()["info"]["description"]

        assert all(f"`{name}`" in description for name in ("/docs", "/openapi.json", "/openapi-clients.json"))

    async def test_names_the_cookies_of_this_service(self, make_service: MakeService) -> None:
        service = await make_service({"session.cookie_name": "sid", "session.cookie_prefix": "my."})

        schemes = (await service.get("/openapi.json")).json()["components"]["securitySchemes"]
        token = (await service.post("/sign-up/email", ADA)).json()["token"]

        assert (schemes["cookieAuth"]["name"], schemes["pendingCookieAuth"]["name"]) == (
            "sid",
            "my.two-factor",
        )
        for name, status in (("sid", 200), ("service.session-token", 401), ("my.session-token", 401)):
            answer = await service.get("/get-session", headers={"Cookie": f"{name}={token}"})
            assert answer.status_code == status, name

    async def test_demands_the_current_password_only_where_the_service_does(
        self, service: Service, make_service: MakeService
    ) -> None:
        lenient = await make_service({"require_current_password": "false"})

        required = [
            (await each.get("/openapi.json")).json()["components"]["schemas"]["ChangePasswordRequest"][
                "required"
            ]
            for each in (service, lenient)
        ]

        assert required == [["currentPassword", "newPassword"], ["newPassword"]]
