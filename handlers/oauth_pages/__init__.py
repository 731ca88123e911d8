"""The operations of openapi/paths/oauth_pages.yaml: pages of a signed-in user whom an application has sent."""

from handlers.oauth_pages.account_choice import select_account, show_account_choice
from handlers.oauth_pages.consent import decide, show_consent

__all__ = ["decide", "select_account", "show_account_choice", "show_consent"]
