"""Fills an empty SQLite database with users, by the models of Django, django-allauth and django-otp.

The first argument is everybody's password, the second one the file; prints nothing.
"""

import sys
from base64 import b32decode
from datetime import UTC, datetime

import django
from django.conf import settings
from django.core.management import call_command

ALLAUTH = ("allauth", "allauth.account", "allauth.socialaccount", "allauth.mfa")
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"
HASHERS = ("PBKDF2PasswordHasher", "PBKDF2SHA1PasswordHasher", "Argon2PasswordHasher", "BCryptSHA256PasswordHasher",
           "BCryptPasswordHasher", "ScryptPasswordHasher", "MD5PasswordHasher")  # fmt: skip


def fill(password: str) -> None:
    """Create one user for each hasher, and users with something else that is special."""
    from allauth.account.models import EmailAddress
    from allauth.mfa.models import Authenticator
    from allauth.socialaccount.models import SocialAccount
    from django.contrib.auth.hashers import get_hashers, make_password
    from django.contrib.auth.models import Group, User
    from django_otp.plugins.otp_totp.models import TOTPDevice

    for hasher in get_hashers():
        User.objects.create(
            username=hasher.algorithm, email=f"{hasher.algorithm}@example.com",
            password=make_password(password, hasher=hasher.algorithm),
        )  # fmt: skip
    joined = datetime(2024, 1, 31, 12, tzinfo=UTC)
    ada = User.objects.create_superuser(
        "ada", "Ada@example.com", password, first_name="Ada", last_name="Lovelace"
    )
    User.objects.filter(pk=ada.pk).update(date_joined=joined)
    EmailAddress.objects.create(user=ada, email="ada@example.com", verified=True, primary=True)
    Authenticator.objects.create(user=ada, type=Authenticator.Type.TOTP, data={"secret": SECRET})
    Authenticator.objects.create(
        user=ada, type=Authenticator.Type.RECOVERY_CODES, data={"seed": "x", "used_mask": 0}
    )
    bob = User.objects.create_user("bob@example.com", "bob@example.com", None, is_staff=True)
    EmailAddress.objects.create(user=bob, email="bob@example.com", verified=False, primary=True)
    SocialAccount.objects.create(user=bob, provider="test", uid="bob-at-the-provider")
    bob.groups.add(Group.objects.create(name="editor"), Group.objects.create(name="other"))
    eve = User.objects.create_user("eve", "eve@example.com", password, is_active=False)
    TOTPDevice.objects.create(user=eve, name="default", key=b32decode(SECRET).hex(), confirmed=True)
    key = User.objects.create_user("key", "key@example.com", password)
    Authenticator.objects.create(
        user=key, type=Authenticator.Type.WEBAUTHN, data={"name": "Key", "credential": {}}
    )
    User.objects.create_user("nobody", "", password)


if __name__ == "__main__":
    settings.configure(
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": sys.argv[2]}},
        INSTALLED_APPS=["django.contrib.auth", "django.contrib.contenttypes", "django.contrib.sites",
                        "django.contrib.sessions", *ALLAUTH, "django_otp", "django_otp.plugins.otp_totp"],
        MIDDLEWARE=["allauth.account.middleware.AccountMiddleware"],
        PASSWORD_HASHERS=[f"django.contrib.auth.hashers.{name}" for name in HASHERS],
        DEFAULT_AUTO_FIELD="django.db.models.AutoField",
        SECRET_KEY="of a test",
        USE_TZ=True,
    )  # fmt: skip
    django.setup()
    call_command("migrate", verbosity=0)
    fill(sys.argv[1])
