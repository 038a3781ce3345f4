"""Devices as annotations: what ``.to`` takes, and which devices this machine has."""

from typing import Annotated

import torch
from torch import Tensor

from theorybook.validation import ANY, Rule


def _is_there(device: object) -> bool:
    try:
        return (
            not isinstance(device, str | torch.device) or torch.empty(0, device=device) is not None
        )
    except (RuntimeError, AssertionError, ImportError, NotImplementedError):
        return False


_THERE = Rule("a device of this machine, such as cpu or cuda:0", _is_there)
#: What ``.to`` takes: a device, a precision, or a tensor that has both.
Where = Annotated[torch.device | torch.dtype | Tensor | str, ANY, _THERE]
Device = Annotated[torch.device | str, _THERE]
