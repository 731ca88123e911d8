"""An authorization request on pages of one's own, the consent to it, and a logout that the client asks for.

What the client itself does is not in the SDK: it redirects the browser to the service.
"""

from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
from client import ROOT, administrator, nobody, of, signed_in
from gatewright_client import AuthenticatedClient, models
from gatewright_client.api.oauth import confirm_end_session, consent, continue_, read_request
from gatewright_client.api.oauth_clients import create, read_public_before_login, remove
from gatewright_client.api.oauth_consents import list_, narrow, read, revoke
from gatewright_client.api.sessions import get_current

CALLBACK, SIGNED_OUT = "https://shop.example/callback", "https://shop.example/signed-out"


def stage() -> None:
    admin, ada = administrator(), signed_in()
    wanted = models.OAuthClientMetadata(
        client_name="Shop", redirect_uris=[CALLBACK], post_logout_redirect_uris=[SIGNED_OUT]
    )
    shop = of(create.sync(client=admin, body=wanted), models.OAuthClientWithSecret).client_id
    authorize(ada, shop)
    look_after_consents(ada, shop)
    log_out(ada, shop)
    gone = models.DeleteOAuthClientRequest(client_id=shop)
    assert of(remove.sync(client=admin, body=gone), models.DeletedOAuthClient).success


def authorize(ada: AuthenticatedClient, shop: str) -> None:
    """Go from the request of a client to its code."""
    asked = {
        "response_type": "code",
        "client_id": shop,
        "redirect_uri": CALLBACK,
        "scope": "openid email",
        "code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
        "code_challenge_method": "S256",
        "state": "the-state",
        "prompt": "select_account",
    }
    page = urlsplit(visit(ada, f"/oauth2/authorize?{urlencode(asked)}")).query
    before = models.ReadPublicOAuthClientRequest(client_id=shop, oauth_query=page)
    known = of(read_public_before_login.sync(client=nobody, body=before), models.PublicOAuthClient)
    assert known.client_name == "Shop"
    details = of(read_request.sync(client=ada, request=handle_in(page)), models.OAuthRequestDetails)
    assert [scope.name for scope in details.scopes] == ["openid", "email"]
    selected = models.ContinueOAuthRequest(oauth_query=page, selected=True)
    page = urlsplit(
        visit(ada, of(continue_.sync(client=ada, body=selected), models.OAuthContinuation).url)
    ).query
    accepted = models.ConsentToOAuthRequest(accept=True, oauth_query=page)
    done = visit(ada, of(consent.sync(client=ada, body=accepted), models.OAuthContinuation).url)
    assert done.startswith(f"{CALLBACK}?")
    assert parse_qs(urlsplit(done).query)["code"]


def look_after_consents(ada: AuthenticatedClient, shop: str) -> None:
    """Reduce what the client was allowed, and take it back."""
    consents = list_.sync(client=ada)
    assert isinstance(consents, list)
    [given] = consents
    assert (given.client_id, given.scopes) == (shop, ["openid", "email"])
    assert of(read.sync(client=ada, id=given.id), models.OAuthConsent) == given
    less = models.UpdateConsentRequest(id=given.id, update=models.ConsentUpdate(scopes=["openid"]))
    assert of(narrow.sync(client=ada, body=less), models.OAuthConsent).scopes == ["openid"]
    ended = models.DeleteConsentRequest(id=given.id)
    assert of(revoke.sync(client=ada, body=ended), models.RevokedConsent).success
    assert of(read.sync(client=ada, id=given.id), models.Error).code == "CONSENT_NOT_FOUND"


def log_out(ada: AuthenticatedClient, shop: str) -> None:
    """Accept to be signed out."""
    asked = {"client_id": shop, "post_logout_redirect_uri": SIGNED_OUT}
    page = urlsplit(visit(ada, f"/oauth2/end-session?{urlencode(asked)}")).query
    accepted = models.ConfirmEndSessionRequest(request=handle_in(page), accept=True)
    answer = of(confirm_end_session.sync(client=ada, body=accepted), models.ConfirmedEndSession)
    assert answer.url == SIGNED_OUT
    assert of(get_current.sync(client=ada), models.Error).code == "UNAUTHORIZED"


def visit(who: AuthenticatedClient, url: str) -> str:
    """Open a URL of the service in the session of a user; return where it redirects to.

    The service is at a free port, which its own URLs do not name.
    """
    own = urlsplit(url)._replace(scheme="", netloc="").geturl()
    answer = httpx.get(f"{ROOT}{own}", headers={"Authorization": f"Bearer {who.token}"}, trust_env=False)
    assert answer.status_code == 302, answer.text
    return answer.headers["location"]


def handle_in(query: str) -> str:
    """Return the handle of the request that a page is about."""
    return parse_qs(query)["request"][0]
