"""One process with torch and related packages imported, from which every requested kernel is
forked. Started by ``forked_kernels``.

    python fork_server.py DESCRIPTOR

``DESCRIPTOR`` is a socket: each message on it carries the socket of a new kernel; when it closes,
for whatever reason, all kernels end. On a kernel's socket come first one line of JSON that says
what to run, then the kernel's process id and, once it has ended, its exit code.
"""

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys

#: Third-party packages that chapters import. The library itself is imported by each chapter, so that
#: an import that a chapter forgets is missing.
PRELOADED = (
    "numpy",
    "torch",
    "scipy.optimize",
    "scipy.stats",
    "matplotlib.pyplot",
    "flint",
    "sympy",
    "joblib",
    "tqdm",
)
PRELOADED += ("jaxtyping", "beartype.door", "tabulate", "yaml", "PIL.Image", "ipykernel.kernelapp")
#: Bytes of an integer sent over a socket.
WORD = 8


def serve(owner: socket.socket) -> socket.socket | None:
    """Fork a kernel on each request. Returns its socket in the kernel, and None in the server when
    the last client has gone.
    """
    kernels: dict[int, socket.socket] = {}
    woken, wake = socket.socketpair()
    wake.setblocking(False)
    signal.set_wakeup_fd(wake.fileno())
    signal.signal(signal.SIGCHLD, lambda *_: None)  # the end of a kernel wakes select
    while True:
        ready, _, _ = select.select([owner, woken], [], [])
        if woken in ready:
            woken.recv(4096)
        for pid in list(kernels):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                with kernels.pop(pid) as asker, contextlib.suppress(OSError):
                    asker.sendall(
                        os.waitstatus_to_exitcode(status).to_bytes(WORD, "big", signed=True)
                    )
        if owner not in ready:
            continue
        message, descriptors, _, _ = socket.recv_fds(owner, 1, 1)
        if not message:
            for pid in kernels:
                with contextlib.suppress(OSError):
                    os.killpg(pid, signal.SIGKILL)
            return None
        asker = socket.socket(fileno=descriptors[0])
        if (pid := os.fork()) == 0:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            for other in (owner, woken, wake, *kernels.values()):
                other.close()
            return asker
        kernels[pid] = asker


def become_kernel(asker: socket.socket) -> None:
    """Run ``python -m ipykernel_launcher`` in the requested session, folder and environment."""
    os.setsid()
    with asker, asker.makefile() as lines:
        asked = json.loads(lines.readline())
        asker.sendall(os.getpid().to_bytes(WORD, "big"))
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["env"])
    sys.argv = asked["argv"]
    import numpy as np
    from ipykernel.kernelapp import launch_new_instance

    np.random.seed()  # unseeded draws differ from kernel to kernel, as usual
    launch_new_instance(parent_handle=os.getppid())  # the kernel ends with its parent


def main() -> None:
    if sys.path[0] == os.path.dirname(os.path.abspath(__file__)):
        del sys.path[0]  # not there with PYTHONSAFEPATH=1
    os.environ.setdefault(
        "MPLBACKEND", "module://matplotlib_inline.backend_inline"
    )  # as in a kernel, before any import
    for name in PRELOADED:
        importlib.import_module(name)
        if len(os.listdir("/proc/self/task")) > 1:
            return  # threads do not survive a fork, but the locks that they hold do
    gc.freeze()  # a garbage collection would copy the shared memory pages
    if asker := serve(socket.socket(fileno=int(sys.argv[1]))):
        become_kernel(asker)


if __name__ == "__main__":
    main()
