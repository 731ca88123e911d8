"""What keeps a broken provider from doing harm, one by one taken out (R13 to R16)."""

from tests.security.mutants.mutant import Mutant

MUTANTS = (
    Mutant(
        "R13",
        "what was published serves while the provider is down",
        "server/providers/caching.py",
        "            except (Fault, TimeoutError):\n",
        "            except TimeoutError:\n",
    ),
    Mutant(
        "R14",
        "a call ends in time",
        "server/providers/calls.py",
        "                asyncio.timeout(self.timeout),\n",
        "                asyncio.timeout(None),\n",
    ),
    Mutant(
        "R14",
        "who waits to be sent to a provider holds no row",
        "domain/flows.py",
        "    url = await _ask(ctx, flow, state, wish.login_hint)\n    if links_account:\n"
        "        await users.lock_caller(ctx)\n",
        "    if links_account:\n        await users.lock_caller(ctx)\n"
        "    url = await _ask(ctx, flow, state, wish.login_hint)\n",
    ),
    Mutant(
        "R14",
        "who waits for a profile holds no row",
        "domain/provider_tokens.py",
        "    try:\n        identity = await provider.identify(",
        '    await __import__("domain.users").users.lock_caller(ctx)\n'
        "    try:\n        identity = await provider.identify(",
    ),
    Mutant(
        "R15",
        "an answer is of limited size",
        "server/providers/calls.py",
        "            if len(body) > self.max_response:\n",
        "            if False:\n",
    ),
    Mutant(
        "R15",
        "no more is inflated than may be read",
        "server/providers/calls.py",
        "            yield inflating.decompress(piece, most)\n",
        "            yield inflating.decompress(piece)\n",
    ),
    Mutant(
        "R15",
        "what is to be text is text",
        "server/providers/messages.py",
        "    if not isinstance(value, str) or not form.fullmatch(value):\n",
        "    if not form.fullmatch(value):\n",
    ),
    Mutant(
        "R16",
        "an unknown key is asked for once a minute",
        "server/providers/caching.py",
        "        elif not self._is_within(PAUSE, self._renewed_at):\n",
        "        else:\n",
    ),
    Mutant(
        "R16",
        "an unknown key is asked for",
        "server/providers/caching.py",
        "        elif not self._is_within(PAUSE, self._renewed_at):\n",
        "        elif False:\n",
    ),
)
"""Patches of what R13 to R16 promise; tests/faults/test_providers.py holds the tests."""
