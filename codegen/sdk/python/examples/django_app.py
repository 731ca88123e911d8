"""A Django application whose users, programs and webhooks come from Gatewright: `python django_app.py runserver`."""

import os
import sys
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.core.management import execute_from_command_line
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt
from gatewright_client.kit.access_tokens import AccessToken, AccessTokenVerifier
from gatewright_client.kit.callers import Caller
from gatewright_client.kit.django import (
    receive_webhook,
    require_access_token,
    require_api_key,
    require_session,
    require_signed_in,
    require_token,
    sign_in_urls,
)
from gatewright_client.kit.service import Gatewright
from gatewright_client.kit.sign_in import SignIn
from gatewright_client.kit.tokens import TokenVerifier
from gatewright_client.kit.webhooks import Delivery, WebhookReceiver
from gatewright_client.models import ApiKey

APP_URL = os.environ["APP_URL"]

settings.configure(
    ALLOWED_HOSTS=["*"],
    MIDDLEWARE=[
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.middleware.csrf.CsrfViewMiddleware",
    ],
    ROOT_URLCONF=__name__,
    SECRET_KEY=os.environ["SESSION_SECRET"],
    SESSION_COOKIE_SECURE=APP_URL.startswith("https:"),
    SESSION_ENGINE="django.contrib.sessions.backends.signed_cookies",
)

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

received: dict[str, str] = {}
"""The types of the events that have arrived, by id. A real application stores them in its database."""


def home(request: HttpRequest) -> HttpResponse:
    return JsonResponse({"message": "Anyone can read this"})


@require_session(service)
def me(request: HttpRequest, caller: Caller) -> HttpResponse:
    return JsonResponse({"id": caller.user_id, "name": caller.name})


@require_session(service, roles={"admin"})
def reports(request: HttpRequest, caller: Caller) -> HttpResponse:
    return JsonResponse({"for": caller.name})


@require_session(service, organization_roles={"owner"})
def invoices(request: HttpRequest, caller: Caller) -> HttpResponse:
    return JsonResponse({"organization": caller.organization_id})


# Only for programs that send the bearer token: with a cookie, keep the check of the CSRF token.
@csrf_exempt
@require_session(service, max_age=timedelta(minutes=10), verified_email=True)
def payout(request: HttpRequest, caller: Caller) -> HttpResponse:
    return JsonResponse({"to": caller.email})


@require_token(tokens)
def by_token(request: HttpRequest, caller: Caller) -> HttpResponse:
    return JsonResponse({"id": caller.user_id, "name": caller.name})


@require_access_token(access_tokens, "stock:read")
def stock(request: HttpRequest, token: AccessToken) -> HttpResponse:
    return JsonResponse({"by": token.client_id, "for": token.user_id})


# Programs that send a bearer token need no CSRF token.
@csrf_exempt
@require_access_token(access_tokens, "stock:write")
def change_stock(request: HttpRequest, token: AccessToken) -> HttpResponse:
    return JsonResponse({"by": token.client_id, "for": token.user_id})


@require_api_key(service, {"files": ["read"]})
def files(request: HttpRequest, key: ApiKey) -> HttpResponse:
    return JsonResponse({"owner": key.reference_id})


@receive_webhook(receiver)
def webhook(request: HttpRequest, delivery: Delivery) -> HttpResponse:
    received[delivery.id] = delivery.type
    return HttpResponse(status=204)


def list_received(request: HttpRequest) -> HttpResponse:
    return JsonResponse(list(received.values()), safe=False)


@require_signed_in
def profile(request: HttpRequest, user: dict[str, Any]) -> HttpResponse:
    return JsonResponse({"id": user["sub"], "email": user["email"]})


urlpatterns = [
    path("", home),
    path("", include(sign_in_urls(sign_in))),
    path("me", me),
    path("reports", reports),
    path("invoices", invoices),
    path("payout", payout),
    path("by-token", by_token),
    path("stock", stock),
    path("stock/change", change_stock),
    path("files", files),
    path("webhooks", webhook),
    path("received", list_received),
    path("profile", profile),
]

if __name__ == "__main__":
    execute_from_command_line(sys.argv)
