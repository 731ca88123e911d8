"""Mutants of the rows V1 to V13: redirects, origins and hosts."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import After, Always, Append, Before, Remove, Replace, Respell, Unwrap

MUTANTS = (
    Mutant(
        "V1",
        "the target of a link is checked, when received and when used",
        "query-targets",
        Replace("type(self.origins).accepts = lambda self, target: True"),
    ),
    Mutant("V2", "a field of a body is checked", "body-targets", Remove()),
    Mutant(
        "V2",
        "every field is checked, not callbackURL alone",
        "target-fields",
        Append("name == 'callbackURL'", "value.args[0].generators[0]"),
    ),
    Mutant("V2", "the empty target of a link is absent", "query-targets", Remove()),
    Mutant("V2", "a relative target has no doubled slash", "relative", Respell("/(?:", "/(?:(?:")).also(
        "relative", Respell("/)*(?:", ")?/)*(?:")
    ),
    Mutant("V2", "a relative target has no dot segment", "segment", Respell(r"(?!\.{1,2}(?:[/?]|\Z))", "")),
    Mutant("V2", "a relative target has no escape in its path", "segment", Respell("@-]", "@%-]")),
    Mutant("V2", "a relative target has no fragment", "relative", Respell(")*)?", ")*)?(?:#.*)?")),
    Mutant("V2", "the whole of a target is read", "whole-target", Replace("_ABSOLUTE.match", "value.func")),
    Mutant("V2", "the port counts", "port", Unwrap("body", "value")),
    Mutant("V2", "the scheme counts", "scheme", Replace("'https'", "value")),
    Mutant("V2", "a target has two slashes after its scheme", "absolute", Respell("://", ":/{0,2}")),
    Mutant("V2", "a target has at most 2048 characters", "target-length", Remove()),
    Mutant("V3", "one star is one label", "stars", Replace(r'rf"(?:{_LABEL}\.)+"', "value.values[0]")),
    Mutant("V3", "one star is one whole label", "stars", Replace(r'rf"(?:{_LABEL}\.?)?"', "value.values[0]")),
    Mutant(
        "V3",
        "a wildcard ends where the host ends",
        "trusted-origin",
        Replace("self.pattern.match", "value.values[1].values[1].left.func"),
    ),
    Mutant("V3", "a dot of an entry is a dot", "escaped-rest", Unwrap("args[0]", "value.values[3].value")),
    Mutant("V3", "an Origin is trusted in its one spelling only", "one-spelling", Remove("value.values[0]")),
    Mutant(
        "V4",
        "a target has the origin of an entry, it does not only begin so",
        "trusted-origin",
        Replace("any((origin.startswith(one) for one in self.exact))", "value.values[1].values[0]"),
    ),
    Mutant(
        "V4",
        "an entry is no regular expression",
        "trusted-origin",
        Replace("any((re.fullmatch(one, origin) for one in self.exact))", "value.values[1].values[0]"),
    ),
    Mutant(
        "V4",
        "an Origin equals an entry, it does not only begin so",
        "exact-origin",
        Replace("any((origin.startswith(one) for one in self.exact))", "test"),
    ),
    Mutant("V4", "what follows the host is no part of an address", "absolute", Respell("[/?#]", "[/?#@.:]")),
    Mutant(
        "V5",
        "loopback is trusted only while no origin is listed",
        "loopback-default",
        Unwrap("body", "value.elts[1].elts[0]"),
    ),
    Mutant("V5", "loopback is a whole host", "loopback", Respell("(?::[0-9]+)?", "(?::[0-9]+)?.*")),
    Mutant("V5", "one port of localhost is one port", "port", Unwrap("body", "value")),
    Mutant("V6", "a backslash is nowhere in a target", "printable", Respell(r"-\[\]-", "-")),
    Mutant("V6", "a backslash ends no host", "absolute", Respell("[/?#]", r"[/?#\\]")),
    Mutant(
        "V6",
        "a number is no host",
        "numeric-host",
        Replace("str(IPv4Address(int(host))) if host.isdigit() else ...", "value"),
    ),
    Mutant(
        "V6",
        "what stands in query or fragment is not looked at",
        "leads-home",
        Replace("any((self._is_trusted_url(part) for part in re.split('[?#=]', target)))", "value"),
    ),
    Mutant(
        "V7",
        "what is no web address is no target",
        "leads-home",
        Replace("... or not target.lower().startswith('http')", "value"),
    ),
    Mutant("V7", "a custom scheme opens no other", "custom-entry", Replace("'://' in url", "values[0]")),
    Mutant("V7", "nothing leads out of a custom entry", "custom-dots", Remove("test.values[2]")),
    Mutant("V8", "the target of a reset mail is checked", "body-targets", Remove()),
    Mutant(
        "V8",
        "redirectTo is a target like the others",
        "target-fields",
        Append("name != 'redirectTo'", "value.args[0].generators[0]"),
    ),
    Mutant(
        "V9",
        "the type of a target is checked before where it leads",
        "types-first",
        Replace("isinstance(content, dict)", "test.operand"),
    ),
    Mutant("V9", "a target stands in a query once", "single-target", Replace("... and (not text)", "test")),
    Mutant(
        "V10",
        "Host does not name the service",
        "host",
        Before(
            "object.__setattr__(self._policy, 'base_url', 'http://' + head.fields.get(b'host', "
            "b'127.0.0.1:8000').decode('latin-1'))"
        ),
    ),
    Mutant(
        "V10",
        "X-Forwarded-Host does not name the service",
        "host",
        Before(
            "object.__setattr__(self._policy, 'base_url', 'http://' + "
            "head.fields.get(b'x-forwarded-host', b'127.0.0.1:8000').decode('latin-1'))"
        ),
    ),
    Mutant("V10", "a relative target is made absolute", "absolute-target", Unwrap("right", "value.body")),
    Mutant("V10", "a request names one host", "one-host", Replace("'2'", "test.values[0].comparators[0]")),
    Mutant("V11", "an Origin that is sent must be trusted", "sent-origin", Always(False)),
    Mutant("V11", "null is no trusted Origin", "null-origin", Replace("return")),
    Mutant("V11", "a Referer that is sent must be trusted", "referer", Remove()),
    Mutant(
        "V11",
        "a page of the same site is another origin",
        "fetch-site",
        Append("b'same-site'", "test.values[1].comparators[0]"),
    ),
    Mutant(
        "V11",
        "what a browser says of the site counts",
        "fetch-site",
        Replace("site is False", "test.values[0]"),
    ),
    Mutant("V11", "no navigation from another site signs in", "cross-site-navigation", Remove()),
    Mutant(
        "V11", "requests without a cookie are checked too", "origin-check", Remove("test.values[1].values[1]")
    ),
    Mutant(
        "V11",
        "a worthless Bearer header excuses no cookie",
        "origin-check",
        Remove("test.values[1].values[0]"),
    ),
    Mutant("V12", "the type of a body is checked", "media-type", Remove()),
    Mutant(
        "V12",
        "no other type is JSON",
        "only-json",
        Replace("'json' not in match[1].lower()", "test.values[1]"),
    ),
    Mutant("V12", "the charset is UTF-8", "charset", Always(False)),
    Mutant("V12", "a body without a type is none", "missing-type", After("if not sent:\n    return")),
    Mutant("V12", "other origins hear nothing beforehand", "cors", Remove()),
    Mutant("V12", "a page of another origin cannot use the cookie", "sent-origin", Always(False)),
    Mutant(
        "V13", "a trailing slash is another path", "exact-path", Replace("(...).rstrip('/')", "value.args[0]")
    ),
    Mutant(
        "V13",
        "a doubled slash is another path",
        "exact-path",
        Replace("(...).replace('//', '/')", "value.args[0]"),
    ),
    Mutant("V13", "another case is another path", "exact-path", Replace("(...).lower()", "value.args[0]")),
    Mutant(
        "V13",
        "a dot segment is another path",
        "exact-path",
        Replace("__import__('posixpath').normpath(...)", "value.args[0]"),
    ),
    Mutant(
        "V13",
        "a path parameter is another path",
        "exact-path",
        Replace("(...).partition(';')[0]", "value.args[0]"),
    ),
    Mutant("V13", "an encoded slash is no slash", "encoded-slash", Remove()),
    Mutant(
        "V13",
        "what is decoded is not decoded again",
        "exact-path",
        Replace("(...).replace('%65', 'e')", "value.args[0]"),
    ),
    Mutant(
        "V13",
        "what is switched off does not exist",
        "disabled",
        Replace("operation_id not in () or not self._disabled", "test"),
    ),
)
