# SPDX-License-Identifier: Apache-2.0
"""What every proof stands on: the integers of C++, a scene of facts, and claims that z3 must find true.

A formula of the library is written once, over `U64`. On Python's integers it computes modulo 2^64, as C++ does; on z3's
it builds the term over unbounded integers. Both are the same where every value that is divided, compared or converted,
and the result, fits its type: each leaves that as an obligation, under the conditions that lead there.

z3 knows linear integers well and products badly. Two means keep every claim easy:
* a quotient is a fresh integer q with n = q·c + r and 0 <= r < c. What z3 would have to guess of several of them
  (equal, next to each other, in order) is given as lemmas, each proven first and for all integers;
* `product_of(a, b)` adds that a·b >= 0 where a >= 0 and b >= 0: true of all integers, whatever a and b are.
"""

import contextlib

import z3

WORD = 2**64
LONGEST = 2**32 - 1  # max_sequence_length
PARAMETER = 2**31 - 1  # the largest parameter of a mask
# What z3 may spend on one claim, and on a question whose answer may stay open, in units of its own: some millions a
# second, and the same on a busy machine.
EFFORT = 20_000_000
LITTLE = 60_000

_scene = None


class Tally:
    """How many claims were proven, and those that were not."""

    def __init__(self):
        self.proven = 0
        self.failed = []


results = Tally()


def decide(name, facts, claim):
    """One claim: proven where z3 finds its negation unsatisfiable; `unknown` is a failure."""
    solver = z3.Solver()
    solver.set("rlimit", EFFORT)
    solver.add(*facts)
    solver.add(z3.Not(claim))
    found = solver.check()
    if found == z3.unsat:
        results.proven += 1
        return
    why = f"false: {solver.model()}" if found == z3.sat else f"not decided: {solver.reason_unknown()}"
    results.failed.append(f"{name}: {' '.join(str(claim).split())[:300]} is {why}")


def fresh(name):
    return z3.FreshInt(name)


class Scene:
    """Variables and what is known of them, while a formula is applied to them; `with` makes it the one that counts."""

    def __init__(self, *facts, opaque=()):
        self.facts = list(facts)
        self.given = list(facts)
        self.opaque = opaque
        self.path = []
        self.obligations = []
        self._divisions = []
        self._made = {}
        self._consistent = False

    def __enter__(self):
        global _scene
        self._outer, _scene = _scene, self
        return self

    def __exit__(self, *failure):
        global _scene
        _scene = self._outer

    def once(self, what, operands, make):
        """The same application has one value, so that equal terms cancel."""
        key = (what, *(z3.simplify(x).sexpr() if z3.is_expr(x) else x for x in operands))
        if key not in self._made:
            self._made[key] = make()
        return self._made[key]

    def divide(self, n, c):
        """Quotient and rest of n >= 0 by c >= 1, with the lemmas that join them to those before."""
        return self.once("/", (n, c), lambda: self._divide(n, c))

    def _divide(self, n, c):
        n = n if z3.is_expr(n) else z3.IntVal(n)
        self.prove("a divisor is at least 1", c >= 1) if z3.is_expr(c) else None
        q, r = fresh("q"), fresh("r")
        self.facts += [n == q * c + r, 0 <= r, r < c, z3.Implies(n >= 0, z3.And(q >= 0, q * c >= 0))]
        for n2, c2, q2, r2 in self._divisions:
            if z3.is_true(z3.simplify(c == c2)):
                one, other = (n, q, r), (n2, q2, r2)
                self.facts += [lemma_same(*one, *other), lemma_next(*one, *other, c), lemma_next(*other, *one, c)]
                self.facts += [lemma_order(n, q, n2, q2, c), lemma_order(n2, q2, n, q, c)]
        self.facts += [lemma_small(n, q, r, c)]
        self._divisions.append((n, c, q, r))
        return q, r

    def knows(self, condition):
        """Whether what was given when the scene was made decides a condition: then no case is left open."""
        plain = z3.simplify(condition, som=True)
        if z3.is_true(plain) or z3.is_false(plain):
            return z3.is_true(plain)
        solver = z3.Solver()
        solver.set("rlimit", LITTLE)
        solver.add(*self.given, *self.path, z3.Not(condition))
        return solver.check() == z3.unsat

    def require_once(self, value, claim):
        self.once("fits", (value, *self.path), lambda: self.require(claim))

    def require(self, claim):
        self.obligations.append(z3.Implies(z3.And(*self.path), claim) if self.path else claim)

    def prove(self, name, claim, *more):
        decide(name, [*self.facts, *more], claim)
        self.refute_contradiction(name, *more)

    def refute_contradiction(self, name, *more):
        """From facts that contradict each other everything follows: z3 must not find that they do."""
        if self._consistent:
            return
        self._consistent = True
        solver = z3.Solver()
        solver.set("rlimit", LITTLE)
        solver.add(*self.facts, *more)
        if solver.check() == z3.unsat:
            results.failed.append(f"{name}: the facts contradict each other")

    def prove_no_wrap(self, name, *more):
        """All obligations up to now: what the C++ computes on the way is what integers are."""
        for number, claim in enumerate(self.obligations, 1):
            decide(f"{name}: use {number} of a value is within its type", [*self.facts, *more], claim)
        self.obligations = []


