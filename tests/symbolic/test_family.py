"""Families: how they are declared, what is refused, what they print, and the plain formulas they stand for."""

import pickle

import pytest
import sympy

from mlsysim.errors import DuplicateError, FormulaError, UnitError, UnknownNameError
from mlsysim.symbolic import (
    Example,
    Index,
    Requirement,
    System,
    at_least,
    between,
    by_member,
    byte,
    choice,
    evaluated_at,
    family,
    flop,
    integer,
    nonnegative,
    positive,
    total,
    variable,
    variable_of,
)
from mlsysim.symbolic.family import family_of
from mlsysim.symbolic.indexed import unbound

ROOM = Index("room", "y", {"hall": "great hall", "attic": "attic", "cellar": "wine cellar"})
FLOOR = Index("floor", r"\varsigma", {"top": "top", "low": "low"})

h = variable("hall_guests", "h_1", "count", "Guests in the hall.", integer(1))
k = variable("kitchens", "k_1", "count", "Kitchens.", positive())
wait = variable("door_wait", "w_1", "s", "Wait at a door.", nonnegative())
n = family("{}_seats", "n_{}", "count", "Seats of a {} room.", ROOM, positive(), existing={"hall": h})
load = family("{}_load", "q_{}", "MB", "Load of a {} room.", ROOM, nonnegative())
rate = family("{}_rate", r"r_{}", "MB/s", "Rate of a {}.", ROOM, positive())
time = family("{}_fill", r"t_{\mathrm{f},{}}", "s", "Time to fill a {}.", ROOM, over=("hall", "cellar"))
depth = family("{}_depth", "d^{}", "count", "Depth of the {} floor.", FLOOR)
whole = variable("house_time", "T_1", "s", "Time to fill the house.")
share = family("{}_share", "s_{}", "count", "Share of a {}.", ROOM, over=("hall", "cellar"))


@pytest.fixture(scope="module")
def filled(formula):
    """``t = (n - 1) q / (n r) + w``, for hall and cellar."""
    return formula(time[ROOM], (n[ROOM] - 1) / n[ROOM] * load[ROOM] / rate[ROOM] + wait, title="Filling a room")


def test_a_member_that_stands_there_already_is_one_with_it(formula):
    """The hall's seats are the guests in the hall."""
    hall, cellar = formula(share[ROOM], n[ROOM] / (n[ROOM] + h)).members
    assert (hall.expression, cellar.expression) == (sympy.Rational(1, 2), n["cellar"] / (n["cellar"] + h))


# --- declaring ------------------------------------------------------------------------------------


def test_a_family_declares_a_generic_variable_and_one_per_member():
    generic = variable_of("room_load")
    assert (generic.latex, generic.unit, generic.description) == ("q_y", "MB", "Load of a room.")
    member = variable_of("hall_load")
    assert (member.latex, member.unit, member.description) == (r"q_{\mathrm{hall}}", "MB", "Load of a great hall room.")
    assert member.domain == generic.domain == nonnegative()
    assert load["hall"] is member.symbol
    assert load[ROOM] is generic.symbol
    assert family_of("room_load") is load
    assert family_of(load["hall"]) is None


def test_the_generic_description_says_the_name_of_the_index_once():
    assert variable_of("room_seats").description == "Seats of a room."
    assert variable_of("room_rate").description == "Rate of a room."


def test_a_label_has_the_words_of_the_member():
    pace = family("{}_pace", r"\pi_{}", "m/s", "Pace in the {}.", FLOOR, label="{} pace")
    assert [variable_of(pace[key]).label for key in (FLOOR, "top")] == ["Floor pace", "Top pace"]
    assert variable_of("hall_load").label == "Hall load"


