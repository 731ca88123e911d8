"""The provider's public endpoints: OpenID Connect at the root, plain OAuth 2.0 in the manner of GitHub under /oauth."""

from typing import Any
from urllib.parse import urlencode

from authlib.integrations.flask_oauth2 import AuthorizationServer, ResourceProtector, current_token
from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6750 import BearerTokenValidator
from flask import Flask, Response, g, jsonify, redirect, request

from tests.labs.provider import misbehaviour
from tests.labs.provider.application import application
from tests.labs.provider.control import ENDPOINTS, make_control
from tests.labs.provider.pages import choosing
from tests.labs.provider.state import Claims, State, Token
from tests.labs.provider.tokens import make_issuing, tampered, with_expiry


def make_app(state: State) -> Flask:
    """Return the whole provider as a WSGI application."""
    app = Flask(__name__)
    app.json.sort_keys = False  # type: ignore[attr-defined]
    _observe(app, state)
    issuing = make_issuing(app, state)
    _add_discovery(app, state)
    _add_authorization(app, state, issuing)
    _add_users(app, _protector(state))
    app.add_url_rule("/app", view_func=lambda: application(state.name))
    app.register_blueprint(make_control(state))
    return app


def _observe(app: Flask, state: State) -> None:
    """Log every request to a public endpoint, and misbehave at it where that is asked for."""

    @app.before_request
    def begin() -> Response | None:
        g.endpoint = ENDPOINTS.get(request.path, "")
        if request.path.startswith("/control"):
            return None
        seen = {
            "endpoint": g.endpoint or request.path,
            "method": request.method,
            "args": request.args.to_dict(),
            "form": request.form.to_dict(),
            "headers": dict(request.headers),
        }
        with state.lock:
            state.log.append(seen)
            behaviour, released = state.controls.misbehave.get(g.endpoint) or {}, state.released
        return misbehaviour.instead(behaviour, released)

    @app.after_request
    def finish(answer: Response) -> Response:
        behaviour = state.controls.misbehave.get(g.endpoint) or {}
        return misbehaviour.spoil(behaviour, answer, state.released)


def _add_discovery(app: Flask, state: State) -> None:
    @app.get("/.well-known/openid-configuration")
    def discovery() -> Any:
        announced = {"authorization_response_iss_parameter_supported": state.controls.announce_iss or None}
        return jsonify(tampered(_metadata(state.issuer), announced))

    @app.get("/jwks")
    def jwks() -> Any:
        return jsonify(state.keys().public())


def _metadata(issuer: str) -> Claims:
    return {
        "issuer": issuer,
        "authorization_endpoint": f"{issuer}/authorize",
        "token_endpoint": f"{issuer}/token",
        "userinfo_endpoint": f"{issuer}/userinfo",
        "jwks_uri": f"{issuer}/jwks",
        "scopes_supported": ["openid", "email", "profile", "offline_access"],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": ["authorization_code", "refresh_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": ["RS256", "PS256", "ES256", "EdDSA"],
        "token_endpoint_auth_methods_supported": ["client_secret_basic", "client_secret_post"],
        "code_challenge_methods_supported": ["S256"],
    }


def _add_authorization(app: Flask, state: State, issuing: AuthorizationServer) -> None:
    @app.route("/authorize", methods=["GET", "POST"])
    @app.route("/oauth/authorize", methods=["GET", "POST"])
    def authorize() -> Any:
        chosen = request.form.get("chosen", request.args.get("login_hint"))
        user = state.decided_user(chosen)
        try:
            grant = issuing.get_consent_grant(end_user=user)
        except OAuth2Error as fault:
            return issuing.handle_error_response(None, fault)
        if state.controls.callback_error is not None:
            return _failed(state, grant.redirect_uri)
        if user is None and request.method == "GET":
            return choosing(state.name)
        return issuing.create_authorization_response(grant_user=user, grant=grant)

    @app.post("/token")
    @app.post("/oauth/token")
    def token() -> Any:
        with state.lock:
            answer = issuing.create_token_response()
        if answer.status_code == 200:
            answer.set_data(app.json.dumps(with_expiry(state, answer.get_json())))
        return answer


def _failed(state: State, redirect_uri: str) -> Any:
    """Send back the error a test wants, instead of a code."""
    sent = {**(state.controls.callback_error or {}), "state": request.args.get("state", "")}
    return redirect(f"{redirect_uri}?{urlencode(sent)}", 302)


def _protector(state: State) -> ResourceProtector:
    class Validator(BearerTokenValidator):  # type: ignore[misc]
        def authenticate_token(self, token_string: str) -> Token | None:
            found = [one for one in state.tokens if one.access_token == token_string]
            return found[0] if found else None

    protector = ResourceProtector()
    protector.register_token_validator(Validator())
    return protector


def _add_users(app: Flask, protected: ResourceProtector) -> None:
    @app.get("/userinfo")
    @protected()  # type: ignore[untyped-decorator]
    def userinfo() -> Any:
        return jsonify(tampered(current_token.user, {}))

    @app.get("/oauth/user")
    @protected()  # type: ignore[untyped-decorator]
    def oauth_user() -> Any:
        claims = current_token.user
        more = {"id": claims.get("id", claims.get("sub")), "avatar_url": claims.get("picture")}
        return jsonify(tampered(claims, {**more, "login": str(claims.get("name")).lower(), "sub": None}))

    @app.get("/oauth/user/emails")
    @protected()  # type: ignore[untyped-decorator]
    def oauth_emails() -> Any:
        claims = current_token.user
        own = {"email": claims.get("email"), "verified": claims.get("email_verified"), "primary": True}
        other = {"email": "elsewhere@example.com", "verified": True, "primary": False}
        return jsonify([other, own])
