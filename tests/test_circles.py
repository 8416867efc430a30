"""No more than two modules import each other in a circle, wherever in a file the imports stand."""

import grimp


def circles(graph):
    """Sets of modules each of which imports, in one step or several, every other of its set."""
    found = []
    for module in sorted(graph.modules):
        circle = {module, *(graph.find_upstream_modules(module) & graph.find_downstream_modules(module))}
        if len(circle) > 1 and circle not in found:
            found.append(circle)
    return found


def test_a_circle_is_seen():
    graph = grimp.ImportGraph()
    for importer, imported in (("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")):
        graph.add_import(importer=importer, imported=imported)
    assert circles(graph) == [{"a", "b", "c"}]


def test_no_circle_is_of_more_than_two_modules():
    graph = grimp.build_graph("mlsysim", cache_dir=None)
    assert len(graph.modules) > 100
    assert [sorted(circle) for circle in circles(graph) if len(circle) > 2] == []
