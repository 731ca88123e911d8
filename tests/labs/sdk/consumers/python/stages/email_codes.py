"""Codes by email."""

from client import ADA, PASSWORD, holding, mail, nobody, of, ok
from gatewright_client import models
from gatewright_client.api.authentication import sign_up_email
from gatewright_client.api.email_codes import change_email as change_email_by_code
from gatewright_client.api.email_codes import check as check_code
from gatewright_client.api.email_codes import forget_password as forget_by_code
from gatewright_client.api.email_codes import request_change as request_change_code
from gatewright_client.api.email_codes import request_reset as request_reset_code
from gatewright_client.api.email_codes import reset_password as reset_by_code
from gatewright_client.api.email_codes import send as send_code
from gatewright_client.api.email_codes import sign_in as sign_in_by_code
from gatewright_client.api.email_codes import verify_email as verify_email_by_code


def stage() -> None:
    grace = "grace.code@example.com"
    ok(
        send_code.sync(
            client=nobody, body=models.SendEmailCodeRequest.from_dict({"email": ADA, "type": "sign-in"})
        )
    )
    code = mail("sign-in-code", ADA)["code"]
    ok(
        check_code.sync(
            client=nobody,
            body=models.CheckEmailCodeRequest.from_dict({"email": ADA, "type": "sign-in", "otp": code}),
        )
    )
    ok(sign_in_by_code.sync(client=nobody, body=models.SignInEmailCodeRequest(email=ADA, otp=code)))
    sign_up = of(
        sign_up_email.sync(
            client=nobody, body=models.SignUpRequest(name="Grace", email=grace, password=PASSWORD)
        ),
        models.SignedUp,
    )
    wanted = models.SendEmailCodeRequest.from_dict({"email": grace, "type": "email-verification"})
    ok(send_code.sync(client=nobody, body=wanted))
    code = mail("verify-email-code", grace)["code"]
    ok(verify_email_by_code.sync(client=nobody, body=models.VerifyEmailCodeRequest(email=grace, otp=code)))
    as_grace, new = holding(of(sign_up.token, str)), "grace.new@example.com"
    ok(request_change_code.sync(client=as_grace, body=models.RequestEmailChangeRequest(new_email=new)))
    code = mail("change-email-code", new)["code"]
    ok(
        change_email_by_code.sync(
            client=as_grace, body=models.ChangeEmailByCodeRequest(new_email=new, otp=code)
        )
    )
    ok(forget_by_code.sync(client=nobody, body=models.RequestResetCodeRequest(email=new)))
    ok(request_reset_code.sync(client=nobody, body=models.RequestResetCodeRequest(email=ADA)))
    code = mail("reset-password-code", ADA)["code"]
    reset = models.ResetPasswordByCodeRequest(email=ADA, otp=code, password=PASSWORD)
    ok(reset_by_code.sync(client=nobody, body=reset))
