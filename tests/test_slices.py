"""A capability has one name in every layer, and a search for an operationId finds contract, handler and test."""

import importlib
import inspect
import re
from collections.abc import Iterator
from itertools import chain
from keyword import iskeyword
from pathlib import Path

import pytest
from pydantic import BaseModel

import domain
import server.audit
from codegen.bundle import bundle
from codegen.catalogs import texts
from codegen.walk import operations
from domain.audit.record import EVENTS
from domain.authentication_methods import METHODS
from models import metadata
from models.discovery import import_modules
from server.config.settings import AllSettings
from tests import marks

ROOT = Path(__file__).parents[1]
OPERATIONS = sorted(operation.spec["operationId"] for operation in operations(bundle(internal=True)))
TAGS = sorted({operation_id.partition(".")[0] for operation_id in OPERATIONS})

WITHOUT_RULES = {
    "account_pages",
    "discovery",
    "mailbox",
    "oauth_pages",
    "organization_pages",
    "service",
    "sso_pages",
    "teams",
}
"""Tags without a package of rules; teams have theirs among those of organizations, discovery among those of oauth."""

PARTS = {
    "account_pages": {"account_security_page", "profile"},
    "accounts": {"account_linking", "connection"},
    "admin": {"impersonated", "impersonation"},
    "authentication": {"email_password", "sign_in", "sign_out", "sign_up"},
    "emails": {"change_email", "email_verification"},
    "jwt": {"signing_key"},
    "mail": {"outbox"},
    "oauth": {
        *(
            "admin_oauth_client",
            "client",
            "initial_access_token",
            "oauth_client",
            "oauth_code",
            "oauth_consent",
        ),
        *("oauth_grant", "oauth_request", "oauth_revoked_token", "oauth_token"),
        *("application", "backchannel_logout", "device", "device_request", "logout", "logout_delivery"),
    },
    "organizations": {"invitation", "invitation_team", "member"},
    "pages": {"device_page", "passkey_page"},
    "passkeys": {"passkey_option"},
    "passwords": {"password_reset"},
    "scim": {"scim_directory", "scim_failure", "scim_link", "scim_token"},
    "social": {"linking", "oauth_state", "provider", "provider_token"},
    "sso": {
        *("saml_message", "sso_connection", "sso_domain", "sso_session"),
        *("sso_enforcement", "sso_provisioning", "sso_sign_in", "sso_testing"),
    },
    "statistics": {"daily_count"},
    "teams": {"team_member"},
    "two_factor": {"backup_code", "otp", "second_factor", "trusted_device"},
    "users": {"delete_user", "deletion", "role", "user_deletion", "username"},
    "webhooks": {"admin_webhook", "delivery", "webhook_endpoint", "webhook_event"},
}
"""Names of parts of a slice other than its tag, in the singular."""

SHARED = {
    "handlers": {"positions", "responses", "shapes", "templating", "wire"},
    "rules": {"data_export", "data_import", "operations", "rate_limits"},
    "settings": {"database", "documents", "limits", "log", "mail", "metrics", "server", "tracing"},
    "policies": {"mail", "rate_limit"},
    "tables": {"counter", "grant", "known_network", "lease", "outbox"},
    "events": {"limit", "mail", "origin", "redirect", "secrets"},
    "account pages": {"removal", "codes", "data", "delete", "entries", "frame", "history", "overview"},
    "emails": {"test"},
    "tests": {"cookies", "inputs", "limits", "redirects", "switches", "templating", "wire"},
    "threats": {"enumeration", "identifier", "limit", "redirect"},
    "guides": {
        *("browser", "contract_testing", "export", "first_client_python", "first_client_typescript"),
        *("gallery", "generate_a_client", "import", "import_auth0", "import_clerk", "import_cognito"),
        *("import_devise", "import_django", "import_firebase", "import_keycloak", "import_supabase"),
        *("import_wordpress", "index", "limits", "mobile", "nextjs", "oauth2_proxy", "protect_an_api"),
        *("protect_django", "protect_express", "protect_fastapi", "protect_flask", "run_it_for_others"),
        *("sign_in_by_mail", "sign_in_with_gatewright", "verify_tokens"),
    },
}
"""Names that belong to no slice, by place."""

TASKS = {"account pages", "emails", "tests", "threats", "guides"}
"""Places where names say what is done (`api_key_created`): they contain the name of a slice."""


def stems(pattern: str) -> set[str]:
    """Return the names of modules and pages: `api_key` for `tests/security/test_api_key_threats.py`."""
    found = {path.stem for path in ROOT.glob(pattern) if not path.name.startswith("_")}
    return {name.removeprefix("test_").removesuffix("_threats").replace("-", "_") for name in found}


def settings() -> Iterator[str]:
    """Yield the names of the groups of settings."""
    for name, field in AllSettings.model_fields.items():
        if inspect.isclass(field.annotation) and issubclass(field.annotation, BaseModel):
            yield name