# ---- lemmas on quotients; `prove_lemmas` proves each for all integers ----


def lemma_same(n1, q1, r1, n2, q2, r2):
    return z3.Implies(n1 == n2, z3.And(q1 == q2, r1 == r2))


def lemma_next(n1, q1, r1, n2, q2, r2, c):
    carried = z3.And(r1 + 1 == c, q2 == q1 + 1, r2 == 0)
    return z3.Implies(n2 == n1 + 1, z3.Or(z3.And(r1 + 1 < c, q2 == q1, r2 == r1 + 1), carried))


def lemma_order(n1, q1, n2, q2, c):
    """⌊n2/c⌋ is at least ⌊n1/c⌋ where n2 is at least as much as the whole multiple in n1."""
    return (q1 * c <= n2) == (q1 <= q2)


def lemma_small(n, q, r, c):
    return z3.Implies(z3.And(0 <= n, n < c), z3.And(q == 0, r == n))


def lemma_multiple(x, n, c, q):
    """x·c <= n is x <= ⌊n/c⌋."""
    return (x * c <= n) == (x <= q)


def lemma_shift(x, n1, q1, r1, n2, q2, r2, c):
    """x·c less: the quotient is x less, the rest is the same."""
    return z3.Implies(n2 == n1 - x * c, z3.And(q2 == q1 - x, r2 == r1))


def _is_quotient(n, c, q, r):
    return [c >= 1, n == q * c + r, 0 <= r, r < c]


def _products_of_differences(c, *numbers):
    """(a - b - 1)·c >= 0 where a > b, for every two of the numbers."""
    return [z3.Implies(a > b, (a - b - 1) * c >= 0) for a in numbers for b in numbers if a is not b]


def prove_lemmas():
    n1, q1, r1, n2, q2, r2, c, x = z3.Ints("n1 q1 r1 n2 q2 r2 c x")
    both = _is_quotient(n1, c, q1, r1) + _is_quotient(n2, c, q2, r2)
    hints = _products_of_differences(c, q1, q2, q1 + 1, q2 + 1)
    decide("a quotient is unique", both + hints, lemma_same(n1, q1, r1, n2, q2, r2))
    decide("the quotient of the next integer", both + hints, lemma_next(n1, q1, r1, n2, q2, r2, c))
    decide("quotients are in order", both + hints, lemma_order(n1, q1, n2, q2, c))
    one = _is_quotient(n1, c, q1, r1)
    shifted = both + _products_of_differences(c, q1 - x, q2, q1 - x + 1, q2 + 1)
    decide("the quotient of x divisors less", shifted, lemma_shift(x, n1, q1, r1, n2, q2, r2, c))
    zero = z3.IntVal(0)
    decide("the quotient of less than the divisor", one + _products_of_differences(c, q1, zero),
           lemma_small(n1, q1, r1, c))
    decide("multiples within an integer", one + _products_of_differences(c, x, q1), lemma_multiple(x, n1, c, q1))
    a, b, t = z3.Ints("a b t")
    decide("no negative product of non-negative integers", [], z3.Implies(z3.And(a >= 0, b >= 0), a * b >= 0))
    decide("n(n + 1) is even, for 0", [], z3.IntVal(0) == 2 * 0)
    decide("n(n + 1) is even, from n to n + 1", [a * (a + 1) == 2 * t], (a + 1) * (a + 2) == 2 * (t + a + 1))


def product_of(a, b):
    a, b = value_of(a), value_of(b)
    return z3.Implies(z3.And(a >= 0, b >= 0), a * b >= 0)


# ---- the integers of C++ ----


