"""The table of units that ships is what pint says."""

from mlsysim.models import unit_table
from mlsysim.units import TABLE


def test_the_table_of_units_is_what_pint_says():
    """``python -m mlsysim.models.unit_table`` writes it."""
    assert TABLE.read_text(encoding="utf-8") == unit_table.unit_table()