def test_a_member_stands_beside_a_subscript_and_in_braces_of_its_own():
    assert variable_of("room_fill").latex == r"t_{\mathrm{f},y}"
    assert variable_of("hall_fill").latex == r"t_{\mathrm{f},\mathrm{hall}}"
    assert (variable_of("floor_depth").latex, variable_of("top_depth").latex) == (r"d^{\varsigma}", r"d^{\mathrm{top}}")


def test_an_underscore_in_the_name_of_a_member_is_printed():
    wing = Index("wing", "x_1", {"far_left": "leftmost"})
    assert variable_of(family("{}_width", "w_{}", "count", "Width of a {}.", wing)["far_left"]).latex == (
        r"w_{\mathrm{far\_left}}"
    )


def test_an_existing_member_keeps_its_name():
    assert n["hall"] is h
    assert list(n) == ["hall", "attic", "cellar"]
    assert [symbol.name for symbol in n.members.values()] == ["hall_guests", "attic_seats", "cellar_seats"]


def test_a_family_may_have_fewer_members_than_the_index():
    assert list(time) == ["hall", "cellar"]
    with pytest.raises(UnknownNameError) as refused:
        time["attic"]
    assert str(refused.value) == "unknown member of room_fill 'attic': known: hall, cellar"


def test_an_unknown_member_suggests_the_nearest():
    with pytest.raises(UnknownNameError, match=r"unknown member of room_load 'celler': did you mean cellar"):
        load["celler"]
    with pytest.raises(UnknownNameError, match=r"unknown member of room 'celler': did you mean cellar"):
        family("{}_a", "a_{}", "count", "A {}.", ROOM, over=("celler",))
    with pytest.raises(UnknownNameError, match=r"unknown member of family '\{\}_a' 'attic': known: hall, cellar"):
        family("{}_a", "a_{}", "count", "A {}.", ROOM, over=("hall", "cellar"), existing={"attic": h})
    with pytest.raises(UnknownNameError, match=r"unknown member of room 'celler'"):
        total(ROOM, load[ROOM], over=("hall", "celler"))


def test_another_index_is_refused():
    with pytest.raises(FormulaError, match=r"^room_load is given over room, not over floor$"):
        load[FLOOR]


def test_declared_again_with_the_same_meaning_it_is_the_same():
    again = family("{}_load", "q_{}", "MB", "Load of a {} room.", ROOM, nonnegative())
    assert again[ROOM] is load[ROOM]
    assert again["attic"] is load["attic"]
    assert Index("room", "y", dict(ROOM.members)) == ROOM


def test_a_name_of_another_module_is_not_taken():
    declare = "from mlsysim.symbolic import variable\nvariable('attic_size', 'a_9', 'count', 'The attic.')"
    exec(declare, {"__name__": "elsewhere"})
    with pytest.raises(DuplicateError, match=r"variable 'attic_size' is declared in elsewhere"):
        family("{}_size", r"\varsigma_{}", "count", "Size of a {}.", ROOM)


@pytest.mark.parametrize("what", ["name", "latex", "description"])
def test_every_template_has_a_place_for_the_member(what):
    given = {"name": "{}_b", "latex": "b_{}", "description": "B of a {}."}
    with pytest.raises(FormulaError, match=f"{what}='plain' has no {{}} for the member"):
        family(**given | {what: "plain"}, unit="count", index=ROOM)


@pytest.mark.parametrize("members", [{"a b": "spaced"}, {}, {"class-1": "dashed"}])
def test_an_index_has_members_named_as_python_names(members):
    with pytest.raises(FormulaError):
        Index("thing", "x_9", members)


def test_it_is_given_over_an_index_and_over_some_member():
    with pytest.raises(FormulaError, match=r"index='room' is not an Index"):
        family("{}_b", "b_{}", "count", "B of a {}.", "room")
    with pytest.raises(FormulaError, match=r"over=\(\) chooses no member of room; known: hall, attic, cellar"):
        family("{}_b", "b_{}", "count", "B of a {}.", ROOM, over=())


# --- trap: letters --------------------------------------------------------------------------------


