"""Redirect targets and origins: nothing that is accepted may lead anywhere else (threats V2 to V8)."""

import ada_url
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from domain.trusted_origins import TrustedOrigins, origin_of

BASE = "https://auth.test"
ENTRIES = (
    "https://app.test",
    "*.wild.test",
    "https://**.deep.test:8443",
    "http://localhost:3000",
    "https://[2001:DB8:0::1]",
    "myapp://callback/",
    "other://",
)
TRUSTED = TrustedOrigins.parse(BASE, ENTRIES)

# The examples of V3 to V7; those of V2 are swept through every field in tests/security/test_redirect_threats.py.
REFUSED = [
    "", "/<tab>/evil.test", "javascript:alert(1)", " /home", "/home ", "/home\n", "https://app.test\n",
    "https://app.test/ x", "wild.test", "https://wild.test", "https://a.b.wild.test", "evilwild.test",
    "wild.test.evil.test", "https:wild.test.evil.test", "https://xwild.test", "https://.wild.test",
    "https://x.wildxtest", "https://x.wild.test:8443", "http://x.wild.test", "https://deep.test:8443", "https://x.deep.test",
    "https://fooaapp.test", "https://app.test.evil.tld", "https://app.test@evil.tld",
    "http://localhost:3000.evil.test", "http://localhost:3001", "http://127.0.0.1:3000",
    "http://localhost", "https://evil.test/?x=https://app.test", "https://evil.test?x=https://app.test",
    "https://evil.test#https://app.test", "http://2130706433/", "http://0x7f.1", "data:text/html,<script>",
    "vbscript:x", "JaVaScRiPt:alert(1)", "java\tscript:alert(1)", "javascript://app.test/%0aalert(1)",
    "https://", "https:///app.test", "https://app.test:", "https://app.test:65979",
    "https://app.test:99999", "https://app.test.", "https://app_x.test", "https://@app.test",
    "https://:@app.test", "https://app.test\x00", "https://app.test\\", "https://app.test/é",
    "https://[::1]", "https://[2001:db8::1", "https://[2001:db8::1%25eth0]", "https://[zz]",
    "https://\uff12.app.test", "/./a", "/../a", "/a/.", "/a/..", "/a/../b", "/a//b", "/a//", "/.", "/..",
    "/..?x", "/a/..?x", "/a#b", "/a?b#c", "/a%20b", "/a;b", "/a:b", "/a?b=%", "/a?b=%2", "/a?b=%zz",
    "/a?b=%0a", "/a?b=%0D%0A", "/a?b=%7f", "/a?b=%c2%85", "/a?b=%1F", "/a?b=?", "/a?b c", "/a?b=\\", "/é", "/a?é",
    "myapp://", "myapp://callback", "myapp://callbackx", "myapp://callback/../x",
    "myapp://callback/%2e%2E/x", "myapp://callback/.", "myapp://evil/callback/", "MYAPP://callback/",
    "myapp:callback/", "other:", "other:/x", "other:// x", "other://\x01", "other://é", "another://x",
    "x-other://", "/" + "a" * 2048,
]  # fmt: skip

ACCEPTED = [
    "/", "/home", "/home/", "/a/b.c/d+e@f-g_h", "/...", "/.well-known/x", "/a..b", "/..a", "/a?",
    "/a?b=c&d=%C3%A9+x@y/z.", "/?next=/a//b", "/a?b=../c", "/@app.test", "https://app.test",
    "https://app.test/", "https://app.test/a+b", "https://APP.test/x", "https://app.test:443/x",
    "https://app.test:0443", "https://app.test?x=//evil.test", "https://app.test#@evil.test",
    "https://app.test/%0d%0aSet-Cookie:x=1", "https://app.test/@evil.test", "https://auth.test/a",
    "https://x.wild.test", "https://X.Wild.Test/y", "https://x.wild.test:443", "https://x.deep.test:8443/",
    "https://x.y.z.deep.test:8443/", "http://localhost:3000/a", "https://[2001:db8::1]/",
    "https://[2001:0DB8:0:0::0001]:443/", "myapp://callback/", "myapp://callback/x?y#z",
    "myapp://callback/?a=../b", "other://", "other://x", "other://x/y?z",
    "/" + "a" * 2047,
]  # fmt: skip


