"""Kernels forked from one process that has imported torch and the like, so that these imports, most
of a chapter's time, happen once.

``use()`` makes this the way in which jupyter_client starts kernels in this process, for nbclient
and nbval alike (the latter with ``pytest -p theorybook.tools.forked_kernels --nbval``);
``JUPYTER_DEFAULT_PROVISIONER_NAME=local-provisioner`` keeps the ordinary way. The ordinary way is
also used where forking is not safe (on systems other than Linux; after imports that started
threads), and for kernels of another interpreter or with another environment than the first one's,
since imports depend on both.

Such kernels are reached through files instead of ports: jupyter_client looks for a free port and
the kernel takes it about a second later, so that two processes that start kernels at the same time
can be given the same port, and each then reads the other's messages.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import uuid
from importlib.metadata import EntryPoint
from pathlib import Path

from jupyter_client.provisioning.factory import KernelProvisionerFactory
from jupyter_client.provisioning.local_provisioner import LocalProvisioner

from theorybook.tools.fork_server import WORD

NAME = "forked"
SERVER = Path(__file__).with_name("fork_server.py")
CHOICE = KernelProvisionerFactory.default_provisioner_name_env
#: Prefixes of variables that differ from kernel to kernel and that no import reads.
OWN = ("JPY_", "PYTEST_")
#: The longest path of a socket that every system takes.
LONGEST = 100


class Server:
    """The process from which kernels are forked; it ends with this one, because its socket then
    closes.
    """

    def __init__(self, python: list[str], env: dict[str, str]) -> None:
        self.serves = (python, shared(env))
        self.socket, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [*python, SERVER, str(theirs.fileno())],
                env=env,
                stdin=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )


class Kernel:
    """A forked kernel, with the part of Popen's interface that LocalProvisioner uses."""

    stdin = stdout = stderr = returncode = None

    def __init__(self, server: Server, **asked) -> None:
        self.news, theirs = socket.socketpair()
        with theirs:
            socket.send_fds(server.socket, [b"k"], [theirs.fileno()])
        self.news.sendall(json.dumps(asked).encode() + b"\n")
        self.pid = int.from_bytes(self.news.recv(WORD, socket.MSG_WAITALL), "big")
        if not self.pid:
            raise OSError("the server has ended")

    def poll(self) -> int | None:
        if self.returncode is None:
            try:
                news = self.news.recv(WORD, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return None
            # without a server its kernels end by themselves
            self.returncode = int.from_bytes(news, "big", signed=True) if news else -signal.SIGKILL
            self.news.close()
        return self.returncode

    wait = poll  # LocalProvisioner waits for an ended process only

    def send_signal(self, signum: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            if self.poll() is None:
                os.kill(self.pid, signum)


server, sockets, starting = None, None, threading.Lock()


def shared(env: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if not name.startswith(OWN)}


class ForkedProvisioner(LocalProvisioner):
    async def pre_launch(self, **kwargs) -> dict:
        global sockets
        with starting:
            sockets = sockets or tempfile.TemporaryDirectory()  # removed when this process ends
        path, manager = f"{sockets.name}/{uuid.uuid4().hex[:8]}", self.parent
        if manager and len(path) <= LONGEST and manager.transport != "ipc":
            manager.transport, manager.ip = "ipc", path
        return await super().pre_launch(**kwargs)

    async def launch_kernel(self, cmd: list[str], **kwargs):
        global server
        launcher = cmd.index("-m") if "-m" in cmd else 0
        python, (module, *arguments) = cmd[:launcher], cmd[launcher + 1 :]
        if module == "ipykernel_launcher" and python[0] == sys.executable:
            cwd, env = os.path.abspath(kwargs.get("cwd") or "."), kwargs["env"]
            with starting:
                server = server or Server(python, env)
            if server.serves == (python, shared(env)):
                try:
                    self.process = Kernel(server, argv=[module, *arguments], cwd=cwd, env=env)
                except OSError:  # it refused, or was killed
                    return await super().launch_kernel(cmd, **kwargs)
                self.pid = self.pgid = self.process.pid
                self.cwd = cwd
                return self.connection_info
        return await super().launch_kernel(cmd, **kwargs)


def use() -> None:
    """Start kernels by forking from now on, unless the environment chooses another way."""
    os.environ.setdefault(
        "OMP_NUM_THREADS", "1"
    )  # kernels run side by side: more threads would wait for one another
    if sys.platform == "linux" and CHOICE not in os.environ:
        group = KernelProvisionerFactory.GROUP_NAME
        KernelProvisionerFactory.provisioners[NAME] = EntryPoint(
            NAME, f"{__name__}:{ForkedProvisioner.__name__}", group
        )
        KernelProvisionerFactory.instance().default_provisioner_name = NAME


def pytest_configure() -> None:
    use()
