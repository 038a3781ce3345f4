"""A pretended device: tensors that say they are elsewhere, hold CPU numbers, and refuse to meet tensors of the CPU.

Python's backend of PyTorch for ``privateuse1`` with a wrapper subclass. What fails on a GPU because a tensor was left behind,
because LAPACK's drivers or the CPU's random streams are asked for, or because NumPy reads the memory, fails here too. In a
process of its own: the backend cannot be taken back.
"""

import copy
import functools

import torch
from torch.utils._python_dispatch import return_and_correct_aliasing
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

NAME = "pretended"
_setup_privateuseone_for_python_backend(NAME)
DEVICE = torch.device(NAME, 0)
#: Operations in which a GPU takes a tensor of the CPU beside its own.
MIXED = {"aten::index", "aten::index_put_", "aten::index_put", "aten::_index_put_impl_", "aten::copy_", "aten::_to_copy"}


class Elsewhere(torch.Tensor):
    """A tensor on the pretended device."""

    #: How many operations ran there.
    operations = 0

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
        Elsewhere.operations += 1
        return compute(func, args, kwargs or {})


def _tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _tensors(item)


def _each(change, value):
    """The value with another tensor in the place of each."""
    if isinstance(value, torch.Tensor):
        return change(value)
    return type(value)([_each(change, item) for item in value]) if isinstance(value, list | tuple) else value


@functools.cache
def _aliases(func):
    """Whether what comes out of an operation shares memory with what went in."""
    return any(item.alias_info is not None for item in (*func._schema.arguments, *func._schema.returns))


def compute(func, args, kwargs):
    """The operation on the CPU numbers; what comes out is elsewhere again, unless it was sent to the CPU."""
    flat = [*_tensors(args), *_tensors(list(kwargs.values()))]
    name, target = func._schema.name, kwargs.get("device")
    mixed = name in MIXED and (isinstance(args[0], Elsewhere) or name == "aten::copy_")  # no index from there into a CPU tensor
    if not mixed and any(not isinstance(x, Elsewhere) and x.dim() > 0 for x in flat):
        raise RuntimeError(f"{name}: expected all tensors to be on the same device, but found pretended:0 and cpu")
    if name == "aten::linalg_lstsq" and kwargs.get("driver") not in (None, "gels"):
        raise RuntimeError("torch.linalg.lstsq: parameter `driver` should be one of (gels)")
    if isinstance(kwargs.get("generator"), torch.Generator):
        raise RuntimeError(f"{name}: expected a pretended device type for generator but found 'cpu'")
    bare, named = (_each(lambda x: x.inner if isinstance(x, Elsewhere) else x, item) for item in (args, list(kwargs.values())))
    out = func(*bare, **dict(zip(kwargs, named)) | ({} if target is None else {"device": torch.device("cpu")}))
    if name == "aten::copy_" and not isinstance(args[0], Elsewhere):
        return args[0]
    if target is not None and torch.device(target).type != NAME:
        return out
    out = _each(Elsewhere, out)
    if not _aliases(func):
        return out
    out = return_and_correct_aliasing(func, args, kwargs, out)
    if any(x.shape != x.inner.shape for x in flat if isinstance(x, Elsewhere)):
        raise NotImplementedError(f"{name} changes the size of a tensor: the pretended device makes such ones by _made_by")
    return out


_ATEN = torch.library.Library("aten", "IMPL")


def _made_by(name):
    """Tensors that are made there: by PyTorch's own function, on the CPU, and wrapped."""

    def make(*args, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
        return Elsewhere(getattr(torch, name.split(".")[0])(*args, dtype=dtype, device="cpu"))

    _ATEN.impl(name, make, "PrivateUse1")


def _copy_from(source, target, non_blocking=False):
    """What PyTorch calls where it moves a literal, ``torch.tensor([1.0], device=...)``, which no dispatch sees."""
    target.inner.copy_(source.inner if isinstance(source, Elsewhere) else source)
    return target


for _name in (
    *("empty.memory_format", "empty_strided", "eye", "eye.m", "triu_indices", "tril_indices"),
    *("arange", "arange.start", "arange.start_step", "linspace", "logspace", "randperm"),
):
    _made_by(_name)
_ATEN.impl("_copy_from", _copy_from, "PrivateUse1")


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
    if type(value).__module__.startswith(("attention_theory", "attention_checks")):
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
        elif type(item).__module__.startswith(("attention_theory", "attention_checks")):
            stack += vars(item).values()
    return found
