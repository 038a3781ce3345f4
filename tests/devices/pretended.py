"""A pretended device: tensors that say they are elsewhere, hold CPU numbers, and refuse to meet tensors of the CPU.

Python's backend of PyTorch for ``privateuse1`` with a wrapper subclass and a dispatch mode. What fails on a GPU because a
tensor was left behind, because LAPACK's drivers are asked for, or because NumPy reads the memory, fails here too. In a process
of its own: the backend cannot be taken back.
"""

import contextlib
import copy

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes, return_and_correct_aliasing
from torch.utils._pytree import tree_map
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

NAME = "pretended"
_setup_privateuseone_for_python_backend(NAME)
DEVICE = torch.device(NAME, 0)
#: Operations in which a GPU takes a tensor of the CPU beside its own.
MIXED = {"aten::index", "aten::index_put_", "aten::index_put", "aten::_index_put_impl_", "aten::copy_", "aten::_to_copy"}


class Elsewhere(torch.Tensor):
    """A tensor on the pretended device."""

    @staticmethod
    def __new__(cls, inner):
        """Wrap a CPU tensor, whose memory it shares."""
        outer = torch.Tensor._make_wrapper_subclass(
            cls, inner.shape, strides=inner.stride(), storage_offset=inner.storage_offset(), dtype=inner.dtype, device=DEVICE
        )
        outer.inner = inner
        return outer

    def __repr__(self):
        return f"elsewhere({self.inner!r})"

    def tolist(self):
        """As a GPU's tensor does, copy."""
        return self.inner.tolist()

    def numpy(self, *arguments, **keywords):
        """Refuse, as a GPU's tensor does."""
        raise TypeError("can't convert pretended device type tensor to numpy; use Tensor.cpu() first")

    __array__ = numpy

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        """Do it on the CPU, after the checks of a device."""
        return compute(func, args, kwargs or {})


def compute(func, args, kwargs):
    """The operation on the CPU numbers; what comes out is elsewhere again, unless it was sent to the CPU."""
    flat = torch.utils._pytree.tree_leaves((args, kwargs))
    away = any(isinstance(item, Elsewhere) for item in flat)
    home = any(isinstance(x, torch.Tensor) and not isinstance(x, Elsewhere) and x.dim() > 0 for x in flat)
    name = func._schema.name
    if away and home and name not in MIXED:
        raise RuntimeError(f"{name}: expected all tensors to be on the same device, but found pretended:0 and cpu")
    if away and name == "aten::linalg_lstsq" and kwargs.get("driver") not in (None, "gels"):
        raise RuntimeError("torch.linalg.lstsq: parameter `driver` should be one of (gels)")
    target = kwargs.get("device")
    sent = target is not None and torch.device(target).type != NAME
    if name == "aten::copy_" and not isinstance(args[0], Elsewhere):
        sent = True
    inner = dict(kwargs, device=torch.device("cpu")) if target is not None else kwargs
    if target is not None and not away and sent:
        return func(*args, **kwargs)
    bare = tree_map(lambda x: x.inner if isinstance(x, Elsewhere) else x, (args, inner))
    with _disable_current_modes():
        out = func(*bare[0], **bare[1])
    if sent:
        return args[0] if name == "aten::copy_" else out
    out = tree_map(lambda x: Elsewhere(x) if isinstance(x, torch.Tensor) else x, out)
    return return_and_correct_aliasing(func, args, kwargs, out) if away else out


class _Moves(TorchDispatchMode):
    """New tensors and moves to the device."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Take what is made there or sent there."""
        kwargs = kwargs or {}
        device = kwargs.get("device")
        if (device is not None and torch.device(device).type == NAME) or any(issubclass(t, Elsewhere) for t in types):
            return compute(func, args, kwargs)
        return func(*args, **kwargs)


class _Literals(TorchFunctionMode):
    """``torch.tensor([1.0], device=...)``, which no dispatch sees."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        """Make it on the CPU and send it."""
        kwargs = dict(kwargs or {})
        there = kwargs.get("device") is not None and torch.device(kwargs["device"]).type == NAME
        if func in (torch.tensor, torch.as_tensor) and there and not isinstance(args[0], torch.Tensor):
            return func(*args, **kwargs | {"device": "cpu"}).to(DEVICE)
        return func(*args, **kwargs)


@contextlib.contextmanager
def pretending():
    """In this block ``device="pretended"`` works as a GPU's name does on a machine that has one."""
    with _Literals(), _Moves():
        yield DEVICE


def sent(value, target):
    """The same with all its tensors on another device: lists, dicts, dataclasses and modules included."""
    if isinstance(value, torch.Tensor):
        return value.detach().to(target).requires_grad_(value.requires_grad)
    if isinstance(value, torch.nn.Module):
        return copy.deepcopy(value).to(target) if target.type == "cpu" else _sent_module(value, target)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(sent(item, target) for item in value))
    if isinstance(value, list):
        return [sent(item, target) for item in value]
    if isinstance(value, tuple):  # an Interval has a constructor of its own
        moved = tuple.__new__(type(value), (sent(item, target) for item in value))
        vars(moved).update(vars(value)) if hasattr(value, "__dict__") else None
        return moved
    if isinstance(value, dict):
        return {key: sent(item, target) for key, item in value.items()}
    if type(value).__module__.startswith("attention_theory"):
        moved = copy.copy(value)
        for key, item in vars(value).items():
            object.__setattr__(moved, key, sent(item, target))
        return moved
    return value


def _sent_module(module, target):
    moved = copy.deepcopy(module)
    for part in moved.modules():
        for store in (part._parameters, part._buffers):
            for key, item in store.items():
                if item is not None:
                    far = item.detach().to(target)
                    store[key] = torch.nn.Parameter(far, item.requires_grad) if isinstance(item, torch.nn.Parameter) else far
    return moved


def devices_of(value):
    """The kinds of devices of the tensors that a value holds."""
    found = set()
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, torch.Tensor):
            found.add(item.device.type)
        elif isinstance(item, list | tuple):
            stack += item
        elif isinstance(item, dict):
            stack += item.values()
        elif type(item).__module__.startswith("attention_theory"):
            stack += vars(item).values()
    return found