def test_the_letter_of_an_index_is_free():
    with pytest.raises(FormulaError, match=r"^index 'thing' would print as k_1, as kitchens does$"):
        Index("thing", "k_1", {"one": "one"})


def test_what_a_member_prints_as_is_free():
    variable("junk", r"m_{\mathrm{attic}}", "kg", "What stands in the attic.")
    with pytest.raises(FormulaError) as refused:
        family(
            "{}_mass", "m_{}", "count", "Mass of a {}.", ROOM, over=("hall", "cellar", "attic"), existing={"hall": h}
        )
    assert str(refused.value) == r"family room_mass would print as m_{\mathrm{attic}}, as junk does"


def test_a_letter_taken_after_the_index_is_refused_in_the_formula(formula):
    late = Index("late", "x_2", {"one": "one", "two": "two"})
    speed = family("{}_speed", "u_{}", "count", "Speed of the {}.", late)
    other = variable("late_comer", "x_2", "count", "Declared after the index.")
    with pytest.raises(FormulaError, match=r"^formula for late_speed: late_comer prints as x_2, as does the index$"):
        formula(speed[late], 2 * other)
    with pytest.raises(FormulaError, match=r"late_comer prints as x_2, as does the index"):
        formula(k, other * total(late, speed[late]))


# --- trap: assumptions ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("domain", "outside"),
    [
        (positive(), nonnegative()),
        (integer(1), positive()),
        (nonnegative(), between(-1, 1)),
        (at_least(2.0), positive()),
        (between(0, 1), nonnegative()),
        (positive(), choice("one", "two")),
    ],
)
def test_the_domain_of_a_family_contains_that_of_every_member(domain, outside):
    name = f"outside_{abs(hash((domain, outside)))}"
    unit = "" if outside.kind == "choice" else "count"
    member = variable(name, name, unit, "A member.", outside)
    with pytest.raises(FormulaError, match=r"(may be|is in)"):
        family("{}_c", "c_{}", "count", "C of a {}.", ROOM, domain, existing={"hall": member})


def test_the_symbol_of_a_family_says_nothing_that_a_member_does_not():
    for found in (n, load, rate, time, depth, share):
        said = found.symbol.assumptions0
        for member in found.members.values():
            assert said.items() <= member.assumptions0.items()


def test_the_refusal_names_member_and_domains():
    with pytest.raises(FormulaError) as refused:
        family("{}_c", "c_{}", "s", "C of a {}.", ROOM, positive(), existing={"hall": wait})
    assert str(refused.value) == (
        "family room_c is a finite number > 0, but its member hall, door_wait, may be a finite number >= 0"
    )


def test_a_member_has_the_unit_of_the_family():
    with pytest.raises(FormulaError) as refused:
        family("{}_c", "c_{}", "ms", "C of a {}.", ROOM, nonnegative(), existing={"hall": wait})
    assert str(refused.value) == "family room_c: its member hall, door_wait, is in s, the family in ms"


# --- trap: a member that is missing ---------------------------------------------------------------


def test_a_family_on_the_right_has_every_member_of_the_left(formula):
    with pytest.raises(FormulaError) as refused:
        formula(load[ROOM], time[ROOM] * rate[ROOM])
    assert str(refused.value) == "formula for room_load: room_fill has no member attic; it has hall, cellar"


def test_a_table_gives_every_member_of_the_left_and_no_other(formula):
    with pytest.raises(FormulaError) as refused:
        formula(time[ROOM], by_member(hall=wait))
    assert str(refused.value) == "formula for room_fill: a table must give exactly hall, cellar; got hall"
    with pytest.raises(FormulaError, match=r"a table must give exactly hall, cellar; got hall, cellar, attic"):
        formula(time[ROOM], by_member(hall=wait, cellar=wait, attic=wait))