def policies() -> Iterator[str]:
    """Yield the names of the policies of capabilities, as `api_key` for `ApiKeyPolicy`."""
    for path in ROOT.glob("domain/*/policy.py"):
        for name in vars(importlib.import_module(f"domain.{path.parent.name}.policy")):
            if name.endswith("Policy"):
                words = name.removesuffix("Policy").replace("OAuth", "Oauth")
                yield re.sub(r"(?<!^)(?=[A-Z])", "_", words).lower()


def events() -> set[str]:
    """Return the prefixes of the audit events, those of the server included."""
    import_modules(domain)
    import_modules(server.audit)
    return {event.partition(".")[0] for event in EVENTS}


NAMES = {
    "contract": stems("openapi/paths/*"),
    "handlers": stems("handlers/*.py") | {path.parent.name for path in ROOT.glob("handlers/*/__init__.py")},
    "rules": {path.parent.name for path in ROOT.glob("domain/*/__init__.py")},
    "settings": set(settings()),
    "policies": set(policies()),
    "tables": set(metadata.tables),
    "events": events(),
    "account pages": stems("handlers/pages/templates/account/*.html"),
    "emails": {path.parent.name.replace("-", "_") for path in ROOT.glob("server/templates/email/*/body.txt")},
    "tests": stems("tests/handlers/test_*.py"),
    "threats": stems("tests/security/test_*_threats.py"),
    "guides": stems("docs/pages/guides/*.md"),
}
"""What slices bring, by place."""


def belongs(name: str, slice_: str, place: str) -> bool:
    """Return whether a slice or one of its parts gives something in a place its name, in the singular or plural."""
    words = rf"{re.escape(slice_.removesuffix('s'))}s?"
    return re.fullmatch(rf"(.*_)?{words}(_.*)?" if place in TASKS else words, name) is not None


class TestNames:
    @pytest.mark.parametrize("place", NAMES)
    def test_everything_is_named_for_its_slice(self, place: str) -> None:
        slices = {*TAGS, *chain(*PARTS.values())}
        strangers = NAMES[place] - SHARED.get(place, set())

        assert {name for name in strangers if not any(belongs(name, each, place) for each in slices)} == set()

    @pytest.mark.parametrize("tag", TAGS)
    def test_a_tag_names_contract_handlers_rules_and_tests(self, tag: str) -> None:
        places = {"contract", "handlers", "tests", *(() if tag in WITHOUT_RULES else ("rules",))}

        assert {place for place in places if tag not in NAMES[place]} == set()

    def test_no_exception_is_left_over(self) -> None:
        parts = {
            part
            for part in chain(*PARTS.values())
            if not any(belongs(name, part, place) for place, names in NAMES.items() for name in names)
        }
        shared = {(place, name) for place, names in SHARED.items() for name in names - NAMES[place]}

        assert (parts, shared) == (set(), set())
        assert set(PARTS) | WITHOUT_RULES <= set(TAGS)
        assert not WITHOUT_RULES & NAMES["rules"]

    @pytest.mark.parametrize(
        ("name", "slice_", "place", "expected"),
        [
            ("api_keys", "api_keys", "rules", True),
            ("api_key", "api_keys", "tables", True),
            ("email_otp", "emails", "settings", False),
            ("api_key_created", "api_keys", "emails", True),
            ("passkeys", "api_keys", "guides", False),
        ],
    )
    def test_names_are_compared_whole_and_where_they_say_what_is_done_in_part(
        self, name: str, slice_: str, place: str, expected: bool
    ) -> None:
        assert belongs(name, slice_, place) == expected


class TestSentences:
    """Events and authentication methods have words for people, in the catalogs of all languages."""

    def test_each_event_has_a_sentence_without_a_full_stop(self) -> None:
        sentences = {event.name: event.sentence for event in EVENTS.values()}

        assert {name for name, text in sentences.items() if not re.fullmatch(r"[A-Z].*[^.\s]", text)} == set()

    def test_each_is_marked_so_that_it_is_translated(self) -> None:
        sentences = {sentence for event in EVENTS.values() for sentence in (event.sentence, event.failure)}
        labels = {method.label for method in METHODS.values()}

        assert (sentences | labels) - {None} - set(texts(ROOT)) == set()


class TestOperations:
    def test_a_comment_above_each_handler_is_its_operation_id(self) -> None:
        unnamed = []
        for operation_id in OPERATIONS:
            module, _, name = operation_id.rpartition(".")
            function = f"{name}_" if iskeyword(name) else name
            handler = inspect.unwrap(getattr(importlib.import_module(f"handlers.{module}"), function))
            if f"# {operation_id}" not in (inspect.getcomments(handler) or "").splitlines():
                unnamed.append(operation_id)

        assert unnamed == []

    def test_each_has_a_test_that_is_marked_with_its_operation_id(self) -> None:
        assert set(OPERATIONS) - set(marks.places("operation")) == set()

    def test_no_test_is_marked_with_another(self) -> None:
        assert set(marks.places("operation")) - set(OPERATIONS) == set()
