"""A network of images from an ONNX file (Wang et al. 2019, section 5.2): a graph of operations, as a Python function.

`read` returns the network in the form of squeezenet.py and resnet.py: parameters and statistics by name, and
forward(p, statistics, x, training), which runs the graph's nodes in their order. So dualrev differentiates it, and
training.py trains it. OPERATIONS has a function for each operation of ONNX that is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import dualrev as dr
from examples.lantern.errors import DataError
from examples.lantern.models.layers import batch_norm, conv, max_pool, normalised, relu

__all__ = ["OPERATIONS", "Imported", "Node", "read"]


class Imported(NamedTuple):
    """Parameters, means and variances, and forward(p, statistics, x, training) -> (scores, statistics)."""

    parameters: dict[str, np.ndarray]
    statistics: dict[str, np.ndarray]
    forward: Callable[..., tuple[Any, dict[str, Any]]]


class Node(NamedTuple):
    """An operation of the graph: its name in ONNX, where it stands, its attributes, and the names of its operands."""

    operation: str
    place: str
    attributes: dict[str, Any]
    inputs: tuple[str, ...]
    output: str

    def get(self, name: str, default: Any) -> Any:
        """An attribute, or ONNX's default."""
        return self.attributes.get(name, default)

    def only(self, **values: Any) -> None:
        """Raise DataError if an attribute has another value than the one that is read."""
        for name, value in values.items():
            if (found := self.get(name, value)) != value:
                raise DataError(f"{self.place}: {name} is {found}, and only {value} is read. Export the model so.")

    def same(self, name: str, values: Any) -> int:
        """The number that all these are. DataError if they differ."""
        if len(set(values)) != 1:
            raise DataError(f"{self.place}: {name} is {list(values)}, and only equal numbers are read.")
        return int(values[0])


def _padding(node: Node, dimensions: int = 2) -> tuple[int, ...]:
    """The padding of each dimension, from the attribute that has all beginnings and then all ends."""
    node.only(auto_pad="NOTSET")
    pads = node.get("pads", [0] * 2 * dimensions)
    return tuple(node.same("pads", pads[k::dimensions]) for k in range(dimensions))


def _conv(node: Node, x: Any, w: Any, b: Any = None) -> Any:
    node.only(group=1, dilations=[1, 1])
    return conv(x, w, b, tuple(node.get("strides", [1, 1])), _padding(node))


def _max_pool(node: Node, x: Any) -> Any:
    node.only(dilations=[1, 1], storage_order=0)
    size = node.same("kernel_shape", node.get("kernel_shape", []))
    stride = node.same("strides", node.get("strides", [1, 1]))
    return max_pool(x, size, stride, node.same("pads", _padding(node)), bool(node.get("ceil_mode", 0)))


def _gemm(node: Node, a: Any, b: Any, c: Any = 0.0) -> Any:
    a, b = (m.T if node.get(t, 0) else m for m, t in ((a, "transA"), (b, "transB")))
    return node.get("alpha", 1.0) * (a @ b) + node.get("beta", 1.0) * c


def _mean(node: Node, x: Any, axes: Any = None) -> Any:
    axes = node.get("axes", axes)
    return np.mean(x, axis=None if axes is None else tuple(map(int, axes)), keepdims=bool(node.get("keepdims", 1)))


def _reshape(node: Node, x: Any, shape: Any) -> Any:
    node.only(allowzero=0)
    return x.reshape([x.shape[k] if size == 0 else int(size) for k, size in enumerate(shape)])


def _flatten(node: Node, x: Any) -> Any:
    return x.reshape(int(np.prod(x.shape[: node.get("axis", 1)])), -1)


def _softmax(node: Node, x: Any) -> Any:
    axis = node.get("axis", -1)
    shares = np.exp(x - np.max(dr.value(x), axis=axis, keepdims=True))
    return shares / np.sum(shares, axis=axis, keepdims=True)


def _unchanged(node: Node, x: Any, *_: Any) -> Any:
    return x


