"""Fixtures of the tests in a browser."""

from collections.abc import AsyncIterator

import pytest
from playwright.async_api import Browser

from tests.labs.e2e.browser import started


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    """The browser of a module; every test has a profile of its own in it."""
    async with started() as browser:
        yield browser
