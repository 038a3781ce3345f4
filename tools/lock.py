"""``requirements.lock``: everything that ``requirements.txt`` installs, with versions and hashes of every system's files.

    python tools/lock.py UV

``UV`` is uv's executable; it is needed only to write the file. torch and the CUDA packages that it brings on some systems are
left out, since which build is right depends on the machine: install the pinned torch first, then
``pip install --require-hashes -r requirements.lock``, then ``pip install --no-deps -e ./lib``.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
#: Chosen for the machine, or our own.
LEFT_OUT = re.compile(r"(torch|triton|nvidia-[\w-]+|cuda-[\w-]+)==|-e ")
HEAD = "# Written by tools/lock.py. Install torch first; then: pip install --require-hashes -r requirements.lock\n"


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__)
        return 2
    command = [sys.argv[1], "pip", "compile", "requirements.txt", "--universal", "--python-version", "3.11"]
    command += ["--generate-hashes", "--no-header", "--no-annotate", "--no-emit-index-url", "--quiet"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        return 1
    packages = re.findall(r"^\S.*(?:\n    .*)*\n", done.stdout, re.M)
    kept = "".join(text for text in packages if not LEFT_OUT.match(text))
    (ROOT / "requirements.lock").write_text(HEAD + kept, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
