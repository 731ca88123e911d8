"""An API key, where keys open sessions."""

from typing import Any

from models.api_key import ApiKey
from tests.security.matrix.cells import Way
from tests.security.matrix.subject import Subject


async def _create(subject: Subject) -> Any:
    return await subject.do("/api-key/create", {"name": "ci"})


async def _use(subject: Subject, key: Any) -> bool:
    return await subject.is_session({"x-api-key": key["key"]})


WAYS = [Way("API key", _create, _use, ApiKey, is_read_only=True)]
