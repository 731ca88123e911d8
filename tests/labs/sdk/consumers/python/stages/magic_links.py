"""Sign-in by links."""

from client import ADA, mail, nobody, of, ok, token_in
from gatewright_client import models
from gatewright_client.api.magic_links import confirm as confirm_link
from gatewright_client.api.magic_links import peek
from gatewright_client.api.magic_links import request as request_link
from gatewright_client.api.magic_links import verify as verify_link


def stage() -> None:
    mary = "mary@example.com"
    ok(request_link.sync(client=nobody, body=models.RequestMagicLinkRequest(email=ADA)))
    token = token_in(mail("magic-link", ADA)["link"])
    assert not of(peek.sync(client=nobody, token=token), models.MagicLinkPreview).new_user
    ok(verify_link.sync(client=nobody, token=token))
    ok(request_link.sync(client=nobody, body=models.RequestMagicLinkRequest(email=mary)))
    token = token_in(mail("magic-link", mary)["link"])
    ok(confirm_link.sync(client=nobody, body=models.ConfirmMagicLinkRequest(token=token)))
