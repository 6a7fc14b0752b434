"""Write models as ONNX files."""

import json
import os
from typing import Any

import numpy as np

from dplasso.base import checks, memory
from dplasso.base.arrays import Ints
from dplasso.base.wording import ParameterError, Setting
from dplasso.estimators.export import onnx_graph
from dplasso.estimators.export.onnx_graph import ColumnsInput, EntriesInput, Graph, Input
from dplasso.estimators.export.portable import Portable, RowSteps
from dplasso.storage.atomic import replace_file

INPUTS = ("auto", "all", "used", "entries")
WIDE = 10_000  # above so many columns, "auto" does not take them all as a dense matrix
MOST_BYTES = (1 << 31) - (1 << 24)  # a file of this format ends at 2 GiB; the rest is for names


def write_onnx(model: Portable, path: str | os.PathLike[str], inputs: str) -> str:
    """Write the model to a file and return the form of its inputs, which is never "auto"."""
    checks.choice("inputs", inputs, INPUTS)
    found = chosen_inputs(model.steps, inputs)
    content = onnx_model(model, found).SerializeToString()
    replace_file(path, content, released=True)
    return found


def chosen_inputs(steps: RowSteps, inputs: str) -> str:
    """Return what "auto" stands for; reject what the model cannot take."""
    if inputs == "auto":
        if steps.n_features <= WIDE:
            return "all"
        return "entries" if steps.columns is None else "used"
    if inputs == "used" and steps.columns is None:
        raise ParameterError(
            "{used} is not enough for this model: it divides a row by its length, for which all "
            "columns count; pass {entries}",
            used=Setting("inputs", "used"),
            entries=Setting("inputs", "entries"),
        )
    return inputs


def onnx_model(model: Portable, inputs: str) -> Any:
    """Return the model as an ``onnx.ModelProto``."""
    from dplasso import __version__

    _check_size(model, inputs)
    graph, steps = Graph(), model.steps
    given, declared = _input(graph, steps, inputs)
    parts, weights = onnx_graph.mapped_rows(graph, given, steps), model.read_weights.toarray().T
    weighed = graph.added([part.margins(weights) for part in parts])
    margins = graph.node("Add", weighed, graph.constant(model.intercepts))
    outputs = onnx_graph.outputs_of(graph, margins, model)
    helper = graph.onnx.helper
    made = helper.make_model(
        helper.make_graph(graph.nodes, "dplasso", declared, outputs, graph.constants),
        producer_name="dplasso",
        producer_version=__version__,
        ir_version=onnx_graph.IR_VERSION,
        opset_imports=[helper.make_opsetid("", onnx_graph.OPSET)],
        doc_string=str(model.privacy),
    )
    helper.set_model_props(made, _metadata(model, inputs))
    graph.onnx.checker.check_model(made)
    return made


def _input(graph: Graph, steps: RowSteps, inputs: str) -> tuple[Input, list[Any]]:
    """Add the inputs; return what the steps start from, and the declared inputs."""
    declare, double = graph.onnx.helper.make_tensor_value_info, graph.type_of("DOUBLE")
    if inputs == "entries":
        places = [None, None]
        return _entries(graph, steps), [
            declare("columns", graph.type_of("INT64"), places),
            declare("values", double, places),
        ]
    if inputs == "used" or steps.columns is None:
        return ColumnsInput(graph, "X"), [declare("X", double, [None, steps.width])]
    read = graph.node("Gather", "X", graph.constant(steps.columns), axis=1)
    return ColumnsInput(graph, read), [declare("X", double, [None, steps.n_features])]


def _entries(graph: Graph, steps: RowSteps) -> EntriesInput:
    if steps.columns is None:
        return EntriesInput(graph, "columns", "values", 0)
    # Columns that are not read share one place after the others, and their entries become 0.
    last = len(steps.columns)
    places = np.full(steps.n_features, last, np.int32)
    places[steps.columns] = np.arange(last)
    at = graph.node("Gather", graph.constant(places), "columns", axis=0)
    read = graph.constant(np.append(np.ones(last), 0.0))
    kept = graph.node("Mul", "values", graph.node("Gather", read, at, axis=0))
    return EntriesInput(graph, at, kept, 1)


def _check_size(model: Portable, inputs: str) -> None:
    """Reject models that no file of this format can hold."""
    steps = model.steps
    needed = 8 * steps.width * (model.weights.shape[0] + 4)
    if inputs == "entries" and steps.columns is not None:
        needed += 4 * steps.n_features
    memory.check(
        needed,
        f"an ONNX file for {steps.n_features:,} columns",
        "fit with fewer coefficients or columns, or predict with dplasso",
        most=MOST_BYTES,
    )
    memory.check(3 * needed, "building an ONNX file", "use a machine with more memory")


def _metadata(model: Portable, inputs: str) -> dict[str, str]:
    """Return what the file says about itself: the statement, and which columns it takes."""
    found: dict[str, Any] = {"inputs": inputs, "privacy": model.statement}
    columns: Ints | None = model.steps.columns if inputs == "used" else None
    if columns is not None:
        found["columns"] = columns.tolist()
    if inputs != "entries" and model.feature_names is not None:
        names = model.names_of(columns)
        assert names is not None
        found["feature_names"] = [str(name) for name in names]
    texts = {name: json.dumps(value) for name, value in found.items() if name != "inputs"}
    return {"inputs": inputs, **texts, "privacy_text": str(model.privacy)}
