"""The attacks on redirects, origins and hosts, one group of tests per row of the threat list, each marked with its row.

The fields that hold a redirect target come from the contract, so that a new one is attacked too.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import httpx
import pytest

from codegen.walk import Operation
from tests.conftest import Headers, MakeService
from tests.contract.reading import OWN_OPERATIONS, bodies
from tests.handlers import steps
from tests.handlers.steps import ADA, EVE, code, works
from tests.live import LiveService, serving
from tests.security.redirect_sites import (
    APP,
    REFUSALS,
    SETTINGS,
    SITES,
    Site,
    Visitor,
    example_of,
    leads,
    links,
    origin_in_a_browser,
    stored,
)
from tests.security.second_factor import (
    PENDING,
    SESSION,
    challenge,
    cookie,
    enrol,
    set_cookies,
    sign_in,
    token_in,
    told,
)
from tests.security.wire import Heard, ask
from tests.service import BASE_URL, PASSWORD, Service

EVIL = "https://evil.test"
HOME = {BASE_URL, APP}
BY_LINK = [site for site in SITES if site.in_query]
BY_BODY = [site for site in SITES if not site.in_query]
WITH_RESULT = [site for site in SITES if not site.operation_id.endswith("_social")]
"""The fields whose target comes back without a provider: in the answer, or in the link of a mail."""

TYPICAL = list({(site.name, site.in_query, site.needs_session): site for site in SITES}.values())
"""One of the fields of each name and place, of operations with and without a session: all are checked in one way."""

BOTH_DATABASES = pytest.mark.parametrize("dialect", ["sqlite", "postgresql"])
"""For what reaches a table; most of these attacks end before any is looked at."""

LONG = "https://app.test/" + "a" * 10_000

L1 = [
    "//evil.test", "///evil.test", "////evil.test", "/\\evil.test", "\\\\evil.test", "/\\/evil.test",
    "/%2f%2fevil.test", "/%5cevil.test", "/.//evil.test", "/..//evil.test", "https:evil.test",
    "https:/evil.test", "https:\\\\evil.test", "HTTPS://EVIL.TEST", "https://app.test@evil.test",
    "https://app.test%40evil.test", "https://app.test.evil.test", "https://evilapp.test",
    "https://app.test:443@evil.test", "https://evil.test\\@app.test", "https://evil.test#@app.test",
    "https://evil\u3002test", "https://app.test%00.evil.test", "/\t/evil.test", "/%09/evil.test",
    "%0d%0aLocation:https://evil.test", " https://evil.test", "http://app.test", "https://app.test:8443",
    "ftp://app.test", "//[::1]", LONG, ".", "?x", "#x",
]  # fmt: skip
"""List L1 of the threat list, app.test being the one that is trusted, without the two that lead home."""

TWO_READINGS = [
    "/../evil.test", "/./evil.test", "/a/../../evil.test", "/a/..", "/a/%2e%2e/b", "/a#b", "/a b", "/\u00e9",
    "/a;b", "/a:b", "/a?b=%0d%0aLocation:https://evil.test", "/a?b=%zz", "/a?b=\\", "https://app.test/\r\nx",
    "https:app.test", "https:/app.test", "https:///app.test", "https://app.test:", "https://@app.test",
]  # fmt: skip
"""What need not lead away, but is read in more than one way by those who handle it."""

STAY_HOME = ["", "https://app.test/%0d%0aSet-Cookie:x=1", "https://app.test#@evil.test"]
"""What is accepted and looks as if it might lead away, with the rest of L1: nothing at all, and an escape that nobody
decodes."""

SCRIPTS = [
    "javascript:alert(1)", "data:text/html,<script>alert(1)</script>", "vbscript:msgbox(1)",
    "JaVaScRiPt:alert(1)", "java\tscript:alert(1)", "java\nscript:alert(1)", "\x01javascript:alert(1)",
    " javascript:alert(1)", "javascript://app.test/%0aalert(1)", "javascript&colon;alert(1)",
    "blob:https://app.test/x", "file:///etc/passwd", "view-source:https://app.test", "about:blank",
]  # fmt: skip


POSTS = {
    operation_id: operation
    for operation_id, operation in OWN_OPERATIONS.items()
    if operation.method == "post" and "application/x-www-form-urlencoded" not in bodies(operation)
}
"""Every POST but a provider's own form, which has the state cookie instead."""

