"""The operations of openapi/paths/oauth_pages.yaml: pages that a signed-in user passes on the way to an application."""

from handlers.oauth_pages.account_choice import select_account, show_account_choice
from handlers.oauth_pages.consent import decide, show_consent

__all__ = ["decide", "select_account", "show_account_choice", "show_consent"]
