"""``requirements.lock``: everything that ``requirements.txt`` installs, with versions and hashes of
every system's files.

    python tools/lock.py UV [--upgrade]

``UV`` is uv's executable; it is needed only to write the file. What is locked stays at its version
unless ``--upgrade`` is given. torch and the CUDA packages that it brings on some systems are left
out, since which build is right depends on the machine: the Makefile installs the locked set, then
the pinned torch, then ./lib.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LOCK = ROOT / "requirements.lock"
#: Chosen for the machine, or our own.
LEFT_OUT = re.compile(r"(torch|triton|nvidia-[\w-]+|cuda-[\w-]+)==|-e ")
HEAD = "# Written by tools/lock.py; installed by the Makefile.\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("uv", help="uv's executable")
    parser.add_argument("--upgrade", action="store_true", help="to the newest versions")
    given = parser.parse_args()
    command = [
        given.uv,
        "pip",
        "compile",
        "requirements.txt",
        "--universal",
        "--python-version",
        "3.11",
        "--generate-hashes",
    ]
    command += [
        "--no-header",
        "--no-annotate",
        "--no-emit-index-url",
        "--quiet",
        *["--upgrade"] * given.upgrade,
    ]
    done = subprocess.run([*command, "-o", LOCK], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        return 1
    packages = re.findall(r"^\S.*(?:\n    .*)*\n", LOCK.read_text(encoding="utf-8"), re.M)
    kept = "".join(text for text in packages if not LEFT_OUT.match(text))
    LOCK.write_text(HEAD + kept, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
