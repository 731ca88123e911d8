"""The ASGI application: the enabled operations, documents and pages."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import structlog
from starlette.types import ASGIApp, Receive, Scope, Send

from codegen.bundle import bundle
from codegen.links import without_links
from codegen.operation_ids import flat_ids
from codegen.walk import operations
from server import api as server_api
from server.api.client_address import ClientAddressResolver
from server.api.endpoint import Endpoint
from server.api.extension import extension_of
from server.api.files.assets import Assets
from server.api.files.documents import Documents
from server.clock import Clock, system_clock
from server.config.base import Settings
from server.config.groups.console import ConsoleSettings
from server.config.groups.pages import PagesSettings
from server.config.groups.server import DocumentsSettings, ServerSettings
from server.config.groups.session import SessionSettings
from server.config.sources import value_of
from server.observability.tracing import tracing_of
from server.services import Services

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

PAGES_PATH, CONSOLE_PATH = "/account", "/console"
"""The paths of the hosted pages and of the console in the contract. The settings `pages.path` and `console.path`
replace them in the served contract.
"""

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Application:
    """The ASGI application: the operations of the contract, the documents, and the static files of the pages."""

    services: Services
    api: ASGIApp
    documents: Documents | None
    """The OpenAPI documents and Swagger UI; None if they are disabled."""
    assets: Assets
    """The static files of the hosted pages and of error pages; also served if the hosted pages are disabled."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond with a document or a static file; pass every other request to the pipeline."""
        documents = self.documents
        if documents is not None and scope["type"] == "http" and documents.matches(scope["path"]):
            await documents(scope, receive, send)
        elif scope["type"] == "http" and self.assets.matches(scope["path"]):
            await self.assets(scope, receive, send)
        else:
            await self.api(scope, receive, send)


def create_app(
    settings: Settings, *, clock: Clock = system_clock, registry: "CollectorRegistry | None" = None
) -> Application:
    """Return the application, whose lifespan opens and closes its services.

    The metrics are created in `registry`, by default in a new one, if metrics are enabled.
    """
    return assemble(Services(settings, clock=clock, registry=registry, tracing=tracing_of(settings)))


def assemble(services: Services) -> Application:
    """Return the application for these services, which its lifespan opens and closes."""

    @contextlib.asynccontextmanager
    async def lifespan(_: ASGIApp) -> AsyncIterator[None]:
        await services.open()
        await services.start()
        try:
            yield
        finally:
            await services.close()
            _log.info("service.stopped")

    settings, policy = services.settings, services.policy
    document = contract(settings, internal=True)
    api = server_api.build(
        document,
        server_api.Dependencies(
            sessions=services.sessions,
            challenges=services.challenges,
            api_keys=services.api_keys,
            endpoint=Endpoint(services.unit_of_work.run, policy.cookies),
            run=services.unit_of_work.run,
            refusals=services.refusals,
            limiter=services.limiter,
            request_hooks=services.request_hooks,
            addresses=ClientAddressResolver(settings.trusted_proxies),
            cipher=services.cipher,
            clock=services.clock,
        ),
        policy=policy,
        disabled=switched_off(document, settings),
        lifespan=lifespan,
        max_body=settings[ServerSettings].max_body,
    )
    if services.tracing is not None:
        api = services.tracing.instrument(api)
    return Application(services, api, _documents(services), Assets(policy, settings[ServerSettings].max_body))


def _documents(services: Services) -> Documents | None:
    """Return the application that serves the published contract, or None if it is disabled."""
    settings, policy = services.settings, services.policy
    if not settings[DocumentsSettings].enabled:
        return None
    max_body = settings[ServerSettings].max_body
    return Documents(lambda: flat_ids(without_links(contract(settings))), policy, max_body)


def contract(settings: Settings, *, internal: bool = False) -> dict[str, Any]:
    """Return the OpenAPI document of this service, with the cookie names, paths and requirements of its settings.

    An `internal` contract is for the pipeline: it keeps the unpublished extension `x-gatewright` of operations, and
    leaves out what only responses need, because Connexion copies the document four times.
    """
    session = settings[SessionSettings]
    document = bundle(
        cookie_name=session.cookie_name,
        pending_cookie=session.cookie_prefix + "two-factor",
        base_path=settings.base_path,
        internal=internal,
        requests_only=internal,
    )
    for path, moved in (
        (PAGES_PATH, settings[PagesSettings].path),
        (CONSOLE_PATH, settings[ConsoleSettings].path),
    ):
        if moved != path:
            document["paths"] = {_moved(one, path, moved): item for one, item in document["paths"].items()}
    # The contract is validated before the handler runs, so the requirement has to be removed in it.
    if not settings.require_current_password:
        document["components"]["schemas"]["ChangePasswordRequest"]["required"].remove("currentPassword")
    return document


def _moved(path: str, root: str, new_root: str) -> str:
    """Return a path below a root as a path below its new root; any other path is unchanged."""
    return new_root + path.removeprefix(root) if f"{path}/".startswith(f"{root}/") else path


def switched_off(document: dict[str, Any], settings: Settings) -> frozenset[str]:
    """Return the operationIds of the operations that these settings disable; they respond with 404.

    Raises ValueError if the contract makes an operation depend on a setting that is neither a boolean nor a list,
    except for a text setting with the required value (`webhooks.management=admin`).
    """
    switches = {each.spec["operationId"]: extension_of(each.spec).switch for each in operations(document)}
    return frozenset(
        name for name, keys in switches.items() if not all(_is_on(settings, key) for key in keys)
    )


def _is_on(settings: Settings, switch: str) -> bool:
    key, equals, wanted = switch.partition("=")
    value = value_of(settings, key)
    if equals and isinstance(value, str):
        return value in wanted.split("|")
    if not isinstance(value, bool | tuple):
        raise ValueError(f"the contract switches operations by {switch}, which is not a boolean or list")
    return bool(value)
