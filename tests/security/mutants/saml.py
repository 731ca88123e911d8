"""Mutants of SAML: what is parsed, what a signature covers, whom a message is for, and when."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Remove, Replace

_UNSIGNED = "return Signed(assertion)"
_VERIFIED = "signatures.verify(assertion, provider.certificates)"
_OF_THE_RESPONSE = f"return Signed(assertion) if whole else {_VERIFIED}"

MUTANTS = (
    Mutant("SSO1", "an id is there once", "duplicates", Always(False)),
    Mutant("SSO1", "assertions are children of the response", "place", Always(False)),
    Mutant("SSO1", "signatures are children of what they sign", "signature-place", Always(False)),
    Mutant("SSO1", "a response has one assertion", "one-assertion", Always(False)),
    Mutant("SSO1", "a reference names the very element", "reference", Always(False)),
    Mutant("SSO1", "a signature has no other parts", "parts", Always(False)),
    Mutant("SSO1", "an assertion keeps to its own signature", "verify", Replace(_OF_THE_RESPONSE)),
    Mutant("SSO2", "documents have no types", "forbidden", Always(False)),
    Mutant("SSO2", "a declaration is first", "declaration", Replace("_DECLARATION.search(text)", "value")),
    Mutant("SSO2", "documents have few nodes", "nodes", Always(False)),
    Mutant("SSO2", "documents are shallow", "depth", Always(False)),
    Mutant("SSO2", "transforms are two", "transforms", Always(False)),
    Mutant("SSO2", "a list of prefixes is short", "prefixes", Replace("return algorithm")),
    Mutant("SSO2", "a form is bounded", "form", Always(False)),
    Mutant("SSO2", "a query is bounded", "query", Always(False)),
    Mutant("SSO2", "an inflated message is bounded", "bomb", Always(False)),
    Mutant("SSO2", "metadata is bounded", "metadata", Always(False)),
    Mutant("SSO3", "values have no comments", "forbidden", Always(False)).also("kinds", Always(False)),
    Mutant("SSO3", "identifiers are visible", "name-id", Remove("test.values[2]")),
    Mutant("SSO4", "keys are strong", "weak", Always(False)),
    Mutant("SSO4", "signatures use strong hashes", "algorithms", Always(False)),
    Mutant("SSO4", "an assertion is verified", "verify", Replace(_UNSIGNED)),
    Mutant("SSO4", "an encrypted assertion is verified", "encrypted", Replace(_UNSIGNED)),
    Mutant("SSO4", "a decryption is no oracle", "oracle", Replace("raise")),
    Mutant("SSO4", "content is encrypted by AES", "content-algorithm", Always(False)),
    Mutant("SSO4", "keys are encrypted by OAEP", "key-algorithm", Always(False)),
    Mutant("SSO5", "a response answers something", "unsolicited", Always(False)),
    Mutant("SSO5", "a request is live", "live", Always(False)),
    Mutant("SSO5", "a response is for this endpoint", "destination", Always(False)),
    Mutant("SSO5", "a response is of its issuer", "issuer", Always(False)),
    Mutant("SSO5", "an assertion is of its issuer", "assertion-issuer", Always(False)),
    Mutant("SSO5", "an assertion is for this audience", "audience", Always(False)),
    Mutant("SSO5", "a confirmation is of a bearer", "bearer", Remove("test.values[0]")),
    Mutant("SSO5", "a confirmation is for this endpoint", "recipient", Always(False)),
    Mutant("SSO5", "a confirmation is for this request", "confirmed-request", Always(False)),
    Mutant("SSO6", "an assertion and its authentication are of the past", "past", Always(False)),
    Mutant("SSO6", "a period has begun", "not-before", Always(False)),
    Mutant("SSO6", "a period has an end", "end", Always(False)),
    Mutant("SSO6", "an assertion has conditions", "conditions", Replace("if conditions is None: return")),
    Mutant("SSO6", "a session has an end", "session", Always(False)),
    Mutant("SSO15", "a query is signed", "query-signature", Remove()),
    Mutant("SSO15", "a form is signed", "form-signature", Replace("signed = signatures.Signed(root)")),
    Mutant(
        "SSO15",
        "a query is signed by a strong method",
        "query-algorithm",
        Replace('if algorithm is None:\n    algorithm = ("rsa", 256)'),
    ),
    Mutant("SSO15", "a parameter is there once", "repeated", Always(False)),
    Mutant("SSO15", "a logout is for this service", "destination", Always(False)),
    Mutant("SSO15", "a logout is of its issuer", "issuer", Always(False)),
    Mutant("SSO15", "a logout is of the last minutes", "age", Always(False)),
)