FOREIGN: list[tuple[Headers, str]] = [
    ({"Origin": EVIL}, "403 INVALID_ORIGIN"),
    ({"Origin": "null"}, "403 MISSING_OR_NULL_ORIGIN"),
    ({"Origin": ""}, "403 INVALID_ORIGIN"),
    ({"Origin": "http://app.test"}, "403 INVALID_ORIGIN"),
    ({"Origin": f"{APP}.evil.test"}, "403 INVALID_ORIGIN"),
    ({"Origin": f"{APP}, {EVIL}"}, "403 INVALID_ORIGIN"),
    ({"Origin": EVIL, "Sec-Fetch-Site": "same-origin"}, "403 INVALID_ORIGIN"),
    ({"Origin": EVIL, "Referer": f"{APP}/page"}, "403 INVALID_ORIGIN"),
    ({"Referer": f"{EVIL}/page?{APP}"}, "403 INVALID_ORIGIN"),
    ({"Referer": "https://app.test@evil.test/"}, "403 INVALID_ORIGIN"),
    ({"Sec-Fetch-Site": "cross-site"}, "403 MISSING_OR_NULL_ORIGIN"),
    ({"Sec-Fetch-Site": "same-site"}, "403 MISSING_OR_NULL_ORIGIN"),
]
"""What a browser says of a page that is not trusted, and what it hears."""

HOSTS: list[Headers] = [
    {"Host": "evil.test"},
    {
        "X-Forwarded-Host": "evil.test", "X-Forwarded-Proto": "https", "X-Forwarded-Port": "8443",
        "Forwarded": "host=evil.test;proto=https",
        "X-Original-Host": "evil.test", "X-Host": "evil.test", "X-Forwarded-Server": "evil.test",
        "X-Original-URL": "https://evil.test/", "X-Rewrite-URL": "https://evil.test/",
        "X-Forwarded-Prefix": "//evil.test", "X-Script-Name": "//evil.test",
    },
    {"Origin": BASE_URL, "Host": "127.0.0.1:8000@evil.test"},
]  # fmt: skip
"""What says that the service is called evil.test."""


@pytest.fixture
def dialect() -> str:
    """One database is enough where a request is refused before anything is stored."""
    return "sqlite"


async def visit(make_service: MakeService, **overrides: str) -> Visitor:
    """Open a service, and a user with a link for every purpose."""
    return await Visitor.arrive(await make_service({**SETTINGS, **overrides}))


@contextmanager
def sending(service: Service, headers: Headers) -> Iterator[None]:
    """Send headers with every request."""
    service.client.headers.update(headers)
    try:
        yield
    finally:
        for name in headers:
            del service.client.headers[name]


async def not_refused(
    visitor: Visitor, targets: Iterable[Any], sites: Iterable[Site] = TYPICAL
) -> list[tuple[str, Any, str]]:
    """Send each target to each site; give those that were not refused as they should have been."""
    found = []
    for site in sites:
        for caller in visitor.carriers(site):
            for target in targets:
                answer = await caller.send(site, target)
                if code(answer) != site.refusal or leads(answer) or set_cookies(answer):
                    found.append((str(site), target, code(answer)))
    return found


async def refused(visitor: Visitor, targets: Iterable[str], site: Site) -> list[tuple[str, Any, str]]:
    """Send each target to one site; give those that the site refused."""
    answers = [(target, await visitor.send(site, target)) for target in targets]
    return [(str(site), target, code(answer)) for target, answer in answers if code(answer) == site.refusal]


async def origins_not_refused(service: Service, origins: Iterable[str]) -> list[tuple[str, str]]:
    """Send each as the Origin of a sign-in, and of a preflight request; return those that were let through."""
    found = []
    for origin in origins:
        answer = await sign_in(service, headers={"Origin": origin})
        asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
        allowed = await service.client.options("/sign-in/email", headers=asked)
        heard = [name for name in (*answer.headers, *allowed.headers) if name.startswith("access-control")]
        if code(answer) != "403 INVALID_ORIGIN" or heard:
            found.append((origin, code(answer)))
    return found


