"""Grids of the catalog: each dated, on one basis, and given to a model by name."""

import pytest

from mlsysim import IterationModel, Systems
from mlsysim.catalog import Grid, Value
from mlsysim.errors import CatalogError, InputError, UnknownNameError

GRIDS = {name: Systems.Grids[name] for name in Systems.Grids}
ASKED = {"model": "Llama3_8B", "hardware": "H100", "decode_requests": 8, "context_tokens": 500}
ENGINE = IterationModel()


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_a_grid_is_a_year_of_a_place_with_its_source(grid):
    assert isinstance(grid, Grid)
    assert 0.02 < grid.grid_carbon.value < 0.8
    assert grid.grid_carbon.unit == "kg/kWh"
    assert grid.grid_carbon.date >= "2024-12"
    assert any(year in grid.name for year in ("2023", "2024"))
    assert grid.grid_water is None or 1 < grid.grid_water.value < 20


def test_one_entry_alone_is_of_stacks_and_says_so():
    assert [name for name, grid in GRIDS.items() if "stack" in grid.name] == ["US_stack"]
    assert "Another basis" in GRIDS["US_stack"].grid_carbon.note
    assert all(
        "Life cycle" in grid.description + grid.grid_carbon.note for name, grid in GRIDS.items() if name != "US_stack"
    )


def test_the_world_is_the_default():
    assert ENGINE.solve(**ASKED).canonical("carbon") == ENGINE.solve(**ASKED, grid="World").canonical("carbon")


@pytest.mark.parametrize("name", ["US", "France", "EU", "Systems.Grids.India"])
def test_a_name_gives_what_its_numbers_give(name):
    grid = Systems.Grids[name.rpartition(".")[2]]
    named = ENGINE.solve(**ASKED, grid=name)
    typed = ENGINE.solve(**ASKED, grid_carbon=grid.grid_carbon.text())
    assert named.canonical("operational_carbon") == pytest.approx(typed.canonical("operational_carbon"), rel=1e-12)
    assert named.canonical("energy") == typed.canonical("energy")


def test_a_number_overrides_the_grid():
    both = ENGINE.solve(**ASKED, grid="France", grid_carbon="0.1 kg/kWh")
    assert both.canonical("operational_carbon") == pytest.approx(both.canonical("energy") / 3.6e6 * 0.1)


def test_grids_are_an_axis():
    found = ENGINE.sweep(**ASKED, grid=["France", "US", "India"], outputs=["operational_carbon", "energy"])
    carbon = found.operational_carbon.values / found.energy.values
    assert carbon[1] / carbon[0] == pytest.approx(0.38355 / 0.04418)
    assert carbon[2] / carbon[0] == pytest.approx(0.70832 / 0.04418)


def test_an_unknown_grid_suggests_the_nearest():
    with pytest.raises(UnknownNameError, match=r"Frnace.*France"):
        ENGINE.solve(**ASKED, grid="Frnace")
    with pytest.raises((InputError, UnknownNameError), match="grid"):
        ENGINE.solve(**ASKED, grid="H100")


def test_a_grid_of_ones_own():
    mine = Grid(name="Solar roof", grid_carbon=0.04, grid_water=Value.of(0, "L/kWh"))
    found = ENGINE.solve(**ASKED, grid=mine)
    assert found.canonical("operational_carbon") == pytest.approx(found.canonical("energy") / 3.6e6 * 0.04)
    assert found.canonical("grid_water_use") == 0
    with pytest.raises(CatalogError, match="grid_carbon"):
        Grid(name="Nowhere", grid_carbon="0.4 kg")
    with pytest.raises(CatalogError, match="negative"):
        Grid(name="Nowhere", grid_carbon=-0.4)
