"""Arguments of power, energy, carbon and water, alike in every model that has them."""

from __future__ import annotations

from sympy import Or

from mlsysim.catalog import Grid
from mlsysim.inputs.declaration import Caveat
from mlsysim.inputs.slot import Slot
from mlsysim.symbols.energy import m_dev, m_host

#: What a device says of its power and manufacture, where it is known; a ``tdp`` comes beside it, as an extra.
OF_DEVICE = ("power_limit", "idle_power_fraction", "busy_power", "flop_power", "host_power_fraction",
             "embodied_device", "embodied_host")  # fmt: skip
POWERED = ("tdp",)
#: Constants of the law of power, which stand beside the other calibrated ones.
OF_STACK = ("idle_power_fraction", "busy_power", "flop_power", "cap_exponent", "format_energy")
GRID = {"grid": Slot(Grid, ("grid_carbon", "grid_water"), default="World", strict=True)}
KEYWORDS = {
    "host_power_fraction": 0.45,
    "pue": 1.2,
    "lifetime": 4 * 365,
    "used_share": 0.6,
    "site_water": 0.5,
}
#: What entries leave out: no limit, and no manufacture that is known.
DEFAULTS = {"power_limit": 0, "embodied_device": 0, "embodied_host": 0}
#: A board is held to its limit, unless another one is typed.
FOLLOWS = {"power_limit": "tdp"}
#: What a reader of carbon must know.
UNKNOWN = Caveat(
    Or(m_dev <= 0, m_host <= 0),
    "carbon of manufacture is not known of the device, or of its host, and left out: give embodied_device, "
    "{embodied_device}, and embodied_host, {embodied_host}",
)
