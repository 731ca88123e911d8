"""Fixtures of the tests that move users in."""

import pytest

from tests.conftest import MakeService
from tests.labs.provider.process import ProviderProcess
from tests.labs.provider.settings import social_settings
from tests.service import Service


@pytest.fixture
async def target(make_service: MakeService, provider: ProviderProcess) -> Service:
    """A service that knows the provider, and its issuer, by name."""
    return await make_service(social_settings(provider, issuer=provider.issuer))
