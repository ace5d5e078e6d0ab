"""examples/lantern: SqueezeNet and a small ResNet from ONNX graphs are the models that are written by hand."""

from __future__ import annotations

import numpy as np
import pytest

import dualrev as dr
from examples.lantern.errors import DataError
from examples.lantern.models import resnet, squeezenet
from examples.lantern.models.imported import read
from examples.lantern.models.layers import cross_entropy

onnx = pytest.importorskip("onnx", reason="make peers installs onnx")
reference = pytest.importorskip("onnx.reference", reason="make peers installs onnx")
RNG = np.random.default_rng(0)
X = RNG.normal(size=(2, 3, 33, 32))
LABELS = np.array([1, 0])


class Graph:
    """A graph that is being written, node by node."""

    def __init__(self):
        self.nodes, self.arrays = [], {}

    def node(self, operation, *inputs, **attributes):
        """Append a node, and return the name of its output."""
        output = f"{operation}_{len(self.nodes)}"
        self.nodes.append(onnx.helper.make_node(operation, inputs, [output], name=output, **attributes))
        return output

    def model(self, last, arrays, shape=(2, 3, 33, 32)):
        """The whole model, with these arrays, from x to the last output."""
        double = onnx.TensorProto.DOUBLE
        arrays = {**self.arrays, **arrays}
        graph = onnx.helper.make_graph(
            self.nodes,
            "graph",
            [onnx.helper.make_tensor_value_info("x", double, shape)],
            [onnx.helper.make_tensor_value_info(last, double, (None, None))],
            [onnx.numpy_helper.from_array(np.ascontiguousarray(a), name) for name, a in arrays.items()],
        )
        return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])


def drawn(shapes):
    """Parameters of small numbers, and scales around 1."""
    return {
        name: 0.05 * RNG.normal(size=shape) + name.endswith("scale") * 1.0 for name, shape in sorted(shapes.items())
    }


def squeezed(p):
    """SqueezeNet, as PyTorch exports it: GlobalAveragePool and Flatten in place of the mean."""
    g = Graph()

    def layer(name, x, padding=0, stride=1):
        y = g.node("Conv", x, f"{name}.weight", f"{name}.bias", pads=[padding] * 4, strides=[stride] * 2)
        return g.node("Relu", y)

    pool = {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}
    x, k = g.node("MaxPool", layer("conv1", "x", stride=2), **pool), 2
    for fire in squeezenet.FIRES:
        if fire == "pool":
            x = g.node("MaxPool", x, **pool)
            continue
        x = layer(f"fire{k}.squeeze", x)
        x = g.node("Concat", layer(f"fire{k}.one", x), layer(f"fire{k}.three", x, 1), axis=1)
        k += 1
    x = layer("conv10", g.node("Dropout", x))
    return g.model(g.node("Flatten", g.node("GlobalAveragePool", x)), p)


def residual(p, statistics, blocks):
    """A ResNet, with batch normalisation, ReduceMean and Gemm."""
    g = Graph()

    def layer(name, x, padding=0, stride=1):
        y = g.node("Conv", x, f"{name}.weight", pads=[padding] * 4, strides=[stride] * 2)
        names = [f"{name}.{part}" for part in ("scale", "shift", "mean", "variance")]
        return g.node("BatchNormalization", y, *names, epsilon=1e-5, momentum=0.9)

    x = g.node("Relu", layer("stem", "x", 3, 2))
    x = g.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for stage, count in enumerate(blocks):
        for k in range(count):
            name, stride = f"stage{stage}.{k}", 2 if k == 0 and stage else 1
            y = g.node("Relu", layer(f"{name}.a", x, 0, stride))
            y = layer(f"{name}.c", g.node("Relu", layer(f"{name}.b", y, 1)))
            x = g.node("Relu", g.node("Add", y, layer(f"{name}.shortcut", x, 0, stride) if k == 0 else x))
    x = g.node("ReduceMean", x, axes=[2, 3], keepdims=0)
    return g.model(g.node("Gemm", x, "scores.weight", "scores.bias", transB=1), {**p, **statistics})


def same(forward, mine, p, statistics, training):
    """Compare scores, statistics, and gradients of the loss."""

    def loss(of):
        return dr.value_and_grad(lambda p: cross_entropy(of(p, statistics, X, training)[0], LABELS))(p)

    for found, expected in zip(loss(forward), loss(mine), strict=True):
        if isinstance(expected, dict):
            assert found.keys() == expected.keys()
            assert sum(np.any(g != 0.0) for g in found.values()) > 0.8 * len(found)
            for name in expected:
                largest = np.max(np.abs(expected[name]))
                np.testing.assert_allclose(found[name], expected[name], rtol=1e-6, atol=1e-6 * largest)
        else:
            assert found == pytest.approx(expected, rel=1e-9)  # ONNX has the epsilon in single precision


def run(model, x):
    """The scores of an imported model."""
    made = read(model)
    return made.forward(made.parameters, made.statistics, x)[0]