def value_of(x):
    return x.value if isinstance(x, Integer) else x


class Integer:
    """An integer of a type of C++: Python's or z3's."""

    low, high = 0, 0

    def __init__(self, x):
        """A conversion, which must not change the value."""
        self.value = value_of(x)
        self.must_fit()

    def must_fit(self):
        """The value is used as such: it must be that of the type."""
        if z3.is_expr(self.value):
            _scene.require_once(self.value, z3.And(self.low <= self.value, self.value <= self.high))
        return self.value

    def __add__(self, other):
        return self._made(self.value + value_of(other))

    def __sub__(self, other):
        return self._made(self.value - value_of(other))

    def __mul__(self, other):
        return self._made(self.value * value_of(other))

    def _divided(self, other):
        """Of no negative integers, as C++ and Python agree on."""
        dividend, divisor = self.must_fit(), _used(other)
        if not z3.is_expr(dividend) and not z3.is_expr(divisor):
            return divmod(dividend, divisor)
        _scene.require(z3.And(dividend >= 0, divisor >= 1))
        return _scene.divide(dividend, divisor)

    def __floordiv__(self, other):
        return self._made(self._divided(other)[0])

    def __mod__(self, other):
        return self._made(self._divided(other)[1])

    def __lt__(self, other):
        return self.must_fit() < _used(other)

    def __le__(self, other):
        return self.must_fit() <= _used(other)

    def __gt__(self, other):
        return self.must_fit() > _used(other)

    def __ge__(self, other):
        return self.must_fit() >= _used(other)

    def __eq__(self, other):
        return self.must_fit() == _used(other)

    def __ne__(self, other):
        return self.must_fit() != _used(other)

    __hash__ = None


def _used(x):
    return x.must_fit() if isinstance(x, Integer) else x


