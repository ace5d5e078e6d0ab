"""The same models in PyTorch, to compare with: functions of the same parameters, written as its users would."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from examples.lantern.trees import Tree

__all__ = ["treelstm_slope"]


def tensors(arrays: Any) -> dict[str, Any]:
    """Arrays by name as tensors that are differentiated."""
    return {name: torch.tensor(x, requires_grad=True) for name, x in arrays.items()}


def treelstm_slope(vectors: np.ndarray, numbers: dict[str, int]) -> Callable[[Any, Tree], tuple[float, Any]]:
    """A function of tensors and a tree: the loss and the gradient, by recursion over Python objects."""
    known = torch.tensor(vectors)

    def state(w: Any, tree: Tree, found: list[Any]) -> Any:
        if tree.left is None or tree.right is None:
            z = functional.linear(known[numbers[str(tree.word)]], w["leaf"], w["leaf_bias"])
            c, o = z.chunk(2)
            h = torch.sigmoid(o) * torch.tanh(c)
        else:
            h_left, c_left = state(w, tree.left, found)
            h_right, c_right = state(w, tree.right, found)
            z = functional.linear(h_left, w["left"], w["left_bias"])
            z = z + functional.linear(h_right, w["right"], w["right_bias"])
            d = len(c_left)
            i, f_left, f_right, o = torch.sigmoid(z[: 4 * d]).chunk(4)
            c = i * torch.tanh(z[4 * d :]) + f_left * c_left + f_right * c_right
            h = o * torch.tanh(c)
        found.append((h, tree.label))
        return h, c

    def slope(w: Any, tree: Tree) -> tuple[float, Any]:
        found: list[Any] = []
        state(w, tree, found)
        hidden, labels = zip(*found, strict=True)
        scores = functional.linear(torch.stack(hidden), w["score"], w["score_bias"])
        loss = functional.cross_entropy(scores, torch.tensor(labels), reduction="sum")
        return loss.item(), dict(zip(w, torch.autograd.grad(loss, list(w.values())), strict=True))

    return slope
