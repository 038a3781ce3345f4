"""A recording for the tests of records, sweeps and their command line: ``python -m recorded_example --out FOLDER``."""

import math
import os
import signal
import time
from pathlib import Path

from theorybook.sweep import Recording


def run(n: int, seed: int, scale: float = 1.0, log: str | None = None) -> dict:
    """A row; with ``log`` it also notes there that it was computed."""
    if log:
        with Path(log).open("a") as file:
            print(n, seed, file=file)
    return {"value": scale * n / 3, "path": [n, seed]}


def mortal(n: int, log: str) -> int:
    """Kill its own process the first time that n = 2 comes along."""
    time.sleep(0.05)
    with Path(log).open("a") as file:
        print(n, file=file)
    if n == 2 and Path(log).read_text().split().count("2") == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return n * n


def deadly(n: int) -> int:
    """Kill its own process whenever n = 1 comes along."""
    if n == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return n


def float_of(value: float) -> float:
    """The value."""
    return value


def math_log(value: float) -> float:
    """Its logarithm."""
    return math.log(value)


class Unloadable(Exception):
    """Python makes an error anew from its text alone, and this one asks for more."""

    def __init__(self, left: int, right: int):
        super().__init__(f"{left} is not {right}")


def unloadable(n: int) -> int:
    """Fail so at n = 1."""
    if n == 1:
        raise Unloadable(n, 2)
    return n


def slow(n: int, wait: float = 0.05) -> int:
    """A twentieth of a second."""
    time.sleep(wait)
    return n


RECORDING = Recording("example", run, [{"n": n, "seed": s} for n in (1, 2) for s in (0, 1)], settings={"scale": 2.0})

if __name__ == "__main__":
    RECORDING.main()
