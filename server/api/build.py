"""Creation of the pipeline: Connexion reads the contract, and an operation is compiled at its first request.

Most operations are seldom used. Loading all handlers and compiling all operations would take a tenth of the startup
time.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from keyword import iskeyword
from typing import Any, ClassVar

from connexion.middleware.abstract import AbstractRoutingAPI
from connexion.operations import AbstractOperation
from connexion.resolver import RelativeResolver
from connexion.security import SecurityHandlerFactory
from connexion.spec import OpenAPISpecification
from starlette.routing import Router
from starlette.types import ASGIApp, Lifespan

from codegen.bundle import EXTENSION
from codegen.components import head_of, of_path
from codegen.walk import operations
from domain.admin.policy import ImpersonationPolicy
from domain.policy import Policy
from handlers.responses.continuation import continuing
from server.api import request_body
from server.api.arguments import Inputs, OperationInputs, ProtocolInputs, check_signature, compile_inputs
from server.api.extension import OperationExtension, extension_of
from server.api.interfaces import Dependencies
from server.api.pipeline import Pipeline
from server.api.request import Operation, Responder
from server.api.responders import JsonResponder, OAuthResponder, PageResponder, ScimResponder
from server.api.routing import Routes
from server.api.scim_inputs import ScimInputs
from server.api.security import SecurityCompiler, security_map


class _HandlerResolver(RelativeResolver):
    """The handler of an operation is the function of its operationId, with `_` behind a keyword of Python."""

    def resolve_function_from_operation_id(self, operation_id: str) -> Any:
        """Return the handler. Raises Connexion's ResolverError if there is none."""
        is_keyword = iskeyword(operation_id.rpartition(".")[2])
        return super().resolve_function_from_operation_id(operation_id + "_" * is_keyword)


class _ValidSpecification(OpenAPISpecification):
    """A contract that has been validated: every document satisfies this schema."""

    openapi_schema: ClassVar[dict[str, Any]] = {}


def _without_content(document: dict[str, Any]) -> dict[str, Any]:
    """Return a contract with nothing but the names and the extensions of its operations.

    Connexion copies a document three times: the whole contract takes 4 MB more.
    """
    paths: dict[str, dict[str, Any]] = {}
    for one in operations(document):
        kept = {key: one.spec[key] for key in ("operationId", EXTENSION) if key in one.spec}
        paths.setdefault(one.path, {})[one.method] = kept
    return {**head_of(document), "paths": paths}


class LazyOperations(Mapping[str, Operation]):
    """The operations by operationId, disabled ones included, each compiled when it is first used."""

    def __init__(self) -> None:
        self._declared: dict[str, Callable[[], Operation]] = {}
        self._compiled: dict[str, Operation] = {}

    def declare(self, operation_id: str, compile_: Callable[[], Operation]) -> None:
        """Add an operation that `compile_` compiles at its first use. Raises ValueError if the operationId is taken."""
        # Two operations with one operationId would share compiled parts, including the security of one of them.
        if operation_id in self._declared:
            raise ValueError(f"the contract names two operations {operation_id}")
        self._declared[operation_id] = compile_

    def __getitem__(self, operation_id: str) -> Operation:
        if operation_id not in self._compiled:
            self._compiled[operation_id] = self._declared[operation_id]()
        return self._compiled[operation_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._declared)

    def __len__(self) -> int:
        return len(self._declared)


