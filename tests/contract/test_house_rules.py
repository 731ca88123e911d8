"""The house rules of the contract: what a linter would not know, as tests."""

import importlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, get_args

import pytest
from jsonschema_rs import Draft202012Validator
from openapi_spec_validator import OpenAPIV30SpecValidator, OpenAPIV31SpecValidator

from codegen.bundle import bundle
from codegen.operation_ids import flat_ids
from codegen.version_3_1 import to_3_1
from codegen.walk import Operation, operations, resolve
from domain import errors
from domain.admin_webhooks.errors import StaleEndpoint
from domain.api_keys.errors import ApiKeysChanged, KeyPermissionsInsufficient
from domain.oauth_clients import errors as protocol
from domain.oauth_clients.errors import OAuthError, StaleClient
from domain.oauth_requests import errors as authorization
from domain.organizations.errors import StaleOrganization
from domain.pages.errors import CookiesBlocked, InvalidTarget, NotSubmitted
from domain.scim.errors import ScimError
from domain.sso_connections.errors import StaleSsoProvider
from domain.users.errors import StaleProfile
from server.api.extension import extension_of
from server.config.settings import AllSettings
from server.config.sources import value_of
from tests.contract import conformance
from tests.contract.json_schemas import with_components
from tests.contract.reading import (
    DOCUMENT,
    DOCUMENT_3_1,
    OPERATIONS,
    REFERENCES,
    Example,
    bodies,
    examples,
    keys,
    media,
    parameters,
    references,
    responses,
    schemas_in,
    schemas_under,
)

DOCUMENTS = {
    "/jwks",
    "/.well-known/jwks.json",
    "/.well-known/openid-configuration",
    "/.well-known/oauth-authorization-server",
}
"""Public documents that caches keep, with 304 for the current one."""

PUBLIC = {
    "/sso/saml2/sp/metadata",
    "/sign-in/magic-link",
    "/magic-link/verify",
    "/passkey/verify-authentication",
    "/magic-link/peek",
    "/email-otp/send-verification-otp",
    "/email-otp/check-verification-otp",
    "/email-otp/verify-email",
    "/sign-in/email-otp",
    "/email-otp/request-password-reset",
    "/forget-password/email-otp",
    "/email-otp/reset-password",
    *("/sign-up/email", "/sign-in/email", "/sign-in/username", "/sign-in/social", "/is-username-available"),
    *("/request-password-reset", "/forget-password", "/reset-password", "/reset-password/{token}"),
    "/disown-account",
    *("/callback/{provider}", "/ok", "/ready", "/error", *DOCUMENTS),
    *("/sign-in/sso", "/sso/callback/{providerId}", "/sso/saml2/sp/acs/{providerId}", "/sso/saml2/continue"),
    *("/sso/saml2/sp/slo/{providerId}", "/sso/backchannel-logout/{providerId}"),
    *("/dev/mailbox", "/dev/mailbox/{mailId}", "/dev/mailbox/{mailId}/html"),
    "/oauth2/public-client-prelogin",
}
OPTIONAL = {
    "/sign-out",
    "/send-verification-email",
    "/verify-email",
    "/passkey/generate-authenticate-options",
    *(
        "/oauth2/authorize",
        "/oauth2/request",
        "/oauth2/end-session",
        "/oauth2/end-session/confirm",
        "/device",
    ),
}
CLIENT = {
    *("/oauth2/par", "/oauth2/token", "/oauth2/introspect", "/oauth2/revoke"),
    *("/device/code", "/device/token"),
}
TOKEN = {"/oauth2/userinfo", "/oauth2/register"}
FROM_PROVIDERS = (
    *("/sso/callback/", "/sso/saml2/sp/acs/", "/sso/saml2/sp/slo/", "/sso/backchannel-logout/"),
)
"""Operations that identity providers of organizations, or their pages, call with forms."""

FROM_OTHER_SITES = {"oauth.authorize_by_post", "oauth.end_session_by_post"}
"""Forms of pages of clients, with which the cookie does not come."""

CREATING = {"/oauth2/par", "/oauth2/register", "/sso/request-domain-verification"}
"""Operations whose RFC wants 201 (RFC 9126, 2.2; RFC 7591, 3.2.1), or Better Auth's client."""

