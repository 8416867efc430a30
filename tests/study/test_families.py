"""Families where a user meets them: results, explanations, grids, constraints and arguments."""

import json
from html.parser import HTMLParser

import numpy as np
import pytest
import sympy

from mlsysim import (
    DistributedModel,
    Index,
    PerformanceModel,
    TrainingMemoryModel,
    family,
    total,
    variable,
)
from mlsysim.errors import InputError, UnknownNameError
from mlsysim.inputs.expressions import condition, quantity
from mlsysim.symbolic import Formula, Source, nonnegative, positive
from mlsysim.symbols.groups import T_g, group

STEP = DistributedModel()
RUN = {
    "model": "Mixtral_8x7B", "hardware": "H100", "fabric_bandwidth": "50 GB/s", "fabric_latency": "10 us",
    "node_latency": "2 us", "fleet_size": 512, "batch_size": 1024, "seq_len": 4096, "precision": "bf16",
}  # fmt: skip
FOUND = STEP.solve(**RUN, tp_size=8, ep_size=4)
MEMBERS = {"tp": "tp_time", "cp": "cp_time", "dp": "dp_time", "ep": "ep_time"}

SOURCE = {"title": "test", "source": Source("own"), "no_example": "a test"}
KIND = Index("kind", "\\mathsf{k}", {"hot": "hot", "cold": "cold", "off": "switched off"})
flow = family("{}_flow", "f_{}", "GB/s", "Flow of the {} kind.", KIND, nonnegative())
size = family("{}_size", "z_{}", "GB", "Size of the {} kind.", KIND, positive())
took = family("{}_took", r"\vartheta_{}", "s", "Time of the {} kind.", KIND, nonnegative())
both = family(
    "{}_both", r"\varkappa_{}", "s", "Time of both, in the {} kind.", KIND, nonnegative(), over=("hot", "cold")
)
factor = variable("flow_factor", r"\varpi", "count", "Factor on all flows.", positive())
every = variable("every_took", r"\Theta", "s", "Time of all kinds.", nonnegative())


class FlowModel(PerformanceModel):
    """How long does it flow?"""

    variants = {
        "one": (
            Formula(took[KIND], factor * size[KIND] / flow[KIND], **SOURCE),
            Formula(every, total(KIND, took[KIND]), **SOURCE),
            Formula(both[KIND], sympy.Max(took[KIND], every / 2), **SOURCE),
        )
    }


GIVEN = {"flow_factor": 2, "kind_flow": {"hot": 4, "cold": 2, "off": 1}}


# --- results --------------------------------------------------------------------------------------


def test_a_family_is_a_dict_by_member():
    assert FOUND["group_time"] == {member: FOUND[name] for member, name in MEMBERS.items()}
    assert FOUND.group_time["tp"] == FOUND.tp_time
    assert list(FOUND["group_ranks"].values()) == [8, 1, 64, 8, 16, 4, 1]


def test_no_number_is_there_twice():
    assert "group_time" not in FOUND.outputs
    assert "group_time" not in dir(FOUND)
    assert "group_time" not in FOUND.to_dict()["outputs"]
    assert "group_ranks" not in json.loads(FOUND.to_json())["inputs"]


def test_a_family_is_suggested_and_another_model_has_none():
    with pytest.raises(UnknownNameError, match="'grup_time': did you mean group_time"):
        FOUND["grup_time"]
    with pytest.raises(UnknownNameError, match="unknown output of TrainingMemoryModel 'group_time'"):
        TrainingMemoryModel().solve("Llama3_8B", "H100", batch_size=8)["group_time"]


def test_members_that_are_zero_are_hidden_in_a_table_and_kept_in_the_data():
    class Cells(HTMLParser):
        seen = ()

        def handle_data(self, data):
            self.seen += (data,)

    cells = Cells()
    cells.feed(FOUND._repr_html_())
    assert FOUND.cp_gather_time.magnitude == FOUND.cp_time.magnitude == 0
    assert "cp_gather_time" not in cells.seen
    assert {"tp_gather_time", "cp_time"} <= set(cells.seen)
    assert FOUND.to_dict()["outputs"]["cp_gather_time"]["value"] == 0


# --- explanations ---------------------------------------------------------------------------------


def block(explanation, title):
    return next(step for step in explanation.steps() if step.startswith(f"{title}  ["))


