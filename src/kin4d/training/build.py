"""Networks from weights: the config with them is checked before memory is taken for it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook
from torch.overrides import TorchFunctionMode

from kin4d.errors import InputError
from kin4d.training.weights import check_state_dict

_Network = TypeVar("_Network", bound=nn.Module)

_ROOM = 64 * 2**20  # bytes of tables that are not among the weights
_FACTORIES = (torch.empty, torch.zeros, torch.ones, torch.randn, torch.rand, torch.full)
_RANGES = (torch.arange, torch.linspace)


def build_from_weights(make: Callable[[], _Network], tensors: Mapping[str, Tensor]) -> _Network:
    """The network that `make` builds with these weights, in evaluation mode.

    A few bytes of config can ask for any number of layers of any width: what it builds may not
    have many more tensors than there are, nor take much more memory.
    """
    made = 0

    def count(module: nn.Module, name: str, parameter: object) -> None:
        nonlocal made
        made += 1
        if made > 2 * len(tensors) + 16:
            raise InputError(
                "the config of these weights asks for more tensors than there are",
                allowed=str(len(tensors)),
            )

    hook = register_module_parameter_registration_hook(count)
    try:
        with _Spending(_ROOM + 4 * sum(tensor.nbytes for tensor in tensors.values())):
            network = make()
    finally:
        hook.remove()
    check_state_dict(network.state_dict(), tensors)
    network.load_state_dict(tensors)
    return network.requires_grad_(False).eval()


class _Spending(TorchFunctionMode):
    """Counts the memory of tensors before they are made."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._left = most

    def __torch_function__(
        self, func: Any, types: Any, args: tuple = (), kwargs: dict | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in _FACTORIES or func in _RANGES:
            size = args or (kwargs.get("size", ()),)
            size = size[0] if isinstance(size[0], tuple | list) else size
            numbers = [n for n in size if isinstance(n, int)]
            count = max(numbers, default=0) if func in _RANGES else math.prod(numbers)
            self._left -= 4 * count
            if self._left < 0:
                raise InputError(
                    "the config of these weights asks for larger tensors than there are",
                    value=tuple(size),
                )
        return func(*args, **kwargs)
