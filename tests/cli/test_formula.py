import json

import pytest
from fuzz import rest_long

from mlsysim.formulas import every_formula
from mlsysim.symbolic.indexed import ByMember

FORMULAS = [formula for _, formula in every_formula()]


def flat(text):
    """Without spaces, and with powers of units spelled one way."""
    return "".join(text.split()).replace("²", "^2").replace("³", "^3")


def equation(formula):
    """The equation, or the rows of one that is a table; the members where it has an index."""
    if not isinstance(formula.expression, ByMember):
        return [formula.text(), *(f"{each.member} {formula.index.members[each.member]} {each.name}"
                                  for each in formula.members if formula.index)]  # fmt: skip
    return [f"{each.member} {formula.index.members[each.member]} {each.name} {each.text().partition(' = ')[2]}"
            for each in formula.members]  # fmt: skip


@pytest.mark.parametrize("formula", rest_long(FORMULAS, quick=60), ids=lambda formula: formula.id)
def test_a_card_has_everything_a_reader_asks(run, formula):
    done = run("formula", formula.id)
    assert done.exit_code == 0, done.output
    card = flat(done.stdout)
    said = [formula.id, formula.title, *equation(formula), formula.source.text(), formula.source.work.title]
    said += [formula.assumes, formula.convention, formula.example.result if formula.example else formula.no_example]
    for variable in formula.inputs:
        said += [variable.name, variable.description, "" if variable.unit == "count" else variable.unit]
    for text in said:
        assert flat(text) in card


def test_a_table_over_an_index_has_each_value_beside_its_member(run):
    """Whatever the order is that the formula names them in."""
    rows = [line.split() for line in run("formula", "group_message_bytes").stdout.splitlines()]
    by_member = {row[0]: " ".join(row) for row in rows if row}
    assert "h·q_a·n_tok" in by_member["tp"]
    assert "q_u·P_s" in by_member["edp"]
    assert "γ_r" in by_member["etp"]


def test_all_variants_of_a_variable_are_printed_or_the_one_asked_for(run):
    both = run("formula", "feasible").stdout
    assert "feasible = M ≤ M_cap" in both
    assert "feasible = B_a ≥ 1 and T_base ≤ T* and c_req ≤ c_max" in both
    one = run("formula", "feasible[serving_capacity]").stdout
    assert "M_cap" not in one
    assert "feasible = B_a ≥ 1" in one


def test_a_member_has_the_card_of_its_family(run):
    card = run("formula", "dp_gather_time").stdout
    assert card.splitlines()[0] == "dp_gather_time  t_ag,dp  [ms]"
    assert "Used by weight_gather_time, " in card
    assert (
        "  t_ag,j = {τ_c + V_j·(n_j − 0.5)/(n_j·β_j) + α_j + {2^(1/2)·τ_j^(1/2)·V_j^(1/2)·(n_j −\n"
        "      0.5)^(1/2)/(n_j^(1/2)·β_j^(1/2)) if τ_j > 0; 0 otherwise} if n_j > 1 and V_j > 0; 0\n"
        "      otherwise}, j in {tp, cp, dp, etp, edp}\n"
    ) in card
    assert "example      n_j = 64, V_j = 640 MB" in card
    assert "example      for edp: n_etp = 8, e = 4" in run("formula", "tp_stride").stdout


def test_a_family_without_a_formula_of_its_own_lists_its_members(run):
    card = run("formula", "group_time").stdout
    assert "  cp  context-parallel  cp_time\n" in card
    assert "An input" not in card
    refused = run("formula", "group_time", "--latex")
    assert refused.exit_code == 2
    assert "no formula defines it as a whole; ask for tp_time, cp_time, dp_time, ep_time" in refused.output


@pytest.mark.long
def test_latex_prints_the_equation_and_nothing_else(run):
    assert run("formula", "total_memory[first_order]", "--latex").stdout == "M = W + G + O + A + C\n"
    both = run("formula", "total_memory", "--latex").stdout.splitlines()
    assert both == [formula.latex() for formula in FORMULAS if formula.name == "total_memory"]
    assert len(both) == 3
    assert run("formula", "--latex").stdout.splitlines() == [formula.latex() for formula in FORMULAS]


@pytest.mark.long
def test_json_has_the_layout_of_the_index_of_the_book(run, book_pages):
    index = json.loads(book_pages["index.json"])
    content = json.loads(run("formula", "feasible", "--json").stdout)
    assert set(content["formulas"]) == {formula.id for formula in FORMULAS if formula.name == "feasible"}
    assert {"feasible[training_memory]", "feasible[serving_capacity]"} <= set(content["formulas"])
    for part in ("formulas", "variables"):
        for name, record in content[part].items():
            assert record == index[part][name]
    needed = {name for record in content["formulas"].values() for name in record["inputs"]}
    assert set(content["variables"]) == needed | {"feasible"}
    assert json.loads(run("formula", "--json").stdout)["formulas"] == index["formulas"]


def test_without_a_name_all_formulas_are_listed_by_topic(run):
    lines = run("formula").stdout.splitlines()
    rows = [line.split() for line in lines if line[:2] == "  " != line[2:4]]
    assert [row[0] for row in rows if row != ["Name", "Title"]] == [formula.id for formula in FORMULAS]
    assert lines[0] == "Number formats"
    assert "Queueing" in lines


def test_an_input_says_so_and_who_uses_it(run):
    done = run("formula", "vocab_size")
    assert done.exit_code == 0
    assert done.stdout.splitlines()[:3] == [
        "vocab_size  V",
        "Rows of the token embedding.",
        "An input: a whole number >= 1.",
    ]
    assert "embedding_parameters" in done.stdout
    assert json.loads(run("formula", "vocab_size", "--json").stdout)["formulas"] == {}
    refused = run("formula", "vocab_size", "--latex")
    assert refused.exit_code == 2
    assert refused.stderr == "error: formula='vocab_size': is an input, no formula defines it\n"


def test_an_unknown_name_gets_a_suggestion(run):
    done = run("formula", "wieghts")
    assert done.exit_code == 2
    assert done.stderr.startswith("error: unknown formula 'wieghts': did you mean weights")