@pytest.mark.threat("V1")
class TestMailedLinks:
    """A GET that a mail leads to redirects to whatever `callbackURL` says."""

    @BOTH_DATABASES
    @pytest.mark.parametrize("site", BY_LINK, ids=str)
    async def test_a_link_leads_nowhere_else_and_is_not_used_up(
        self, make_service: MakeService, site: Site
    ) -> None:
        visitor = await visit(make_service)
        dead = replace(visitor, tokens=dict.fromkeys(visitor.tokens, steps.UNKNOWN))
        before = await stored(visitor.service)

        assert await not_refused(visitor, [EVIL], [site]) == []
        assert await not_refused(dead, [EVIL], [site]) == []
        assert await stored(visitor.service) == before
        if site.name != "callbackURL":
            return  # Alone it has no effect on a valid link.
        good = await visitor.send(site, f"{APP}/done")
        assert good.status_code == 302
        assert good.headers["location"].startswith(f"{APP}/done")
        assert "error" not in httpx.URL(good.headers["location"]).params


@pytest.mark.threat("V2")
class TestSpellings:
    """The list of trusted places is defeated by the way a URL is written."""

    def test_every_field_is_found(self) -> None:
        assert {site.name for site in SITES} == set(REFUSALS)
        assert {site.operation_id for site in BY_BODY} >= {
            "authentication.sign_up_email", "authentication.sign_in_email", "authentication.sign_in_username",
            "social.sign_in", "social.link", "passwords.request_reset",
            "passwords.forget", "emails.send_verification", "emails.change", "users.delete",
        }  # fmt: skip
        assert {site.operation_id for site in BY_LINK} >= {
            "passwords.check_reset_token", "emails.verify", "users.confirm_deletion",
        }  # fmt: skip

    @pytest.mark.threat("V8")
    async def test_no_field_takes_a_string_of_the_list(self, make_service: MakeService) -> None:
        visitor = await visit(make_service)
        before, mails = await stored(visitor.service), await visitor.service.inbox()
        strings = [target for target in (*L1, *TWO_READINGS) if target != LONG]

        assert await not_refused(visitor, [EVIL, "//evil.test", "https:evil.test"], SITES) == []
        assert await not_refused(visitor, strings) == []
        assert await not_refused(visitor, [LONG], BY_BODY) == []
        assert {code(await visitor.send(site, LONG)) for site in BY_LINK} == {"414 URI_TOO_LONG"}
        assert await stored(visitor.service) == before
        assert await visitor.service.inbox() == mails

    @pytest.mark.parametrize("site", BY_LINK, ids=str)
    async def test_a_link_with_the_string_as_it_is_leads_nowhere_else(
        self, make_service: MakeService, site: Site
    ) -> None:
        visitor = await visit(make_service)

        for target in [*L1, *SCRIPTS]:
            if origin_in_a_browser(target) not in HOME:
                answer = await visitor.send_verbatim(site, target)

                for place in leads(answer):
                    assert origin_in_a_browser(place) in HOME, target

    @pytest.mark.parametrize("site", WITH_RESULT, ids=str)
    async def test_what_is_accepted_stays_at_home_to_the_end(
        self, make_service: MakeService, site: Site
    ) -> None:
        """Through the answer, and through the mails it brings, to the last redirect of their links."""
        service = await make_service(SETTINGS)
        for number, target in enumerate(STAY_HOME):
            visitor = await Visitor.arrive(service, number)
            known = len(await service.inbox())

            answer = await visitor.send(site, target)

            assert code(answer) != site.refusal, target
            self.check_headers(answer)
            places = leads(answer)
            for mail in (await service.inbox())[known:]:
                places += links(mail)
                places += await self.followed(visitor, mail)
            for place in places:
                assert origin_in_a_browser(place) in HOME, target

    async def followed(self, visitor: Visitor, mail: dict[str, Any]) -> list[str]:
        if not mail.get("link"):
            return []
        answer = await visitor.service.get(steps.local(mail["link"]), headers=visitor.session)
        self.check_headers(answer)
        return leads(answer)

    def check_headers(self, answer: httpx.Response) -> None:
        assert set(set_cookies(answer)) <= {SESSION}
        assert all(value.isprintable() for value in answer.headers.values())


