"""The operations of openapi/paths/discovery.yaml."""

import httpx
import pytest

from tests.conftest import MakeService
from tests.service import BASE_URL, Service

PATHS = ("/.well-known/openid-configuration", "/.well-known/oauth-authorization-server")
ASSERTIONS = ["RS256", "PS256", "ES256", "EdDSA"]


@pytest.fixture
async def service(make_service: MakeService, request: pytest.FixtureRequest) -> Service:
    """The service with the settings of the test's parameter."""
    return await make_service(getattr(request, "param", {}))


def settings(values: dict[str, str]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("service", [values], indirect=True)


@pytest.mark.operation("discovery.openid", "discovery.oauth")
class TestDocuments:
    @settings(
        {
            "oauth.device.enabled": "false",
            "oauth.registration": "off",
            "jwt.algorithms": "ES256,EdDSA",
        }
    )
    async def test_say_what_the_service_supports(self, service: Service) -> None:
        openid, oauth = [await service.get(path) for path in PATHS]

        assert openid.content == oauth.content
        assert openid.json() == {
            "issuer": BASE_URL,
            "authorization_endpoint": f"{BASE_URL}/oauth2/authorize",
            "token_endpoint": f"{BASE_URL}/oauth2/token",
            "pushed_authorization_request_endpoint": f"{BASE_URL}/oauth2/par",
            "introspection_endpoint": f"{BASE_URL}/oauth2/introspect",
            "revocation_endpoint": f"{BASE_URL}/oauth2/revoke",
            "userinfo_endpoint": f"{BASE_URL}/oauth2/userinfo",
            "end_session_endpoint": f"{BASE_URL}/oauth2/end-session",
            "jwks_uri": f"{BASE_URL}/jwks",
            "scopes_supported": ["openid", "profile", "email", "offline_access"],
            "response_types_supported": ["code"],
            "response_modes_supported": ["query"],
            "grant_types_supported": ["authorization_code", "refresh_token", "client_credentials"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["ES256", "EdDSA"],
            "token_endpoint_auth_methods_supported": [
                *("client_secret_basic", "client_secret_post", "none", "private_key_jwt")
            ],
            "token_endpoint_auth_signing_alg_values_supported": ASSERTIONS,
            "revocation_endpoint_auth_methods_supported": [
                *("client_secret_basic", "client_secret_post", "none", "private_key_jwt")
            ],
            "revocation_endpoint_auth_signing_alg_values_supported": ASSERTIONS,
            "introspection_endpoint_auth_methods_supported": [
                *("client_secret_basic", "client_secret_post", "private_key_jwt")
            ],
            "introspection_endpoint_auth_signing_alg_values_supported": ASSERTIONS,
            "code_challenge_methods_supported": ["S256"],
            "claims_supported": [
                *("iss", "sub", "aud", "iat", "exp", "auth_time", "nonce", "acr", "amr", "at_hash", "sid"),
                *("name", "picture", "preferred_username", "updated_at", "email", "email_verified"),
            ],
            "acr_values_supported": ["1", "2"],
            "prompt_values_supported": ["none", "login", "consent", "select_account", "create"],
            "authorization_response_iss_parameter_supported": True,
            "backchannel_logout_supported": True,
            "backchannel_logout_session_supported": True,
            "claims_parameter_supported": False,
            "request_parameter_supported": False,
            "request_uri_parameter_supported": False,
            "client_id_metadata_document_supported": False,
        }

    @settings(
        {
            "oauth.device.enabled": "true",
            "oauth.registration": "token",
            "oauth.scopes": '{"orders": "See your orders"}',
        }
    )
    async def test_name_what_is_switched_on(self, service: Service) -> None:
        metadata = (await service.get(PATHS[0])).json()

        assert metadata["registration_endpoint"] == f"{BASE_URL}/oauth2/register"
        assert metadata["device_authorization_endpoint"] == f"{BASE_URL}/device/code"
        assert metadata["grant_types_supported"][-1] == "urn:ietf:params:oauth:grant-type:device_code"
        assert metadata["scopes_supported"][-1] == "orders"

    async def test_name_paths_that_exist(self, service: Service) -> None:
        metadata = (await service.get(PATHS[0])).json()

        assert (await service.get(metadata["jwks_uri"].removeprefix(BASE_URL))).json()["keys"]
        assert (await service.get(metadata["revocation_endpoint"].removeprefix(BASE_URL))).status_code == 405

    async def test_may_be_kept_and_asked_about(self, service: Service) -> None:
        for path in PATHS:
            answer = await service.get(path)
            etag = answer.headers["etag"]
            same = await service.get(path, headers={"If-None-Match": etag})
            other = await service.get(path, headers={"If-None-Match": '"other"'})
            head = await service.client.head(path)

            assert answer.headers["cache-control"] == "public, max-age=300"
            assert answer.headers["content-type"] == "application/json"
            assert (same.status_code, same.content, other.status_code) == (304, b"", 200)
            assert (head.status_code, head.content) == (200, b"")
            assert head.headers["content-length"] == str(len(answer.content))

    async def test_pages_of_every_origin_may_read_them(self, service: Service) -> None:
        def cors(answer: httpx.Response) -> tuple[str | None, str | None]:
            names = ("access-control-allow-origin", "access-control-allow-credentials")
            return answer.headers.get(names[0]), answer.headers.get(names[1])

        preflight = {"Access-Control-Request-Method": "GET"}
        for path in PATHS:
            for origin, expected in (
                (BASE_URL, (BASE_URL, "true")),
                ("https://any.example", ("*", None)),
                ("null", ("*", None)),
            ):
                answer = await service.get(path, headers={"Origin": origin})
                asked = await service.client.options(path, headers={"Origin": origin, **preflight})

                assert (cors(answer), answer.headers["vary"]) == (expected, "Origin")
                assert (asked.status_code, cors(asked)) == (204, expected)
                assert asked.headers["access-control-allow-headers"] == "Content-Type, Authorization"

    async def test_read_no_credentials(self, service: Service) -> None:
        answers = [
            await service.get(PATHS[0], headers=headers)
            for headers in ({"Cookie": "service.session-token=" + "x" * 32}, {"Authorization": "Bearer x"})
        ]

        assert [(answer.status_code, answer.headers.get("set-cookie")) for answer in answers] == [
            (200, None),
            (200, None),
        ]

    @settings({"limits.requests": "20"})
    async def test_are_not_limited(self, service: Service) -> None:
        assert {(await service.get(PATHS[0])).status_code for _ in range(25)} == {200}

    @settings({"oauth.enabled": "false"})
    async def test_are_off_until_the_provider_is_switched_on(self, service: Service) -> None:
        assert [(await service.get(path)).status_code for path in PATHS] == [404, 404]


class TestBelowABasePath:
    @settings({"base_path": "/api/auth"})
    async def test_documents_are_at_both_forms_of_their_path(self, service: Service) -> None:
        for path in (*PATHS, "/.well-known/jwks.json"):
            own, at_origin = [
                await service.get(f"{BASE_URL}{place}") for place in (f"/api/auth{path}", f"{path}/api/auth")
            ]

            assert (at_origin.status_code, at_origin.content) == (200, own.content)
            assert at_origin.headers["etag"] == own.headers["etag"]
            assert at_origin.headers["access-control-allow-origin"] == "*"
            assert (await service.client.head(f"{BASE_URL}{path}/api/auth")).status_code == 200
            assert (await service.post(f"{BASE_URL}{path}/api/auth")).status_code == 405
            for wrong in ("", "/api", "/api/auth/", "/API/auth", "//api/auth"):
                assert (await service.get(f"{BASE_URL}{path}{wrong}")).status_code == 404, wrong
        metadata = (await service.get(PATHS[0])).json()
        assert (metadata["issuer"], metadata["jwks_uri"]) == (
            f"{BASE_URL}/api/auth",
            f"{BASE_URL}/api/auth/jwks",
        )