def test_a_family_formula_is_explained_in_one_block_with_a_row_per_member():
    assert block(FOUND.explain(), "One all-gather around a group") == (
        "One all-gather around a group  [thakur2005, section 4.1]\n"
        "  t_ag,j = {τ_c + V_j·(n_j − 0.5)/(n_j·β_j) + α_j + {2^(1/2)·τ_j^(1/2)·V_j^(1/2)·(n_j −\n"
        "      0.5)^(1/2)/(n_j^(1/2)·β_j^(1/2)) if τ_j > 0; 0 otherwise} if n_j > 1 and V_j > 0; 0\n"
        "      otherwise}, j in {tp, cp, dp, etp, edp}\n"
        "  j    t_ag,j    n_j    β_j         α_j       τ_j       V_j        binds\n"
        "  tp   1.45 ms   8      387.0 GB/s  14.00 µs  6.10 µs   536.9 MB   t > 1 and V_tp > 0; τ_tp > 0\n"
        "  dp   10.23 ms  64     44.25 GB/s  630.0 µs  16.10 µs  403.7 MB   n_Z > 1 and V_dp > 0; τ_dp > 0\n"
        "  edp  63.27 ms  16.00  44.25 GB/s  150.0 µs  16.10 µs  2818.6 MB  n_edp > 1 and V_edp > 0; τ_edp\n"
        "      > 0\n"
        "  zero for cp, etp"
    )


@pytest.mark.long
def test_what_bound_is_the_last_column():
    text = block(FOUND.explain(), "Bandwidth of a ring of one group")
    assert "  j    β_j         n_j    δ_j  ν_j   β_near,j    binds\n" in text
    assert "\n  tp   387.0 GB/s  8      1    8.00  387.0 GB/s  n_node ≥ t·δ_tp\n" in text
    assert "\n  dp   44.25 GB/s  64     8    1.00  387.0 GB/s  otherwise; otherwise; β_x·ν_dp = 44.25 GB/s\n" in text
    nested = block(FOUND.explain(), "Ranks of one group in one node").splitlines()
    assert [line.split()[-1] for line in nested[2:]] == ["binds", "8", "1", "1", "8", "1", "1", "1"]
    assert nested[3].endswith("tensor-parallel size (t) = 8")


def test_a_table_has_the_value_and_the_expression_of_each_member():
    assert block(FOUND.explain(), "How far apart the ranks of a group stand") == (
        "How far apart the ranks of a group stand  [narayanan2021, section 3]\n"
        "  j    δ_j\n"
        "  tp   1    1\n"
        "  cp   8    t = 8\n"
        "  dp   8    t = 8\n"
        "  etp  1    1\n"
        "  edp  32   e·n_etp = 4·8\n"
        "  ep   8    n_etp = 8\n"
        "  rep  512  t·n_Z = 8·64"
    )


@pytest.mark.long
def test_a_sum_is_put_in_member_by_member():
    sharded = STEP.solve(**RUN, tp_size=8, ep_size=4, zero_stage=3)
    assert block(sharded.explain(), "One all-gather of weights") == (
        "One all-gather of weights  [rajbhandari2020, section 7]\n"
        "  t_ag = Σ_{j in {dp, edp}} t_ag,j\n"
        "       = 10.23 ms + 63.27 ms\n"
        "       = 73.50 ms"
    )
    step = block(FOUND.explain(), "One training step").splitlines()
    assert step[1] == "  T = κ_s·(T_bub + T_pp + T_dp + T_opt + T_stage)"
    assert step[2].strip() == "= 1.00·(0.000 ms + 0.000 ms + 4.49 ms + 16.83 ms + 4087.4 ms)"


def test_a_block_stands_after_all_it_needs():
    titles = [step.partition("  [")[0] for step in FOUND.explain().steps()]
    assert titles.index("What an exchange of a group is about") < titles.index("One all-gather around a group")
    assert titles.index("One all-gather around a group") < titles.index("Tensor-parallel traffic, one micro-batch")


def test_only_the_members_that_are_needed_are_explained():
    text = str(FOUND.explain("weight_gather_time"))
    assert "j in {dp, edp}" in text
    assert "\n  tp " not in text
    assert "_ag,tp" not in text


def test_a_family_is_explained_by_its_name():
    explanation = FOUND.explain("group_time")
    assert {formula.name for formula in explanation.system} >= set(MEMBERS.values())
    assert "step_time" not in explanation.system
    with pytest.raises(UnknownNameError, match="'groop_time': did you mean group_time"):
        FOUND.explain("groop_time")


def test_members_that_are_all_zero_share_one_line():
    found = STEP.solve(**{**RUN, "model": "Llama3_8B"}, tp_size=1)
    text = block(found.explain(), "What is summed over a group")
    assert "\n  dp   16060.5 MB  P_t,d,max·q_red" in text
    assert text.endswith("\n  zero for edp")


