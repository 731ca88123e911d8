"""An identity provider of pysaml2: a line of JSON says what to do, a line of JSON is the result.

Runs with its own packages: KEY, CERTIFICATE and METADATA name files.
"""

import json
import os
import sys
from pathlib import Path
from urllib.parse import parse_qs

from saml2 import BINDING_HTTP_REDIRECT
from saml2.authn_context import PASSWORDPROTECTEDTRANSPORT
from saml2.config import IdPConfig
from saml2.metadata import entity_descriptor
from saml2.saml import NAMEID_FORMAT_PERSISTENT, NameID
from saml2.server import Server
from saml2.sigver import get_xmlsec_binary
from saml2.xmldsig import DIGEST_SHA256, SIG_RSA_SHA256

BASE = "https://idp.example.com"
SETTINGS = {
    "entityid": f"{BASE}/metadata",
    "service": {
        "idp": {
            "endpoints": {
                "single_sign_on_service": [(f"{BASE}/sso", BINDING_HTTP_REDIRECT)],
                "single_logout_service": [(f"{BASE}/slo", BINDING_HTTP_REDIRECT)],
            },
            "want_authn_requests_signed": True,
            "policy": {"default": {"lifetime": {"minutes": 15}, "attribute_restrictions": None}},
        }
    },
    "key_file": os.environ["KEY"],
    "cert_file": os.environ["CERTIFICATE"],
    "xmlsec_binary": get_xmlsec_binary(),
    "signing_algorithm": SIG_RSA_SHA256,
    "digest_algorithm": DIGEST_SHA256,
    "debug": 0,
}


def config(with_peer):
    peer = {"metadata": {"local": [os.environ["METADATA"]]}} if with_peer else {}
    return IdPConfig().load({**SETTINGS, **peer})


def metadata(_):
    return str(entity_descriptor(config(with_peer=False)))


def parameters(query):
    return {name: values[0] for name, values in parse_qs(query).items()}


def respond(server, sent):
    """Return the response to a signed request."""
    given = parameters(sent["query"])
    request = server.parse_authn_request(
        given["SAMLRequest"], BINDING_HTTP_REDIRECT,
        relay_state=given["RelayState"], sigalg=given["SigAlg"], signature=given["Signature"],
    )  # fmt: skip
    message = request.message
    encrypted = {"encrypt_assertion": True} if sent.get("encrypt") else {}
    response = server.create_authn_response(
        {"mail": ["ada@example.com"], "displayName": ["Ada <&> L"]},
        message.id,
        message.assertion_consumer_service_url,
        message.issuer.text,
        name_id=NameID(format=NAMEID_FORMAT_PERSISTENT, text="ada-4711"),
        authn={"class_ref": PASSWORDPROTECTEDTRANSPORT, "authn_auth": BASE},
        sign_response=sent["sign_response"],
        sign_assertion=sent["sign_assertion"],
        sign_alg=SIG_RSA_SHA256,
        digest_alg=DIGEST_SHA256,
        **encrypted,
    )
    return {"request": message.id, "force": message.force_authn, "response": str(response)}


def log_out(server, sent):
    """Return the URL of a signed logout request."""
    _, request = server.create_logout_request(
        sent["destination"], sent["entity_id"],
        name_id=NameID(format=NAMEID_FORMAT_PERSISTENT, text="ada-4711"), session_indexes=["_session1"],
    )  # fmt: skip
    bound = server.apply_binding(
        BINDING_HTTP_REDIRECT, str(request), sent["destination"], "state", sign=True, sigalg=SIG_RSA_SHA256
    )
    return {"id": request.id, "url": dict(bound["headers"])["Location"]}


def logged_out(server, sent):
    """Return what a signed logout response says."""
    given = parameters(sent["query"])
    response = server.parse_logout_request_response(given["SAMLResponse"], BINDING_HTTP_REDIRECT)
    return {
        "in_response_to": response.response.in_response_to,
        "status": response.response.status.status_code.value,
    }


def asked_to_log_out(server, sent):
    """Return whom a signed logout request of the service is about, and the URL of the response."""
    given = parameters(sent["query"])
    request = server.parse_logout_request(
        given["SAMLRequest"], BINDING_HTTP_REDIRECT,
        relay_state=given["RelayState"], sigalg=given["SigAlg"], signature=given["Signature"],
    )  # fmt: skip
    response = server.create_logout_response(request.message, [BINDING_HTTP_REDIRECT])
    bound = server.apply_binding(
        BINDING_HTTP_REDIRECT,
        str(response),
        sent["destination"],
        response=True,
        sign=True,
        sigalg=SIG_RSA_SHA256,
    )
    return {"name_id": request.message.name_id.text, "url": dict(bound["headers"])["Location"]}


def main():
    Path("metadata.xml").write_text(metadata(None), encoding="utf-8")
    print(json.dumps("ready"), flush=True)
    server = None
    for line in sys.stdin:
        server = server or Server(config=config(with_peer=True))
        sent = json.loads(line)
        print(json.dumps(globals()[sent["do"]](server, sent)), flush=True)


main()
