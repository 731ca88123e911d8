"""Compiling one operation of the contract: everything a request to it needs is decided at start."""

from connexion.operations import AbstractOperation

from domain.policy import Policy
from handlers import cookies
from server.pipeline import body
from server.pipeline.calling import check_signature, compile_inputs
from server.pipeline.request import Operation
from server.pipeline.security import SecurityCompiler

_HARMLESS_TAG = "service"
"""Health, readiness and the error page: the only GET operations no token can be used up by (behaviour
1.2)."""

_LENIENT_TAG = "sessions"
"""Session management, which `require_authentication = false` opens to everybody (interface 5.6)."""

_SIGN_OUT = "authentication.sign_out"

_UNLIMITED = frozenset({"service.check_health", "service.check_readiness"})
"""What watches the service asks as often as it likes (behaviour 10.1)."""

_SIGNING_IN = ("/sign-in/", "/sign-up/")


def compile_operation(
    operation: AbstractOperation, operation_id: str, policy: Policy, security: SecurityCompiler
) -> Operation:
    """Compile what Connexion made of the contract's operation. Raises ValueError or TypeError when it cannot
    be served."""
    tag = operation_id.partition(".")[0]
    inputs = compile_inputs(operation, policy.origins)
    check_signature(operation.function, inputs)
    return Operation(
        operation_id=operation_id,
        handler=operation.function,
        method=operation.method.upper(),
        template=policy.base_path + operation.path,
        security=security.compile(
            operation, without_session=tag == _LENIENT_TAG and not policy.require_authentication
        ),
        inputs=inputs,
        # A provider posts its form from its own origin; that operation has the state cookie instead
        # (behaviour 3.4).
        checks_origin=operation.method == "post" and inputs.media_type != body.FORM,
        signs_in=operation.path.startswith(_SIGNING_IN),
        answers_head=operation.method == "get" and tag == _HARMLESS_TAG,
        is_limited=operation_id not in _UNLIMITED,
        forget=(cookies.clear_session(policy.cookies),) if operation_id == _SIGN_OUT else (),
    )
