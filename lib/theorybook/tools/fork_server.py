"""One process with torch and its kin imported; each kernel asked for is forked off it. Started by
``forked_kernels``.

    python fork_server.py DESCRIPTOR

``DESCRIPTOR`` is a socket: each message on it brings the socket of a kernel to be; its end, however
it comes, ends all kernels. On a kernel's socket stand what to run, in one line of JSON; then its
process id and, once it has ended, its exit code.
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

#: What chapters import from elsewhere. The library is imported by each: what a chapter forgets to
#: import is not there.
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
    """Fork a kernel on request. Returns its socket in the kernel, and None in the server when the
    last client has gone.
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
    """``python -m ipykernel_launcher``, in the session, folder and environment that were asked
    for.
    """
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

    np.random.seed()  # what has no seed differs from kernel to kernel, as ever
    launch_new_instance(parent_handle=os.getppid())  # with whom it ends


def main() -> None:
    if sys.path[0] == os.path.dirname(os.path.abspath(__file__)):
        del sys.path[0]  # not there with PYTHONSAFEPATH=1
    os.environ.setdefault(
        "MPLBACKEND", "module://matplotlib_inline.backend_inline"
    )  # as in a kernel, before any import
    for name in PRELOADED:
        importlib.import_module(name)
        if len(os.listdir("/proc/self/task")) > 1:
            return  # threads are not there after a fork, but the locks they hold are
    gc.freeze()  # a collection would copy the pages that are shared
    if asker := serve(socket.socket(fileno=int(sys.argv[1]))):
        become_kernel(asker)


if __name__ == "__main__":
    main()
