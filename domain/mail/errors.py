"""Errors about emails and their templates."""

from domain.errors import BadRequest, Conflict, NotFound


class MailNotFound(NotFound):
    """There is no email with this id in the outbox."""

    message = "Email not found"


class MailNotFailed(Conflict):
    """The email cannot be sent again, because it is not in the state "failed"; another caller may have queued it."""

    message = "Only an email that has failed can be sent again"


class MailExpired(Conflict):
    """The link or code of the email is no longer valid, or its contents are erased."""

    message = "This email can no longer be sent; the user has to request a new one"


class MailNotWaiting(Conflict):
    """The email was sent, has failed or was given up."""

    message = "Only an email that waits can be given up"


class MailBeingSent(Conflict):
    """An instance of the service is sending the email: its lease on the row has not expired."""

    message = "The email is being sent at this moment; try again in a minute"


class MailTemplateNotFound(NotFound):
    """No email of this name is declared."""

    message = "Email template not found"


class BrokenMailTemplate(BadRequest):
    """A template of the operator cannot be rendered."""

    message = "The template cannot be rendered"


class MailSenderNotConfigured(BadRequest):
    """`mail.sender` is `none`."""

    message = "No email is sent, because mail.sender is none"
