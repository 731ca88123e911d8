"""The one renderer of errors."""

from typing import Any

import orjson
import pytest
from connexion.exceptions import BadRequestProblem, Unauthorized
from starlette.exceptions import HTTPException
from structlog.testing import capture_logs

from domain import errors
from server.api.errors import ErrorResponse, render

SECRET = "hunter2"


def parts(rendered: ErrorResponse) -> tuple[int, dict[str, str], Any]:
    status, headers, body = rendered
    plain = {name.decode(): value.decode() for name, value in headers}
    assert len(plain) == len(headers)
    assert plain.pop("content-type") == "application/json"
    return status, plain, orjson.loads(body)


class TestRefusals:
    def test_each_is_rendered_by_its_class(self) -> None:
        for refusal in errors.every_refusal():
            status, _, body = parts(render(refusal(), "r1"))

            assert status == refusal.status
            fields: dict[str, Any] = {"fields": []} if issubclass(refusal, errors.ValidationError) else {}
            assert body == {"message": refusal.message, "code": refusal.code, **fields, **refusal().details}

    def test_a_message_of_its_own_is_kept(self) -> None:
        assert parts(render(errors.BadRequest("Invalid HTTP request"), "r1")) == (
            400,
            {},
            {"message": "Invalid HTTP request", "code": "BAD_REQUEST"},
        )

    @pytest.mark.parametrize(
        "refusal", [errors.PayloadTooLarge, errors.UriTooLong, errors.HeadersTooLarge, errors.RequestTimeout]
    )
    def test_what_is_not_read_to_its_end_closes(self, refusal: type[errors.Refusal]) -> None:
        assert parts(render(refusal(), "r1"))[1] == {"connection": "close"}


class TestHttpErrors:
    def test_allow_is_kept(self) -> None:
        error = HTTPException(405, detail=SECRET, headers={"Allow": "GET, OPTIONS"})

        assert parts(render(error, "r1")) == (
            405,
            {"allow": "GET, OPTIONS"},
            {"message": "Method not allowed", "code": "METHOD_NOT_ALLOWED"},
        )

    def test_connexions_problems_have_the_same_form(self) -> None:
        status, headers, body = parts(render(Unauthorized(), "r1"))

        assert (status, headers) == (401, {"www-authenticate": "Bearer"})
        assert body == {"message": "Unauthorized", "code": "UNAUTHORIZED"}

    @pytest.mark.parametrize(
        ("error", "body"),
        [
            (BadRequestProblem(detail=SECRET), {"message": "Bad request", "code": "BAD_REQUEST"}),
            (HTTPException(418, detail=SECRET), {"message": "I'm a teapot", "code": "IM_A_TEAPOT"}),
            (HTTPException(410), {"message": "Gone", "code": "GONE"}),
        ],
    )
    def test_what_they_say_is_never_repeated(self, error: HTTPException, body: dict[str, str]) -> None:
        assert parts(render(error, "r1"))[2] == body


class TestCrashes:
    def test_are_logged_with_the_request_id_and_without_what_they_say(self) -> None:
        with capture_logs() as logs:
            rendered = render(self.crash(), "r1")

        assert parts(rendered) == (
            500,
            {},
            {"message": "Internal server error", "code": "INTERNAL_SERVER_ERROR"},
        )
        assert (logs[0]["event"], logs[0]["request_id"]) == ("internal_server_error", "r1")
        assert logs[0]["error"] == ["builtins.RuntimeError", "builtins.KeyError"]
        assert logs[0]["trace"][0].endswith(" crash")
        assert SECRET not in repr(logs)

    def crash(self) -> Exception:
        try:
            try:
                raise KeyError(SECRET)
            except KeyError as cause:
                raise RuntimeError(SECRET) from cause
        except RuntimeError as error:
            return error
