"""The adapter of `domain.sso.saml.SamlMessages`."""

from server.crypto import certificates
from server.saml import logout, metadata, requests, responses


class ServiceProvider:
    """Writes and reads messages: each method is one function. Nothing is stored."""

    generate_key = staticmethod(certificates.generate)
    certificate_facts = staticmethod(certificates.facts)
    read_metadata = staticmethod(metadata.read)
    write_metadata = staticmethod(metadata.write)
    request_sign_in = staticmethod(requests.url)
    read_response = staticmethod(responses.read)
    request_logout = staticmethod(logout.request_url)
    respond_to_logout = staticmethod(logout.response_url)
    read_logout = staticmethod(logout.read)
