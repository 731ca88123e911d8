"""The operations of openapi/paths/settings.yaml."""

import pytest

from tests.conftest import MakeService
from tests.handlers import steps
from tests.handlers.people import add_person

SECRET = "the password of the mail server"


@pytest.mark.operation("settings.list_all")
async def test_settings_are_listed_without_secrets(make_service: MakeService) -> None:
    service = await make_service({"mail.smtp.password": SECRET, "session.expires_in": "3d"})
    admin = await add_person(service, "admin")

    answer = await service.get("/admin/list-settings", headers=admin.headers)

    found = {one["name"]: one for one in answer.json()["settings"]}
    assert found["session.expires_in"]["value"] == "3d"
    assert (found["mail.smtp.password"]["value"], found["mail.smtp.password"]["isSecret"]) == ("set", True)
    assert (found["secrets"]["value"], found["secrets"]["isSecret"]) == ("set", True)
    assert found["session.update_age"]["source"] == "default"
    assert found["session.expires_in"]["description"] == "Lifetime of a session; each extension restarts it."
    assert SECRET not in answer.text
    for secret in service.services.settings.secrets:
        assert secret.get_secret_value() not in answer.text


@pytest.mark.threat("ADM24")
async def test_only_those_who_manage_the_service_see_them(make_service: MakeService) -> None:
    service = await make_service()
    user = await add_person(service)

    answer = await service.get("/admin/list-settings", headers=user.headers)

    assert steps.code(answer) == "403 YOU_ARE_NOT_ALLOWED_TO_MANAGE_SERVICE"
