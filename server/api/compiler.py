"""The contract, compiled at start: Connexion walks through it, and everything a request needs is decided here.

Two methods override private ones of Connexion, whose base class for routing has no public hook for them:
`_framework_path_and_name` keeps the path as the contract writes it, `_add_operation_internal` puts an operation into
our routes. pyproject.toml limits the version of Connexion for that reason.
"""

from typing import Any, ClassVar

from connexion.middleware.abstract import AbstractRoutingAPI
from connexion.operations import AbstractOperation
from connexion.security import SecurityHandlerFactory
from connexion.spec import OpenAPISpecification, Specification
from jsonschema_rs import Draft4Validator

from domain.policy import Policy
from handlers import cookies
from server.api import request_body
from server.api.arguments import check_signature, compile_inputs
from server.api.extension import OperationExtension, extension_of
from server.api.interfaces import Dependencies
from server.api.request import Operation
from server.api.routing import Routes
from server.api.security import SecurityCompiler


class CheckedSpecification(OpenAPISpecification):  # type: ignore[misc]
    """A contract that was checked already: its schema permits everything."""

    openapi_schema: ClassVar[dict[str, Any]] = {}


def checked(document: dict[str, Any]) -> Specification:
    """Return a contract as Connexion's object. Raises InvalidSpecification when it does not fit the OpenAPI schema.

    A validator in Rust checks the schema in a hundredth of the time of Connexion's own, which explains what is wrong
    with a document that does not pass. Only Connexion's own checks the defaults; the tests see to these.
    """
    if Draft4Validator(OpenAPISpecification.openapi_schema).is_valid(document):
        return CheckedSpecification(document)
    return OpenAPISpecification(document)


class CompiledApi(AbstractRoutingAPI):  # type: ignore[misc]
    """The routes of one contract. Operations that are switched off are compiled like the others, and lead nowhere."""

    def __init__(
        self,
        specification: Specification,
        *,
        policy: Policy,
        dependencies: Dependencies,
        disabled: frozenset[str],
        **options: Any,
    ) -> None:
        self.routes = Routes()
        self._policy = policy
        self._disabled = disabled
        self._named: set[str] = set()
        factory = SecurityHandlerFactory(options["security_map"])
        self._security = SecurityCompiler(
            factory, policy.cookies, dependencies.sessions, dependencies.challenges
        )
        super().__init__(specification, **options)
        unknown = disabled - self._named
        if unknown:
            raise ValueError(f"the contract has no operations {sorted(unknown)} to switch off")

    def make_operation(self, operation: AbstractOperation) -> Operation:
        """Compile one operation. Raises ValueError or TypeError when the contract and the code do not fit."""
        root = f"{self.resolver.root_path}."
        operation_id = operation.operation_id.removeprefix(root)
        # Two operations of one name would share what is compiled for one of them, its security above all.
        if operation_id in self._named:
            raise ValueError(f"the contract names two operations {operation_id}")
        self._named.add(operation_id)
        extension = extension_of(self.specification.get_operation(operation.path, operation.method))
        return compile_operation(operation, operation_id, extension, self._policy, self._security)

    @staticmethod
    def _framework_path_and_name(operation: AbstractOperation, path: str) -> tuple[str, str]:
        return path, operation.operation_id

    def _add_operation_internal(
        self, method: str, path: str, operation: Operation, name: str | None = None
    ) -> None:
        if operation.operation_id not in self._disabled:  # defence: V13 disabled
            self.routes.add(self.base_path + path, method.upper(), operation)


def compile_operation(
    operation: AbstractOperation,
    operation_id: str,
    extension: OperationExtension,
    policy: Policy,
    security: SecurityCompiler,
) -> Operation:
    """Compile what Connexion made of the contract's operation. Raises ValueError or TypeError when it cannot
    be served."""
    inputs = compile_inputs(operation, policy.origins)
    check_signature(operation.function, inputs)
    is_lenient = extension.authentication_by_setting and not policy.require_authentication
    return Operation(
        operation_id=operation_id,
        handler=operation.function,
        method=operation.method.upper(),
        template=policy.base_path + operation.path,
        security=security.compile(operation, without_session=is_lenient),
        inputs=inputs,
        # A provider posts its form from its own origin; that operation has the state cookie instead
        # .
        checks_origin=operation.method == "post" and inputs.media_type != request_body.FORM,
        signs_in=extension.signs_in,
        answers_head=extension.answers_head,
        is_limited=extension.rate_limited,
        forget=(cookies.clear_session(policy.cookies),) if extension.signs_out else (),
    )