#: What each operation computes, from its node and its operands. Dropout is left out, as in squeezenet.py.
OPERATIONS: Mapping[str, Callable[..., Any]] = {
    "Conv": _conv,
    "MaxPool": _max_pool,
    "GlobalAveragePool": lambda node, x: np.mean(x, axis=tuple(range(2, x.ndim)), keepdims=True),
    "ReduceMean": _mean,
    "Relu": lambda node, x: relu(x),
    "Add": lambda node, x, y: x + y,
    "Mul": lambda node, x, y: x * y,
    "Concat": lambda node, *xs: np.concatenate(xs, axis=node.get("axis", 0)),
    "Gemm": _gemm,
    "MatMul": lambda node, x, y: x @ y,
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Softmax": _softmax,
    "Identity": _unchanged,
    "Dropout": _unchanged,
}


def _normalise(node: Node, training: bool, found: dict[str, Any], x: Any, scale: Any, shift: Any) -> Any:
    """BatchNormalization; in training, the new statistics, in ONNX's momentum, go to `found`."""
    names, epsilon, kept = node.inputs[3:], node.get("epsilon", 1e-5), node.get("momentum", 0.9)
    if not training:
        mean, variance = (found[name] for name in names)
        return normalised(x, scale, shift, mean, variance, epsilon)
    y, *now = batch_norm(x, scale, shift, epsilon)
    for name, new in zip(names, now, strict=True):
        found[name] = (kept * found[name] + (1.0 - kept) * new).astype(new.dtype)
    return y


def read(source: Any) -> Imported:
    """Read a network from a file or an onnx.ModelProto. DataError names a node that cannot be read, and why."""
    import onnx

    model = onnx.load(source) if isinstance(source, (str, Path)) else source
    onnx.checker.check_model(model)
    graph = model.graph
    arrays = {one.name: onnx.numpy_helper.to_array(one) for one in graph.initializer}
    nodes: list[Node] = []
    for k, one in enumerate(graph.node):
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in one.attribute}
        attributes = {name: a.decode() if isinstance(a, bytes) else a for name, a in attributes.items()}
        place = f"node {k} ({one.op_type} {one.name or one.output[0]})"
        if one.op_type == "Constant":
            arrays[one.output[0]] = onnx.numpy_helper.to_array(attributes["value"])
            continue
        if one.op_type not in (*OPERATIONS, "BatchNormalization"):
            known = ", ".join(sorted([*OPERATIONS, "BatchNormalization"]))
            raise DataError(f"{place}: this operation is not read, only {known}. Add it to OPERATIONS.")
        inputs = tuple(one.input[: 1 if one.op_type == "Dropout" else None])
        nodes.append(Node(one.op_type, place, attributes, inputs, one.output[0]))
    given = [one.name for one in graph.input if one.name not in arrays]
    if len(given) != 1 or len(graph.output) != 1:
        raise DataError(f"the graph has {len(given)} inputs and {len(graph.output)} outputs: only one of each is read.")
    moving = {name for node in nodes if node.operation == "BatchNormalization" for name in node.inputs[3:]}
    floats = {name for name, a in arrays.items() if a.dtype.kind == "f"}
    constants = {name: a for name, a in arrays.items() if name not in floats}

    def forward(p: Any, statistics: dict[str, Any], x: Any, training: bool = True) -> tuple[Any, dict[str, Any]]:
        """Compute the scores, and the means and variances after this batch; as resnet.forward."""
        values, found = {**constants, **p, given[0]: x}, dict(statistics)
        for node in nodes:
            if node.operation == "BatchNormalization":
                values[node.output] = _normalise(node, training, found, *(values[name] for name in node.inputs[:3]))
            else:
                operands = [values[name] if name else None for name in node.inputs]
                values[node.output] = OPERATIONS[node.operation](node, *operands)
        return values[graph.output[0].name], found

    parameters = {name: arrays[name].copy() for name in arrays if name in floats - moving}
    return Imported(parameters, {name: arrays[name].copy() for name in arrays if name in moving}, forward)
