"""Mutants of the rows V1 to V13: redirects, origins and hosts."""

from tests.security.mutants.mutant import Mutant

_ORIGINS = "domain/origins.py"
_CHECK = "server/pipeline/origins.py"
_CALLING = "server/pipeline/calling.py"
_PIPELINE = "server/pipeline/pipeline.py"
_BODY = "server/pipeline/body.py"
_ROUTING = "server/pipeline/routing.py"
_TARGETS = "server/pipeline/targets.py"

_QUERY_CHECK = "            targets.check(self.query_targets, self.origins, values)\n"
_BODY_CHECK = "            targets.check(self.body_targets, self.origins, content)\n"
_HEAD = '        head = Head(scope["headers"])\n'
_FIXED = 'self._fixed.get(scope["path"])'


def _named_by(field: str) -> str:
    """Give a patch after which the service goes by the name that a header of each request says."""
    named = f'head.fields.get(b"{field}", b"127.0.0.1:8000").decode("latin-1")'
    return f'{_HEAD}        object.__setattr__(self._policy, "base_url", "http://" + {named})\n'


MUTANTS = (
    Mutant(
        "V1",
        "the target of a link is checked, when received and when used",
        _CALLING,
        _QUERY_CHECK,
        "            type(self.origins).accepts = lambda self, target: True\n",
    ),
    Mutant("V2", "a field of a body is checked", _CALLING, _BODY_CHECK, ""),
    Mutant(
        "V2",
        "every field is checked, not callbackURL alone",
        _TARGETS,
        "(name, _REFUSALS[name]) for name in names)",
        '(name, _REFUSALS[name]) for name in names if name == "callbackURL")',
    ),
    Mutant("V2", "the empty target of a link is absent", _CALLING, _QUERY_CHECK, ""),
    Mutant(
        "V2",
        "a relative target has no doubled slash",
        _ORIGINS,
        'rf"/(?:{_SEGMENT}/)*(?:',
        'rf"/(?:(?:{_SEGMENT})?/)*(?:',
    ),
    Mutant("V2", "a relative target has no dot segment", _ORIGINS, r'r"(?!\.{1,2}(?:[/?]|\Z))[A-Z', 'r"[A-Z'),
    Mutant(
        "V2",
        "a relative target has no escape in its path",
        _ORIGINS,
        '[A-Za-z0-9_.+@-]+"\n_ESCAPE',
        '[A-Za-z0-9_.+@%-]+"\n_ESCAPE',
    ),
    Mutant("V2", "a relative target has no fragment", _ORIGINS, "|{_ESCAPE})*)?", "|{_ESCAPE})*)?(?:#.*)?"),
    Mutant(
        "V2",
        "the whole of a target is read",
        _ORIGINS,
        "        match = _ABSOLUTE.fullmatch(url)\n        if match is None:\n            return self._lies",
        "        match = _ABSOLUTE.match(url)\n        if match is None:\n            return self._lies",
    ),
    Mutant(
        "V2",
        "the port counts",
        _ORIGINS,
        ' if port == _DEFAULT_PORTS[scheme] else f"{scheme}://{host}:{port}"',
        "",
    ),
    Mutant("V2", "the scheme counts", _ORIGINS, '(match["scheme"] or "https").lower()', '"https"'),
    Mutant(
        "V2",
        "a target has two slashes after its scheme",
        _ORIGINS,
        "(?P<scheme>https?)://(?P<host>{_HOST}){_PORT}(?:[/?#]",
        "(?P<scheme>https?):/{{0,2}}(?P<host>{_HOST}){_PORT}(?:[/?#]",
    ),
    Mutant(
        "V2",
        "a target has at most 2048 characters",
        _ORIGINS,
        "        if len(target) > LONGEST_TARGET:\n            return False\n",
        "",
    ),
    Mutant("V3", "one star is one label", _ORIGINS, '"*.": rf"{_LABEL}\\."', '"*.": rf"(?:{_LABEL}\\.)+"'),
    Mutant(
        "V3", "one star is one whole label", _ORIGINS, '"*.": rf"{_LABEL}\\."', '"*.": rf"(?:{_LABEL}\\.?)?"'
    ),
    Mutant(
        "V3",
        "a wildcard ends where the host ends",
        _ORIGINS,
        "self.pattern.fullmatch(",
        "self.pattern.match(",
    ),
    Mutant("V3", "a dot of an entry is a dot", _ORIGINS, "{re.escape(rest)}", "{rest}"),
    Mutant(
        "V3",
        "an Origin is trusted in its one spelling only",
        _ORIGINS,
        "return origin_of(origin) == origin and self._leads_home(origin)",
        "return self._leads_home(origin)",
    ),
    Mutant(
        "V4",
        "a target has the origin of an entry, it does not only begin so",
        _ORIGINS,
        "(origin in self.exact or",
        "(any(origin.startswith(one) for one in self.exact) or",
    ),
    Mutant(
        "V4",
        "an entry is no regular expression",
        _ORIGINS,
        "(origin in self.exact or",
        "(any(re.fullmatch(one, origin) for one in self.exact) or",
    ),
    Mutant(
        "V4",
        "an Origin equals an entry, it does not only begin so",
        _ORIGINS,
        "        if origin in self.exact:\n",
        "        if any(origin.startswith(one) for one in self.exact):\n",
    ),
    Mutant(
        "V4",
        "what follows the host is no part of an address",
        _ORIGINS,
        '{_PORT}(?:[/?#]{_PRINTABLE}*)?")\n_CUSTOM',
        '{_PORT}(?:[/?#@.:]{_PRINTABLE}*)?")\n_CUSTOM',
    ),
    Mutant(
        "V5",
        "loopback is trusted only while no origin is listed",
        _ORIGINS,
        "[_LOOPBACK if loopback else _NOTHING]",
        "[_LOOPBACK]",
    ),
    Mutant(
        "V5", "loopback is a whole host", _ORIGINS, '(?::[0-9]+)?"\n_NOTHING', '(?::[0-9]+)?.*"\n_NOTHING'
    ),
    Mutant(
        "V5",
        "one port of localhost is one port",
        _ORIGINS,
        ' if port == _DEFAULT_PORTS[scheme] else f"{scheme}://{host}:{port}"',
        "",
    ),
    Mutant(
        "V6",
        "a backslash is nowhere in a target",
        _ORIGINS,
        r'_PRINTABLE = r"[!-\[\]-~]"',
        '_PRINTABLE = r"[!-~]"',
    ),
    Mutant(
        "V6",
        "a backslash ends no host",
        _ORIGINS,
        '{_PORT}(?:[/?#]{_PRINTABLE}*)?")\n_CUSTOM',
        '{_PORT}(?:[/?#\\\\]{_PRINTABLE}*)?")\n_CUSTOM',
    ),
    Mutant(
        "V6",
        "a number is no host",
        _ORIGINS,
        "        return host.lower()\n",
        "        return str(IPv4Address(int(host))) if host.isdigit() else host.lower()\n",
    ),
    Mutant(
        "V6",
        "what stands in query or fragment is not looked at",
        _ORIGINS,
        "        return self._leads_home(target)\n",
        '        return any(self._leads_home(part) for part in re.split("[?#=]", target))\n',
    ),
    Mutant(
        "V7",
        "what is no web address is no target",
        _ORIGINS,
        "        return self._leads_home(target)\n",
        '        return self._leads_home(target) or not target.lower().startswith("http")\n',
    ),
    Mutant(
        "V7",
        "a custom scheme opens no other",
        _ORIGINS,
        "            url.startswith(entry)\n",
        '            "://" in url\n',
    ),
    Mutant(
        "V7",
        "nothing leads out of a custom entry",
        _ORIGINS,
        " or _DOT_SEGMENT.search(url):\n            return",
        ":\n            return",
    ),
    Mutant("V8", "the target of a reset mail is checked", _CALLING, _BODY_CHECK, ""),
    Mutant(
        "V8",
        "redirectTo is a target like the others",
        _TARGETS,
        "(name, _REFUSALS[name]) for name in names)",
        '(name, _REFUSALS[name]) for name in names if name != "redirectTo")',
    ),
    Mutant(
        "V9",
        "the type of a target is checked before where it leads",
        _CALLING,
        "        if not schema.is_valid(content):\n",
        "        if not isinstance(content, dict):\n",
    ),
    Mutant(
        "V9",
        "a target stands in a query once",
        "server/pipeline/parameters.py",
        "            if field in values:\n",
        "            if field in values and not text:\n",
    ),
    Mutant("V10", "Host does not name the service", _PIPELINE, _HEAD, _named_by("host")),
    Mutant(
        "V10", "X-Forwarded-Host does not name the service", _PIPELINE, _HEAD, _named_by("x-forwarded-host")
    ),
    Mutant(
        "V10",
        "a relative target is made absolute",
        "handlers/redirects.py",
        "policy.base_url + target if target.startswith",
        "target if target.startswith",
    ),
    Mutant(
        "V10",
        "a request names one host",
        "server/pipeline/sizes.py",
        'if scope["http_version"] == "1.1" and',
        'if scope["http_version"] == "2" and',
    ),
    Mutant(
        "V11",
        "an Origin that is sent must be trusted",
        _CHECK,
        "    if sent:\n",
        "    if not sent and False:\n",
    ),
    Mutant(
        "V11",
        "null is no trusted Origin",
        _CHECK,
        "        raise errors.MissingOrNullOrigin\n    if not all",
        "        return\n    if not all",
    ),
    Mutant(
        "V11",
        "a Referer that is sent must be trusted",
        _CHECK,
        '        _check_referers(origins, head.every(b"referer"))\n',
        "        pass\n",
    ),
    Mutant(
        "V11",
        "a page of the same site is another origin",
        _CHECK,
        'not in (b"same-origin", b"none")',
        'not in (b"same-origin", b"same-site", b"none")',
    ),
    Mutant(
        "V11",
        "what a browser says of the site counts",
        _CHECK,
        "    elif site is not None and",
        "    elif site is False and",
    ),
    Mutant(
        "V11",
        "no navigation from another site signs in",
        _CHECK,
        "        raise errors.CrossSiteNavigationLoginBlocked\n",
        "        pass\n",
    ),
    Mutant(
        "V11",
        "requests without a cookie are checked too",
        _PIPELINE,
        "(by_cookie or not request.head.has_bearer())",
        "by_cookie",
    ),
    Mutant(
        "V11",
        "a worthless Bearer header excuses no cookie",
        _PIPELINE,
        "(by_cookie or not request.head.has_bearer())",
        "not request.head.has_bearer()",
    ),
    Mutant("V12", "the type of a body is checked", _BODY, "    _check_media_type(head, media_type)\n", ""),
    Mutant(
        "V12",
        "no other type is JSON",
        _BODY,
        "found[1].lower() != media_type",
        '"json" not in found[1].lower()',
    ),
    Mutant("V12", "the charset is UTF-8", _BODY, '    if not charsets <= {"utf-8"} or', "    if False and"),
    Mutant(
        "V12",
        "a body without a type is none",
        _BODY,
        "    if found is None or",
        "    if not sent:\n        return\n    if found is None or",
    ),
    Mutant(
        "V12",
        "other origins hear nothing beforehand",
        _CHECK,
        '        if not origins.trusts(origin.decode("latin-1")):\n            return ()\n',
        "",
    ),
    Mutant(
        "V12",
        "a page of another origin cannot use the cookie",
        _CHECK,
        "    if sent:\n",
        "    if not sent and False:\n",
    ),
    Mutant(
        "V13",
        "a trailing slash is another path",
        _ROUTING,
        _FIXED,
        'self._fixed.get(scope["path"].rstrip("/"))',
    ),
    Mutant(
        "V13",
        "a doubled slash is another path",
        _ROUTING,
        _FIXED,
        'self._fixed.get(scope["path"].replace("//", "/"))',
    ),
    Mutant("V13", "another case is another path", _ROUTING, _FIXED, 'self._fixed.get(scope["path"].lower())'),
    Mutant(
        "V13",
        "a dot segment is another path",
        _ROUTING,
        _FIXED,
        'self._fixed.get(__import__("posixpath").normpath(scope["path"]))',
    ),
    Mutant(
        "V13",
        "a path parameter is another path",
        _ROUTING,
        _FIXED,
        'self._fixed.get(scope["path"].partition(";")[0])',
    ),
    Mutant(
        "V13",
        "an encoded slash is no slash",
        _ROUTING,
        "        check_separators(scope)\n        return",
        "        return",
    ),
    Mutant(
        "V13",
        "what is decoded is not decoded again",
        _ROUTING,
        _FIXED,
        'self._fixed.get(scope["path"].replace("%65", "e"))',
    ),
    Mutant(
        "V13",
        "what is switched off does not exist",
        "server/pipeline/compiler.py",
        "operation.operation_id not in self._disabled",
        "operation.operation_id not in () or not self._disabled",
    ),
)
