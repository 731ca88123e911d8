"""A Flask application whose users, programs and webhooks come from Gatewright: `flask --app flask_app run`."""

import os
from datetime import timedelta
from typing import Any

from flask import Flask
from flask.typing import ResponseReturnValue
from gatewright_client.kit.access_tokens import AccessToken, AccessTokenVerifier
from gatewright_client.kit.callers import Caller
from gatewright_client.kit.flask import (
    receive_webhook,
    require_access_token,
    require_api_key,
    require_session,
    require_signed_in,
    require_token,
    sign_in_blueprint,
)
from gatewright_client.kit.service import Gatewright
from gatewright_client.kit.sign_in import SignIn
from gatewright_client.kit.tokens import TokenVerifier
from gatewright_client.kit.webhooks import Delivery, WebhookReceiver
from gatewright_client.models import ApiKey

APP_URL = os.environ["APP_URL"]

service = Gatewright(os.environ["AUTH_URL"], verifier=os.environ["VERIFIER"])
tokens = TokenVerifier.of(service)
access_tokens = AccessTokenVerifier.of(service, "https://stock.example.com")
receiver = WebhookReceiver(os.environ["WEBHOOK_SECRET"])
sign_in = SignIn(
    service,
    os.environ["CLIENT_ID"],
    os.environ["CLIENT_SECRET"],
    f"{APP_URL}/callback",
    after_sign_out=f"{APP_URL}/",
)

app = Flask(__name__)
app.config.update(
    SECRET_KEY=os.environ["SESSION_SECRET"],
    SESSION_COOKIE_SAMESITE="Lax",
    SESSION_COOKIE_SECURE=APP_URL.startswith("https:"),
)
app.register_blueprint(sign_in_blueprint(sign_in))

received: dict[str, str] = {}
"""The types of the events that have arrived, by id. A real application stores them in its database."""


@app.get("/")
def home() -> ResponseReturnValue:
    return {"message": "Anyone can read this"}


@app.get("/me")
@require_session(service)
def me(caller: Caller) -> ResponseReturnValue:
    return {"id": caller.user_id, "name": caller.name}


@app.get("/reports")
@require_session(service, roles={"admin"})
def reports(caller: Caller) -> ResponseReturnValue:
    return {"for": caller.name}


@app.get("/invoices")
@require_session(service, organization_roles={"owner"})
def invoices(caller: Caller) -> ResponseReturnValue:
    return {"organization": caller.organization_id}


@app.post("/payout")
@require_session(service, max_age=timedelta(minutes=10), verified_email=True)
def payout(caller: Caller) -> ResponseReturnValue:
    return {"to": caller.email}


@app.get("/by-token")
@require_token(tokens)
def by_token(caller: Caller) -> ResponseReturnValue:
    return {"id": caller.user_id, "name": caller.name}


@app.get("/stock")
@require_access_token(access_tokens, "stock:read")
def stock(token: AccessToken) -> ResponseReturnValue:
    return {"by": token.client_id, "for": token.user_id}


@app.post("/stock/change")
@require_access_token(access_tokens, "stock:write")
def change_stock(token: AccessToken) -> ResponseReturnValue:
    return {"by": token.client_id, "for": token.user_id}


@app.get("/files")
@require_api_key(service, {"files": ["read"]})
def files(key: ApiKey) -> ResponseReturnValue:
    return {"owner": key.reference_id}


@app.post("/webhooks")
@receive_webhook(receiver)
def webhook(delivery: Delivery) -> ResponseReturnValue:
    received[delivery.id] = delivery.type
    return "", 204


@app.get("/received")
def list_received() -> ResponseReturnValue:
    return list(received.values())


@app.get("/profile")
@require_signed_in
def profile(user: dict[str, Any]) -> ResponseReturnValue:
    return {"id": user["sub"], "email": user["email"]}
