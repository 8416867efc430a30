"""Guards: no branch that is not taken divides by zero, so that slopes in reverse stay finite.

JAX multiplies the slope of an untaken branch by zero, and zero times infinity is not a number.
"""

from __future__ import annotations

from dataclasses import replace

from mlsysim.graph.builder import Builder, copied
from mlsysim.graph.graph import Graph
from mlsysim.graph.operation import TABLE

#: Input of a residual that says whether its root is needed.
_TAKEN = "_taken"


def guarded(graph: Graph, *, always: bool = True) -> Graph:
    """The graph with a safe stand-in for every risky operand of a branch, where the branch is not taken.

    A node is needed where the condition of a branch holds that needs it; one that anything else needs, always.

    Parameters
    ----------
    graph : Graph
        A whole one, or the residual of a root.
    always : bool, optional
        False for the residual of a root that is needed in a branch alone: it gets an input more, which says where.
    """
    builder, at = copied(graph)
    start = builder.number(True) if always else builder.make("truth", builder.input(_TAKEN))
    needed = _needed(graph, builder, at, start)
    final = Builder()
    moved: dict[int, int] = {}

    def carried(place: int) -> int:
        """Place in the final builder of a condition that was built in the first one."""
        if place not in moved:
            node = builder.nodes[place]
            if node.op == "input":
                moved[place] = final.input(node.data, builder.facts[place])
            elif node.op == "number":
                moved[place] = final.number(node.data)
            else:
                moved[place] = final.make(node.op, *[carried(arg) for arg in node.args], data=node.data)
        return moved[place]

    places: list[int] = []
    for place, node in enumerate(graph.nodes):
        if node.op in ("input", "number"):
            new = carried(at[place])
        else:
            args = [places[arg] for arg in node.args]
            risky, taken = TABLE[node.op].risky, needed[place]
            if risky is not None and taken is not None and builder.value(taken) is not True:
                operand = graph.facts[node.args[risky]]
                if final.value(args[risky]) is None and (operand.zero or operand.low < 0):
                    args[risky] = final.make("where", carried(taken), args[risky], _safe(final, node.op, args))
            data = node.data
            if node.op == "root":
                branch = taken is not None and builder.value(taken) is not True
                data = guarded(data, always=not branch)
                args += [carried(taken)] if branch else []  # type: ignore[arg-type]
            new = final.make(node.op, *args, data=data)
        places.append(new)
        moved.setdefault(at[place], new)
        if place in graph.names:
            final.names.setdefault(new, graph.names[place])
    found = final.graph({name: places[place] for name, place in graph.outputs.items()})
    # Those of a residual are given by place.
    return replace(found, inputs=graph.inputs if always else (*graph.inputs, _TAKEN))


def _needed(graph: Graph, builder: Builder, at: list[int], start: int) -> list[int | None]:
    """Place in the builder of the condition under which each node is needed; None where nothing needs it."""
    found: list[int | None] = [None] * len(graph.nodes)
    for place in graph.outputs.values():
        found[place] = start

    def need(place: int, where: int) -> None:
        before = found[place]
        found[place] = where if before is None else builder.make("either", before, where)

    for place in range(len(graph.nodes) - 1, -1, -1):
        node, taken = graph.nodes[place], found[place]
        if taken is None:
            continue
        if node.op == "where":
            condition = at[node.args[0]]
            need(node.args[0], taken)
            need(node.args[1], builder.make("both", taken, condition))
            need(node.args[2], builder.make("both", taken, builder.make("negation", condition)))
        else:
            for arg in node.args:
                need(arg, taken)
    return found


def _safe(builder: Builder, op: str, args: list[int]) -> int:
    """A stand-in at which an operation has a finite slope."""
    return builder.make("divide", args[0], builder.number(2.0)) if op == "erlang_c" else builder.number(1.0)
