"""The computation of a model as a graph of ONNX operators, all in double precision."""

from functools import reduce
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplasso.base.arrays import Floats, Ints, Labels
from dplasso.base.extras import require
from dplasso.base.wording import ParameterError
from dplasso.data.table_cells import CELL
from dplasso.estimators.export.portable import Centring, Length, Portable, RowSteps

OPSET, IR_VERSION = 17, 8  # of 2022, which runtimes of today read


class Graph:
    """Nodes and constants under construction. Values are the names of what nodes return."""

    def __init__(self) -> None:
        self.onnx = require("onnx", "helper", "numpy_helper", extra="onnx", purpose="ONNX export")
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def node(self, operator: str, *inputs: str, name: str | None = None, **attributes: Any) -> str:
        """Add a node; its value has the given name, or a new one."""
        name = name or f"{operator.lower()}_{len(self.nodes)}"
        made = self.onnx.helper.make_node(operator, list(inputs), [name], name=name, **attributes)
        self.nodes.append(made)
        return name

    def constant(self, value: Any) -> str:
        """Add a constant array."""
        name = f"constant_{len(self.constants)}"
        self.constants.append(self.onnx.numpy_helper.from_array(np.asarray(value), name))
        return name

    def number(self, value: float) -> str:
        """Add a constant number in double precision."""
        return self.constant(np.float64(value))

    def one_where_zero(self, value: str) -> str:
        """Replace 0 by 1, before a division."""
        is_zero = self.node("Equal", value, self.number(0.0))
        return self.node("Add", value, self.node("Cast", is_zero, to=self.type_of("DOUBLE")))

    def added(self, values: list[str]) -> str:
        """Add up values."""
        return reduce(lambda one, other: self.node("Add", one, other), values)

    def type_of(self, name: str) -> int:
        """Return the number that ONNX gives a type."""
        return int(getattr(self.onnx.TensorProto, name))


class Part(NamedTuple):
    """Entries of some columns of the rows; ``places`` are the columns, None for all."""

    given: "Input"
    entries: str
    places: Ints | None = None

    def margins(self, weights: Floats) -> str:
        """Return rows times weights (all columns x outputs): rows x outputs."""
        return self.given.margins(
            self.entries, weights if self.places is None else weights[self.places]
        )


class ColumnsInput:
    """Rows as a matrix of columns: numbers per column are broadcast."""

    def __init__(self, graph: Graph, entries: str) -> None:
        self.graph, self.entries = graph, entries

    def by_column(self, values: Floats) -> str:
        """Return one number per entry."""
        return self.graph.constant(values)

    def margins(self, entries: str, weights: Floats) -> str:
        """Return rows times weights (columns x outputs): rows x outputs."""
        # Not MatMul: onnxruntime merges it with a number before it, in single precision.
        return self.graph.node("Gemm", entries, self.graph.constant(weights))

    def parted(self, entries: str, places: Ints, others: Ints) -> tuple[Part, Part]:
        """Return the entries of the columns at ``places``, and those of the others."""
        graph = self.graph
        found = [
            Part(self, graph.node("Gather", entries, graph.constant(among), axis=1), among)
            for among in (places, others)
        ]
        return found[0], found[1]


