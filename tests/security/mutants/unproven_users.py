"""Mutants of users whose email address was never verified."""

from tests.security.mutants.mutant import Mutant
from tests.security.mutants.operators import Remove, Replace

MUTANTS = (
    Mutant("M5", "what a stranger prepared is removed", "secured", Replace("{}", "value")),
    Mutant("M5", "a reset removes it too", "reset-secured", Replace("{}", "value")),
    Mutant("M5", "passwords are removed", "accounts", Remove("value.elts[0]")),
    Mutant("M5", "linked accounts are removed", "accounts", Remove("value.elts[1]")),
    Mutant("M5", "sessions are removed", "sessions", Replace("()", "value")),
    Mutant("M5", "trusted devices are removed", "devices", Replace("()", "value")),
    Mutant("M5", "passkeys are removed", "passkeys", Replace("()", "value")),
    Mutant("M5", "API keys are removed", "keys", Remove("value.elts[0]")),
    Mutant("M5", "API keys of organizations are removed", "keys", Remove("value.elts[1]")),
    Mutant("M5", "tokens on their way are removed", "tokens", Replace("()", "value")),
    Mutant("M5", "a pending second factor is removed", "second-factors", Replace("()", "value")),
    Mutant("M5", "its backup codes are removed", "backup-codes", Replace("()", "value")),
    Mutant("M5", "administrators confirm nothing", "own-session", Remove("test.values[1]")),
    Mutant("M5", "ended sessions confirm nothing", "live-session", Replace("True", "value")),
    Mutant("M6", "an account with two factors keeps everything", "kept", Remove("value.values[1]")),
    Mutant("M21", "what a stranger prepared at the same time is removed", "secured", Replace("{}", "value")),
)
