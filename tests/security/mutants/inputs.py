"""Mutants of the rows R26 to R40: what no client in its right mind sends."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import After, Always, Append, Before, Remove, Replace, Unwrap

MUTANTS = (
    Mutant("R26", "JSON is JSON and no more", "json", Replace("__import__('json')", "value.func.value")).also(
        "json-error", Replace("(ValueError, RecursionError)", "type")
    ),
    Mutant("R26", "what cannot be read is refused", "unreadable-body", Replace("return {}")),
    Mutant(
        "R26",
        "a body is an object",
        "object-body",
        Replace("(lambda value: value if isinstance(value, dict) else {})(...)", "value"),
    ),
    Mutant("R26", "an empty body is no fields", "empty-body", Remove()),
    Mutant("R27", "depth has a limit", "max-depth", Replace("100000", "value")),
    Mutant(
        "R27",
        "depth is measured without recursion",
        "json",
        Replace("__import__('json')", "value.func.value"),
    ),
    Mutant(
        "R27",
        "a field may not be deep",
        "field-depth",
        Replace(
            "{self.name(name): describe(next(validator.iter_errors(value)), schema)}",
            "value",
        ),
    ),
    Mutant("R28", "a body has a limit", "max-body", Replace("2 ** 24", "value.args[0]")),
    Mutant(
        "R28",
        "of a key sent twice the last counts",
        "json",
        Replace("__import__('json')", "value.func.value"),
    )
    .also("json", Append("object_pairs_hook=lambda pairs: dict(reversed(pairs))", "value"))
    .also("json-error", Replace("(ValueError, RecursionError)", "type")),
    Mutant("R29", "a length that is too much is refused at once", "announced-size", Always(False)),
    Mutant("R29", "chunks without end are cut off", "body-size", Always(False)),
    Mutant("R29", "a body that was cut off is not carried out", "cut-off-body", Replace("break")),
    Mutant("R30", "no coding is accepted", "content-coding", Always(False)),
    Mutant(
        "R30",
        "no coding is undone",
        "no-decoding",
        Replace(
            "import gzip\n"
            "if head.fields.get(b'content-encoding') == b'gzip' and raw.startswith(b'\\x1f\\x8b'):\n"
            "    raw = gzip.decompress(raw)"
        ),
    ),
    Mutant("R31", "a body is UTF-8", "json", Replace("(...).decode('utf-8', 'replace')", "value.args[0]")),
    Mutant(
        "R31",
        "a body is not guessed to be Latin-1",
        "json",
        Replace("(...).decode('latin-1')", "value.args[0]"),
    ),
    Mutant(
        "R31",
        "no other encoding is guessed",
        "json",
        Replace("(...).decode(__import__('json').detect_encoding(...), 'replace')", "value.args[0]"),
    ),
    Mutant("R31", "no other charset may be named", "charset", Always(False)),
    Mutant("R32", "NUL is refused in every field", "nul", Remove()),
    Mutant(
        "R32",
        "NUL is refused and not taken out",
        "nul",
        Replace(
            r"clean = {key: item.replace('\x00', '') for key, item in content.items() if "
            "isinstance(item, str)}\n"
            "content.update(clean)"
        ),
    ),
    Mutant(
        "R32",
        "no query is sent for a text that no row can have",
        "stored-text",
        Replace("query.key is None", "test"),
    ),
    Mutant("R32", "NUL is refused in every parameter", "nul-parameter", Always(False)).also(
        "nul-parameter", Before(r"text = text.replace('\x00', '')")
    ),
    Mutant(
        "R33", "a lone surrogate is refused", "json", Replace("__import__('json')", "value.func.value")
    ).also("json-error", Replace("(ValueError, RecursionError)", "type")),
    Mutant(
        "R33",
        "a lone surrogate is refused and not replaced",
        "json",
        Replace(r"re.sub(b'\\\\u[dD][89a-fA-F][0-9a-fA-F]{2}', b'?', ...)", "value.args[0]"),
    ),
    Mutant(
        "R33",
        "a header that is no UTF-8 is read all the same",
        "user-agent-text",
        Replace("'surrogateescape'", "value.values[0].value.args[1].args[1]"),
    ),
    Mutant("R34", "names have a length", "name-length", Replace("maxLength: 65536")),
    Mutant("R34", "a User-Agent is cut", "user-agent-length", Replace("51200", "value")),
    Mutant("R34", "a target has a length", "target-size", Always(False)),
    Mutant("R34", "headers have a length", "header-size", Always(False)),
    Mutant(
        "R35",
        "what is too long for a new password is not brought into its normal form",
        "new-password-length",
        Remove(),
    ),
    Mutant("R35", "what is too long for a password is not even compared", "password-length", Remove()),
    Mutant(
        "R35",
        "names are stored as they were typed",
        "stored-name",
        Before(
            "from unicodedata import normalize\n"
            "changes = {key: value and normalize('NFKC', value)[:256] for key, value in "
            "changes.items()}"
        ),
    ),
    Mutant(
        "R36",
        "a number is no text",
        "types",
        After(
            "if isinstance(content, dict):\n"
            "    plain = {key: str(item) for key, item in content.items() if type(item) in (int, "
            "float)}\n"
            "    content.update(plain)"
        ),
    ),
    Mutant(
        "R36",
        "null is not absent",
        "types",
        After(
            "if isinstance(content, dict):\n"
            "    for key in [key for key, item in content.items() if item is None]:\n"
            "        del content[key]"
        ),
    ),
    Mutant("R36", "a complaint names its field", "field-name", Unwrap("orelse", "value")),
    Mutant("R37", "a request has to arrive in time", "request-timeout", Remove()),
    Mutant("R37", "a byte gains no time", "idle-clock", Before("self._expect_within(self._request_timeout)")),
    Mutant("R37", "a silent connection is closed", "close-idle", Remove()),
    Mutant("R38", "no connection stays that nobody uses", "close-idle", Remove()),
    Mutant("R39", "a request names one host", "one-host", Always(False)),
    Mutant("R39", "HEAD follows no link", "head-method", Remove("test.values[1]")),
    Mutant("R39", "OPTIONS follows no link", "options", Replace("'OPTION'", "test.comparators[0]")),
    Mutant("R39", "a method that is not there is told which are", "allow-header", Remove("exc.keywords[0]")),
    Mutant("R39", "an encoded separator is none of ours", "encoded-separator", Always(False)),
    Mutant(
        "R39",
        "what is no HTTP is refused in the form of every error",
        "bad-request",
        Replace("self._refuse(None)", "value"),
    ),
    Mutant("R39", "what cannot be read waits for the answers before it", "pipelined-refusal", Always(True)),
    Mutant("R39", "a body comes in no other coding than chunked", "transfer-coding", Remove()),
    Mutant(
        "R40", "an unknown path is answered as JSON", "json-type", Replace("b'text/plain'", "value.elts[1]")
    ),
    Mutant(
        "R40", "paths match exactly", "exact-path", Replace("(...).lower().rstrip('/ ')", "value.args[0]")
    ),
    Mutant(
        "R40",
        "unknown parameters are ignored",
        "unknown-parameter",
        Before("failures['query'] = 'has the wrong form'"),
    ),
)