class EntriesInput:
    """Rows as lists of entries, of which ``places`` are the columns: numbers are looked up."""

    def __init__(self, graph: Graph, places: str, entries: str, further: int) -> None:
        self.graph, self.places, self.entries = graph, places, entries
        self._further = further  # places after the last column, whose weights are 0

    def by_column(self, values: Floats) -> str:
        """Return one number per entry."""
        held = np.append(values, np.zeros(self._further))
        return self.graph.node("Gather", self.graph.constant(held), self.places, axis=0)

    def margins(self, entries: str, weights: Floats) -> str:
        """Return rows times weights (columns x outputs): rows x outputs."""
        graph, axis = self.graph, self.graph.constant(np.array([1], np.int64))
        held = np.concatenate([weights, np.zeros((self._further, weights.shape[1]))])
        found = graph.node("Gather", graph.constant(held), self.places, axis=0)
        products = graph.node("MatMul", graph.node("Unsqueeze", entries, axis), found)
        return graph.node("Squeeze", products, axis)

    def parted(self, entries: str, places: Ints, others: Ints) -> tuple[Part, Part]:
        """Return a matrix of the columns at ``places``, with their zeros, and the other entries."""
        graph, last = self.graph, len(places)
        at = np.full(last + len(others) + self._further, last, np.int32)
        at[places] = np.arange(last)
        # Other entries are added up in one more column of the matrix, which is then left out.
        where = graph.node("Gather", graph.constant(at), self.places, axis=0)
        is_other = graph.node("Equal", where, graph.constant(np.int32(last)))
        other = graph.node("Where", is_other, entries, graph.number(0.0))
        first = graph.constant(np.array([0], np.int64))
        rows = graph.node("Gather", graph.node("Shape", entries), first, axis=0)
        width = graph.constant(np.array([last + 1], np.int64))
        shape = graph.node("Concat", rows, width, axis=0)
        zeros = graph.node("Expand", graph.number(0.0), shape)
        filled = graph.node("ScatterElements", zeros, where, entries, axis=1, reduction="add")
        columns = graph.constant(np.arange(last))
        matrix = graph.node("Gather", filled, columns, axis=1)
        return Part(ColumnsInput(graph, matrix), matrix, places), Part(self, other)


Input = ColumnsInput | EntriesInput


def mapped_rows(graph: Graph, given: Input, steps: RowSteps) -> list[Part]:
    """Add the steps that map a row, and return its entries in parts."""
    entries = given.entries
    if steps.ends is not None and steps.zeros is not None:
        low, high = steps.ends
        entries = graph.node("Max", entries, given.by_column(low))
        entries = graph.node("Min", entries, given.by_column(high))
        entries = graph.node("Sub", entries, given.by_column(steps.zeros))
    if steps.stretch is not None:
        entries = graph.node("Mul", entries, given.by_column(steps.stretch))
    if steps.limit is not None:
        entries = graph.node("Min", entries, graph.number(steps.limit))
        entries = graph.node("Max", entries, graph.number(-steps.limit))
    if steps.centring is None:
        parts = [Part(given, _entry_map(graph, entries, steps))]
    else:
        parts = _centred_and_others(graph, given, entries, steps, steps.centring)
    for norm in steps.lengths:
        parts = _divided(graph, parts, norm)
    return parts


def _centred_and_others(
    graph: Graph, given: Input, entries: str, steps: RowSteps, centring: Centring
) -> list[Part]:
    """Centre the columns with ranges; map and scale the others."""
    others = centring.others(steps.width)
    parts = given.parted(entries, centring.places, others)
    found = []
    if len(centring.places):
        found.append(parts[0]._replace(entries=_centred(graph, parts[0].entries, centring)))
    if len(others):
        mapped = _entry_map(graph, parts[1].entries, steps)
        scaled = graph.node("Div", mapped, graph.number(centring.divisor))
        found.append(parts[1]._replace(entries=scaled))
    return found


def _centred(graph: Graph, entries: str, centring: Centring) -> str:
    """Add the steps from a column to its centred entries. Their order keeps every bit."""
    gain, shift = centring.scales
    found = graph.node("Sub", entries, graph.constant(centring.start))
    found = graph.node("Div", found, graph.constant(centring.width))
    found = graph.node("Mul", found, graph.number(CELL))
    found = graph.node("Round", found)  # of two whole numbers to the even one, as numpy.rint
    found = graph.node("Max", found, graph.number(0.0))
    found = graph.node("Min", found, graph.number(CELL))
    found = graph.node("Mul", found, graph.constant(gain))
    return graph.node("Add", found, graph.constant(shift))