# --- LaTeX ----------------------------------------------------------------------------------------


def test_a_model_prints_its_equations_with_their_index():
    text = STEP.latex("weight_gather_time")
    assert text.count(r"t_{\mathrm{ag},j} &= ") == 1
    assert r"j \in \{\mathrm{dp}, \mathrm{edp}\}" in text
    assert r"\mathrm{cp}" not in text.replace(r"c_{\mathrm{cp}}", "")
    assert r"t_{\mathrm{ag}} &= \sum_{j \in \{\mathrm{dp}, \mathrm{edp}\}} t_{\mathrm{ag},j}" in text
    assert r"T_{\mathrm{ep}} &=" in STEP.latex("group_time")
    assert STEP.latex().count(r"t_{\mathrm{ag},j} &=") == 1


def test_a_result_prints_the_value_of_each_member_after_the_equation():
    rows = FOUND.latex().splitlines()
    at = next(place for place, row in enumerate(rows) if row.startswith(r"t_{\mathrm{ag},j} &="))
    assert rows[at + 1] == r"t_{\mathrm{ag},\mathrm{tp}} &= \text{1.45 ms} \\"
    assert len([row for row in rows if row.startswith(r"t_{\mathrm{ag},\mathrm")]) == 5


# --- grids ----------------------------------------------------------------------------------------


def grid(**more):
    return STEP.sweep(**{**RUN, "ep_size": 4, "tp_size": [1, 2, 8], **more})


def test_a_family_is_a_variable_along_its_index_beside_its_members():
    found = grid(outputs=["group_time", "step_time"])
    assert found.group_time.dims == ("tp_size", "group")
    assert found.group.values.tolist() == ["tp", "cp", "dp", "ep"]
    for member, name in MEMBERS.items():
        np.testing.assert_array_equal(found.group_time.sel(group=member), found[name])
    assert list(found.data_vars) == [*MEMBERS.values(), "step_time", "group_time"]
    assert found.group_time.attrs == {
        "long_name": "Traffic of one group left exposed in a step", "label": "Group time", "latex": "T_j", "units": "ms"
    }  # fmt: skip
    assert found.tp_time.attrs["latex"] == r"T_{\mathrm{tp}}"
    assert "tp_size" in found.coords
    assert "group" not in grid(outputs="tp_time").dims


def test_families_of_one_index_share_its_dimension():
    found = grid(outputs=["group_reduction_time", "group_gather_time"])
    assert found.group.values.tolist() == ["tp", "cp", "dp", "etp", "edp"]
    assert np.isnan(found.group_reduction_time.sel(group="tp")).all()
    np.testing.assert_array_equal(found.group_reduction_time.sel(group="edp"), found.edp_reduction_time)


def test_refused_points_are_missing_for_every_member():
    found = grid(tp_size=[1, 3], outputs="group_time", refused="mask")
    assert np.isnan(found.group_time.sel(tp_size=3)).all()
    assert np.isfinite(found.group_time.sel(tp_size=1)).all()


@pytest.mark.long
def test_variants_and_stores_have_the_index_too(tmp_path):
    stored = grid(outputs="group_time", store=tmp_path / "times.nc")
    np.testing.assert_array_equal(stored.group_time, grid(outputs="group_time").group_time)
    assert stored.group_time.dims == ("tp_size", "group")
    several = FlowModel().sweep(
        **GIVEN, kind_size={"hot": [1, 2], "cold": 1, "off": 1}, variant=["one"], outputs="kind_took"
    )
    assert several.kind_took.dims == ("variant", "hot_size", "kind")


def test_a_name_that_is_no_output_names_the_family():
    with pytest.raises(UnknownNameError, match="'grup_time': did you mean group_time"):
        grid(outputs=["grup_time"])


def test_a_dimension_named_as_the_index_is_refused():
    from mlsysim import linked

    with pytest.raises(InputError, match=r"group='group_time': a dimension and an index have one name"):
        STEP.sweep(**RUN, group=linked(tp_size=[1, 2], ep_size=[1, 2]), outputs="group_time")


def test_one_output_is_asked_for_by_the_name_of_a_member():
    allowed = r"group_time has a value for each group; name one of tp_time, cp_time, dp_time, ep_time"
    for ask in (lambda: STEP.derivative("group_time", "tp_size"), lambda: STEP.sensitivity("group_time", **RUN)):
        with pytest.raises(InputError, match=allowed):
            ask()
    function = STEP.function("group_time", **RUN)
    assert set(function.outputs) == set(MEMBERS.values())