@pytest.mark.threat("V3")
class TestWildcards:
    """A wildcard matches more than one label in front, or what has no scheme."""

    REFUSED = (
        "evilapp.test", "app.test.evil.test", "https:app.test.evil.test", "https:x.app.test", "app.test",
        "x.app.test", "//x.app.test", "https://app.test", "https://evilapp.test",
        "https://app.test.evil.test", "https://x.app.test.evil.test", "https://a.b.app.test",
        "https://.app.test", "https://*.app.test", "https://x.appxtest", "http://x.app.test",
        "https://x.app.test:8443", "https://evil.test/x.app.test", "https://evil.test?x.app.test",
        "https://evil.test#x.app.test", "https://x.app.test@evil.test", "https://evil.test\\.app.test",
        "https://evil.test/.app.test", "https://evil.test%2f.app.test", "https://-.app.test",
    )  # fmt: skip

    NO_ORIGINS = (
        "https://x.app.test/", "https://x.app.test/y", "https://X.app.test", "https://x.app.test:443",
        "https://x.app.test#", "https://x.app.test, https://evil.test", "https://x.app.test https://evil.test",
    )  # fmt: skip
    """What a browser never says of a page: an origin is written in one way."""

    @pytest.mark.parametrize("entry", ["*.app.test", "https://*.app.test"])
    async def test_a_wildcard_is_one_label_of_the_same_scheme_and_port(
        self, make_service: MakeService, entry: str
    ) -> None:
        visitor = await visit(make_service, trusted_origins=entry)

        assert await not_refused(visitor, self.REFUSED) == []
        assert await origins_not_refused(visitor.service, [*self.REFUSED, *self.NO_ORIGINS]) == []

    async def test_the_right_ones_pass(self, make_service: MakeService) -> None:
        visitor = await visit(make_service, trusted_origins="*.app.test")

        for site in sorted(TYPICAL, key=lambda site: site.operation_id == "users.confirm_deletion"):
            assert await refused(visitor, ["https://x.app.test", "https://X.App.Test:443/y"], site) == []


@pytest.mark.threat("V4")
class TestPrefixes:
    """The list is compared as a regular expression, or by how a string begins."""

    REFUSED = (
        "https://fooaexample.com", "https://foo.exampleacom", "https://foo.example.com.evil.tld",
        "https://foo.example.com@evil.tld", "https://foo.example.com:@evil.tld",
        "https://foo.example.comevil.tld", "https://foo.example.com-evil.tld", "https://foo.example.co",
        "https://afoo.example.com", "https://a.foo.example.com", "https://example.com",
        "https://foo.example.com.", "https://foo.example.com%2eevil.tld",
    )  # fmt: skip

    async def test_nothing_that_begins_or_matches_like_it_is_it(self, make_service: MakeService) -> None:
        visitor = await visit(make_service, trusted_origins="https://foo.example.com")

        assert await not_refused(visitor, self.REFUSED) == []
        assert await origins_not_refused(visitor.service, self.REFUSED) == []
        assert code(await sign_in(visitor.service, headers={"Origin": "https://foo.example.com"})) == "200"


