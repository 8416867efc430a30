"""The instructions of the machine, by name, and which of them have a form with a number as the last operand."""

#: Instructions that give truth values.
TRUTHS = (
    "less", "less_equal", "greater", "greater_equal", "equal", "not_equal", "logical_and", "logical_or", "logical_not",
)  # fmt: skip
#: Instructions with values alone. The names of NumPy mean what they mean there.
_PLAIN = (
    "add", "subtract", "multiply", "divide", "maximum", "minimum", "fmax", "fmin", "power", "remainder",
    "absolute", "negative", "ceil", "floor", "rint", "log", "exp", "sqrt", "isnan", "isfinite",
    *TRUTHS, "where",
)  # fmt: skip
#: Instructions of :mod:`~mlsysim.backends.programs.steps`.
_STEPS = (
    "plus_outward", "plus_outward_scaled", "known", "inverted", "times_low", "times_high", "least_inside",
    "looked_up", "looked_up_pair", "least_of", "greatest_of",
    "least_of_plane", "greatest_of_plane",
)  # fmt: skip
#: Instructions whose first operand is a table.
TABLE_FIRST = frozenset(
    {"looked_up", "looked_up_pair", "least_of", "greatest_of", "least_of_plane", "greatest_of_plane"}
)
#: Instructions that have a second form, in which the last operand is one number for all elements.
WITH_NUMBER = frozenset({"add", "multiply", "maximum", "minimum", "known", "inverted", "power"})
#: Of these, the ones whose operands may change places.
COMMUTE = frozenset({"add", "multiply", "maximum", "minimum"})
#: Instructions whose last operand is always one number.
NUMBER_LAST = frozenset({"plus_outward_scaled"})

CODES = {name: code for code, name in enumerate((*_PLAIN, *_STEPS, *(f"{n} number" for n in sorted(WITH_NUMBER))))}
