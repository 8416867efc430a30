"""How saved certificates are changed by hand, to see whether that is noticed."""

import base64
import json
import zlib

import sympy

from mlsysim import UnitSymbol

BAD = {"text": "zzz", "null": None, "negative": -1, "list": [], "true": True, "object": {}, "huge": 10**400}


def as_text(expression):
    """An expression as a user types it."""
    if isinstance(expression, sympy.And | sympy.Or):
        return {sympy.And: " and ", sympy.Or: " or "}[type(expression)].join(map(as_text, expression.args))
    if isinstance(expression, sympy.Eq):
        return " == ".join(map(as_text, expression.args))
    if isinstance(expression, sympy.Mod):
        return " % ".join(f"({as_text(arg)})" for arg in expression.args)
    text = str(expression)
    for symbol in expression.atoms(UnitSymbol):
        text = text.replace(f"*{symbol.name}", f" {symbol.name}")
    return text


def places_of(value, path=()):
    """The way to every part of a file."""
    for name, part in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, name)
        yield from places_of(part, (*path, name))


def every_part_but_digests(content):
    """The way to every part of a file, one entry for all that are digests of what it was made of."""
    return [way for way in places_of(content) if way[0] != "fingerprint" or len(way) < 3]


def put(content, way, value):
    """Put another value in a place of a file."""
    *before, last = way
    for part in before:
        content = content[part]
    content[last] = value


def tree_of(content):
    """The tree of halvings in a file."""
    return zlib.decompress(base64.b64decode(content["boxes"]["tree"]))


def put_tree(content, tree):
    """Put another tree in a file."""
    content["boxes"]["tree"] = base64.b64encode(zlib.compress(bytes(tree))).decode()


def written_after(change, source, path):
    """Write a file after a change."""
    content = json.loads(source.read_text())
    change(content)
    path.write_text(json.dumps(content))
    return path
