# SPDX-License-Identifier: Apache-2.0
"""HSTU's masks: a sequence of context, history and targets, row by row.

Their definition is that of tests/hstu_definition.hpp. What a row sees does not change with the number of rows that are
counted, so that induction is over the first n rows of one sequence; with a cached prefix it is a difference of two. A
mask without context is one whose context is empty: its rows count as history, in both.
"""

import z3

from formulas import (
    Layout,
    capped_ramp,
    hstu_history_pairs,
    hstu_shared_target_pairs,
    hstu_target_pairs,
    other_pairs,
    own_groups,
    strided_rows,
    within,
)
from solver import (
    I64,
    LONGEST,
    PARAMETER,
    U64,
    decide,
    Scene,
    each_case,
    product_of,
    prove_count,
    quotient,
    value_of,
    variable,
)

C, H, T, G, N = z3.Ints("context history targets group rows")
REACH, FULL = z3.Ints("reach full")
SEQUENCE = [C >= 0, H >= 0, T >= 0, C + H + T <= LONGEST, within(1, G, LONGEST)]


def whole():
    return Layout(*(variable(name) for name in ("context", "history", "targets", "group")))


def place(position, shared_place=False):
    """The whole context has one place, before the history; all targets have one behind it where they share it."""
    position = least(position, C + H) if shared_place else position
    shifted = position - C + 1
    return z3.If(C == 0, position, z3.If(shifted < 0, 0, shifted))


def sees(i, j, reach, full, bidirectional, windowed_targets, shared_place=False):
    """hstu_definition::attends; `reach` is None for no limit"""
    targets_from = C + H
    is_target = i >= targets_from
    other_group = z3.And(j >= targets_from, z3.Or(
        z3.Not(is_target), quotient(i - targets_from, G) != quotient(j - targets_from, G)))
    distance = place(i, shared_place) - place(j, shared_place)
    in_reach = z3.BoolVal(True)
    if reach is not None:
        unlimited = z3.If(is_target, z3.BoolVal(not windowed_targets), i >= targets_from - full)
        in_reach = z3.Or(unlimited, distance <= reach)
    past = z3.And(distance > 0, in_reach)
    if shared_place:  # of its group: no nearer and no farther than itself
        past = z3.If(z3.And(is_target, j >= targets_from), j < i, past)
    if bidirectional:
        past = z3.Or(j < targets_from, past)
    return z3.Or(i == j, z3.And(z3.Not(other_group), z3.Or(i < C, past)))


def least(a, b):
    return z3.If(a < b, a, b)


def most(a, b):
    return z3.If(a < b, b, a)


def rows_of(part):
    """Where the rows of a part stand."""
    return {"context": [0 <= N, N < C], "history": [C <= N, N < C + H], "targets": [C + H <= N, N < C + H + T]}[part]


def bounds(part, reach, full, bidirectional, windowed_targets, shared_place=False):
    """The keys that row N sees, as intervals."""
    S = C + H
    if part == "context":
        return [(z3.IntVal(0), S)]
    if part == "history":
        if bidirectional:
            return [(z3.IntVal(0), S)]
        if reach is None:
            return [(z3.IntVal(0), N + 1)]
        limited = N < S - full
        context = z3.If(z3.And(limited, N - C >= reach), 0, C)
        return [(z3.IntVal(0), context), (z3.If(limited, most(C, N - reach), C), N + 1)]
    z = N - S
    group_from = S + quotient(z, G) * G
    if reach is None or not windowed_targets:
        return [(z3.IntVal(0), S), (group_from, N + 1)]
    if shared_place:
        return [(z3.IntVal(0), z3.If(H + 1 <= reach, C, 0)), (most(C, S - reach), S), (group_from, N + 1)]
    context = z3.If(H + z + 1 <= reach, C, 0)
    return [(z3.IntVal(0), context), (least(S, most(C, N - reach)), S), (most(group_from, N - reach), N + 1)]


LIMITS = [within(1, REACH, PARAMETER), within(0, FULL, PARAMETER)]
STATISTICS = {
    "hstu": (None, 0, False, False),
    "hstu, bidirectional": (None, 0, True, False),
    "hstu, limited": (REACH, FULL, False, True),
    "hstu, limited but for targets": (REACH, FULL, False, False),
    "hstu, limited, targets in one place": (REACH, FULL, False, True, True),
}


def prove_rows(name, part, *statistic):
    """What one row of a part sees, counted."""
    with Scene(*SEQUENCE, *LIMITS, *rows_of(part)) as scene:
        prove_count(f"{name}: keys of a row of {part}", scene,
                    lambda j, _: sees(N, j, *statistic), (0, C + H + T), *bounds(part, *statistic))