class TestAccepts:
    @pytest.mark.parametrize("target", REFUSED)
    def test_refuses(self, target: str) -> None:
        assert not TRUSTED.accepts(target)

    @pytest.mark.parametrize("target", ACCEPTED)
    def test_accepts(self, target: str) -> None:
        assert TRUSTED.accepts(target)

    def test_loopback_is_accepted_at_any_port_only_when_asked_for(self) -> None:
        loopback = TrustedOrigins.parse("http://127.0.0.1:8000", (), loopback=True)

        assert all(
            loopback.accepts(f"http://{host}/x") for host in ("localhost", "localhost:5173", "127.0.0.1:80")
        )
        assert not any(loopback.accepts(f"https://{host}/") for host in ("localhost", "127.0.0.1:3000"))
        assert not any(
            loopback.accepts(f"http://{host}/") for host in ("127.0.0.2", "127.1", "localhost:70000", "[::1]")
        )
        assert not TrustedOrigins.parse("http://127.0.0.1:8000", ()).accepts("http://127.0.0.1:3000")


_PIECES = st.sampled_from(
    ["https:", "http:", "HTTPS:", "//", "/", "\\", "@", ":", ".", "..", "?", "#", "%2f", "%2e", "%5c",
     "%00", "%0a", "\t", "\n", " ", "app.test", "auth.test", "x.wild.test", "xn--a.wild.test", "deep.test",
     "evil.test", "1", "0x1", "localhost", ":443", ":3000", ":8443", "[2001:db8::1]", "[::1]",
     "javascript:", "myapp:", "callback", "a", "=", "&", "-", "_", "。", "\x00", "\u200b"],
)  # fmt: skip


class TestAgainstWhatBrowsersDo:
    """The judge is Ada, the WHATWG parser of Node.js: whatever is accepted must stay at a trusted origin."""

    @settings(max_examples=300, deadline=None)
    @given(
        st.one_of(
            st.lists(_PIECES, max_size=10).map("".join),
            st.sampled_from(ACCEPTED).flatmap(
                lambda known: st.tuples(st.integers(0, 40), _PIECES).map(
                    lambda at: known[: at[0]] + at[1] + known[at[0] :]
                )
            ),
            st.text(max_size=30).map("https://app.test".__add__),
            st.text(max_size=30).map("/".__add__),
        )
    )
    @example("https://[2001:0DB8::0.0.0.1]/")
    def test_what_is_accepted_leads_home(self, target: str) -> None:
        if not TRUSTED.accepts(target):
            return

        if not target.startswith("/") and not ada_url.check_url(target):
            # What browsers cannot read leads nowhere: false Punycode, or an app's own idea of an authority.
            assert "xn--" in target.lower() or target.startswith("other://")
            return
        for address in (target, BASE + target) if target.startswith("/") else (target,):
            assert _home(ada_url.URL(address, base=f"{BASE}/page"))


def _home(url: ada_url.URL) -> bool:
    if url.protocol in ("myapp:", "other:"):
        return url.href.startswith(("myapp://callback/", "other:"))
    host, port = url.hostname, url.port
    return not url.username and (
        (url.protocol, host, port)
        in {("https:", name, "") for name in ("app.test", "auth.test", "[2001:db8::1]")}
        or (url.protocol, host, port) == ("http:", "localhost", "3000")
        or (url.protocol == "https:" and port == "" and host.endswith(".wild.test") and host.count(".") == 2)
        or (url.protocol == "https:" and port == "8443" and host.endswith(".deep.test"))
    )