def test_a_sum_has_every_member_it_adds():
    with pytest.raises(FormulaError, match=r"^sum over room: room_fill has no member attic; it has hall, cellar$"):
        total(ROOM, time[ROOM])
    with pytest.raises(FormulaError, match=r"^sum over room: a table must give exactly hall, cellar; got hall$"):
        total(ROOM, by_member(hall=1), over=("hall", "cellar"))


def test_an_index_needs_a_family_on_the_left_or_a_sum(formula):
    with pytest.raises(FormulaError) as refused:
        formula(whole, time[ROOM])
    assert (
        str(refused.value) == "formula for house_time: room_fill is given over room: take one member, or their total()"
    )
    with pytest.raises(FormulaError, match=r"a table by_member.* needs a family on the left or a total.* around it"):
        formula(whole, by_member(hall=wait, cellar=wait))
    with pytest.raises(FormulaError, match=r"floor_depth is given over floor: take one member, or their total"):
        formula(time[ROOM], depth[FLOOR] * wait)
    formula(time[ROOM], total(FLOOR, depth[FLOOR]) * wait)


def test_a_sum_adds_something_with_its_index():
    with pytest.raises(FormulaError, match=r"^sum over room: door_wait has nothing given over room$"):
        total(ROOM, wait)
    with pytest.raises(FormulaError, match=r"sum over room: floor_depth has nothing given over room"):
        total(ROOM, depth[FLOOR])
    with pytest.raises(FormulaError, match=r"a sum runs over an Index, not over 'room'"):
        total("room", load[ROOM])
    with pytest.raises(FormulaError, match=r"gives no member a value"):
        by_member()


def test_a_requirement_has_no_index_but_may_add_members():
    with pytest.raises(FormulaError, match=r"^requirement of hall_guests: room_seats is given over room"):
        Requirement(h, n[ROOM] > 1, "must be more")
    requirement = Requirement(h, h <= total(ROOM, n[ROOM], over=("attic", "cellar")), "must have seats")
    assert requirement.condition == (h <= n["attic"] + n["cellar"])


# --- formulas -------------------------------------------------------------------------------------


def test_a_formula_stands_for_one_per_member(filled):
    assert [formula.name for formula in filled.members] == ["hall_fill", "cellar_fill"]
    hall, cellar = filled.members
    assert hall.expression == (h - 1) / h * load["hall"] / rate["hall"] + wait
    assert cellar.expression == (n["cellar"] - 1) / n["cellar"] * load["cellar"] / rate["cellar"] + wait
    assert (hall.title, cellar.title) == ("Filling a room, great hall", "Filling a room, wine cellar")
    assert (hall.member, cellar.member) == ("hall", "cellar")
    assert hall.printed is filled
    assert filled.printed is filled


def test_members_are_the_same_whenever_they_are_asked_for(filled):
    """Variants compare formulas by identity."""
    assert filled.members is filled.members
    assert System([filled])["hall_fill"] is System([filled])["hall_fill"]


def test_the_inputs_are_generic_on_the_page_and_members_in_a_system(filled):
    assert [v.name for v in filled.inputs] == ["door_wait", "room_load", "room_rate", "room_seats"]
    assert [v.name for v in System([filled]).inputs] == [
        "cellar_load", "cellar_rate", "cellar_seats", "door_wait", "hall_guests", "hall_load", "hall_rate"
    ]  # fmt: skip


def test_a_formula_without_index_is_its_own_member(formula):
    plain = formula(whole, wait)
    assert plain.members == (plain,)
    assert (plain.index, plain.covers, plain.member) == (None, (), "")


def test_a_sum_is_written_out(formula):
    summed = formula(whole, 2 * total(ROOM, time[ROOM] + wait, over=("hall", "cellar")))
    (plain,) = summed.members
    assert plain.expression == 2 * (time["hall"] + time["cellar"] + 2 * wait)
    assert plain.printed is summed
    assert (plain.title, plain.member) == (summed.title, "")


