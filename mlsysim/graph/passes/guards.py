"""Guards: no branch that is not taken divides by zero, so that slopes in reverse stay finite.

JAX multiplies the slope of an untaken branch by zero, and zero times infinity is not a number.
"""

from __future__ import annotations

from dataclasses import replace

from mlsysim.graph.builder import Builder, copied
from mlsysim.graph.graph import Graph, Node
from mlsysim.graph.operation import TABLE

#: Input of a residual that says whether its root is needed.
_TAKEN = "_taken"


def guarded(graph: Graph, *, always: bool = True) -> Graph:
    """The graph with a safe stand-in for every risky operand of a branch, where the branch is not taken.

    A node is needed where the condition of a branch holds that needs it; one that anything else needs, always. What has
    no slopes, such as a comparison or a least integer, gets its operands as they are.

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
        new, taken, data = carried(at[place]), needed[place], node.data
        if taken is not None and _has_slopes(node):
            args = [places[arg] for arg in node.args]
            if node.op == "where":
                args[0] = carried(at[node.args[0]])
            branch = builder.value(taken) is not True
            for which in _risky(graph, node) if branch else ():
                if final.value(args[which]) is None:
                    safe = _safe(final, node.op, args)
                    args[which] = final.make("where", carried(taken), args[which], safe)
            if node.op == "root":
                data = guarded(data, always=not branch)
                args += [carried(taken)] if branch else []
            new = final.make(node.op, *args, data=data)
        places.append(new)
        if place in graph.names:
            final.names.setdefault(new, graph.names[place])
    found = final.graph({name: places[place] for name, place in graph.outputs.items()})
    # Those of a residual are given by place.
    return replace(found, inputs=graph.inputs if always else (*graph.inputs, _TAKEN))


def _needed(graph: Graph, builder: Builder, at: list[int], start: int) -> list[int | None]:
    """Place in the builder of the condition under which slopes go through each node; None where none does."""
    found: list[int | None] = [None] * len(graph.nodes)
    for place in graph.outputs.values():
        found[place] = start

    def need(place: int, where: int) -> None:
        before = found[place]
        found[place] = where if before is None else builder.make("either", before, where)

    for place in range(len(graph.nodes) - 1, -1, -1):
        node, taken = graph.nodes[place], found[place]
        if taken is None or not _has_slopes(node):
            continue
        if node.op == "where":
            condition = at[node.args[0]]
            need(node.args[1], builder.make("both", taken, condition))
            need(node.args[2], builder.make("both", taken, builder.make("negation", condition)))
        else:
            for arg in node.args:
                need(arg, taken)
    return found


def _has_slopes(node: Node) -> bool:
    return TABLE[node.op].partials is not None or node.op in ("root", "chunked")


def _risky(graph: Graph, node: Node) -> list[int]:
    """Operands at which an operation may have an infinite slope."""
    facts = [graph.facts[arg] for arg in node.args]
    if node.op in ("multiply", "lawful"):
        return [which for which, operand in enumerate(facts) if operand.infinite]
    risky = TABLE[node.op].risky
    return [risky] if risky is not None and (facts[risky].zero or facts[risky].low < 0) else []


def _safe(builder: Builder, op: str, args: list[int]) -> int:
    """A stand-in at which an operation has a finite slope."""
    return builder.make("divide", args[0], builder.number(2.0)) if op == "erlang_c" else builder.number(1.0)