class TestTrusts:
    @pytest.mark.parametrize(
        "origin", ["https://auth.test", "https://app.test", "https://x.wild.test",
        "https://a.b.deep.test:8443", "http://localhost:3000", "https://[2001:db8::1]", "myapp://callback",
        "other://", "other://x"],
    )  # fmt: skip
    def test_trusts(self, origin: str) -> None:
        assert TRUSTED.trusts(origin)

    @pytest.mark.parametrize(
        "origin", ["", "null", "*", "https://evil.test", "http://app.test", "https://app.test:8443",
        "https://app.test/", "https://app.test?x", "https://app.test#",
        "https://app.test https://evil.test", "https://app.test, https://evil.test",
        "https://app.test.evil.test", "https://wild.test", "https://a.b.wild.test", "/", "/app.test",
        "app.test", "myapp://evil", "myapp://callback/", "other:", "https://x@app.test",
        "https://app.test\x00"],
    )  # fmt: skip
    def test_does_not_trust(self, origin: str) -> None:
        assert not TRUSTED.trusts(origin)


class TestOriginOf:
    @pytest.mark.parametrize(
        ("url", "origin"),
        [
            ("https://app.test/a?b#c", "https://app.test"),
            ("https://APP.test:443", "https://app.test"),
            ("http://app.test:443/", "http://app.test:443"),
            ("https://[2001:0db8::0:1]:8443/x", "https://[2001:db8::1]:8443"),
            ("myapp://callback/x", "myapp://callback"),
            ("https://app.test@evil.test/", None),
            ("https://app.test\\evil.test/", None),
            ("https:evil.test", None),
            ("javascript://app.test", None),
            ("about:blank", None),
            ("null", None),
            ("", None),
        ],
    )
    def test_gives_the_origin_or_none(self, url: str, origin: str | None) -> None:
        assert origin_of(url) == origin


class TestParse:
    @pytest.mark.parametrize(
        "entry", ["*", "**", "*.", "https://*", "https://*.", "*://app.test", "https://a.*.test",
        "https://app.*", "https://*app.test", "https://*.*.app.test", "https://***.app.test",
        "javascript:", "javascript://", "JavaScript://x", "data:", "vbscript://", "file://", "file:///etc",
        "blob://", "https://app.test/", "https://app.test/path", "http://app.test?x", "https://app.test#x",
        "https://u@app.test", "https://app.test:", "https://app.test:70000", "https://app.test:*",
        "https://", "https:app.test", "https://2130706433", "https://127.1", "https://0x7f000001",
        "https://1.2.3.256", "https://*.1.2.3.4", "*.1", "*.[::1]", "https://[::1", "https://[zz]",
        "ftp://app.test", "ws://app.test", "myapp:", "myapp:/", " https://app.test", "https://app.test ",
        "https://äpp.test", "myapp://*", "myapp://a/../b", "myapp://a?b", "", " ", "app_test"],
    )  # fmt: skip
    def test_names_the_entry_it_refuses(self, entry: str) -> None:
        with pytest.raises(ValueError, match=r"is neither|has a|is not") as refusal:
            TrustedOrigins.parse(BASE, ("https://fine.test", entry))

        assert repr(entry) in str(refusal.value)

    @pytest.mark.parametrize(
        "base_url",
        ["", "auth.test", "https://auth.test/", "https://auth.test/x", "ftp://auth.test", "https://*.test"],
    )
    def test_the_base_url_is_an_origin(self, base_url: str) -> None:
        with pytest.raises(ValueError, match="base_url"):
            TrustedOrigins.parse(base_url, ())

    def test_an_entry_without_scheme_means_https(self) -> None:
        trusted = TrustedOrigins.parse(BASE, ("App.test:8443", "*.x.test"))

        assert trusted.trusts("https://app.test:8443")
        assert trusted.trusts("https://a.x.test")
        assert not trusted.trusts("http://app.test:8443")