@pytest.mark.threat("V5")
class TestLoopback:
    """A trusted localhost opens every other port, or every other name of the machine."""

    REFUSED = (
        "http://localhost:3000.evil.test", "http://localhost:3001", "http://127.0.0.1:3000",
        "http://localhost", "http://localhost:30000", "https://localhost:3000", "http://localhost.evil.test",
        "http://localhost:3000@evil.test", "http://localhost.:3000", "http://[::1]:3000", "http://0:3000",
        "http://127.1:3000", "http://x.localhost:3000", "http://127.0.0.1",
    )  # fmt: skip

    async def test_one_port_of_one_name_is_trusted(self, make_service: MakeService) -> None:
        visitor = await visit(make_service, trusted_origins="http://localhost:3000")

        assert await not_refused(visitor, self.REFUSED) == []
        assert await origins_not_refused(visitor.service, self.REFUSED) == []
        assert code(await sign_in(visitor.service, headers={"Origin": "http://localhost:3000"})) == "200"

    async def test_loopback_is_trusted_in_development_only_while_nothing_else_is_said(
        self, make_service: MakeService
    ) -> None:
        service = await make_service()
        await steps.join(service)

        assert code(await sign_in(service, headers={"Origin": "http://localhost:3001"})) == "200"
        assert (
            await origins_not_refused(service, ["https://localhost:3001", "http://localhost.evil.test"]) == []
        )


@pytest.mark.threat("V6")
class TestHiddenHosts:
    """Query, fragment or backslash hide the host, or the host is a number."""

    REFUSED = (
        f"{EVIL}/?x={APP}", f"{EVIL}?x={APP}", f"{EVIL}#{APP}", f"{EVIL}/#{APP}", f"{EVIL}/{APP}",
        f"{EVIL}\\{APP}", f"{EVIL}/?{APP}/", f"{EVIL};{APP}", "http://2130706433:8000/", "http://0x7f000001:8000/",
        "http://0177.0.0.1:8000/", "http://127.1:8000/", "https://2130706433", "http://[::ffff:127.0.0.1]:8000/",
        "http://[::1]:8000/", "/\\evil.test", "\\/evil.test", "\\evil.test", "/\\/\\evil.test",
        "https://app.test\\.evil.test", "https://app.test\\@evil.test", "/evil.test\\..\\..\\",
        "https://app.test/\\evil.test", "https://app.test\\",
    )  # fmt: skip

    async def test_only_the_host_itself_counts(self, make_service: MakeService) -> None:
        visitor = await visit(make_service)

        assert await not_refused(visitor, self.REFUSED) == []


@pytest.mark.threat("V7")
class TestScripts:
    """A target runs as a script."""

    async def test_no_field_takes_a_script(self, make_service: MakeService) -> None:
        visitor = await visit(make_service)
        before = await stored(visitor.service)

        assert await not_refused(visitor, SCRIPTS) == []
        assert await stored(visitor.service) == before

    async def test_a_trusted_app_scheme_opens_no_other(self, make_service: MakeService) -> None:
        visitor = await visit(make_service, trusted_origins=f"{APP},myapp://callback/")
        others = [
            "myapp:alert(1)",
            "myapp://callback",
            "myapp://other/",
            "myapp://callback/../x",
            "xmyapp://callback/",
        ]

        assert await not_refused(visitor, [*SCRIPTS, *others]) == []
        [site] = [site for site in SITES if site.operation_id == "authentication.sign_in_email"]
        assert await refused(visitor, ["myapp://callback/x"], site) == []

    @pytest.mark.parametrize("path", ["/sign-up/email", "/update-user"])
    async def test_a_picture_is_no_script(self, service: Service, path: str) -> None:
        ada = await steps.join(service)
        user = {"name": "Eve", "email": EVE, "password": PASSWORD} if path.endswith("email") else {}

        answers = [await service.post(path, {**user, "image": script}, headers=ada) for script in SCRIPTS]

        assert told(answers) == {"400 VALIDATION_ERROR": len(SCRIPTS)}
        assert (await steps.user_of(service, ada))["image"] is None


@pytest.mark.threat("V9")
class TestWrongTypes:
    """A target that is no string, or one too many, breaks the check."""

    async def test_of_two_in_one_body_the_last_counts(self, service: Service) -> None:
        await steps.join(service)
        body = '{"email":"%s","password":"%s","callbackURL":"%s","callbackURL":"%s"}'

        first, last = [
            await service.client.post(
                "/sign-in/email",
                content=body % (ADA, PASSWORD, *pair),
                headers={"Content-Type": "application/json"},
            )
            for pair in ((EVIL, "/a"), ("/a", EVIL))
        ]

        assert (code(first), first.json()["url"]) == ("200", "/a")
        assert code(last) == "403 INVALID_CALLBACK_URL"


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveService]:
    """A process that prints its mails, and has the list of sessions switched off."""
    settings = {
        "base_url": BASE_URL,
        "mail.sender": "console",
        "enable_session_listing": "false",
        "limits.enabled": "false",
    }
    with serving(tmp_path_factory.mktemp("live"), settings) as live:
        yield live