def prove_sum_of_part(name, part, start, of, seen, cases):
    """of(x) is the sum of what the first x rows of the part see; `seen` is that of row N = start + x."""
    with Scene(*SEQUENCE, *LIMITS) as scene:
        scene.prove(f"{name}: 0 of no rows", of(z3.IntVal(0)) == 0)
    opaque = (capped_ramp, own_groups)
    for scene in each_case(f"{name}, {part}", [*SEQUENCE, *LIMITS, *rows_of(part)], cases, opaque):
        added = sum(b - a for a, b in seen())
        scene.prove(f"{name}: one row more adds what it sees", of(N + 1 - start) - of(N - start) == added)
    with Scene(*SEQUENCE, *LIMITS, *rows_of(part), opaque=opaque) as scene:
        of(N - start)
        scene.prove_no_wrap(name, product_of(N, LONGEST - N))


def prove_history():
    x = N - C
    inside = [x < H - FULL, x + 1 <= H - FULL]
    limited = [[x >= H - FULL], *([*inside, where] for where in (x + 1 < REACH, x + 1 == REACH, x == REACH, x > REACH))]
    for reach, cases in ((None, [[]]), (REACH, limited)):
        signed = None if reach is None else variable("reach", I64)
        prove_sum_of_part(
            "hstu_history_pairs" if reach is None else "hstu_history_pairs, limited", "history", C,
            lambda rows: value_of(hstu_history_pairs(whole(), U64(rows), signed, FULL)),
            lambda: bounds("history", reach, FULL, False, True), cases)


def prove_targets():
    z = N - C - H
    for reach, cases in ((None, [[]]), (REACH, [[z < REACH - H], [z >= REACH - H, z < REACH], [z >= REACH]])):
        signed = None if reach is None else variable("reach", I64)
        prove_sum_of_part(
            "hstu_target_pairs" if reach is None else "hstu_target_pairs, limited", "targets", C + H,
            lambda rows: value_of(hstu_target_pairs(whole(), U64(rows), signed)),
            lambda: bounds("targets", reach, FULL, False, True), cases)
    prove_sum_of_part(
        "hstu_shared_target_pairs", "targets", C + H,
        lambda rows: value_of(hstu_shared_target_pairs(whole(), U64(rows), variable("reach", I64))),
        lambda: bounds("targets", REACH, FULL, False, True, True), [[H < REACH], [H >= REACH]])


def prove_layout():
    """hstu_layout::first: one row more is one more of its own part, and of no other.

    So hstu_pairs_before and the others, which are sums over the three parts, add for one row what its part adds.
    """
    for n in (z3.IntVal(0), C + H + T):
        with Scene(*SEQUENCE) as scene:
            rows = whole().first(U64(n))
            expected = (0, 0, 0) if z3.is_int_value(n) else (C, H, T)
            values = (rows.context, rows.history, rows.targets)
            scene.prove("hstu_layout::first of none and of all",
                        z3.And(*(value_of(a) == b for a, b in zip(values, expected))))
    for part in ("context", "history", "targets"):
        with Scene(*SEQUENCE, *rows_of(part)) as scene:
            now, after = whole().first(U64(N)), whole().first(U64(N + 1))
            start = {"context": 0, "history": C, "targets": C + H}[part]
            for name in ("context", "history", "targets"):
                one = 1 if name == part else 0
                before = value_of(getattr(now, name))
                scene.prove(f"hstu_layout::first: a row of {part}",
                            z3.And(value_of(getattr(after, name)) - before == one,
                                   before == N - start if one else True))
            scene.prove_no_wrap(f"hstu_layout::first: a row of {part}")


def prove_units():
    """The sums over parts, for any numbers of rows of each: what one row of a part adds."""
    rows = Layout(*(variable(name) for name in ("c", "h", "t", "group")))
    c, h, t = z3.Ints("c h t")
    seen = C + H
    for bidirectional in (False, True):
        keys = seen if bidirectional else C
        with Scene(*SEQUENCE, 0 <= c, c <= C, 0 <= h, h <= H, 0 <= t, t <= T) as scene:
            total = other_pairs(whole(), rows, bidirectional)
            scene.prove("hstu_others: what each part sees", value_of(total) == c * seen + h * keys + t * (seen + 1))
            U64(total)
            scene.prove_no_wrap("hstu_others", *(product_of(LONGEST - x, y + 1)
                                                 for x, y in ((seen, c), (seen, h), (seen, t), (c + h + t, seen))))
    # History with history, in halves: a pair is two, one on the diagonal is one.
    with Scene(0 <= h, h < LONGEST):
        decide("hstu_history_squares: row x adds 2x + 1", [], (h + 1) * (h + 1) - h * h == 2 * h + 1)
    strided_rows.prove()


def prove():
    own_groups.prove()
    for name, statistic in STATISTICS.items():
        for part in ("context", "history", "targets"):
            prove_rows(name, part, *statistic)
    prove_history()
    prove_targets()
    prove_layout()
    prove_units()
