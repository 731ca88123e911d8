"""Connexion walks through the contract; this collects one compiled operation for each of its operations."""

from typing import Any

from connexion.middleware.abstract import AbstractRoutingAPI
from connexion.operations import AbstractOperation
from connexion.security import SecurityHandlerFactory
from connexion.spec import Specification

from domain.policy import Policy
from server.pipeline.operation import compile_operation
from server.pipeline.ports import Ports
from server.pipeline.request import Operation
from server.pipeline.routing import Routes
from server.pipeline.security import SecurityCompiler


class CompiledApi(AbstractRoutingAPI):  # type: ignore[misc]
    """The routes of one contract. Operations that are switched off are compiled like the others, and lead nowhere."""

    def __init__(
        self,
        specification: Specification,
        *,
        policy: Policy,
        ports: Ports,
        disabled: frozenset[str],
        **options: Any,
    ) -> None:
        self.routes = Routes()
        self._policy = policy
        self._disabled = disabled
        self._named: set[str] = set()
        factory = SecurityHandlerFactory(options["security_map"])
        self._security = SecurityCompiler(factory, policy.cookies, ports.sessions, ports.challenges)
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
        return compile_operation(operation, operation_id, self._policy, self._security)

    @staticmethod
    def _framework_path_and_name(operation: AbstractOperation, path: str) -> tuple[str, str]:
        return path, operation.operation_id

    def _add_operation_internal(
        self, method: str, path: str, operation: Operation, name: str | None = None
    ) -> None:
        if operation.operation_id not in self._disabled:
            self.routes.add(self.base_path + path, method.upper(), operation)
