"""How many passwords processors can hash per second with the service's own cost: what bounds sign-in and sign-up."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

from argon2.low_level import Type, hash_secret

from server.config.groups.password import PasswordSettings
from tests.labs.bench.accounts import PASSWORD
from tests.labs.bench.servers import ROOT

_SECONDS = 2.0


def per_second(*cores: int) -> float:
    """Return the hashes per second of processors at the same time, each with one thread of a process of its own."""
    with ThreadPoolExecutor(len(cores)) as executor:
        return sum(executor.map(_of_one, cores))


def _of_one(core: int) -> float:
    command = ["taskset", "-c", str(core), sys.executable, "-m", "tests.labs.bench.hashes"]
    return float(subprocess.run(command, cwd=ROOT, text=True, check=True, capture_output=True).stdout)


def _measure() -> float:
    cost = PasswordSettings()
    begun, count = time.perf_counter(), 0
    while time.perf_counter() - begun < _SECONDS:
        hash_secret(
            PASSWORD.encode(), b"sixteen bytes of", cost.argon2_time, cost.argon2_memory_kib,
            cost.argon2_parallelism, hash_len=32, type=Type.ID,
        )  # fmt: skip
        count += 1
    return count / (time.perf_counter() - begun)


if __name__ == "__main__":
    print(_measure())
