"""The implementation of the interface `domain.sso.saml.SamlMessages`."""

from server.crypto import certificates
from server.saml import logout, metadata, requests, responses


class ServiceProvider:
    """The implementation of `domain.sso.saml.SamlMessages`. Each method is a function of this package."""

    generate_key = staticmethod(certificates.generate)
    certificate_facts = staticmethod(certificates.facts)
    read_metadata = staticmethod(metadata.read)
    write_metadata = staticmethod(metadata.write)
    request_sign_in = staticmethod(requests.url)
    read_response = staticmethod(responses.read)
    request_logout = staticmethod(logout.request_url)
    respond_to_logout = staticmethod(logout.response_url)
    read_logout = staticmethod(logout.read)
