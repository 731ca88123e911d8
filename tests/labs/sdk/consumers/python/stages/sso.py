"""Connections for single sign-on, their domains, and what browsers and identity providers ask for."""

import os
from typing import Any

from client import PASSWORD, administrator, holding, nobody, of
from gatewright_client import models
from gatewright_client.api.authentication import sign_in_email
from gatewright_client.api.sessions import get_current
from gatewright_client.api.sso import (
    backchannel_logout,
    begin_test,
    complete_sign_in,
    consume_assertion,
    end_session,
    end_session_by_post,
    get,
    list_,
    metadata,
    receive_callback,
    register,
    relay_callback,
    remove,
    request_domain,
    sign_in,
    sign_out,
    take_test_result,
    update,
    verify_domain,
)
from gatewright_client.types import Response

PROVIDER = "https://93.184.215.14"


def stage() -> None:
    body = models.SignInEmailRequest(email=os.environ["ADMIN_EMAIL"], password=PASSWORD)
    admin = holding(of(sign_in_email.sync(client=nobody, body=body), models.SignInAnswer).token)
    oidc = models.SsoOidcSettings(
        client_id="client",
        client_secret="a-secret-of-the-provider",
        skip_discovery=True,
        authorization_endpoint=f"{PROVIDER}/authorize",
        token_endpoint=f"{PROVIDER}/token",
        jwks_endpoint=f"{PROVIDER}/keys",
    )
    wanted = models.RegisterSsoProviderRequest(
        provider_id="acme", issuer=PROVIDER, domain="acme.example", oidc_config=oidc
    )
    made = of(register.sync(client=admin, body=wanted), models.RegisteredSsoProvider)
    assert [one.record_name for one in made.domains] == ["_gatewright-acme.acme.example"]
    found = of(list_.sync(client=admin), models.SsoProviderList)
    assert [one.provider_id for one in found.providers] == ["acme"]
    named = models.SsoProviderRequest(provider_id="acme")
    token = of(request_domain.sync(client=admin, body=named), models.SsoDomainToken)
    assert token.domain_verification_token == made.domain_verification_token
    unproved = of(verify_domain.sync(client=admin, body=named), models.Error)
    assert unproved.code == "DOMAIN_VERIFICATION_FAILED"
    changes = models.UpdateSsoProviderRequest(provider_id="acme", name="Acme")
    assert of(update.sync(client=admin, body=changes), models.SsoProvider).name == "Acme"
    assert of(get.sync(client=admin, provider_id="acme"), models.SsoProvider).name == "Acme"
    test = models.TestSsoProviderRequest(provider_id="acme", callback_url="/")
    assert of(begin_test.sync(client=admin, body=test), models.SsoSignIn).url.startswith(
        f"{PROVIDER}/authorize?"
    )
    result = models.SsoTestResultRequest(provider_id="acme", result="x" * 32)
    assert of(take_test_result.sync(client=admin, body=result), models.Error).code == "SSO_TEST_NOT_FOUND"
    missing = of(metadata.sync(client=nobody, provider_id="acme"), models.Error)
    assert missing.code == "SSO_PROVIDER_NOT_FOUND"
    assert of(remove.sync(client=admin, body=named), models.DeletedSsoProvider).success
    sign_in_without_connection()
    sign_out_without_connection()


def sign_in_without_connection() -> None:
    """Begin and complete sign-ins of a connection that is not there."""
    wanted = models.SignInSsoRequest(provider_id="acme", callback_url="/")
    assert of(sign_in.sync(client=nobody, body=wanted), models.Error).code == "SSO_PROVIDER_NOT_FOUND"
    answer = receive_callback.sync_detailed("acme", client=nobody, code="y")
    assert location_of(answer, 302).endswith("/error?error=state_not_found")
    form = models.ProviderCallbackForm(state="x", code="y")
    relayed = relay_callback.sync_detailed("acme", client=nobody, body=form)
    assert location_of(relayed, 303).endswith("/sso/callback/acme?code=y&state=x")
    response = models.SamlResponseForm(saml_response="PHgvPg==", relay_state="x")
    consumed = consume_assertion.sync_detailed("acme", client=nobody, body=response)
    assert location_of(consumed, 303).endswith("/error?error=oauth_provider_not_found")
    completed = complete_sign_in.sync_detailed(client=nobody, state="x")
    assert location_of(completed, 302).endswith("/error?error=state_mismatch")


def sign_out_without_connection() -> None:
    """Receive logout messages that end nothing, and sign out."""
    admin = administrator()
    ended = end_session.sync_detailed("acme", client=nobody)
    message = models.SamlLogoutForm(saml_request="PHgvPg==")
    posted = end_session_by_post.sync_detailed("acme", client=nobody, body=message)
    assert "error" not in location_of(ended, 302) + location_of(posted, 303)
    token = models.LogoutTokenForm(logout_token="a.b.c")
    refused = of(backchannel_logout.sync("acme", client=nobody, body=token), models.Error)
    assert refused.code == "INVALID_LOGOUT_TOKEN"
    assert of(get_current.sync(client=admin), models.CurrentSession).user.email == os.environ["ADMIN_EMAIL"]
    back = models.SignOutSsoRequest(callback_url="/")
    left = of(sign_out.sync("acme", client=admin, body=back), models.SsoSignOut)
    assert (left.success, left.redirect) == (True, True)
    assert str(left.url).endswith("/")
    assert of(get_current.sync(client=admin), models.Error).code == "UNAUTHORIZED"


def location_of(answer: Response[Any], status: int) -> str:
    """Return the URL of a redirect of this status."""
    assert answer.status_code == status, answer
    return answer.headers["location"]