def test_a_sum_within_an_indexed_formula_has_an_index_of_its_own(formula):
    part = formula(share[ROOM], time[ROOM] / total(ROOM, time[ROOM], over=("hall", "cellar")))
    assert [f.expression for f in part.members] == [
        time[member] / (time["hall"] + time["cellar"]) for member in ("hall", "cellar")
    ]


def test_a_table_in_a_sum_is_that_of_the_sum(formula):
    both = formula(
        time[ROOM], by_member(hall=2, cellar=3) * total(FLOOR, by_member(top=5, low=7) * depth[FLOOR]) * wait
    )
    assert [f.expression.expand() for f in both.members] == [
        (factor * (5 * depth["top"] + 7 * depth["low"]) * wait).expand() for factor in (2, 3)
    ]


def test_a_member_stands_in_any_formula(formula):
    assert formula(whole, 3 * time["hall"]).inputs == (variable_of("hall_fill"),)


def test_units_are_checked_through_sums_and_tables(formula):
    with pytest.raises(UnitError, match=r"^formula for room_fill: the right side is information"):
        formula(time[ROOM], load[ROOM])
    with pytest.raises(UnitError, match=r"^formula for house_time: the right side is information"):
        formula(whole, total(ROOM, load[ROOM]))
    with pytest.raises(UnitError, match=r"is information but"):
        formula(load[ROOM], by_member(hall=byte, attic=flop, cellar=byte))


def test_a_variable_cannot_stand_on_both_sides(formula):
    with pytest.raises(FormulaError, match=r"^formula for room_fill: room_fill stands on both sides$"):
        formula(time[ROOM], time[ROOM] + wait)
    with pytest.raises(FormulaError, match=r"^formula for hall_fill: hall_fill stands on both sides$"):
        formula(time[ROOM], 2 * time["hall"])


def test_a_case_distinction_is_made_per_member(formula):
    cases = formula(time[ROOM], sympy.Piecewise((wait, n[ROOM] < k), (2 * wait, True)))
    assert cases.members[0].expression == sympy.Piecewise((wait, h < k), (2 * wait, True))


def test_evaluated_at_takes_the_members(formula, filled):
    tried = evaluated_at(time["hall"], {h: k}, [formula(load["hall"], byte), filled.only(["hall"])])
    assert wait in tried.free_symbols
    assert k in tried.free_symbols
    assert time[ROOM] not in tried.free_symbols


# --- examples -------------------------------------------------------------------------------------


def worked(**more):
    return Example(result="5.75 s", derived="7 / 8 * 2 / 0.5 + 2.25", **more)


def test_an_example_of_the_generic_equation_is_one_of_the_first_member(formula):
    filled = formula(
        time[ROOM],
        (n[ROOM] - 1) / n[ROOM] * load[ROOM] / rate[ROOM] + wait,
        example=worked(inputs={n[ROOM]: 8, load[ROOM]: 2, rate[ROOM]: 0.5, wait: 2.25}),
        no_example="",
    )
    assert filled.worked.name == "hall_fill"
    assert filled.worked.example.inputs == {h: 8, load["hall"]: 2, rate["hall"]: 0.5, wait: 2.25}
    assert filled.members[1].example is None
    assert filled.members[1].no_example


def test_an_example_may_be_given_to_a_member(formula):
    table = formula(
        time[ROOM], by_member(hall=wait, cellar=k * wait),
        example=Example({k: 3, wait: 2}, "6 s", derived="3 * 2", member="cellar"), no_example="",
    )  # fmt: skip
    assert table.worked.name == "cellar_fill"


@pytest.mark.parametrize(("given", "needed"), [("", "hall_fill needs door_wait"), ("cellar", "cellar_fill needs")])
def test_an_example_gives_the_inputs_of_its_member(formula, given, needed):
    with pytest.raises(FormulaError, match=f"its example gives kitchens, but {needed}"):
        formula(
            time[ROOM], by_member(hall=wait, cellar=k * wait),
            example=Example({k: 3}, "6 s", derived="6", member=given), no_example="",
        )  # fmt: skip


