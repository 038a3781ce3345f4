"""Whether the book's packages can be installed here: exit with one sentence if not. Needs nothing
but Python itself.

torch, python-flint and the others come as wheels for these Pythons and systems; elsewhere pip would
end in a long message, or try to compile.
"""

import platform
import sys

PYTHONS = "3.11 to 3.14"
SYSTEMS = "Linux (x86-64 or arm64), macOS 14 or newer on Apple silicon, or Windows through WSL"


def refusal(implementation: str, version: tuple, system: str, machine: str, macos: str = "") -> str:
    """Why the book cannot be installed on such a machine; empty if it can be."""
    if implementation != "CPython" or not (3, 11) <= version[:2] <= (3, 14):
        found = f"{implementation} {'.'.join(map(str, version[:2]))}"
        return (
            f"The book needs Python {PYTHONS}, and this is {found}: choose one with make "
            "PYTHON=python3.11"
        )
    if system == "Darwin" and machine == "arm64" and int(macos.partition(".")[0] or 0) >= 14:
        return ""
    if system == "Linux" and machine in ("x86_64", "aarch64", "arm64"):
        return ""
    return (
        f"The book runs on {SYSTEMS}, and this is {system} {macos} on {machine}: open it on "
        "Binder or Colab"
    ).replace("  ", " ")


if __name__ == "__main__":
    machine = platform.system(), platform.machine(), platform.mac_ver()[0]
    sys.exit(refusal(platform.python_implementation(), tuple(sys.version_info), *machine) or 0)
