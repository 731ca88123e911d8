"""The operations of openapi/paths/sso_pages.yaml: pages for the single sign-on of an organization."""

from handlers.sso_pages.connections import (
    delete_connection,
    set_state,
    show_connection,
    show_connections,
    show_deletion,
)
from handlers.sso_pages.directory import (
    confirm_directory,
    create_token,
    revoke_token,
    show_directory,
    show_revocation,
    show_token,
)
from handlers.sso_pages.domains import (
    add_domains,
    remove_domain,
    require_domain,
    show_domain_removal,
    show_domains,
    show_requirement,
    verify_domains,
)
from handlers.sso_pages.settings import show_provider, show_settings, update_provider, update_settings
from handlers.sso_pages.testing import begin_test, show_test
from handlers.sso_pages.wizard import create_connection, show_creation, show_providers, show_values

__all__ = [
    "add_domains",
    "begin_test",
    "confirm_directory",
    "create_connection",
    "create_token",
    "delete_connection",
    "remove_domain",
    "require_domain",
    "revoke_token",
    "set_state",
    "show_connection",
    "show_connections",
    "show_creation",
    "show_deletion",
    "show_directory",
    "show_domain_removal",
    "show_domains",
    "show_provider",
    "show_providers",
    "show_requirement",
    "show_revocation",
    "show_settings",
    "show_test",
    "show_token",
    "show_values",
    "update_provider",
    "update_settings",
    "verify_domains",
]
