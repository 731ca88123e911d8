"""Mutants of the rows WH1 to WH4, WH15, WH16 and WH18 to WH20: requests to URLs that users choose."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import After, Always, Before, Remove, Replace, Respell

_NETWORKS = "value.args[0].generators[0].iter"

MUTANTS = (
    Mutant("WH1", "an address is judged", "refused-address", Always(False)),
    Mutant("WH1", "a number is no name", "numeric-host", Remove()),
    Mutant("WH1", "private networks are inner ones", "ipv4-networks", Remove(f"{_NETWORKS}.elts[1]")),
    Mutant("WH1", "the networks of carriers are inner ones", "ipv4-networks", Remove(f"{_NETWORKS}.elts[2]")),
    Mutant("WH1", "the metadata of clouds is inner", "ipv4-networks", Remove(f"{_NETWORKS}.elts[4]")),
    Mutant(
        "WH1", "local addresses of IPv6 are inner ones", "ipv6-unicast", Replace("'::/0'", "value.args[0]")
    ),
    Mutant("WH1", "an address that 6to4 carries is judged", "6to4", Always(False)),
    Mutant("WH1", "no network allows the unspecified address", "unspecified", Remove("values[0]")),
    Mutant("WH2", "an address is judged at each request", "refused-address", Always(False)),
    Mutant("WH2", "every address of a host is judged", "every-address", Replace("...[:1]", "iter")),
    Mutant("WH2", "what was judged is connected to", "judged-address", Replace("host")),
    Mutant(
        "WH3",
        "no redirect is followed",
        "no-redirects",
        Before(
            "location = next((value for name, value in response.headers if name == b'Location'), None)\n"
            "if location is not None:\n"
            "    wire.answer = await self.post(location.decode(), headers=headers, body=body, within=10)\n"
            "    return wire.answer"
        ),
    ),
    Mutant("WH4", "a request has an end", "timeout", Replace("30 * ...", "items[0].context_expr.args[0]")),
    Mutant("WH4", "a head has a size", "largest-head", Replace("2 ** 30", "value")),
    Mutant("WH4", "a body has a size", "largest-body", Replace("2 ** 40", "value")),
    Mutant("WH15", "a URL has no fragment", "url-form", Respell(r"[!-\"$-", "[!-")),
    Mutant("WH15", "a URL has no line breaks", "url-form", Respell(r"[!-\"$-", r"[\s!-\"$-")),
    Mutant("WH15", "a URL has no user", "url-form", Respell("://(?:", "://(?:[^/]*@)?(?:")),
    Mutant("WH15", "a URL has a length", "url-length", Always(False)),
    Mutant("WH15", "a URL is https", "https-only", Always(False)),
    Mutant("WH15", "only some ports are called", "allowed-port", Always(False)),
    Mutant("WH16", "bytes are sent as they are", "same-bytes", Replace("body.strip()", "keywords[1].value")),
    Mutant(
        "WH18",
        "a certificate is of the name",
        "verification",
        After("setattr(self._tls, 'check_hostname', False)"),
    ),
    Mutant(
        "WH18",
        "a certificate is valid",
        "verification",
        After(
            "setattr(self._tls, 'check_hostname', False)\n"
            "setattr(self._tls, 'verify_mode', getattr(ssl, 'CERT_NONE'))"
        ),
    ),
    Mutant(
        "WH18",
        "old versions of TLS are refused",
        "tls-version",
        Replace(
            "import warnings\n"
            "with getattr(warnings, 'catch_warnings')():\n"
            "    getattr(warnings, 'simplefilter')('ignore')\n"
            "    self._tls.minimum_version = getattr(ssl.TLSVersion, 'TLSv1')\n"
            "getattr(self._tls, 'set_ciphers')('ALL:@SECLEVEL=0')"
        ),
    ),
    Mutant(
        "WH19",
        "no proxy is used",
        "no-proxy",
        Replace("getattr(httpcore, 'AsyncHTTPProxy')(__import__('os').environ['HTTP_PROXY'])"),
    ),
    Mutant("WH20", "the name of this service is refused", "own-name", Always(False)),
    Mutant("WH20", "the addresses of this service are refused", "own-address", Replace("False", "value")),
)
