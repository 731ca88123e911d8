"""The responders of operations: JSON for programs, hosted pages for people, OAuth for its clients."""

from server.api.responders.json_responder import JsonResponder
from server.api.responders.oauth_responder import OAuthResponder
from server.api.responders.page_responder import PageResponder

__all__ = ["JsonResponder", "OAuthResponder", "PageResponder"]