def _divided(graph: Graph, parts: list[Part], norm: Length) -> list[Part]:
    """Divide rows by their length, which all of their parts have together."""
    if norm == "max":
        largest = [
            graph.node("ReduceMax", graph.node("Abs", part.entries), axes=[1], keepdims=1)
            for part in parts
        ]
        length = graph.node("Max", *largest)
    else:
        squares = [
            graph.node("ReduceSumSquare", part.entries, axes=[1], keepdims=1) for part in parts
        ]
        length = graph.node("Sqrt", graph.added(squares))
    length = graph.one_where_zero(length)
    return [part._replace(entries=graph.node("Div", part.entries, length)) for part in parts]


def _entry_map(graph: Graph, entries: str, steps: RowSteps) -> str:
    if steps.row_map == "as_is":
        return entries
    signs = graph.node("Sign", entries)
    if steps.row_map == "presence":
        return graph.node("Abs", signs)
    if steps.row_map == "sqrt":
        return graph.node("Mul", signs, graph.node("Sqrt", graph.node("Abs", entries)))
    half = graph.node("Mul", entries, graph.number(0.5))
    return graph.node("Add", half, graph.node("Mul", signs, graph.number(0.5 * steps.bound)))


def outputs_of(graph: Graph, margins: str, model: Portable) -> list[Any]:
    """Add what margins (rows x outputs) become, and return the declared outputs."""
    declare = graph.onnx.helper.make_tensor_value_info
    double = graph.type_of("DOUBLE")
    if model.outcome == "numbers":
        if model.label_range is not None:
            margins = graph.node("Max", margins, graph.number(model.label_range.low))
            margins = graph.node("Min", margins, graph.number(model.label_range.high))
        graph.node("Identity", margins, name="variable")
        return [declare("variable", double, [None, 1])]
    classes: Labels = np.asarray(model.classes)
    if model.weights.shape[0] == 1:
        zeros = graph.node("Sub", margins, margins)
        compared = graph.node("Concat", zeros, margins, axis=1)
    else:
        compared = margins
    # Of equal ones the first, which is 0 for two classes.
    place = graph.node("ArgMax", compared, axis=1, keepdims=0)
    held, kind = _labels(graph, classes)
    graph.node("Gather", graph.constant(held), place, axis=0, name="label")
    label = declare("label", kind, [None])
    if model.outcome == "scores":
        graph.node("Identity", margins, name="scores")
        return [label, declare("scores", double, [None, model.weights.shape[0]])]
    if model.outcome == "one_against_rest":
        _one_against_rest(graph, margins)
    else:
        # Of two classes as well: 1 - p would lose the digits of a small probability.
        graph.node("Softmax", compared, axis=1, name="probabilities")
    return [label, declare("probabilities", double, [None, len(classes)])]


def _one_against_rest(graph: Graph, margins: str) -> None:
    """Add logistic probabilities of every class, scaled to sum to 1.

    They are e^min(m, 0) / (1 + e^-|m|), which keeps the digits of small ones.
    """
    above = graph.node("Exp", graph.node("Min", margins, graph.number(0.0)))
    small = graph.node("Exp", graph.node("Neg", graph.node("Abs", margins)))
    chances = graph.node("Div", above, graph.node("Add", small, graph.number(1.0)))
    chances = graph.node("Max", chances, graph.number(np.nextafter(0.0, 1.0)))
    axis = graph.constant(np.array([1], np.int64))
    total = graph.node("ReduceSum", chances, axis, keepdims=1)
    graph.node("Div", chances, total, name="probabilities")


def _labels(graph: Graph, classes: Labels) -> tuple[NDArray[Any], int]:
    """Return classes as an array that ONNX can hold, and its type there."""
    held: NDArray[Any] = np.array(classes.tolist())  # numbers may have been kept as objects
    types = {"b": ("BOOL", bool), "i": ("INT64", np.int64), "f": ("DOUBLE", np.float64)}
    if held.dtype.kind in types:
        name, kind = types[held.dtype.kind]
        return held.astype(kind), graph.type_of(name)
    if held.dtype.kind == "U":
        return held.astype(object), graph.type_of("STRING")
    raise ParameterError(
        "{classes} must be texts, numbers of at most 64 bits or truth values in an ONNX file; fit "
        "with such labels"
    )
