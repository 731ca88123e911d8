"""Mutants of the rows WH5, WH8, WH14, WH15 and WH22: endpoints of webhooks, and who manages them."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Remove, Replace

MUTANTS = (
    Mutant("WH5", "a failure has one of a few words", "fixed-words", Replace("str(error)", "value.args[0]")),
    Mutant("WH8", "a secret is encrypted", "encrypted", Replace("secret.encode()", "value")),
    Mutant("WH14", "endpoints need the permission", "permission", Remove()),
    Mutant("WH14", "an endpoint is created in a fresh session", "fresh-create", Remove("value.keywords[0]")),
    Mutant("WH14", "and changed", "fresh-update", Remove("value.keywords[0]")),
    Mutant("WH14", "and deleted", "fresh-delete", Remove("value.keywords[0]")),
    Mutant("WH14", "and its secret replaced", "fresh-rotate", Remove("value.keywords[0]")),
    Mutant("WH14", "a position is of the endpoint", "delivery-of-endpoint", Always(False)),
    Mutant("WH15", "the URL of an endpoint is checked", "endpoint-url", Remove()),
    Mutant("WH22", "endpoints are counted one after the other", "lock", Remove()),
    Mutant("WH22", "there are so many endpoints at most", "number-of-endpoints", Always(False)),
    Mutant("WH22", "and subscriptions", "number-of-events", Always(False)),
    Mutant("WH22", "a subscription is to something", "known-events", Always(False)),
)
