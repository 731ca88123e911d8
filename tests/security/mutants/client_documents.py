"""Mutants of the row O27: the documents of OAuth clients."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Remove, Replace, Unwrap

MUTANTS = (
    Mutant("O27", "a document has an end", "timeout", Replace("30 * ...", "args[0]")),
    Mutant("O27", "no more than its size is read", "largest-document", Always(False)),
    Mutant("O27", "a document has a size", "size", Replace("None", "value")),
    Mutant("O27", "it is JSON", "media-type", Always(False)),
    Mutant("O27", "no redirect or error is a document", "status", Always(False)),
    Mutant("O27", "strangers name no inner networks", "public-only", Unwrap("body", "value")),
    Mutant("O27", "the URL of a document has one form", "form", Replace("parts is None", "test")),
    Mutant("O27", "no client is the audience of other tokens", "audience", Always(False)),
    Mutant("O27", "the operator says which hosts", "hosts", Replace("True", "value")),
    Mutant("O27", "a document is that of its URL", "own-id", Always(False)),
    Mutant("O27", "a document has no secret", "secret", Always(False)),
    Mutant("O27", "nor a way to authenticate by one", "method", Always(False)),
    Mutant("O27", "nor what the operator decides", "privileged", Replace("{**document}", "value")),
    Mutant("O27", "and few grant types", "grants", Always(False)),
    Mutant("O27", "its users return to its origin", "same-origin", Replace("True", "value")),
    Mutant("O27", "a scope comes with its resource", "scopes", Always(False)),
    Mutant("O27", "many at once count once", "single-flight", Unwrap("body")),
    Mutant("O27", "and a failure for a while", "again", Replace("False", "value")),
    Mutant("O27", "a network has few documents requested", "quota", Remove()),
    Mutant("O27", "a document is kept for some time", "life", Replace("max_age or _USUAL", "value")),
    Mutant("O27", "a client that is disabled has none requested", "disabled", Always(False)),
    Mutant("O27", "users are asked again after a change", "changed", Always(False)),
)