def test_an_example_of_an_unknown_member_suggests_the_nearest(formula):
    example = Example({wait: 3}, "3 s", derived="3", member="celler")
    with pytest.raises(UnknownNameError, match=r"unknown member of room_fill 'celler': did you mean cellar"):
        formula(time[ROOM], wait, example=example, no_example="")


# --- printing -------------------------------------------------------------------------------------


def test_an_indexed_formula_prints_once_with_its_members(filled):
    assert filled.latex() == (
        r"t_{\mathrm{f},y} = w_1 + \frac{q_y \left(n_y - 1\right)}{n_y r_y}, \qquad y \in \{\mathrm{hall}, "
        r"\mathrm{cellar}\}"
    )
    assert filled.text() == "t_f,y = w_1 + q_y·(n_y − 1)/(n_y·r_y), y in {hall, cellar}"


def test_a_sum_names_its_members_where_they_are_not_all(formula):
    some = formula(whole, total(ROOM, time[ROOM], over=("hall", "cellar")))
    assert some.latex() == r"T_1 = \sum_{y \in \{\mathrm{hall}, \mathrm{cellar}\}} t_{\mathrm{f},y}"
    assert some.text() == "T_1 = Σ_{y in {hall, cellar}} t_f,y"
    every = formula(k, total(ROOM, n[ROOM]))
    assert (every.latex(), every.text()) == (r"k_1 = \sum_{y} n_y", "k_1 = Σ_y n_y")


def test_a_sum_that_is_not_the_last_factor_stands_in_brackets(formula):
    seats = total(ROOM, n[ROOM])
    found = formula(whole, wait * seats)
    assert found.latex() == r"T_1 = w_1 \sum_{y} n_y"
    assert found.text() == "T_1 = w_1·(Σ_y n_y)"
    found = formula(whole, seats * total(ROOM, load[ROOM] / rate[ROOM]))
    assert found.latex() == r"T_1 = \left(\sum_{y} n_y\right) \sum_{y} \frac{q_y}{r_y}"
    assert formula(k, seats**2).latex() == r"k_1 = \left(\sum_{y} n_y\right)^{2}"


def test_a_sum_of_sums_is_bracketed(formula):
    found = formula(k, 1 + total(ROOM, n[ROOM] + h))
    assert found.latex() == r"k_1 = \sum_{y} \left(h_1 + n_y\right) + 1"
    assert found.text() == "k_1 = Σ_y (h_1 + n_y) + 1"


def test_a_table_names_its_members_and_each_value_once(formula):
    table = formula(load[ROOM], by_member(hall=k * byte, attic=h * byte / k, cellar=k * byte))
    assert table.latex() == (
        r"q_y = \begin{cases} k_1 & \text{for}\ \mathrm{hall}, \mathrm{cellar} \\ \displaystyle \frac{h_1}{k_1} "
        r"& \text{for}\ \mathrm{attic} \end{cases}"
    )
    assert table.text() == "q_y = {k_1 for hall, cellar; h_1/k_1 for attic}"


def test_a_table_that_is_a_factor_is_bracketed(formula):
    found = formula(time[ROOM], by_member(hall=2, cellar=3) * wait)
    assert found.latex() == (
        r"t_{\mathrm{f},y} = w_1 \left(\begin{cases} 2 & \text{for}\ \mathrm{hall} \\ 3 & \text{for}\ \mathrm{cellar} "
        r"\end{cases}\right), \qquad y \in \{\mathrm{hall}, \mathrm{cellar}\}"
    )


# --- systems --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def house(formula, filled):
    loads = formula(load[ROOM], by_member(hall=k * byte, attic=byte, cellar=2 * k * byte))
    return System([formula(whole, total(ROOM, time[ROOM], over=("hall", "cellar"))), filled, loads])