@pytest.mark.threat("V10")
class TestHostHeaders:
    """Mailed links and redirects are built from the host that a request names."""

    @pytest.mark.parametrize("host", HOSTS, ids=lambda host: next(iter(host)))
    async def test_every_link_begins_with_the_configured_address(
        self, make_service: MakeService, host: Headers
    ) -> None:
        service = await make_service(SETTINGS)
        with sending(service, host):
            visitor = await Visitor.arrive(service)
            # A sign-out ends the session of the visitor.
            for site in sorted(BY_BODY, key=lambda one: one.operation_id == "sso.sign_out"):
                answer = await visitor.send(site, "/done")
                # The visitor is no administrator, who alone may have a link sent to others.
                is_refused = site.operation_id.startswith("admin.")
                assert (answer.status_code == 403) == is_refused, site

        mails = await service.inbox()
        templates = {mail["template"] for mail in mails if mail["link"]}
        assert templates == {"verify-email", "reset-password", "delete-account", "magic-link"}
        for mail in mails:
            assert "evil.test" not in repr(mail)
            assert mail["link"] is None or mail["link"].startswith(f"{BASE_URL}/")

    @pytest.mark.parametrize("site", [site for site in BY_LINK if site.name == "callbackURL"], ids=str)
    async def test_redirects_begin_with_the_configured_address(
        self, make_service: MakeService, site: Site
    ) -> None:
        service = await make_service(SETTINGS)
        for number, host in enumerate(HOSTS):
            visitor = await Visitor.arrive(service, number)
            with sending(service, host):
                answer = await visitor.send(site, "/done")

            assert answer.headers["location"].partition("?")[0] == f"{BASE_URL}/done", host

    @pytest.mark.parametrize(
        ("name", "target", "headers"),
        [
            ("one", "http://evil.test{path}", [b"Host: evil.test"]),
            (
                "two",
                "{path}",
                [b"Host: evil.test", b"X-Forwarded-Host: evil.test", b"Forwarded: host=evil.test"],
            ),
            ("three", "{path}", [b"Host:"]),
        ],
    )
    def test_nor_does_the_request_line_matter(
        self, live: LiveService, name: str, target: str, headers: list[bytes]
    ) -> None:
        email = f"{name}@example.com"
        new = json.dumps({"name": "Ada", "email": email, "password": PASSWORD, "callbackURL": "/done"})
        reset = json.dumps({"email": email, "redirectTo": "/done"})

        def send(method: str, path: str, body: str = "") -> Heard:
            request_line = f"{method} {target.format(path=path)} HTTP/1.1"
            return ask(live.url, request_line, *headers, body=body.encode())

        made = send("POST", "/sign-up/email", new)
        asked = send("POST", "/request-password-reset", reset)

        assert (made.status, asked.status) == (200, 200)
        for template, beginning in (
            ("verify-email", "/verify-email?"),
            ("reset-password", "/reset-password/"),
        ):
            printed = rf"^── email: {template} [^\n]*\nto +{email}\n.*?^(http\S+)$"
            link = live.output.wait_for(printed)[1]
            assert link.startswith(BASE_URL + beginning)
            assert "evil.test" not in link
            followed = send("GET", link.removeprefix(BASE_URL))
            assert followed.every("location")[0].startswith(f"{BASE_URL}/done")

    @pytest.mark.parametrize(
        "headers", [[b"Host: {host}", b"Host: evil.test"], [b"Host: evil.test", b"Host: {host}"], []]
    )
    def test_two_hosts_or_none_are_refused(self, live: LiveService, headers: list[bytes]) -> None:
        answer = ask(
            live.url, "POST /request-password-reset HTTP/1.1", *headers, body=b'{"email":"ada@example.com"}'
        )

        assert answer.status == 400