class CompiledApi(AbstractRoutingAPI):
    """The routes of one contract. Disabled operations get no route."""

    def __init__(
        self,
        document: dict[str, Any],
        *,
        policy: Policy,
        dependencies: Dependencies,
        disabled: frozenset[str],
        security_map: dict[str, type],
        **options: Any,
    ) -> None:
        self.operations = LazyOperations()
        self.routes = Routes(self.operations)
        self.json = JsonResponder(policy)
        self.pages = PageResponder(
            self.operations, dependencies.endpoint, policy, dependencies.cipher, dependencies.clock
        )
        self._oauth = OAuthResponder()
        self.scim = ScimResponder(f"{policy.base_path}/scim/v2/", dependencies.run)
        self._oauth_of_browsers = OAuthResponder(self.pages)
        self._document = document
        self._policy = policy
        self._disabled = disabled
        factory = SecurityHandlerFactory(security_map)
        self._security = SecurityCompiler(factory, policy.cookies, dependencies)
        super().__init__(_ValidSpecification(_without_content(document)), **options)
        unknown = disabled - set(self.operations)
        if unknown:
            raise ValueError(f"the contract has no operations {sorted(unknown)} to switch off")

    def add_operation(self, path: str, method: str) -> None:
        """Declare one operation and add its route. Connexion calls this method for each operation of the contract.

        Raises ValueError if the operationId is taken, or if the extension `x-gatewright` has an unknown key.
        """
        declared = self.specification.get_operation(path, method)
        operation_id, extension = declared["operationId"], extension_of(declared)
        self.operations.declare(operation_id, partial(self._compile, path, method, extension))
        if operation_id not in self._disabled:  # defence: V13 ADM20 KEY23 disabled
            self.routes.add(self.base_path + path, method.upper(), operation_id, extension)
            self.scim.is_on |= extension.protocol == "scim"
            if extension.at_origin:
                self.routes.add(path + self.base_path, method.upper(), operation_id, extension)

    def _compile(self, path: str, method: str, extension: OperationExtension) -> Operation:
        """Compile an operation. Raises ValueError, TypeError or ResolverError if contract and code do not match."""
        specification = _ValidSpecification(of_path(self._document, path))
        operation = specification.operation_cls.from_spec(
            specification, path=path, method=method, resolver=self.resolver
        )
        operation_id = operation.operation_id.removeprefix(f"{self.resolver.root_path}.")
        return compile_operation(
            operation, operation_id, extension, self._policy, self._security, self._responder(extension)
        )

    def _responder(self, extension: OperationExtension) -> Responder:
        if extension.page:
            return self.pages
        if extension.protocol == "oauth":
            return self._oauth_of_browsers if extension.navigation else self._oauth
        if extension.protocol == "scim":
            return self.scim
        return self.json


def compile_operation(
    operation: AbstractOperation,
    operation_id: str,
    extension: OperationExtension,
    policy: Policy,
    security: SecurityCompiler,
    responder: Responder,
) -> Operation:
    """Compile an operation as Connexion has parsed it. Raises ValueError or TypeError if it cannot be served."""
    inputs: Inputs
    if extension.protocol is None:
        inputs = compile_inputs(operation, policy.origins)
    elif extension.protocol == "scim":
        inputs = ScimInputs(operation.method in ("post", "put", "patch"))
    else:
        inputs = ProtocolInputs(operation.method == "post", tuple(operation.consumes or ()))
    check_signature(operation.function, inputs)
    if (extension.account or extension.fresh or extension.administrative) and not extension.page:
        raise ValueError(f"{operation_id}: only pages declare who may open them")
    handler = continuing(operation.function) if extension.continues_authorization else operation.function
    is_lenient = extension.authentication_by_setting and not policy.require_authentication
    return Operation(
        operation_id=operation_id,
        handler=handler,
        method=operation.method.upper(),
        template=policy.base_path + operation.path,
        security=security.compile(operation, without_session=is_lenient),
        inputs=inputs,
        # A provider posts its form from its own origin, so this operation is protected by the state cookie instead.
        checks_origin=operation.method == "post"
        and isinstance(inputs, OperationInputs)
        and (extension.page or inputs.media_type != request_body.FORM),
        refuses_impersonation=_refuses_impersonation(extension, policy),
        responder=responder,
        extension=extension,
    )


def _refuses_impersonation(extension: OperationExtension, policy: Policy) -> bool:
    rule = extension.impersonation
    return rule == "never" or (rule == "restricted" and policy[ImpersonationPolicy].restricted)


def build(
    document: dict[str, Any],
    dependencies: Dependencies,
    *,
    policy: Policy,
    disabled: frozenset[str] = frozenset(),
    lifespan: Lifespan[Any] | None = None,
    max_body: int = 65536,
    handlers: str = "handlers",
    is_checked: bool = True,
) -> ASGIApp:
    """Return the ASGI application that serves a contract (OpenAPI 3.0, bundled) with the package `handlers`.

    The operations whose operationIds are in `disabled` get no route. `max_body` is in bytes. If `is_checked` is false,
    the contract is validated and all of its operations are compiled at once, which takes seconds.

    Raises:
        InvalidSpecification, ResolverError: Connexion's, for an invalid contract and for a missing handler.
        ValueError, TypeError: the contract does not match its handlers, or has something that is not supported.
    """
    if not is_checked:
        OpenAPISpecification(document)
    api = CompiledApi(
        document,
        policy=policy,
        dependencies=dependencies,
        disabled=disabled,
        base_path=policy.base_path,
        resolver=_HandlerResolver(handlers),
        security_map=security_map(policy.cookies),
    )
    if not is_checked:
        list(api.operations.values())
    # The router has no routes: it runs the lifespan, and refuses WebSockets.
    return Pipeline(
        api.routes,
        Router(lifespan=lifespan),
        policy=policy,
        dependencies=dependencies,
        json=api.json,
        others=(api.pages, api.scim),
        max_body=max_body,
    )
