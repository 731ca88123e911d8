"""The page at the root URL of the service: it links to the sign-in page and to the documents for developers."""

from domain.authentication.policy import EmailPasswordPolicy, SignUpPolicy
from domain.context import PageRequest
from domain.policy import Policy
from handlers.pages import view
from handlers.responses.reply import Page


def page(policy: Policy, asked: PageRequest, *, version: str) -> Page:
    """Return the page that describes the service; `version` is the version of the program."""
    return view.standalone_view(policy, asked).render(
        "root.html",
        root=policy.base_path,
        version=version,
        can_sign_up=policy[SignUpPolicy].enabled and policy[EmailPasswordPolicy].enabled,
    )
