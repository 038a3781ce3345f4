"""Kernels forked off one process: as fresh as others, as noticeable in their end, and nothing of them stays behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from conftest import ROOT
from jupyter_client.manager import start_new_kernel
from jupyter_client.provisioning import KernelProvisionerFactory
from test_workflow import CHAPTER, running, wait_for
from theorybook.tools import execute, forked_kernels

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere kernels start in the ordinary way")
PARENT = "open(f'/proc/{os.getppid()}/cmdline').read()"
FORKED = f"import os; print('fork_server' in {PARENT})"


@pytest.fixture
def forked(monkeypatch):
    """In this process, for a while."""
    factory = KernelProvisionerFactory.instance()
    monkeypatch.setattr(factory, "default_provisioner_name", factory.default_provisioner_name)
    monkeypatch.delenv(forked_kernels.CHOICE, raising=False)
    forked_kernels.use()


def chapter(folder, source, name="one"):
    path = folder / f"{name}.md"
    path.write_text(CHAPTER.replace("print(1 + 1)", source), encoding="utf-8")
    return path


def printed(path):
    return "".join(out.text for cell in nbformat.read(path.with_suffix(".ipynb"), 4).cells[1:] for out in cell.outputs)


def told(manager, client, source):
    """What a kernel prints."""
    texts = []
    client.execute_interactive(source, timeout=60, output_hook=lambda m: texts.append(m["content"].get("text", "")))
    return "".join(texts)


def test_kernels_are_forked_and_fresh(forked, tmp_path):
    source = f"{FORKED}\nimport sys, numpy\nprint(sys.argv[0], os.getcwd(), 'execute' in sys.modules, numpy.random.rand())"
    draws = set()
    for name in ("one", "two"):
        assert execute.execute(chapter(tmp_path, source, name)) == ""
        was_forked, line = printed(tmp_path / name).splitlines()
        assert was_forked == "True" and line.startswith(f"ipykernel_launcher {tmp_path} False")
        draws.add(line)
    assert len(draws) == 2


@pytest.mark.parametrize("end", ["os._exit(3)", "os.kill(os.getpid(), 9)"])
def test_the_end_of_a_kernel_is_told_as_ever(end, tmp_path, request):
    path = chapter(tmp_path, f"import os\n{end}")
    ordinary = execute.execute(path)
    request.getfixturevalue("forked")
    assert "the kernel gave up" in ordinary and execute.execute(path) == ordinary


def test_a_kernel_obeys_signals_and_its_exit_code_is_known(forked):
    manager, client = start_new_kernel()
    assert isinstance(manager.provisioner.process, forked_kernels.Kernel)
    sleep = "import time; print('asleep', flush=True); time.sleep(600)"
    client.execute(sleep, stop_on_error=False)  # else what arrives soon after the interrupt is dropped
    while client.get_iopub_msg(timeout=60)["msg_type"] != "stream":  # an interrupt before the cell runs interrupts nothing
        pass
    manager.interrupt_kernel()
    assert client.get_shell_msg(timeout=60)["content"]["ename"] == "KeyboardInterrupt"
    process = manager.provisioner.process
    client.execute("import os; os._exit(3)")
    assert wait_for(lambda: process.poll() is not None) and process.poll() == 3
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_no_other_process_can_be_given_the_port_of_a_kernel(forked):
    """Two runs side by side once read each other's messages: a port is chosen a second before the kernel takes it."""
    manager, client = start_new_kernel()
    sockets = [Path(f"{manager.ip}-{port}") for port in manager.ports]
    assert manager.transport == "ipc" and all(path.is_socket() for path in sockets)
    client.stop_channels()
    manager.shutdown_kernel(now=True)
    assert not any(path.exists() for path in sockets)


def test_a_kernel_with_another_environment_is_started_in_the_ordinary_way(forked, tmp_path):
    assert execute.execute(chapter(tmp_path, FORKED)) == "" and printed(tmp_path / "one") == "True\n"
    manager, client = start_new_kernel(env=os.environ | {"OMP_NUM_THREADS": "3"})
    assert told(manager, client, f"{FORKED}; print(os.environ['OMP_NUM_THREADS'])") == "False\n3\n"
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def test_without_its_server_a_kernel_ends_and_the_next_chapter_runs(forked, tmp_path, monkeypatch):
    monkeypatch.setattr(forked_kernels, "server", None)
    path = chapter(tmp_path, "import os, signal, time\nos.kill(os.getppid(), signal.SIGKILL); time.sleep(600)")
    assert "the kernel gave up" in execute.execute(path)
    assert execute.execute(chapter(tmp_path, FORKED)) == "" and printed(path) == "False\n"


def test_a_killed_run_leaves_no_process_and_no_notebook(tmp_path):
    path = chapter(tmp_path, "import os\nopen('pids', 'w').write(f'{os.getpid()} {os.getppid()}\\n')\nwhile True: pass")
    pids = tmp_path / "pids"
    run = subprocess.Popen([sys.executable, "-m", "theorybook.tools.execute", path], cwd=ROOT, stderr=subprocess.DEVNULL)
    assert wait_for(lambda: pids.exists() and pids.read_text().endswith("\n"))
    kernel, server = pids.read_text().split()
    with open(f"/proc/{server}/cmdline") as file:
        assert "fork_server" in file.read()
    run.send_signal(signal.SIGKILL)
    run.wait()
    assert wait_for(lambda: not running(kernel) and not running(server))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.md", "pids"]
    path.write_text(CHAPTER)
    assert execute.execute(path) == "" and printed(path) == "2\n"


def test_two_runs_at_once_have_each_their_own(tmp_path):
    runs = []
    for name in ("one", "two"):
        source = f"{FORKED}\nimport time\nprint(os.getppid(), os.environ['RUN'])\ntime.sleep(2)"
        command = [sys.executable, "-m", "theorybook.tools.execute", chapter(tmp_path, source, name)]
        runs.append(subprocess.Popen(command, cwd=ROOT, env=os.environ | {"RUN": name}, stderr=subprocess.DEVNULL))
    assert [run.wait(120) for run in runs] == [0, 0]
    (_, one), (_, two) = (printed(tmp_path / name).splitlines() for name in ("one", "two"))
    assert one.endswith("one") and two.endswith("two") and one.split()[0] != two.split()[0]


def test_nbval_uses_them_too(tmp_path):
    path = chapter(tmp_path, FORKED)
    cell = nbformat.v4.new_code_cell(FORKED, execution_count=1, outputs=[nbformat.v4.new_output("stream", text="True\n")])
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), path.with_suffix(".ipynb"))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "theorybook.tools.forked_kernels", "--nbval", "--nbval-current-env"]
    done = subprocess.run([*command, path.with_suffix(".ipynb"), "-c", "pyproject.toml"], cwd=ROOT, capture_output=True)
    assert done.returncode == 0, done.stdout.decode()
