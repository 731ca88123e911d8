"""Mutants of the rows V75 to V85 and V88: identifiers, mails, mailed tokens, errors."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Always, Append, Before, Remove, Replace, Unwrap

MUTANTS = (
    Mutant("V75", "addresses are ASCII", "email-format", Remove())
    .also("email-length", Remove())
    .also("email-pattern", Replace("pattern: '^[^@]+@[^@]+$'"))
    .also("email-parts", Remove()),
    Mutant(
        "V75",
        "usernames are ASCII",
        "ascii",
        Replace("__import__('unicodedata').normalize('NFKC', ...)", "test.operand.args[0]"),
    ),
    Mutant(
        "V75",
        "a typed address is compared in lower case",
        "reset-email",
        Unwrap("func.value", "value.args[1]"),
    ),
    Mutant("V76", "addresses have no invisible characters", "email-format", Remove())
    .also("email-length", Remove())
    .also("email-pattern", Replace(r"pattern: '^[^@\x00-\x20]+@[^@\x00-\x20]+$'"))
    .also("email-parts", Remove()),
    Mutant("V76", "names steer no display", "name-pattern", Remove()),
    Mutant(
        "V76", "mails show no invisible characters", "one-line", Remove("value.args[0].generators[0].ifs[0]")
    ),
    Mutant("V77", "addresses are stored in lower case", "stored-email", Unwrap("func.value", "value")),
    Mutant("V77", "addresses are looked for in lower case", "email-case", Unwrap("func.value", "value")),
    Mutant(
        "V77",
        "an address to move to is compared in lower case",
        "new-email",
        Unwrap("func.value", "value.elts[1]"),
    ),
    Mutant("V77", "usernames are compared in lower case", "username-case", Unwrap("func.value", "value")),
    Mutant("V78", "an address is one address", "email-format", Remove())
    .also("email-length", Remove())
    .also("email-pattern", Replace("pattern: '@'"))
    .also("email-parts", Remove()),
    Mutant("V78", "an address holds no encoded word", "email-encoded-word", Remove()),
    Mutant(
        "V78", "an address to sign in with holds no encoded word", "encoded-word", Remove("test.values[1]")
    ),
    Mutant(
        "V78",
        "the envelope has one recipient",
        "one-recipient",
        Append("parseaddr(mail.sender)[1]", "value.value.keywords[1].value"),
    ),
    Mutant(
        "V78",
        "a notice goes to the stored address",
        "notice-recipient",
        Replace("'eve@example.com'", "value.keywords[0].value"),
    ),
    Mutant("V79", "names have no line breaks", "name-pattern", Remove()),
    Mutant(
        "V79",
        "names are one line in mails",
        "one-line",
        Unwrap("args[0].generators[0].iter.args[0].func.value", "value"),
    ),
    Mutant(
        "V79",
        "a mail has the headers the service writes and no other",
        "headers",
        Before("message['Cc'] = mail.to"),
    ),
    Mutant(
        "V79",
        "a User-Agent has no control characters",
        "user-agent-text",
        Unwrap("args[1]", "value.values[0].value"),
    ),
    Mutant("V80", "what users typed is escaped in HTML", "html-escape", Always(False, "value")),
    Mutant(
        "V80",
        "a name is no template",
        "name-value",
        Replace("Environment().from_string(...).render(config='49')", "value.values[1]"),
    ),
    Mutant("V80", "mail programs make no link of a name", "no-links", Unwrap("args[1]", "value")),
    Mutant(
        "V80",
        "a stranger's name is not mailed to the owner of an address",
        "taken-notice",
        Replace("(...)._replace(name=invented.name)", "value.args[1]"),
    ),
    Mutant("V81", "the error page escapes", "autoescape", Always(False, "value")),
    Mutant("V81", "an error that is no word is not shown", "error-word", Remove("value.test.values[1]")),
    Mutant(
        "V81",
        "nothing on the error page runs or is framed",
        "content-security",
        Replace("b\"default-src 'self'\"", "value.elts[1]"),
    ),
    Mutant("V82", "resets die with the password", "reset-token", Remove()),
    Mutant("V82", "verification links die with the address", "dies-with-email", Remove("value.elts[1]")),
    Mutant("V82", "resets die with the address", "dies-with-email", Remove("value.elts[0]")),
    Mutant("V82", "deletion links die with the address", "dies-with-email", Remove("value.elts[3]")),
    Mutant("V82", "a newer link to move kills the older", "older-link", Remove()),
    Mutant("V82", "a reset token has an end", "live-grant", Remove("test.values[2]")),
    Mutant("V82", "a verification link has an end", "expiry-of-link", Remove()),
    Mutant("V83", "a reset token is used up by one statement", "consume-token", Remove("test.values[1]")),
    Mutant(
        "V84",
        "a refused password burns no token",
        "check-length",
        Before(
            "async def burn(other: Context) -> None:\n"
            "    row = await one_time_tokens.find_live(other, Purpose.RESET, token or '')\n"
            "    if row is not None and len(new) < 8:\n"
            "        await one_time_tokens.consume(other, Purpose.RESET, row[1].id, token or '')\n"
            "await ctx.in_new_transaction(burn)"
        ),
    ),
    Mutant("V84", "a page of another origin burns no token", "origin-check", Always(False)),
    Mutant("V85", "a link deletes its owner alone", "consume-owner", Remove()),
    Mutant("V85", "a token of another purpose deletes nobody", "consume-purpose", Remove()),
    Mutant("V85", "the link deletes who is signed in as its owner", "consume-token", Remove()),
    Mutant(
        "V85",
        "of many at once one deletes",
        "lock-caller",
        Replace("user = await locking.lock(ctx, ctx.signed_in.user.id)\nif user is None:\n    return"),
    ),
    Mutant("V88", "a defect tells nothing", "plain-error", Append("str(error)[:150]", "value.args[1]")),
    Mutant("V88", "an error has two keys", "error-keys", Append("'stack': __file__", "value.args[0]")),
    Mutant(
        "V88",
        "a complaint about a field does not repeat it",
        "field-message",
        Replace("f'{...}, not {value}'", "value"),
    ),
)