EMPTY = {"/sso/verify-domain"}
"""Operations for which Better Auth's client wants 204."""

PENDING = {"verify-totp", "send-otp", "verify-otp", "verify-backup-code"}
"""Classes of operations; all others want a session."""

SESSION: list[dict[str, list[str]]] = [{"bearerAuth": []}, {"cookieAuth": []}]
SECRET: list[dict[str, list[str]]] = [{"oauthClientAuth": []}, {}]
"""A client may authenticate itself in the body instead."""

CHALLENGE = [{"pendingBearerAuth": []}, {"pendingCookieAuth": []}, *SESSION]

NEVER_ANSWERED = {
    errors.Conflict,
    errors.Unprocessable,
    ApiKeysChanged,
    KeyPermissionsInsufficient,
    errors.CrossSiteForm,
    StaleClient,
    StaleEndpoint,
    StaleOrganization,
    StaleProfile,
    StaleSsoProvider,
    CookiesBlocked,
    InvalidTarget,
    NotSubmitted,
}
"""Families that only give their members a status; what only a verdict of /api-key/verify or a hosted page says."""

BEFORE_THE_PROTOCOL = {404, 405, 408, 413, 414, 415, 431}
"""Statuses of refusals before the operation, which have the form of all operations."""

GENERAL_ERRORS = {
    (429, "temporarily_unavailable"),
    (500, "server_error"),
    (503, "temporarily_unavailable"),
}
"""Errors of the protocol that every operation can have; they are no classes of their own."""

REDIRECTED = {
    authorization.ConsentRequired,
    authorization.InvalidRequestUri,
    authorization.LoginRequired,
    authorization.RequestUriNotSupported,
}
"""Errors of the protocol that only redirects carry, to the client or to the error page (RFC 6749, 4.1.2.1)."""

NOT_YET_ANSWERED = {protocol.InsufficientScope}
"""Errors of the protocol whose operations are not there yet."""

NOT_YET_USED = {"headers/TokenChallenge"}
"""Components of operations that are not there yet."""

FORM = "application/x-www-form-urlencoded"
DESCRIPTION = re.compile(r"[ !#-\[\]-~]{1,256}")
"""The characters of `error_description` (RFC 6749, 5.2)."""

PROVIDER_TAGS = {"oauth", "oauth_clients", "oauth_consents", "device", "discovery"}
CAMEL_CASE = re.compile(
    r"[a-z][A-Za-z0-9]*|error_description|ui_locales|oauth_query|user_code|Binding|Location"
)
SNAKE_CASE = re.compile(rf"[a-z][a-z0-9]*(_[a-z0-9]+)*|{CAMEL_CASE.pattern}")

OF_NO_OPERATION = errors.MethodNotAllowed
"""Answered where a path has no such operation: its code is listed, and no operation has its response."""

EVERYWHERE = {408, 414, 429, 431, 500, 503}

INTERNAL = {one.spec["operationId"]: one for one in operations(bundle(internal=True))}
"""The operations with their extension, which is not published."""


def is_page(operation: Operation) -> bool:
    """Whether an operation answers with hosted pages, which say in their own way who may see them and what is wrong."""
    return extension_of(INTERNAL[operation.spec["operationId"]].spec).page


def is_directory(operation: Operation) -> bool:
    """Whether an operation has the requests and errors of the SCIM protocol."""
    return extension_of(INTERNAL[operation.spec["operationId"]].spec).protocol == "scim"


def is_protocol(operation: Operation) -> bool:
    """Whether an operation has the requests and errors of the OAuth protocol."""
    return extension_of(INTERNAL[operation.spec["operationId"]].spec).protocol == "oauth"


def is_switch(switch: str) -> bool:
    """Whether a switch is a boolean setting, a list, or one of the values of a setting."""
    key, equals, value = switch.partition("=")
    if not equals:
        return isinstance(value_of(AllSettings(), key), bool | tuple)
    group, _, name = key.rpartition(".")
    fields = type(getattr(AllSettings(), group)).model_fields
    return {*value.split("|")} <= {*get_args(fields[name].annotation)}