class Caller:
    """Whoever an operation wants, with the credentials a browser would send unasked: cookies."""

    def __init__(self, session: str, pending: str) -> None:
        self.session = cookie(SESSION, session)
        self.pending = cookie(PENDING, pending)

    def of(self, operation: Operation) -> Headers:
        security = operation.spec.get("security")
        if security is None:
            return self.session
        return self.pending if any("pendingCookieAuth" in way for way in security) else {}


@pytest.fixture
async def browser(make_service: MakeService) -> tuple[Service, Caller]:
    """A service, and a two-factor user with a session and a second sign-in that waits for its code."""
    service = await make_service(SETTINGS)
    owner = await enrol(service)
    pending = await challenge(service)
    service.client.cookies.clear()
    return service, Caller(token_in(owner.session), pending)


@pytest.mark.threat("V11")
class TestForeignForms:
    """A page of another origin signs somebody in, signs them up, or makes the service send mail."""

    # The verification of API keys takes no cookie, which a page could send unasked.
    @pytest.mark.threat("V12")
    async def test_no_page_of_another_origin_gets_through(self, browser: tuple[Service, Caller]) -> None:
        service, caller = browser
        before = await stored(service)
        # The verification of API keys takes no cookie, which a page could send unasked.
        let_through = []
        for operation_id in sorted(POSTS.keys() - {"api_keys.verify"}):
            operation = POSTS[operation_id]
            for headers, expected in FOREIGN:
                answer = await service.post(
                    operation.path, example_of(operation), headers={**caller.of(operation), **headers}
                )
                if code(answer) != expected or set_cookies(answer) or "set-auth-token" in answer.headers:
                    let_through.append((operation_id, headers, code(answer)))

        assert let_through == []
        assert await stored(service) == before

    @pytest.mark.parametrize("origin", [{}, {"Origin": APP}, {"Origin": EVIL}, {"Referer": f"{APP}/"}])
    async def test_no_navigation_from_elsewhere_signs_in(
        self, browser: tuple[Service, Caller], origin: Headers
    ) -> None:
        service, _ = browser
        navigation = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", **origin}

        for operation in POSTS.values():
            if operation.path.startswith(("/sign-in", "/sign-up")):
                answer = await service.post(operation.path, example_of(operation), headers=navigation)
                assert code(answer) == "403 CROSS_SITE_NAVIGATION_LOGIN_BLOCKED", operation.path
                assert set_cookies(answer) == {}

    async def test_a_worthless_bearer_header_does_not_excuse_a_cookie(
        self, browser: tuple[Service, Caller]
    ) -> None:
        service, caller = browser
        foreign = {"Origin": EVIL, "Authorization": "Bearer x"}

        asked = await service.post("/two-factor/send-otp", headers={**caller.pending, **foreign})
        left = await service.post("/revoke-sessions", headers={**caller.session, **foreign})

        assert (code(asked), code(left)) == ("403 INVALID_ORIGIN", "401 UNAUTHORIZED")
        assert await works(service, caller.session)


@pytest.mark.threat("V12")
class TestForeignPages:
    """A page uses the victim's cookie from another origin, or hides JSON in a type that needs no preflight."""

    async def test_a_form_has_no_body_to_send_either(self, browser: tuple[Service, Caller]) -> None:
        """An empty body counts as `{}`, so that for these operations the origin alone decides."""
        service, caller = browser

        answers = [
            await service.client.post(path, headers={**caller.session, "Origin": origin})
            for path in ("/revoke-sessions", "/revoke-other-sessions", "/sign-out", "/delete-user")
            for origin in (EVIL, "null")
        ]

        assert all(answer.status_code == 403 for answer in answers)
        assert await works(service, caller.session)

    async def test_a_get_changes_nothing(self, browser: tuple[Service, Caller]) -> None:
        """GET needs no trusted origin, so nothing may come of one without a token of a mail."""
        service, caller = browser
        before = await stored(service)

        for operation in OWN_OPERATIONS.values():
            path = operation.path.replace("{provider}", "github").replace("{token}", steps.UNKNOWN)
            await service.get(
                path, headers={**caller.session, "Origin": EVIL}, params={"token": steps.UNKNOWN}
            )

        assert await stored(service) == before
        assert await works(service, caller.session)