class U64(Integer):
    """std::uint64_t. Sums, differences and products are right modulo 2^64 whatever came before."""

    low, high = 0, WORD - 1

    def __init__(self, x):
        super().__init__(x)
        if not z3.is_expr(self.value):
            self.value %= WORD

    @staticmethod
    def _made(value):
        return _unchecked(U64, value if z3.is_expr(value) else value % WORD)

    def shared(self, divisor, share):
        """x / divisor where x is divisor times `share`, which z3 must find true: nothing is cut off."""
        if not z3.is_expr(self.value):
            return U64(self.value // value_of(divisor))
        _scene.require(self.must_fit() == value_of(divisor) * value_of(share))
        return U64(share)

    def half_of_neighbours(self, n):
        """n(n + 1)/2; self is the product, which is even."""
        if not z3.is_expr(self.value):
            return U64(self.value // 2)

        def make():
            half = fresh("triangle")
            _scene.facts.append(2 * half == value_of(n) * (value_of(n) + 1))
            return half

        _scene.require(self.must_fit() == value_of(n) * (value_of(n) + 1))
        return U64(_scene.once("triangle", (value_of(n),), make))


class I64(Integer):
    """std::int64_t, which must never overflow."""

    low, high = -(2**63), 2**63 - 1

    @staticmethod
    def _made(value):
        return I64(value)


@contextlib.contextmanager
def _where(condition):
    _scene.path.append(condition)
    yield
    _scene.path.pop()


def both(a, b):
    return z3.And(a, b) if z3.is_expr(a) or z3.is_expr(b) else a and b


def when(condition, then, otherwise):
    """condition ? then() : otherwise()"""
    if not z3.is_expr(condition):
        return then() if condition else otherwise()
    if _scene.knows(condition):
        return then()
    if _scene.knows(z3.Not(condition)):
        return otherwise()
    with _where(condition):
        yes = then()
    with _where(z3.Not(condition)):
        no = otherwise()
    made = yes if isinstance(yes, Integer) else no
    chosen = z3.If(condition, value_of(yes), value_of(no))
    return _unchecked(type(made), chosen) if isinstance(made, Integer) else chosen


def _unchecked(kind, value):
    made = object.__new__(kind)
    made.value = value
    return made


def quotient(n, c):
    """⌊n / c⌋ of integers"""
    return _scene.divide(n, c)[0] if z3.is_expr(n) or z3.is_expr(c) else n // c


def rest(n, c):
    """n mod c of integers"""
    return _scene.divide(n, c)[1] if z3.is_expr(n) or z3.is_expr(c) else n % c


def variable(name, kind=U64):
    """A variable of C++, whose range is given by the facts of the scene."""
    return _unchecked(kind, z3.Int(name))


def smaller(a, b):
    """integer/checked.hpp: smaller"""
    return when(a < b, lambda: U64(a), lambda: U64(b))


def larger(a, b):
    """integer/checked.hpp: larger"""
    return when(a < b, lambda: U64(b), lambda: U64(a))


# ---- counting and induction ----


def each_case(name, facts, cases, opaque=()):
    """A scene for each case, in which formulas need not ask; together the cases are all that there is."""
    decide(f"{name}: these are all cases", facts, z3.Or(*(z3.And(*case) for case in cases)))
    for case in cases:
        with Scene(*facts, *case, opaque=opaque) as scene:
            yield scene


def prove_count(name, facts, predicate, domain, *intervals, hints=()):
    """The integers of `domain` (low, end) with the predicate are those of the intervals, which are apart; their number.

    `predicate` takes an integer and the scene, to divide in it.
    """
    scene = facts if isinstance(facts, Scene) else Scene(*facts)
    with scene:
        j = fresh("j")
        low, end = domain
        inside = z3.And(low <= j, j < end)
        holds = predicate(j, scene)
        listed = z3.Or(*(z3.And(a <= j, j < b) for a, b in intervals))
        more = [hint(j) for hint in hints]
        scene.prove(f"{name}: a key is seen that stands within the bounds",
                    z3.Implies(listed, z3.And(inside, holds)), *more)
        scene.prove(f"{name}: and no other", z3.Implies(z3.And(inside, holds), listed), *more)
        in_order = [a <= b for a, b in intervals] + [x[1] <= y[0] for x, y in zip(intervals, intervals[1:])]
        scene.prove(f"{name}: bounds are in order", z3.And(*in_order), *more)
        count = sum((b - a for a, b in intervals[1:]), intervals[0][1] - intervals[0][0])
        scene.prove(f"{name}: at most all", z3.And(0 <= count, count <= end - low), *more)
    return count


class RunningSum:
    """A function of C++ that is a sum over the first rows, for parameters for which `given` holds.

    `prove` shows it. Proofs of what calls it know that its values are in order. A scene to which it is opaque knows, in
    place of the formula, that one row more adds its term.
    """

    def __init__(self, function, names, given, term, hints, cases, opaque):
        self.plain = function
        self.__doc__ = function.__doc__
        self.name = function.__name__
        self.names, self.given, self.term, self.hints = names, given, term, hints
        self.cases, self.opaque = cases, opaque

    def __call__(self, rows, *parameters):
        parameters = tuple(value_of(p) for p in parameters)
        n = value_of(rows)
        if not any(z3.is_expr(x) for x in (n, *parameters)):
            return self.plain(rows, *parameters)
        if self not in _scene.opaque:
            value = self.plain(rows, *parameters)
            _scene.once(f"facts of {self.name}", (n, *parameters), lambda: self._add_facts(n, value.value, parameters))
            return value
        _scene.require(z3.And(self.given(*parameters), 0 <= n, n <= LONGEST))
        return _unchecked(U64, _scene.once(self.name, (n, *parameters), lambda: self._value(n, parameters)))

    def _value(self, n, parameters):
        value = fresh(self.name)
        self._add_facts(n, value, parameters)
        return value

    def _add_facts(self, n, value, parameters):
        exact = z3.And(self.given(*parameters), 0 <= n, n <= LONGEST)
        _scene.facts.append(z3.Implies(exact, z3.And(0 <= value, z3.Implies(n == 0, value == 0))))
        others = _scene.once(f"all of {self.name}", parameters, list)
        for n2, value2, exact2 in others:
            known = z3.And(exact, exact2)
            _scene.facts.append(z3.Implies(z3.And(known, n <= n2), value <= value2))
            _scene.facts.append(z3.Implies(z3.And(known, n2 <= n), value2 <= value))
            for few, less, many, more in ((n2, value2, n, value), (n, value, n2, value2)):
                if self in _scene.opaque and _scene.knows(many - few == 1):
                    _scene.facts.append(z3.Implies(known, more == less + self.term(few, *parameters)))
        others.append((n, value, exact))

    def prove(self):
        """The sum of term(i) over 0 <= i < n, for all n up to the longest, computed without wrapping.

        By induction: 0 of nothing; one row more adds its own term; that is at least 0 and at most 2i + 1, so that the
        sum of n terms is at most n², and the result fits.
        """
        parameters = z3.Ints(self.names)
        n = z3.Int("n")
        hints = lambda: self.hints(n, *parameters)
        facts = [self.given(*parameters)]
        of = lambda rows: value_of(self.plain(_unchecked(U64, rows), *(_unchecked(I64, p) for p in parameters)))
        with Scene(*facts) as scene:
            scene.prove(f"{self.name}: 0 of nothing", of(z3.IntVal(0)) == 0)
        for scene in each_case(self.name, [*facts, 0 <= n, n < LONGEST], self.cases(n, *parameters), self.opaque):
            now, after, added = of(n), of(n + 1), self.term(n, *parameters)
            more = hints()
            scene.prove(f"{self.name}: one row more adds its own", after - now == added, *more)
            scene.prove(f"{self.name}: a row adds from 0 to 2i + 1", z3.And(0 <= added, added <= 2 * n + 1), *more)
        with Scene(*facts, 0 <= n, n <= LONGEST, opaque=self.opaque) as scene:
            of(n)
            scene.prove_no_wrap(self.name, product_of(n, n), product_of(n, LONGEST - n), *hints())


def _no_hints(n, *parameters):
    return []


def _one_case(n, *parameters):
    return [[]]


def running_sum(names, given, term, hints=_no_hints, cases=_one_case, opaque=()):
    """A function of rows and parameters (their `names`) that is the sum of term(row, *parameters)."""
    return lambda function: RunningSum(function, names, given, term, hints, cases, opaque)


def _number(i, seen, *parameters):
    return seen


def prove_statistic(name, formula, given, sees, row, column=None, weigh=_number, names="", when_fits=None):
    """formula(length, past, …) is the number of pairs (query, key) with `sees`, for all lengths, pasts, parameters.

    By induction on the length: no token has no pairs; one token more, at position i = past + length, adds the keys that
    its query sees (`row`: their bounds) and the earlier queries that see its key (`column`: theirs). Both are shown to
    be the integers with the predicate. `weigh` turns them into what a pair counts, where that is not 1. `when_fits` of
    (end, …) limits what is claimed.
    """
    parameters = z3.Ints(names)
    n, past = z3.Ints("length past")
    i = past + n
    facts = [0 <= n, 0 <= past, given(*parameters)]
    fits = (lambda end: when_fits(end, *parameters)) if when_fits else lambda end: z3.BoolVal(True)
    signed = [_unchecked(I64, p) for p in parameters]
    of = lambda length: value_of(formula(_unchecked(U64, length), _unchecked(U64, past), *signed))
    with Scene(*facts, past <= LONGEST, fits(past)) as scene:
        scene.prove(f"{name}: 0 of no tokens", of(z3.IntVal(0)) == 0)
    with Scene(*facts, i < LONGEST, fits(i), fits(i + 1)) as scene:
        bounds = [row(i, *parameters)]
        seen = prove_count(f"{name}: keys of a query", scene, lambda j, _: sees(i, j, *parameters), (0, i + 1), *bounds)
        if column is None:
            scene.prove(f"{name}: no earlier query sees a later key", *_none_sees(sees, past, i, parameters))
        else:
            seen = seen + prove_count(f"{name}: queries of a key", scene, lambda q, _: sees(q, i, *parameters),
                                      (past, i), column(i, past, *parameters))
        added = weigh(i, seen, *parameters)
        scene.obligations = []
        now, after = of(n), of(n + 1)
        scene.prove(f"{name}: a token more adds its row and its column", after - now == added,
                    product_of(n, n), product_of(n, past))
    with Scene(*facts, i < LONGEST, fits(i), fits(i + 1)) as scene:
        seen = sum(b - a for a, b in [row(i, *parameters), *([column(i, past, *parameters)] if column else [])])
        scene.prove(f"{name}: a token adds from 0 to 2i + 1, so that all together fit 64 bits",
                    z3.And(0 <= weigh(i, seen, *parameters), weigh(i, seen, *parameters) <= 2 * i + 1))
    with Scene(*facts, i <= LONGEST, fits(i)) as scene:
        of(n)
        scene.prove_no_wrap(name, product_of(n, LONGEST - n), product_of(past, LONGEST - past), product_of(n, past),
                            product_of(i, LONGEST - i), product_of(n, LONGEST - past))


def _none_sees(sees, past, i, parameters):
    q = fresh("query")
    return z3.Implies(z3.And(past <= q, q < i), z3.Not(sees(q, i, *parameters))), z3.BoolVal(True)