Case = TypeVar("Case")
Rule = Callable[[Any, Case], None]


def each(cases: Mapping[str, Case]) -> Callable[[Rule[Case]], Callable[[Any], None]]:
    """Return what makes a test of a rule: it holds for every case, or the test names those that break it and why.

    One test per case would be seven thousand tests.
    """

    def decorate(rule: Rule[Case]) -> Callable[[Any], None]:
        def holds_for_each(self: Any) -> None:
            broken: dict[str, str] = {}
            for name, case in cases.items():
                try:
                    rule(self, case)
                except AssertionError as fault:
                    broken[name] = str(fault)
            assert broken == {}

        return holds_for_each

    return decorate


each_internal, each_operation = each(INTERNAL), each(OPERATIONS)
each_schema = each({name: name for name in DOCUMENT["components"]["schemas"]})


def refusals() -> set[type[errors.Refusal]]:
    return set(errors.every_refusal()) - NEVER_ANSWERED


def protocol_errors() -> list[type[OAuthError]]:
    """The errors of the OAuth protocol, without their base class."""
    found = [error for error in errors.every_protocol_error() if issubclass(error, OAuthError)]
    return [error for error in found if error is not OAuthError]


def error_bodies(operation: Operation) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Every error of an operation: status, the reference to its schema, and an example of its body."""
    for status, response in responses(operation).items():
        content = response.get("content", {}).get("application/json")
        if status >= 400 and content:
            for body in conformance.refusals(content, DOCUMENT_3_1).values():
                yield status, content["schema"].get("$ref", ""), body


def documented(*names: str) -> frozenset[tuple[Any, ...]]:
    """Return the errors in the contract that have members of these names: the status and these members."""
    return frozenset(
        (status, *(body[name] for name in names))
        for operation in OPERATIONS.values()
        for status, _, body in error_bodies(operation)
        if names[0] in body
    )


DOCUMENTED = documented("code", "message")
PROTOCOL_ERRORS = {(error.status, error.error) for error in protocol_errors()}


def of_the_provider() -> set[str]:
    """The schemas of the operations of the provider, whose names are those of RFCs."""
    found = set()
    for operation in OPERATIONS.values():
        if operation.spec["tags"][0] in PROVIDER_TAGS:
            for _, content in media(operation):
                for one in schemas_under(content["schema"]):
                    found.add(one.get("$ref", "").removeprefix(f"{REFERENCES}schemas/"))
    return found


OF_THE_PROVIDER = of_the_provider()

OF_IDENTITY_PROVIDERS = {"SAMLRequest", "SAMLResponse", "RelayState", "logout_token"}
"""Fields that the standards of SAML and OpenID Connect name."""


class TestDocument:
    def test_is_valid_as_3_0_3(self) -> None:
        assert DOCUMENT["openapi"] == "3.0.3"
        OpenAPIV30SpecValidator(DOCUMENT).validate()

    def test_is_valid_as_3_1(self) -> None:
        OpenAPIV31SpecValidator(flat_ids(to_3_1(DOCUMENT))).validate()

    def test_stands_alone(self) -> None:
        assert all(node["$ref"].startswith(REFERENCES) for node in references(DOCUMENT))

    def test_references_lead_somewhere_and_stand_alone(self) -> None:
        for node in references(DOCUMENT):
            assert resolve(DOCUMENT, node)
            assert list(node) == ["$ref"], f"OpenAPI 3.0 ignores what stands beside {node['$ref']}"

    def test_every_component_is_used(self) -> None:
        used = {node["$ref"].removeprefix(REFERENCES) for node in references(DOCUMENT)}
        sections = {
            name: found for name, found in DOCUMENT["components"].items() if name != "securitySchemes"
        }
        named = {f"{section}/{name}" for section, found in sections.items() for name in found}

        assert named - used - NOT_YET_USED == set()

    def test_says_nothing_about_its_implementation(self) -> None:
        assert {key for key in keys(DOCUMENT) if key.startswith("x-")} <= {"x-client-form", "x-webhooks"}
        assert re.findall(r"handlers\.|domain\.[a-z]|\.py\b", str(DOCUMENT)) == []

    def test_has_these_security_schemes(self) -> None:
        schemes = DOCUMENT["components"]["securitySchemes"]

        pending, keys = {"pendingBearerAuth", "pendingCookieAuth"}, {"verifierAuth", "apiKeyAuth"}
        provider = {"oauthClientAuth", "oauthTokenAuth"}
        assert set(schemes) == {"bearerAuth", "cookieAuth", "scimTokenAuth"} | pending | keys | provider
        assert DOCUMENT["security"] == SESSION


class TestOperations:
    @each_operation
    def test_id_is_tag_and_verb_phrase(self, operation: Operation) -> None:
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*(\.[a-z]+(_[a-z]+)*){1,2}", operation.spec["operationId"])
        assert operation.spec["tags"] == [operation.spec["operationId"].split(".")[0]]
        assert operation.spec["tags"][0] in [tag["name"] for tag in DOCUMENT["tags"]]

    @each_operation
    def test_is_described(self, operation: Operation) -> None:
        assert operation.spec["summary"]
        assert operation.spec["description"]
        assert not operation.spec["summary"].endswith(".")

    @each_operation
    def test_states_its_security(self, operation: Operation) -> None:
        security = operation.spec.get("security", DOCUMENT["security"])

        if operation.path in PUBLIC or operation.spec["operationId"] in FROM_OTHER_SITES:
            assert security == []
        elif is_directory(operation):
            assert security == [{"scimTokenAuth": []}]
        elif is_page(operation):
            assert security in ([], [*SESSION, {}], CHALLENGE, SESSION)
        elif operation.path in OPTIONAL:
            assert security == [*SESSION, {}]
        elif operation.path.removeprefix("/two-factor/") in PENDING:
            assert security == CHALLENGE
        elif operation.path == "/api-key/verify":
            assert security == [{"verifierAuth": []}]
        elif operation.path in CLIENT:
            assert security == SECRET
        elif operation.path in TOKEN:
            assert security in ([{"oauthTokenAuth": []}], [{"oauthTokenAuth": []}, {}])
        elif operation.path == "/get-session":
            assert security == [*SESSION, {"apiKeyAuth": []}]
        else:
            assert security == SESSION

    @each_operation
    def test_documents_401_where_a_session_is_wanted(self, operation: Operation) -> None:
        security = operation.spec.get("security", DOCUMENT["security"])

        # Who is not signed in is led from a page to the sign-in page.
        assert 401 in responses(operation) or not security or {} in security or is_page(operation)

    @each_operation
    def test_documents_what_can_happen_everywhere(self, operation: Operation) -> None:
        wanted = EVERYWHERE | ({403, 413, 415} if operation.method == "post" else set())
        if is_protocol(operation):
            wanted -= {403}  # No origin is checked: no browser adds a credential by itself.
        if operation.path == "/callback/{provider}" or operation.path.startswith(FROM_PROVIDERS):
            wanted -= {403}  # Its POST comes from the provider or its page, so no origin is checked.
        if operation.path in {"/ok", "/ready", "/error", *DOCUMENTS}:
            wanted -= {429}  # Never limited.

        assert wanted - set(responses(operation)) == set()

    @each_operation
    def test_every_body_has_an_example(self, operation: Operation) -> None:
        for where, content in media(operation):
            assert "example" in content or content.get("examples"), f"{where} has no example"

    @each_operation
    def test_bodies_and_named_examples_are_described(self, operation: Operation) -> None:
        if "requestBody" in operation.spec:
            assert resolve(DOCUMENT, operation.spec["requestBody"])["description"]
        for where, content in media(operation):
            for name, example in content.get("examples", {}).items():
                assert resolve(DOCUMENT, example).get("summary"), f"{where}: {name} has no summary"

    @each_operation
    def test_redirects_say_where_to(self, operation: Operation) -> None:
        for status, response in responses(operation).items():
            if 300 <= status < 400 and status != 304:
                assert resolve(DOCUMENT, response["headers"]["Location"])["required"]
                assert status == (303 if operation.method == "post" else 302)

    @each_operation
    def test_succeeds_with_200_or_a_redirect(self, operation: Operation) -> None:
        allowed = {200, 304} if operation.path in DOCUMENTS else {200, 302, 303}
        if operation.path in CREATING | EMPTY:
            allowed = {201} if operation.path in CREATING else {204}
        if is_directory(operation):
            allowed = {200, 201, 204, 304}

        assert {status for status in responses(operation) if status < 400} <= allowed

    @each_operation
    def test_links_lead_to_operations(self, operation: Operation) -> None:
        for response in responses(operation).values():
            for link in response.get("links", {}).values():
                assert resolve(DOCUMENT, link)["operationId"] in OPERATIONS


class TestExtension:
    """What operations say to the service alone."""

    @each_internal
    def test_says_nothing_that_goes_without_saying(self, operation: Operation) -> None:
        said, unsaid = extension_of(operation.spec), extension_of({})

        assert all(getattr(said, name) != getattr(unsaid, name) for name in said.model_fields_set)

    @each_internal
    def test_its_switches_are_boolean_settings_and_lists(self, operation: Operation) -> None:
        switches = extension_of(operation.spec).switch

        assert all(is_switch(switch) for switch in switches)
        assert not switches or 404 in responses(operation)

    @each_internal
    def test_marks_who_signs_in(self, operation: Operation) -> None:
        by_path = operation.path.startswith(("/sign-in/", "/sign-up/"))
        others = {
            "magic_links.confirm",
            "passkeys.sign_in",
            "pages.confirm_magic_link",
            "pages.sign_in",
            "pages.sign_in_with_email_code",
            "pages.sign_in_with_passkey",
            "pages.sign_in_with_provider",
            "pages.sign_in_with_sso",
            "pages.sign_up",
        }

        assert extension_of(operation.spec).signs_in == (by_path or operation.spec["operationId"] in others)

    @each_internal
    def test_names_forms_that_can_show_what_was_entered(self, operation: Operation) -> None:
        form = extension_of(operation.spec).form

        assert form is None or "entries" in [one["name"] for one in parameters(INTERNAL[form])]

    @each_internal
    def test_answers_head_where_no_token_can_be_used_up(self, operation: Operation) -> None:
        if extension_of(operation.spec).answers_head:
            assert operation.method == "get"
            assert operation.spec["security"] == []
            assert not [one for one in parameters(operation) if one["name"] == "token"]

    @each_internal
    def test_documents_that_administrators_cannot_call_it_in_the_name_of_a_user(
        self, operation: Operation
    ) -> None:
        content = responses(operation).get(403, {}).get("content", {})
        codes = [code for one in content.values() for code in one.get("examples", {})]

        is_refused = extension_of(operation.spec).impersonation != "allowed" and not is_page(operation)
        assert is_refused <= ("NOT_ALLOWED_WHILE_IMPERSONATING" in codes)

    @each_internal
    def test_a_form_names_a_page_that_takes_what_the_form_carries(self, operation: Operation) -> None:
        form = extension_of(operation.spec).form

        if form is not None:
            assert operation.method == "post"
            assert extension_of(INTERNAL[form].spec).page
            # The console is no step on a way that leads back to an application, and a page of a request of OAuth has
            # the way back in the request.
            has_other_way = extension_of(operation.spec).administrative or operation.spec["tags"] == [
                "oauth_pages"
            ]
            carried = {"ui_locales"} if has_other_way else {"callbackURL", "ui_locales"}
            assert carried <= {one["name"] for one in parameters(INTERNAL[form])}

    @each_internal
    def test_has_paths_at_the_origin_only_for_public_documents(self, operation: Operation) -> None:
        extension = extension_of(operation.spec)

        if extension.at_origin:
            assert extension.public_document
            assert operation.path.startswith("/.well-known/")

    @each_internal
    def test_the_oauth_protocol_has_forms(self, operation: Operation) -> None:
        if is_protocol(operation) and operation.method == "post":
            media_types = set(resolve(DOCUMENT, operation.spec["requestBody"])["content"])
            wanted = {"application/json"} if operation.path == "/oauth2/register" else {FORM}

            assert wanted <= media_types <= {FORM, "application/json"}

    @each_internal
    def test_opens_by_setting_what_wants_a_session(self, operation: Operation) -> None:
        if extension_of(operation.spec).authentication_by_setting:
            assert operation.spec.get("security", SESSION)[: len(SESSION)] == SESSION


class TestHandlers:
    @each({tag: tag for tag in {operation_id.split(".")[0] for operation_id in OPERATIONS}})
    def test_none_is_unnamed(self, tag: str) -> None:
        module = importlib.import_module(f"handlers.{tag}")
        own = {
            name
            for name, function in inspect.getmembers(module, inspect.iscoroutinefunction)
            if f"{function.__module__}.".startswith(f"{module.__name__}.") and not name.startswith("_")
        }

        # A keyword has an underscore at its end.
        assert {f"{tag}.{name.removesuffix('_')}" for name in own} - set(OPERATIONS) == set()


class TestRefusals:
    @each({refusal.__name__: refusal for refusal in refusals() - {OF_NO_OPERATION}})
    def test_is_documented_with_its_status_and_message(self, refusal: type[errors.Refusal]) -> None:
        texts = {
            text for status, code, text in DOCUMENTED if (status, code) == (refusal.status, refusal.code)
        }
        # A text may go on with what exactly is wrong.
        assert any(text.partition(": ")[0] == refusal.message or text == refusal.message for text in texts)

    def test_every_documented_code_exists_at_its_status(self) -> None:
        known = {(refusal.status, refusal.code) for refusal in refusals()}

        assert {(status, code) for status, code, _ in DOCUMENTED} - known == set()

    def test_the_enumeration_holds_the_codes_and_no_others(self) -> None:
        enumeration = DOCUMENT["components"]["schemas"]["ErrorCode"]["enum"]

        assert sorted(enumeration) == sorted({refusal.code for refusal in refusals()})

    @each({name: name for name in DOCUMENT["components"]["examples"]})
    def test_examples_are_named_by_their_code(self, name: str) -> None:
        code = conformance.code_of(DOCUMENT["components"]["examples"][name]["value"])

        # A code with two messages has a second example, whose name goes on after the code.
        assert name == code or name.startswith(f"{code}_")


class TestErrorsOfTheProtocol:
    """Errors of operations that have the form of the OAuth protocol (RFC 6749, 5.2)."""

    @each_operation
    def test_have_its_form(self, operation: Operation) -> None:
        for status, schema, body in error_bodies(operation):
            if is_protocol(operation) and status not in BEFORE_THE_PROTOCOL:
                assert schema == f"{REFERENCES}schemas/OAuthError", status
                assert set(body) == {"error", "error_description"}, status
            else:
                assert schema != f"{REFERENCES}schemas/OAuthError", status

    @each({one.__name__: one for one in protocol_errors() if one not in REDIRECTED | NOT_YET_ANSWERED})
    def test_is_documented_with_its_status(self, error: type[OAuthError]) -> None:
        assert (error.status, error.error) in documented("error")

    def test_every_documented_one_exists_at_its_status(self) -> None:
        assert documented("error") - PROTOCOL_ERRORS - GENERAL_ERRORS == set()

    @each({one.__name__: one for one in protocol_errors()})
    def test_has_a_text_that_the_protocol_allows(self, error: type[OAuthError]) -> None:
        assert DESCRIPTION.fullmatch(error.message)
        assert error.status != 401 or error.challenge

    @each({str(body): body for body in documented("error", "error_description")})
    def test_is_shown_with_a_text_that_the_protocol_allows(self, body: tuple[Any, ...]) -> None:
        assert DESCRIPTION.fullmatch(body[2])


def scim_bodies(operation: Operation) -> Iterator[tuple[int, Any]]:
    """Every error of an operation of the SCIM protocol: status, and an example of its body."""
    for status, response in responses(operation).items():
        content = response.get("content", {}).get("application/scim+json")
        if status >= 400 and content:
            assert content["schema"] == {"$ref": f"{REFERENCES}schemas/ScimError"}
            for example in content.get("examples", {"": {"value": content.get("example")}}).values():
                yield status, example["value"]


class TestErrorsOfDirectories:
    """Errors of operations that have the form of the SCIM protocol (RFC 7644, 3.12)."""

    @each_operation
    def test_name_their_status(self, operation: Operation) -> None:
        for status, body in scim_bodies(operation):
            assert is_directory(operation)
            assert body["status"] == str(status)

    @each({one.__name__: one for one in errors.every_protocol_error() if one.__mro__[1] is ScimError})
    def test_is_documented_with_its_status(self, error: type[errors.Refusal]) -> None:
        assert issubclass(error, ScimError)
        found = {
            (status, body.get("scimType"))
            for operation in OPERATIONS.values()
            for status, body in scim_bodies(operation)
        }

        assert (error.status, error.scim_type) in found


class TestSchemas:
    @each({f"{number} {example.where}": example for number, example in enumerate(examples())})
    def test_example_validates(self, example: Example) -> None:
        validator = Draft202012Validator(with_components(example.schema, DOCUMENT_3_1), validate_formats=True)

        assert [fault.message for fault in validator.iter_errors(example.value)] == []

    @each_operation
    def test_every_string_of_a_request_is_bounded(self, operation: Operation) -> None:
        requested = [content["schema"] for content in bodies(operation).values()]
        requested += [parameter["schema"] for parameter in parameters(operation)]
        for schema in requested:
            for one in schemas_under(schema):
                if "string" in one.get("type", ""):
                    assert {"maxLength", "enum", "pattern", "format"} & set(one), f"{one} has no bound"

    @each_operation
    def test_request_bodies_are_named_for_what_they_ask(self, operation: Operation) -> None:
        for content in bodies(operation).values():
            assert re.fullmatch(
                rf"{REFERENCES}schemas/[A-Z]\w+(Request|Form|Metadata)", content["schema"]["$ref"]
            )

    @pytest.mark.parametrize("document", [DOCUMENT, DOCUMENT_3_1], ids=["3.0", "3.1"])
    def test_a_switch_in_a_query_fits_for_readers_to_whom_true_is_a_boolean_and_a_word(
        self, document: dict[str, Any]
    ) -> None:
        branches = document["components"]["schemas"]["Flag"]["anyOf"]

        assert [branch["type"] for branch in branches] == ["boolean", "string"]

    @each_operation
    def test_a_post_takes_at_least_an_empty_object(self, operation: Operation) -> None:
        if operation.method == "post":
            assert bodies(operation), "the official client sends {} with every POST"

    @each_operation
    def test_unknown_keys_of_a_request_are_ignored(self, operation: Operation) -> None:
        for content in bodies(operation).values():
            for one in schemas_under(content["schema"]):
                assert one.get("additionalProperties", True) is not False

    @each_operation
    def test_parameters_are_described_and_shown(self, operation: Operation) -> None:
        for parameter in parameters(operation):
            assert parameter["in"] in {"path", "query"}
            assert parameter["description"]
            assert "example" in parameter or "examples" in parameter or "examples" in parameter["schema"]

    def test_none_has_the_name_of_a_constructor_of_another_in_go(self) -> None:
        names = set(DOCUMENT["components"]["schemas"])

        assert not {f"New{name}" for name in names} & names

    @each_schema
    def test_is_a_noun_in_pascal_case(self, name: str) -> None:
        assert re.fullmatch(r"([A-Z][a-z0-9]*)+", name)

    @each_schema
    def test_properties_are_camel_case_and_explained(self, name: str) -> None:
        for schema in schemas_in(DOCUMENT_3_1["components"]["schemas"][name]):
            for key, value in schema.get("properties", {}).items():
                pattern = SNAKE_CASE if name in OF_THE_PROVIDER else CAMEL_CASE
                # SCIM names two members of its messages so (RFC 7644, 3.4.2 and 3.5.2).
                is_of_others = key in OF_IDENTITY_PROVIDERS or (
                    name.startswith("Scim") and key in {"Resources", "Operations"}
                )
                assert pattern.fullmatch(key) or is_of_others
                assert {"$ref", "description", "examples", "anyOf", "const", "enum"} & set(value), (
                    f"{key} is unexplained"
                )
