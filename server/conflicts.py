"""What a job has failed by: a conflict after which it is run again, an outage, or what it wanted to say."""

import structlog

from domain import errors
from domain.context import Client, Outdated
from server.database_faults import is_retryable, is_unavailable

_log = structlog.get_logger(__name__)


def conflict_in(fault: Exception, client: Client) -> Exception:
    """Give a fault after which the job is to be run again. Raises any other, and Unavailable in the place of some."""
    if isinstance(fault, errors.UndecipherableSecret):
        _log.error("two_factor.secret_undecipherable", request_id=client.request_id)
    elif isinstance(fault, errors.RenewedTokensLost):
        _log.error("provider.tokens_lost", request_id=client.request_id)
    if isinstance(fault, errors.Refusal):
        raise fault
    if isinstance(fault, Outdated) or is_retryable(fault):
        return fault
    if is_unavailable(fault):
        raise errors.Unavailable from fault
    raise fault