# --- constraints ----------------------------------------------------------------------------------


KNOWN = {*(v.name for v in STEP.outputs), *(v.name for v in STEP.inputs)}


@pytest.mark.parametrize("text", ["group_time['tp'] <= 10 ms", 'group_time["tp"]<=10 ms', "group_time[tp] <= 10 ms"])
def test_a_member_in_brackets_is_the_variable(text):
    assert condition(text, STEP, KNOWN).sympy == condition("tp_time <= 10 ms", STEP, KNOWN).sympy


def test_a_member_in_brackets_stands_in_any_expression():
    found = quantity("2 * group_time[dp] + max(tp_time, group_time['ep'])", STEP, KNOWN)
    assert found.names == ("dp_time", "ep_time", "tp_time")
    assert condition("precision in [fp8, bf16]", STEP, KNOWN).names == ("precision",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("group_time <= 10 ms", r"group_time has a value for each group; write group_time\['tp'\], or tp_time"),
        ("group_time['epp'] <= 1 s", "unknown member of group_time 'epp': did you mean ep"),
        ("group_time[edp] <= 1 s", "unknown member of group_time 'edp'"),
        ("group_time[tp <= 1 s", "cannot be read at '<='"),
        ("group_time[3] <= 1 s", "unknown member of group_time '3': known: tp, cp, dp, ep"),
        ("group_tim['tp'] <= 1 s", "'group_tim': did you mean group_time"),
        ("step_time['tp'] <= 1 s", r"cannot be read at '\['"),
    ],
)
def test_what_cannot_be_a_member_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        condition(text, STEP, KNOWN)


def test_a_sum_of_sympy_is_written_out_and_an_index_alone_is_refused():
    whole = quantity(total(group, T_g[group], over=tuple(T_g)), STEP, KNOWN)
    assert set(whole.names) == set(MEMBERS.values())
    with pytest.raises(InputError, match="group_time is given over group: take one member, or their total"):
        quantity(T_g[group], STEP, KNOWN)


def test_a_search_takes_a_member():
    axes = {"tp_size": [1, 2, 4, 8], "zero_stage": [0, 1, 2, 3]}
    by_bracket = STEP.search(**RUN, **axes, minimize="step_time", subject_to="group_time['tp'] <= 60 ms")
    by_name = STEP.search(**RUN, **axes, minimize="step_time", subject_to="tp_time <= 60 ms")
    assert by_bracket.best.step_time == by_name.best.step_time
    assert by_bracket.best.tp_time.to("ms").magnitude <= 60


# --- arguments ------------------------------------------------------------------------------------


def test_a_family_of_inputs_takes_a_mapping():
    found = FlowModel().solve(**GIVEN, kind_size={"hot": "8 GB", "cold": 2}, off_size=3)
    assert found.hot_took.magnitude == 4
    assert found.every_took.magnitude == 4 + 2 + 6
    assert STEP.solve(**RUN, group_ranks={"tp": 8, "ep": 4}).step_time == FOUND.step_time


def test_a_mapping_may_hold_an_axis():
    found = FlowModel().sweep(**GIVEN, kind_size={"hot": [1, 2], "cold": 1, "off": 1}, outputs="every_took")
    assert found.every_took.dims == ("hot_size",)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"kind_size": 3}, r"kind_size=3: takes a mapping of members; as in kind_size=\{'hot': ...\}, or hot_size=..."),
        ({"kind_size": {"hut": 3}}, "unknown member of kind_size 'hut': did you mean hot"),
        ({"kind_size": {"hot": 3}, "hot_size": 2}, "hot_size=3: is given twice; once in kind_size"),
        ({"kind_sise": {"hot": 3}}, "unknown argument of FlowModel 'kind_sise': did you mean kind_size"),
        ({"kind_size": {"hot": -1, "cold": 1, "off": 1}}, "hot_size=-1"),
        ({"kind_size": {"hot": 1}}, "needs cold_size"),
        ({"kind_took": {"hot": 1}}, "unknown argument of FlowModel 'kind_took'"),
    ],
)
def test_what_is_no_mapping_of_members_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        FlowModel().solve(**GIVEN, **given)


def test_a_family_of_several_models_takes_the_members_a_model_has():
    with pytest.raises(UnknownNameError, match="unknown member of group_ranks 'dp': did you mean"):
        STEP.solve(**RUN, group_ranks={"dp": 8})


def test_none_for_a_family_is_as_good_as_not_given():
    assert STEP.solve(**RUN, group_ranks=None).step_time == STEP.solve(**RUN).step_time
