"""The operations of openapi/paths/two_factor.yaml."""

from domain import errors
from domain.context import Context
from handlers import shapes


async def enable(ctx: Context, body: shapes.EnableTwoFactorRequest) -> shapes.TwoFactorEnabled:
    """Begin switching the second factor on."""
    raise errors.NotImplementedYet


async def disable(ctx: Context, body: shapes.DisableTwoFactorRequest) -> shapes.Status:
    """Switch the second factor off."""
    raise errors.NotImplementedYet


async def get_totp_uri(ctx: Context, body: shapes.GetTotpUriRequest) -> shapes.TotpUri:
    """Give the URI for an authenticator app."""
    raise errors.NotImplementedYet


async def verify_totp(ctx: Context, body: shapes.VerifyTotpRequest) -> shapes.TotpVerified:
    """Check a code of an authenticator app."""
    raise errors.NotImplementedYet


async def send_otp(ctx: Context) -> shapes.Status:
    """Mail a code."""
    raise errors.NotImplementedYet


async def verify_otp(ctx: Context, body: shapes.VerifyOtpRequest) -> shapes.OtpVerified:
    """Check a mailed code."""
    raise errors.NotImplementedYet


async def verify_backup_code(ctx: Context, body: shapes.VerifyBackupCodeRequest) -> shapes.BackupCodeVerified:
    """Use up a backup code."""
    raise errors.NotImplementedYet


async def generate_backup_codes(ctx: Context, body: shapes.GenerateBackupCodesRequest) -> shapes.BackupCodes:
    """Replace the backup codes."""
    raise errors.NotImplementedYet