def test_a_system_computes_members_and_prints_each_formula_once(house):
    assert [v.name for v in house.variables] == [
        "cellar_load", "cellar_fill", "hall_load", "hall_fill", "house_time", "attic_load"
    ]  # fmt: skip
    assert [formula.name for formula in house.printed] == ["room_load", "room_fill", "house_time"]


def test_what_is_printed_covers_the_members_that_are_there(house):
    fill, load_formula = (house.closure(["hall_fill"]).printed[at] for at in (1, 0))
    assert fill.text() == "t_f,y = w_1 + q_y·(n_y − 1)/(n_y·r_y), y in {hall}"
    assert load_formula.text() == "q_y = {k_1 for hall}"
    assert [member.name for member in fill.members] == ["hall_fill"]
    assert fill.printed is house.printed[1]


def test_a_formula_is_printed_after_all_members_it_needs(formula, filled):
    """The first member is used before the last is computed."""
    early = formula(k, 1 + 2 * load["hall"] / byte)
    last = formula(n["cellar"], k)
    loads = formula(load[ROOM], by_member(hall=byte, attic=n["attic"] * byte, cellar=n["attic"] * byte))
    system = System([early, last, filled, loads, formula(n["attic"], 3)])
    names = [f.name for f in system.printed]
    assert names.index("room_load") < names.index("kitchens") < names.index("cellar_seats") < names.index("room_fill")


def test_families_that_need_each_other_by_turns_are_printed(formula):
    one = formula(load[ROOM], by_member(hall=byte, attic=n["hall"] * byte, cellar=byte))
    other = formula(n["hall"], 1 + sympy.ceiling(load["hall"] / byte))
    some = formula(n["cellar"], 1 + load["attic"] / byte)
    filled = {key: (byte + load[of]) / wait for key, of in (("hall", "hall"), ("cellar", "attic"))}
    table = formula(rate[ROOM], by_member(attic=byte / wait, **filled))
    names = [f.name for f in System([one, other, some, table]).printed]
    assert sorted(names) == ["cellar_seats", "hall_guests", "room_load", "room_rate"]


def test_one_member_may_have_a_formula_of_its_own(house, formula):
    own = formula(time["hall"], 7 * wait)
    swapped = house.replace(own)
    assert swapped["hall_fill"] is own
    assert [f.text() for f in swapped.printed if f.variable.name == "room_fill"] == [
        "t_f,y = w_1 + q_y·(n_y − 1)/(n_y·r_y), y in {cellar}"
    ]


def test_a_family_formula_replaces_all_its_members(house, formula):
    swapped = house.replace(formula(time[ROOM], 2 * wait))
    assert [swapped[name].expression for name in ("hall_fill", "cellar_fill")] == [2 * wait, 2 * wait]


def test_it_survives_a_pickle(house):
    again = pickle.loads(pickle.dumps(house))
    assert [f.latex() for f in again.printed] == [f.latex() for f in house.printed]
    assert again["hall_fill"].expression == house["hall_fill"].expression
    assert pickle.loads(pickle.dumps(ROOM)) == ROOM
    assert pickle.loads(pickle.dumps(total(ROOM, n[ROOM]))) == total(ROOM, n[ROOM])


def test_a_family_that_is_declared_anew_has_its_new_members_everywhere():
    """As where a cell of a notebook is run again, changed."""

    def declared(*members):
        return family("{}_paint", r"p_{\mathrm{p},{}}", "count", "Paint of a {}.", ROOM, over=members)

    first = declared("hall", "attic")
    expression = first[ROOM] + 1
    assert unbound(expression) == {ROOM: {first}}
    second = declared("hall", "cellar")
    assert second.members.keys() != first.members.keys()
    assert unbound(expression) == {ROOM: {second}}
