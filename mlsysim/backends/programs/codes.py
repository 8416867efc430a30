"""Instruction set of the machine: operations of the table that have an instruction, and their second forms."""

from mlsysim.graph import TABLE

#: Forms of instructions: on values alone; with a number as the last operand; with a product by it as the last.
PLAIN, NUMBER, SCALED = "{}", "{} number", "{} scaled"
#: Operations with a number form, some of which have no other form; and operations that commute.
NUMBER_ALONE = frozenset({"known", "inverted"})
WITH_NUMBER = NUMBER_ALONE | {"add", "multiply", "maximum", "minimum", "power"}
COMMUTE = frozenset({"add", "multiply", "maximum", "minimum"})
#: Operations that equal another one with operands exchanged.
TURNED = {"greater": "less", "greater_equal": "less_equal"}

#: Expression per instruction, in which the operands are a, b, c and d.
EXPRESSIONS: dict[str, str] = {}
for _name, _operation in TABLE.items():
    _text = _operation.machine or _operation.floats or _operation.text
    if _text and _operation.cost and _name not in TURNED:
        _text = f"1.0 if {_text} else 0.0" if _operation.truth else _text
        if _name not in NUMBER_ALONE:
            EXPRESSIONS[PLAIN.format(_name)] = _text.format(*"abcd")
        if _name in WITH_NUMBER:
            EXPRESSIONS[NUMBER.format(_name)] = _text.format("a", "number")
EXPRESSIONS[NUMBER.format("power")] = "power(a, number)"
EXPRESSIONS[SCALED.format("plus_outward")] = TABLE["plus_outward"].machine.format("a", "(b * number)")

CODES = {name: code for code, name in enumerate(EXPRESSIONS)}
