"""A FastAPI application whose users, programs and webhooks come from Gatewright: `uvicorn fastapi_app:app`."""

import os
from datetime import timedelta
from typing import Annotated, Any

from fastapi import Depends, FastAPI
from gatewright_client.kit.access_tokens import AccessToken, AccessTokenVerifier
from gatewright_client.kit.callers import Caller
from gatewright_client.kit.fastapi import (
    SessionCookies,
    receive_webhook,
    require_access_token,
    require_api_key,
    require_session,
    require_token,
    sign_in_router,
    signed_in_user,
)
from gatewright_client.kit.service import Gatewright
from gatewright_client.kit.sign_in import SignIn
from gatewright_client.kit.tokens import TokenVerifier
from gatewright_client.kit.webhooks import Delivery, WebhookReceiver
from gatewright_client.models import ApiKey
from starlette.middleware.sessions import SessionMiddleware

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

SignedIn = Annotated[Caller, Depends(require_session(service))]
Administrator = Annotated[Caller, Depends(require_session(service, roles={"admin"}))]
Owner = Annotated[Caller, Depends(require_session(service, organization_roles={"owner"}))]
Recent = Annotated[
    Caller, Depends(require_session(service, max_age=timedelta(minutes=10), verified_email=True))
]
ByToken = Annotated[Caller, Depends(require_token(tokens))]
StockReader = Annotated[AccessToken, Depends(require_access_token(access_tokens, "stock:read"))]
StockWriter = Annotated[AccessToken, Depends(require_access_token(access_tokens, "stock:write"))]
Reader = Annotated[ApiKey, Depends(require_api_key(service, {"files": ["read"]}))]

app = FastAPI()
app.add_middleware(SessionCookies)
app.add_middleware(
    SessionMiddleware,
    secret_key=os.environ["SESSION_SECRET"],
    same_site="lax",
    https_only=APP_URL.startswith("https:"),
)
app.include_router(sign_in_router(sign_in))

received: dict[str, str] = {}
"""The types of the events that have arrived, by id. A real application stores them in its database."""


@app.get("/")
async def home() -> dict[str, str]:
    return {"message": "Anyone can read this"}


@app.get("/me")
async def me(caller: SignedIn) -> dict[str, str | None]:
    return {"id": caller.user_id, "name": caller.name}


@app.get("/reports")
async def reports(caller: Administrator) -> dict[str, str | None]:
    return {"for": caller.name}


@app.get("/invoices")
async def invoices(caller: Owner) -> dict[str, str | None]:
    return {"organization": caller.organization_id}


@app.post("/payout")
async def payout(caller: Recent) -> dict[str, str | None]:
    return {"to": caller.email}


@app.get("/by-token")
def by_token(caller: ByToken) -> dict[str, str | None]:
    return {"id": caller.user_id, "name": caller.name}


@app.get("/stock")
def stock(token: StockReader) -> dict[str, str | None]:
    return {"by": token.client_id, "for": token.user_id}


@app.post("/stock/change")
def change_stock(token: StockWriter) -> dict[str, str | None]:
    return {"by": token.client_id, "for": token.user_id}


@app.get("/files")
async def files(key: Reader) -> dict[str, str]:
    return {"owner": key.reference_id}


@app.post("/webhooks", status_code=204)
async def webhook(delivery: Annotated[Delivery, Depends(receive_webhook(receiver))]) -> None:
    received[delivery.id] = delivery.type


@app.get("/received")
async def list_received() -> list[str]:
    return list(received.values())


@app.get("/profile")
async def profile(user: Annotated[dict[str, Any], Depends(signed_in_user)]) -> dict[str, str]:
    return {"id": user["sub"], "email": user["email"]}
