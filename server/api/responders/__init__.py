"""The responders of operations. They render JSON, hosted pages, or the formats of the OAuth and SCIM protocols."""

from server.api.responders.json_responder import JsonResponder
from server.api.responders.oauth_responder import OAuthResponder
from server.api.responders.page_responder import PageResponder
from server.api.responders.scim_responder import ScimResponder

__all__ = ["JsonResponder", "OAuthResponder", "PageResponder", "ScimResponder"]