SPELLINGS = [
    "//sign-in/email", "/sign-in//email", "/sign-in/email/", "/./sign-in/email", "/x/../sign-in/email",
    "/sign-in/./email", "/SIGN-IN/email", "/Sign-In/Email", "/sign-in/email;x", "/sign-in;x/email",
    "/sign-in/email%00", "/sign-in%2Femail", "/sign-in%5Cemail", "/sign-in\\email", "/%2e/sign-in/email",
    "/sign-in/email.json", "/sign-in/email%20", "/sign-in/email%3Bx", "/api/auth/sign-in/email",
    "/sign-in/email%3F", "/sign-in/%2565mail", "/sign-in/\uff45mail", "/sign-in/email%0a", "/sign-in/e%CD%8Fmail",
]  # fmt: skip
"""Other ways to write `/sign-in/email`, none of which is its path."""


@pytest.mark.threat("V13")
class TestSpellingsOfPaths:
    """Another spelling of a path reaches the operation, and not what watches over it."""

    @pytest.mark.parametrize("spelling", SPELLINGS)
    def test_no_other_spelling_is_known(self, live: LiveService, spelling: str) -> None:
        raw = spelling.encode("utf-8").decode("latin-1")
        body = b'{"email":"nobody@example.com","password":"correct horse battery"}'

        answer = ask(live.url, f"POST {raw} HTTP/1.1", b"Host: {host}", body=body)

        assert answer.status == 400 if not spelling.isascii() else answer.code == "404 NOT_FOUND"

    @pytest.mark.parametrize(
        "spelling", ["/sign-in/email", "/sign-in/%65mail", "/%73ign-in/email", "/sign%2Din/email"]
    )
    def test_an_escape_is_the_same_path(self, live: LiveService, spelling: str) -> None:
        body = b'{"email":"nobody@example.com","password":"correct horse battery"}'

        answer = ask(live.url, f"POST {spelling} HTTP/1.1", b"Host: {host}", body=body)

        assert answer.code == "401 INVALID_EMAIL_OR_PASSWORD"

    @pytest.mark.parametrize(
        "spelling", ["/sign-in/%65mail", "/%73ign-in/email", "/sign-in/email?x=1", "/sign-in/email?"]
    )
    async def test_every_spelling_meets_the_same_limit(
        self, make_service: MakeService, spelling: str
    ) -> None:
        service = await make_service({"limits.requests": "3", "limits.failures": "0"})
        body = {"email": "nobody@example.com", "password": PASSWORD}
        first = [await service.post(path, body) for path in ("/sign-in/email", spelling, "/sign-in/email")]

        beyond = [await service.post(path, body) for path in (spelling, "/sign-in/email")]

        assert [code(answer) for answer in first] == ["401 INVALID_EMAIL_OR_PASSWORD"] * 3
        assert [code(answer) for answer in beyond] == ["429 TOO_MANY_REQUESTS"] * 2

    async def test_what_is_switched_off_stays_off(self, live: LiveService, make_service: MakeService) -> None:
        service = await make_service({"enable_session_listing": "false"})
        ada = await steps.join(service)
        token = b"Authorization: Bearer " + token_in(ada).encode()
        spellings = [
            "/list-sessions", "//list-sessions", "/list-sessions/", "/list%2Dsessions", "/%6cist-sessions",
            "/./list-sessions", "/LIST-SESSIONS", "/list-sessions;x", "/list-sessions?x",
            "/x/../list-sessions", "/list-sessions%2f", "/list-sessions%00",
        ]  # fmt: skip

        for spelling in spellings:
            answer = await service.client.get(f"{BASE_URL}{spelling}", headers=ada)
            heard = ask(live.url, f"GET {spelling} HTTP/1.1", b"Host: {host}", token)
            assert (code(answer), heard.code) == ("404 NOT_FOUND", "404 NOT_FOUND"), spelling
