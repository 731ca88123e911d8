"""The application: the list of what is switched on."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from codegen.bundle import bundle
from codegen.links import without_links
from codegen.operation_ids import flat_ids
from codegen.requests_only import without_answers
from server import pipeline
from server.addresses import Addresses
from server.clock import Clock, system_clock
from server.documents import Documents
from server.pending_sign_ins import PendingSignIns
from server.services import Services
from server.settings import Settings
from server.tracing import tracing_of

LISTING = frozenset({"sessions.list_active"})
REVOCATION = frozenset({"sessions.revoke", "sessions.revoke_all", "sessions.revoke_others"})
USERNAMES = frozenset({"authentication.sign_in_username", "users.check_username"})
DELETION = frozenset({"users.delete", "users.confirm_deletion"})


@dataclass(frozen=True, slots=True)
class Application:
    """What the server runs: the operations, and the documents beside them."""

    services: Services
    api: ASGIApp
    documents: Documents

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer with a document, or hand on to the pipeline."""
        if scope["type"] == "http" and self.documents.matches(scope["path"]):
            await self.documents(scope, receive, send)
        else:
            await self.api(scope, receive, send)


def create_app(
    settings: Settings, *, clock: Clock = system_clock, reports: Path | None = None
) -> Application:
    """Give the application; its services open and close with it, and tell their numbers in the folder `reports`."""
    return assemble(Services(settings, clock=clock, reports=reports, tracing=tracing_of(settings)))


def assemble(services: Services) -> Application:
    """Give the application around services that are opened when it starts, or by whoever drives it without a server."""

    @contextlib.asynccontextmanager
    async def lifespan(_: ASGIApp) -> AsyncIterator[None]:
        await services.open()
        await services.start()
        try:
            yield
        finally:
            await services.close()

    settings, policy = services.settings, services.policy
    document = contract(settings)
    api = pipeline.build(
        # Connexion copies the contract four times, and what it answers is written in the handlers.
        without_answers(document),
        policy=policy,
        sessions=services.requests,
        challenges=PendingSignIns(services.requests),
        endpoint=services.requests,
        refusals=services.refusals,
        limiter=services.limiter,
        observer=services.observer,
        addresses=Addresses(settings.trusted_proxies),
        clock=services.clock,
        disabled=switched_off(settings),
        lifespan=lifespan,
        max_body=settings.server.max_body,
    )
    if services.tracing is not None:
        api = services.tracing.around(api)
    published = flat_ids(without_links(document))
    documents = Documents(published, policy.base_path, policy.origins, settings.server.max_body)
    return Application(services, api, documents)


def contract(settings: Settings) -> dict[str, Any]:
    """Give the contract as this service keeps it: its cookie names, its base path, what it does not insist on."""
    session = settings.session
    document = bundle(
        cookie_name=session.cookie_name,
        pending_cookie=session.cookie_prefix + "two-factor",
        base_path=settings.base_path,
    )
    if not settings.require_current_password:
        document["components"]["schemas"]["ChangePasswordRequest"]["required"].remove("currentPassword")
    return document


def switched_off(settings: Settings) -> frozenset[str]:
    """Give the operationIds that answer 404 by these settings."""
    off: frozenset[str] = frozenset()
    for is_on, operations in (
        (settings.enable_session_listing, LISTING),
        (settings.enable_session_revocation, REVOCATION),
        (settings.username.enabled, USERNAMES),
        (settings.delete_user.enabled, DELETION),
    ):
        if not is_on:
            off |= operations
    return off