def test_squeezenet_is_the_one_that_is_written_by_hand(tmp_path):
    p = drawn(squeezenet.shapes(classes=3))
    file = tmp_path / "squeezenet.onnx"
    onnx.save(squeezed(p), file)
    made = read(file)
    assert made.statistics == {}
    assert made.parameters.keys() == p.keys()
    assert all(np.array_equal(made.parameters[name], p[name]) for name in p)
    same(made.forward, squeezenet.forward, made.parameters, {}, True)


@pytest.mark.parametrize("training", [False, True])
def test_a_resnet_is_the_one_that_is_written_by_hand(training):
    blocks, width = (1, 2), 4
    p = drawn(resnet.shapes(classes=3, blocks=blocks, width=width))
    statistics = resnet.statistics(blocks, width, np.float64)
    statistics = {name: np.abs(a + 0.1 * RNG.normal(size=a.shape)) for name, a in statistics.items()}
    made = read(residual(p, statistics, blocks))
    assert (made.parameters.keys(), made.statistics.keys()) == (p.keys(), statistics.keys())
    same(made.forward, resnet.forward, p, statistics, training)
    found, expected = (f(p, statistics, X, training)[1] for f in (made.forward, resnet.forward))
    for name in statistics:
        if training and name.endswith("variance"):  # ONNX's is that of the batch, PyTorch's that of a sample
            assert np.all(found[name] <= expected[name] + 1e-6)
        else:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-6, atol=1e-7)  # so the momentum


@pytest.mark.parametrize("single", [False, True])
def test_each_operation_is_that_of_onnx(single):
    """The reference implementation of the onnx package computes the same."""
    dtype = np.float32 if single else np.float64
    x = RNG.normal(size=(2, 3, 7, 6)).astype(dtype)
    w = RNG.normal(size=(4, 3, 3, 2)).astype(dtype)
    m = RNG.normal(size=(6, 5)).astype(dtype)
    shape = np.array([0, -1], np.int64)
    cases = {
        "Conv": (("x", "w"), {"strides": [2, 3], "pads": [1, 0, 1, 0]}),
        "MaxPool": (("x",), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4}),
        "GlobalAveragePool": (("x",), {}),
        "ReduceMean": (("x",), {"axes": [1, -1]}),
        "Relu": (("x",), {}),
        "Mul": (("x", "x"), {}),
        "MatMul": (("x", "m"), {}),
        "Reshape": (("x", "shape"), {}),
        "Flatten": (("x",), {"axis": 2}),
        "Softmax": (("x",), {"axis": 1}),
        "Identity": (("x",), {}),
        "Concat": (("x", "x"), {"axis": -1}),
    }
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    for operation, (inputs, attributes) in cases.items():
        arrays = {name: {"w": w, "m": m, "shape": shape}[name] for name in inputs if name != "x"}
        graph = onnx.helper.make_graph(
            [onnx.helper.make_node(operation, inputs, ["y"], **attributes)],
            "one",
            [onnx.helper.make_tensor_value_info("x", kind, x.shape)],
            [onnx.helper.make_tensor_value_info("y", kind, (None, None))],
            [onnx.numpy_helper.from_array(a, name) for name, a in arrays.items()],
        )
        model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
        (expected,) = reference.ReferenceEvaluator(model).run(None, {"x": x})
        found = run(model, x)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype), operation
        np.testing.assert_allclose(found, expected, rtol=1e-4 if single else 1e-12, atol=1e-5 if single else 1e-12)


REFUSED = [
    (("Sigmoid", "x"), {}, r"node 0 \(Sigmoid Sigmoid_0\): this operation is not read, only Add, "),
    (("Conv", "x", "w"), {"group": 3}, r"node 0 \(Conv Conv_0\): group is 3, and only 1 is read"),
    (("Conv", "x", "w"), {"pads": [0, 0, 1, 1]}, r"pads is \[0, 1\], and only equal numbers are read"),
    (("Conv", "x", "w"), {"auto_pad": "SAME_UPPER"}, "auto_pad is SAME_UPPER, and only NOTSET is read"),
    (("MaxPool", "x"), {"kernel_shape": [3, 2]}, r"kernel_shape is \[3, 2\], and only equal numbers are read"),
]


@pytest.mark.parametrize(("node", "attributes", "why"), REFUSED)
def test_what_is_not_read_is_refused_with_its_place(node, attributes, why):
    g = Graph()
    last = g.node(*node, **attributes)
    model = g.model(last, {"w": np.ones((3, 3 // attributes.get("group", 1), 3, 3))} if "w" in node else {})
    with pytest.raises(DataError, match=why):
        run(model, X)


def test_a_graph_of_two_inputs_is_refused():
    g = Graph()
    model = g.model(g.node("Add", "x", "y"), {})
    model.graph.input.append(onnx.helper.make_tensor_value_info("y", onnx.TensorProto.DOUBLE, (1,)))
    with pytest.raises(DataError, match="has 2 inputs and 1 outputs: only one of each"):
        read(model)
