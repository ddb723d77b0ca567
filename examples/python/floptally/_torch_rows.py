# SPDX-License-Identifier: Apache-2.0
"""From the products of training steps at several sizes to the rows of a cost; see _from_torch.py."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

from ._core import Cost, Error, Mask, Plan, Row

if TYPE_CHECKING:
    import torch

    from ._torch_trace import Product, Step
    from ._words import ConventionName, Tower

MAX_NAME = 39

Size = tuple[int, int, int]  #: samples, tokens of each, tokens on the other side of each

STATISTICS: dict[str, Callable[[Size], int]] = {
    "passes": lambda s: 1,
    "sample pairs": lambda s: s[0] ** 2,
    "count": lambda s: s[0],
    "tokens": lambda s: s[0] * s[1],
    "keys": lambda s: s[0] * s[2],
    "squares": lambda s: s[0] * s[1] ** 2,
    "others": lambda s: s[0] * s[1] * (s[1] - 1),
    "crossed": lambda s: s[0] * s[1] * s[2],
    "key squares": lambda s: s[0] * s[2] ** 2,
    "patches": lambda s: s[0] * s[1] * s[2],
    "patch squares": lambda s: s[0] * (s[1] * s[2]) ** 2,
}
QUADRATIC = ("squares", "others", "crossed", "key squares", "patch squares")
POSITION_WORDS = ("position", "token_type", "segment")  #: in the names of tables whose indices come from data
#: Sizes that vary, by their number; grids have two as keys have.
GRIDS = 4
OF_ARITY = {
    1: ("count",),
    2: ("count", "tokens", "squares"),
    3: ("count", "tokens", "keys", "squares", "crossed", "key squares"),
    GRIDS: ("count", "patches", "patch squares"),
}
RULES = {
    "others": Mask.from_callable("every_other_token", lambda length, past, keys: length * (length + past - 1)),
    "crossed": Mask.cross_attention(),
    "key squares": Mask.encoder(),
    "passes": Mask.measured("passes"),
    "sample pairs": Mask.measured("sample_pairs"),
}


def tokens_after(first: int) -> Mask:
    """The tokens of a sequence but for the first ones: what a convolution without padding, or a step that needs the one
    before it, runs over."""

    def count(length: int, past: int, keys: int) -> int:
        return max(length - max(first - past, 0), 0)

    if first not in AFTER:
        AFTER[first] = Mask.from_callable(f"tokens_after_{first}", count)
    return AFTER[first]


AFTER: dict[int, Mask] = {}


def in_chunks(name: str) -> Mask:
    """The chunks of a sequence, the last one of which is filled up, those after the first, or the squares of their
    number: ``chunks of 64``."""

    def count(length: int, past: int, keys: int) -> int:
        return chunks_in(name, length)

    if name not in CHUNKS:
        CHUNKS[name] = Mask.from_callable(name.replace(" ", "_"), count)
    return CHUNKS[name]


def chunks_in(name: str, length: int) -> int:
    chunks = -(-length // int(name.rpartition(" ")[2]))
    if name.startswith("later"):
        return max(chunks - 1, 0)
    return int(chunks ** (2 if name.startswith("chunk squares") else 1))


def of_chunks(name: object) -> bool:
    return isinstance(name, str) and name.startswith(("chunk", "later chunk"))


CHUNKS: dict[str, Mask] = {}


def statistic(name: str, size: Size) -> int:
    return size[0] * chunks_in(name, size[1]) if of_chunks(name) else STATISTICS[name](size)


def shown(size: Size, arity: int) -> str:
    """A size as errors say it."""
    if arity == GRIDS:
        return f"{size[0]} samples of {size[1]} x {size[2]} patches"
    return ", ".join([f"{size[0]} samples", f"length {size[1]}", f"{size[2]} keys"][:arity])


def batch_of(size: Size, arity: int) -> dict[str, Any]:
    """A size as the keywords of `Cost.flops`."""
    if arity == GRIDS:
        return {"grid_thw": [[1, size[1], size[2]]] * size[0]}
    both = {"lengths": [size[1] or 1] * size[0]}
    return {**both, "encoder_lengths": [size[2]] * size[0]} if arity == 3 else both


def solved(sizes: Sequence[Size], values: Sequence[int], names: Sequence[str]) -> dict[str, Fraction]:
    """The coefficients with Σ coefficient·statistic = value at as many sizes as there are names; without zeros."""
    rows = [[Fraction(statistic(name, size)) for name in names] + [Fraction(v)] for size, v in zip(sizes, values)]
    for column in range(len(names)):
        pivot = next((i for i in range(column, len(rows)) if rows[i][column] != 0), None)
        if pivot is None:
            return {}
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [entry / rows[column][column] for entry in rows[column]]
        for i, row in enumerate(rows):
            if i != column and row[column] != 0:
                rows[i] = [entry - row[column] * lead for entry, lead in zip(row, rows[column])]
    return {name: row[-1] for name, row in zip(names, rows) if row[-1] != 0}


def with_others(found: dict[str, int]) -> dict[str, int]:
    """Fewer FLOPs than squares have by tokens are those of each token with every other one, as 2n - 1 distances for n
    queries: c·squares - c·tokens."""
    squares, tokens = found.get("squares", 0), -found.get("tokens", 0)
    if not 0 < tokens <= squares:
        return found
    made = {name: c for name, c in found.items() if name not in ("squares", "tokens")}
    made["others"] = tokens
    return {**made, "squares": squares - tokens} if squares > tokens else made


def without_first(found: dict[str, int], sizes: Iterable[Size]) -> dict[str, int]:
    """Fewer FLOPs than tokens have are those of tokens after the first ones: c·tokens − c·k·count."""
    tokens, count = found.get("tokens", 0), -found.get("count", 0)
    if tokens <= 0 or count <= 0:
        return found
    first = -(-count // tokens)
    whole, rest = divmod(count, first)
    if rest or whole > tokens or first > min(size[1] for size in sizes):
        return found
    made = {name: c for name, c in found.items() if name not in ("tokens", "count")}
    made[f"after {first}"] = whole
    return {**made, "tokens": tokens - whole} if tokens > whole else made


def is_cubic(points: Sequence[tuple[int, int]]) -> bool:
    """True where (length, count) lie on a polynomial of the third degree, by divided differences."""
    xs = [x for x, _ in points]
    differences = [Fraction(y) for _, y in points]
    for order in range(1, 5):
        differences = [
            (b - a) / (xs[i + order] - xs[i]) for i, (a, b) in enumerate(zip(differences, differences[1:]))
        ]
    return not any(differences)


class Names:
    """Components of modules and parameters."""

    def __init__(
        self,
        model: torch.nn.Module,
        components: Mapping[str, str] | Callable[[str], str] | None,
        depth: int | None,
    ) -> None:
        self.root = type(model).__name__
        self.components = components
        self.depth = depth
        self.indices: set[str] = set()
        for name, module in model.named_modules():
            kind = type(module).__name__
            children = list(module.children())
            blocks = len(children) > 1 and len({type(one) for one in children}) == 1 and list(children[0].children())
            if kind == "ModuleList" or (kind == "Sequential" and blocks):
                self.indices.update(f"{name}.{index}" if name else index for index, _ in module.named_children())

    def folded(self, module: str) -> str:
        """``model.layers.*.mlp`` of ``model.layers.3.mlp``."""
        parts = module.split(".")
        return ".".join("*" if ".".join(parts[: i + 1]) in self.indices else part for i, part in enumerate(parts))

    def in_layer(self, module: str) -> bool:
        return "*" in self.folded(module).split(".")

    def component(self, module: str) -> str:
        """The whole name of a module's component, of any length."""
        if callable(self.components):
            return self.components(module) or self.root
        folded = self.folded(module)
        for pattern, name in (self.components or {}).items():
            if fnmatchcase(module, pattern) or fnmatchcase(folded, pattern):
                return name
        if self.depth is not None:
            folded = ".".join(folded.split(".")[: self.depth])
        return folded or self.root

    @staticmethod
    def short(names: Iterable[str]) -> dict[str, str]:
        """Names of at most 39 characters each: ``..`` in place of as few parts as possible, the first of them that no other
        name could stand for too."""
        of_name = {name: name.split(".") for name in names}
        made: dict[str, str] = {}
        for name, parts in of_name.items():
            forms = (
                (parts[:at], parts[at + dropped :])
                for dropped in range(0 if len(name) <= MAX_NAME else 1, len(parts))
                for at in range(len(parts) - dropped)
            )
            for head, tail in forms:
                kept = name if len(head) + len(tail) == len(parts) else ".".join(head) + ".." + ".".join(tail)
                others = (one for other, one in of_name.items() if other != name and len(kept) < len(name))
                alike = any(one[: len(head)] == head and one[-len(tail) :] == tail for one in others)
                if len(kept) <= MAX_NAME and not alike and kept not in made.values():
                    made[name] = kept
                    break
            else:
                made[name] = Names.cut(name, made.values())
        return made


    @staticmethod
    def cut(name: str, taken: Iterable[str]) -> str:
        """The end of a name and a number, where leaving out whole parts makes no name of its own."""
        others = set(taken)
        for number in range(len(others) + 2):
            mark = f"~{number}" if number else ""
            kept = ".." + name[len(name) - (MAX_NAME - 2 - len(mark)) :] + mark
            if kept not in others:
                return kept
        raise AssertionError(name)


@dataclass
class Series:
    """One product at all sizes; or several of a module as one, where their number differs from size to size."""

    first: Product
    forward: list[int]
    backward: list[int]
    excess: list[int]
    recomputed: list[int]
    dims: list[tuple[int, ...]]  #: empty where it is several
    patterns: list[Any]  #: what it attends at each size, as far as that is known
    weights: tuple[str, ...]  #: parameters that it multiplies with

    @property
    def module(self) -> str:
        return self.first.module


def series_of(products: list[list[Product]]) -> Series:
    first = min((p for ps in products for p in ps), key=lambda p: p.kind == "weight" and not p.weights)
    single = all(len(ps) == 1 for ps in products)
    return Series(
        first,
        [sum(p.forward for p in ps) for ps in products],
        [sum(p.backward for p in ps) for ps in products],
        [sum(p.groups_excess for p in ps) for ps in products],
        [sum(p.recomputed for p in ps) for ps in products],
        [ps[0].dims for ps in products] if single else [],
        [pattern_of(ps) for ps in products if ps],
        tuple(sorted({weight for ps in products for p in ps for weight in p.weights})),
    )


def pattern_of(products: list[Product]) -> Any:
    """The mask of all of these, or None where they differ."""
    first = products[0].pattern
    alike = all(p.pattern is first or (isinstance(p.pattern, str) and p.pattern == first) for p in products)
    return first if alike else None


def gathered(several: Sequence[Series]) -> Series:
    """Several as one: how often each runs is for data to decide, their sum may not be."""

    def sums(of: Callable[[Series], list[int]]) -> list[int]:
        return [sum(values) for values in zip(*map(of, several))]

    return Series(
        several[0].first,
        sums(lambda one: one.forward),
        sums(lambda one: one.backward),
        sums(lambda one: one.excess),
        sums(lambda one: one.recomputed),
        [],
        several[0].patterns,
        tuple(sorted({weight for one in several for weight in one.weights})),
    )


def kind_of(product: Product) -> tuple[str, tuple[str, ...]]:
    """Rows of products whose number differs from size to size: a scan's first state is a constant, the others are none."""
    return "activations" if product.kind == "weight" and not product.weights else product.kind, product.weights


def aligned(steps: Sequence[Step]) -> list[Series]:
    """One product at every size, in the order of the forward."""
    of_module: list[dict[str, list[Product]]] = []
    for step in steps:
        found: dict[str, list[Product]] = {}
        for product in step.products:
            found.setdefault(product.module, []).append(product)
        of_module.append(found)
    series = []
    for module in dict.fromkeys(name for found in of_module for name in found):
        lists = [found.get(module, []) for found in of_module]
        kinds = [[(p.op, p.kind, p.weights) for p in products] for products in lists]
        if all(kind == kinds[0] for kind in kinds):
            series += [series_of([[one] for one in group]) for group in zip(*lists)]
            continue
        for key in dict.fromkeys(kind_of(p) for products in lists for p in products):
            series.append(series_of([[p for p in ps if kind_of(p) == key] for ps in lists]))
    return sorted(series, key=lambda one: one.first.place)


@dataclass
class Table:
    """The rows of a model."""

    model: torch.nn.Module  #: the fake copy that ran
    sizes: list[Size]
    fitted: int  #: so many of the first sizes are for the fit, the others check it
    arity: int  #: how many numbers of a size vary
    steps: list[Step]
    names: Names
    mask_of: Callable[[Series], Mask]
    terms: Mapping[str, str]
    masks_given: bool = False  #: by the caller, whose rules may be none that a convention makes squares of
    chunks: Sequence[int] = ()  #: tokens of what it may count by
    notes: list[str] = field(default_factory=list)
    rows: dict[tuple[str, str | Mask, str, str], list[int]] = field(default_factory=dict)  #: FLOPs a unit, parameters
    units: dict[str, set[str]] = field(default_factory=dict)  #: what the products of a module are counted by
    stored: set[str] = field(default_factory=set)  #: parameters that a row has

    def cost(self) -> Cost:
        series = aligned(self.steps)
        # Where one core is fused, one that ran as plain products differs from it: no second QK^T in the backward.
        self.fused = any(one.first.kind == "attention" for one in series)
        places = [one.first.place for one in series if self.names.in_layer(one.module)]
        self.first_layer, self.last_layer = (min(places), max(places)) if places else (-1, 1 << 62)
        self.plain_cores: list[str] = []
        series = self.with_form(series)
        for one in series:
            if one.first.kind == "attention":
                self.add_fused(one)
            elif one.first.kind == "weight":
                self.add_weight(one)
            elif one.first.kind in ("activations", "operator"):
                self.add_activations(one)
            else:
                raise Error(
                    one.module or self.names.root,
                    f"{one.first.op} counts {one.backward[0]} in the backward of an operator that counts nothing "
                    "forward: no row of a cost has that",
                )
        self.add_softmax(series)
        self.add_parameters()
        return self.recomputing(self.checked(), series)

    def with_form(self, series: Sequence[Series]) -> list[Series]:
        """Those that fit, and sums over layers or experts of those that fit together only."""
        found: list[Series] = []
        odd: dict[tuple[str, str, tuple[str, ...]], list[Series]] = {}
        problems: dict[tuple[str, str, tuple[str, ...]], Error] = {}
        for one in series:
            try:
                units = self.fit(one.module, one.first.op, one.forward)
            except Error as problem:
                own = tuple(self.names.folded(weight) for weight in one.weights)
                key = (self.names.folded(one.module), one.first.kind, own)
                odd.setdefault(key, []).append(one)
                problems.setdefault(key, problem)
                continue
            found.append(one)
            self.units.setdefault(one.module, set()).update(units)
        for key, several in odd.items():
            whole = gathered(several)
            try:
                units = self.fit(key[0], whole.first.op, whole.forward)
            except Error:
                raise problems[key] from None
            self.notes.append(f"{key[0]}: fitted as the sum over {len(several)}, among which the data choose")
            found.append(whole)
            for one in several:
                self.units.setdefault(one.module, set()).update(units)
        return sorted(found, key=lambda one: one.first.place)

    # -- fits ---------------------------------------------------------------------------------------------------------

    def fit(self, module: str, op: str, values: Sequence[int]) -> dict[str, int]:
        """Integers of statistics; an error where there are none, or where they do not hold at the other sizes."""
        where = module or self.names.root
        found: dict[str, Fraction] = {}
        wrong: list[tuple[Size, int]] = []

        def at(size: Size) -> Fraction:
            return sum((c * statistic(name, size) for name, c in found.items()), Fraction(0))

        for names in (OF_ARITY[self.arity], ("passes",) + OF_ARITY[self.arity]):
            # Another batch tells what runs once whatever the batch is.
            used = [i for i in range(len(self.sizes)) if i < self.fitted or (names[0] == "passes" and self.is_other(i))]
            kept = found, wrong
            found = solved([self.sizes[i] for i in used], [values[i] for i in used], names)
            wrong = [(size, v) for size, v in zip(self.sizes, values) if at(size) != v]
            if not wrong and all(c.denominator == 1 for c in found.values()):
                whole = without_first(with_others({name: int(c) for name, c in found.items()}), self.sizes)
                if all(c >= 0 for c in whole.values()):
                    return whole
            if names[0] == "passes":
                found, wrong = kept
        for chunk in self.chunks:
            names = ("count", f"chunks of {chunk}", f"chunk squares of {chunk}")
            alike = [(i, size) for i, size in enumerate(self.sizes) if size[0] == self.sizes[0][0]]
            used = [i for _, i in sorted({-(-size[1] // chunk): i for i, size in reversed(alike)}.items())][:3]
            if len(used) < 3:
                continue
            by_chunks = solved([self.sizes[i] for i in used], [values[i] for i in used], names)
            if by_chunks and all(c.denominator == 1 for c in by_chunks.values()):
                whole = {name: int(c) for name, c in by_chunks.items()}
                first, all_chunks = -whole.get("count", 0), whole.get(names[1], 0)
                if 0 < first <= all_chunks:
                    del whole["count"]
                    whole |= {f"later {names[1]}": first, names[1]: all_chunks - first}
                    whole = {name: c for name, c in whole.items() if c}
                fits = (
                    v == sum(c * statistic(name, size) for name, c in whole.items())
                    for size, v in zip(self.sizes, values)
                )
                if all(c >= 0 for c in whole.values()) and all(fits):
                    return whole
        each, rest = divmod(values[0], self.sizes[0][0] ** 2)
        if not rest and each > 0 and all(v == each * size[0] ** 2 for size, v in zip(self.sizes, values)):
            return {"sample pairs": each}
        if wrong:
            raise Error(where, f"{op} counts {self.why_not(values, wrong, at)}")
        for name, c in found.items():
            if c.denominator != 1 or c < 0:
                raise Error(
                    where,
                    f"{op} counts {c} FLOPs per {name}: a cost has integers of at least 0"
                    + ("; lengths that are multiples of a chunk or a stride may give them" if self.arity > 1 else ""),
                )
        raise AssertionError(where)

    def is_other(self, index: int) -> bool:
        """True where a size is the first one of another batch."""
        return index == next(i for i, size in enumerate(self.sizes) if size[0] != self.sizes[0][0])

    def length_of(self, value: int, size: Size, at: Callable[[Size], Fraction]) -> int:
        """The shorter length that would count as much, or 0."""
        short, long = 0, size[1]
        while long - short > 1:
            middle = (short + long) // 2
            short, long = (middle, long) if at((size[0], middle, size[2])) <= value else (short, middle)
        return short if short and at((size[0], short, size[2])) == value else 0

    def why_not(
        self, values: Sequence[int], wrong: Sequence[tuple[Size, int]], at: Callable[[Size], Fraction]
    ) -> str:
        size, value = wrong[0]
        words = {1: "samples", GRIDS: "samples, patches and their squares"}.get(
            self.arity, "samples, tokens and squares"
        )
        base = f"{value} with {shown(size, self.arity)}, where {words} give {float(at(size)):.15g}"
        if self.arity == GRIDS:
            return base + ": a border without padding, windows or data decide"
        of_size = dict(zip(self.sizes, values))
        batches = [(s, of_size[(2,) + s[1:]]) for s, _ in wrong if (2,) + s[1:] in of_size and s[0] != 2]
        if batches and all(s[0] != 2 for s, _ in wrong):
            before = batches[0][1]
            if before == value:
                return base + ": the same for any batch, as a product that runs once for all samples"
            if value * 4 == before * batches[0][0][0] ** 2:
                return base + ": with the square of the batch, so that samples meet each other, and with the length"
        else:
            far = max(self.sizes, key=lambda one: one[1])
            if [s for s, _ in wrong] == [far] and len(self.sizes) > 6:
                shorter = self.length_of(value, far, at)
                if shorter:
                    return base + f": as many as length {shorter} has, to which it cuts what it is given"
                beyond = max(s[1] for s in self.sizes if s != far)
                return base + f": it counts otherwise beyond length {beyond}, or once for all samples"
            points = [(s[1], v) for s, v in of_size.items() if s[0] == 2 and s[2] == self.sizes[0][2]]
            if len(points) >= 5 and is_cubic(points):
                return base + ": with the third power of the length"
        return base + ": chunks, padding or data decide. Chunks of fixed size fit lengths= of whole ones"

    def passes_of(self, one: Series, forward: Sequence[int]) -> dict[str, dict[int, int]]:
        """By unit, how many FLOPs run twice, once and not at all in the backward, for each time in the forward."""
        where = one.module or self.names.root
        backward = [b - e for b, e in zip(one.backward, one.excess)]
        ran = self.fit(where, one.first.op, backward) if any(backward) else {}
        units = self.fit(where, one.first.op, forward)
        for name in [name for name in ran if name.startswith(("after ", "later ")) and name not in units]:
            # The first tokens, or the first chunk, need less: they are counted apart.
            every = "tokens" if name.startswith("after ") else name.removeprefix("later ")
            first = int(name.removeprefix("after ")) if every == "tokens" else 1
            if units.get(every, 0) > 0:
                units[name] = units.pop(every)
                units["count"] = units.get("count", 0) + first * units[name]
                ran["count"] = ran.get("count", 0) + first * ran.get(every, 0)
                ran[name] += ran.pop(every, 0)
        split: dict[str, dict[int, int]] = {}
        for unit, flops in units.items():
            again = ran.pop(unit, 0)
            if again > 2 * flops:
                ran[unit] = again
                break
            twice, once = max(again - flops, 0), min(again, 2 * flops - again)
            split[unit] = {times: n for times, n in ((2, twice), (1, once), (0, flops - twice - once)) if n}
        if ran:
            raise Error(
                where,
                f"{one.first.op} counts {forward[0]} forward and {backward[0]} backward with "
                f"{shown(self.sizes[0], self.arity)}: a row's backward counts at most twice its forward",
            )
        return split

    # -- products -----------------------------------------------------------------------------------------------------

    def add_weight(self, one: Series) -> None:
        parameters = 0
        for weight in one.weights:
            if weight not in self.stored:
                self.stored.add(weight)
                parameters += self.model.get_parameter(weight).numel()
        excess = self.fit(one.module, one.first.op, one.excess) if any(one.excess) else {}
        for statistic, more in excess.items():
            self.notes.append(
                f"{one.module}: FlopCounterMode counts {more} FLOPs more per {statistic} in the backward: the weight "
                "gradient of a convolution in groups, over the channels of all"
            )
        split = self.passes_of(one, one.forward)
        for statistic, by_times in split.items():
            for times, flops in by_times.items():
                self.put(one.module, statistic, self.weight_term(one, times), flops, parameters, one.weights)
                parameters = 0
        if not split and parameters:
            self.stored.difference_update(one.weights)

    def given_term(self, module: str) -> str | None:
        folded = self.names.folded(module)
        for pattern, term in self.terms.items():
            if fnmatchcase(module, pattern) or fnmatchcase(folded, pattern):
                return term
        return None

    def weight_term(self, one: Series, times: int) -> str:
        given = self.given_term(one.module)
        if given is not None:
            return given
        after = one.first.place > self.last_layer
        if times == 0:
            return "detached_head" if after else "detached"
        if times == 1:
            return "input_linear"
        if after:
            return "lm_head"
        if one.first.place < self.first_layer:
            return "preprocessing"
        parent, _, own = one.module.rpartition(".")
        if own in ("gate", "router") and any(
            name == "experts" for name, _ in self.model.get_submodule(parent).named_children()
        ):
            return "router"
        return "linear"

    def add_fused(self, one: Series) -> None:
        """A fused kernel: QK^T and PV forward, both twice and QK^T once more backward."""
        scores, values = [], []
        for heads, queries, keys, width, value_width in one.dims:
            scores.append(2 * heads * queries * keys * width)
            values.append(2 * heads * queries * keys * value_width)
        where = one.module or self.names.root
        if not one.dims or [s + v for s, v in zip(scores, values)] != one.forward:
            raise Error(where, f"{one.first.op} counts {one.forward[0]} forward, its shapes say otherwise")
        trained = [3 * s + 2 * v for s, v in zip(scores, values)] == one.backward
        if not trained and any(one.backward):
            raise Error(
                where,
                f"{one.first.op} counts {one.forward[0]} forward and {one.backward[0]} backward: neither five products "
                "for two nor none",
            )
        term = "{}" if trained else "detached"
        for kind, counted in (("scores", scores), ("values", values)):
            for unit, flops in self.fit(one.module, one.first.op, counted).items():
                self.put_core(one, term.format(kind), unit, flops)
        self.put_softmax(one, [3 * dims[0] * dims[1] * dims[2] for dims in one.dims])

    def add_activations(self, one: Series) -> None:
        """QK^T, PV, or another product of activations: told by whether the axis that is summed over has the length."""
        if one.first.kind == "operator" and self.is_fused_operator(one):
            return
        units = self.fit(one.module, one.first.op, one.forward)
        quadratic = any(name in units for name in QUADRATIC)
        softmax = self.steps[0].softmax.get(one.module)
        term = "state"
        if one.first.kind == "operator":
            term = "state"
        elif quadratic and len({dims[2] for dims in one.dims}) > 1:
            term = "values"
        elif quadratic and one.dims:
            term = "scores"
        elif softmax is not None:
            term = "scores" if one.first.place < softmax[1] else "values"
        if self.fused and term != "state":
            self.plain_cores.append(one.module)
            term = "state"
        for unit, by_times in self.passes_of(one, one.forward).items():
            for times, flops in by_times.items():
                self.put_core(one, {2: term, 1: "input_linear", 0: "detached"}[times], unit, flops)

    def is_fused_operator(self, one: Series) -> bool:
        """A user's attention kernel, whose backward counts five products for two: half of it is QK^T."""
        if [2 * b for b in one.backward] != [5 * f for f in one.forward]:
            return False
        self.fused = True
        for unit, flops in self.fit(one.module, one.first.op, one.forward).items():
            self.put_core(one, "scores", unit, flops - flops // 2)
            self.put_core(one, "values", unit, flops // 2)
        return True

    def put_core(self, one: Series, term: str, unit: str, flops: int, more: Iterable[str] = ()) -> None:
        """A row of a core: pairs under its mask, where its length is one that varies."""
        if unit not in ("squares", "patch squares"):
            self.put(one.module, unit, term, flops)
            return
        mask = self.mask_of(one)
        longer = self.extra_tokens(one)
        if longer and mask not in (Mask.bidirectional(), Mask.bidirectional().in_tower("vision")):
            raise Error(
                one.module or self.names.root,
                f"{one.first.op} counts {longer} besides pairs under {mask.name}: tokens that are in no length have a "
                "form under bidirectional only; masks=floptally.Mask.bidirectional() counts all pairs of its cores",
            )
        self.put(one.module, mask, term, flops)

    def extra_tokens(self, one: Series) -> str:
        """The count of a core for queries that are in no length: under a mask, they have no pairs of that mask."""
        units = self.fit(one.module, one.first.op, one.forward)
        found = [name for name in ("count", "passes") if name in units]
        # Keys alone may be more: a prefix, which every query sees.
        return f"{units[found[0]]} FLOPs per {found[0]}" if found else ""

    def put_softmax(self, one: Series, elements: list[int]) -> None:
        for unit, flops in self.fit(one.module, one.first.op, elements).items():
            if unit in ("squares", "patch squares"):
                self.put(one.module, self.mask_of(one), "softmax", flops)
            else:
                self.put(one.module, unit, "softmax", flops)

    def add_softmax(self, series: Sequence[Series]) -> None:
        """Three FLOPs an element: what the conventions count that count it at all."""
        cores = {one.module: one for one in series if one.first.kind == "activations"}
        for module, one in cores.items():
            elements = [step.softmax.get(module, (0, 0))[0] for step in self.steps]
            if all(elements):
                self.put_softmax(one, [3 * n for n in elements])

    # -- parameters ---------------------------------------------------------------------------------------------------

    def add_parameters(self) -> None:
        """Those that multiply no matrix, at the module that has them."""
        step = self.steps[0]
        with_product = {product.module for product in step.products}
        for name, parameter in self.model.named_parameters():
            count = parameter.numel()
            module, _, own = name.rpartition(".")
            if name in step.tables:
                placed = not step.tables[name] or any(word in name for word in POSITION_WORDS)
                term = "position_embedding" if placed else "embedding"
                if name in self.stored:
                    term = "tied_embedding"
            elif name in self.stored:
                continue
            elif module in with_product:
                term = "bias"
            else:
                term = self.given_term(module) or "norm"
            self.put(module, self.side_of(module), term, 2 * count, 0 if term == "tied_embedding" else count)

    def side_of(self, module: str) -> str:
        """The unit of a parameter that multiplies no matrix: what runs over the products around it."""
        while True:
            around = {
                unit
                for name, units in self.units.items()
                if name == module or not module or name.startswith(module + ".")
                for unit in units
            }
            if around or not module:
                return "keys" if around and around <= {"keys", "key squares"} else "tokens"
            module = module.rpartition(".")[0]

    # -- notes --------------------------------------------------------------------------------------------------------

    @property
    def convention(self) -> ConventionName:
        return "torch_flop_counter" if self.fused else "torch_flop_counter_eager"

    def said(self, sizes: Iterable[Size]) -> str:
        """Sizes as a note has them: batch x length, or batch x length x keys, or batch x rows x columns."""
        return "at " + ", ".join(" x ".join(str(n) for n in size[: min(self.arity, 3)]) for size in sizes)

    def all_notes(self) -> list[str]:
        import torch

        notes = [
            f"counted by FlopCounterMode of PyTorch {torch.__version__}, whose number the convention {self.convention} "
            f"gives; fitted {self.said(self.sizes[: self.fitted])}, checked {self.said(self.sizes[self.fitted :])}"
        ]
        for module in dict.fromkeys(self.names.component(name) for name in self.plain_cores):
            notes.append(f"{module}: its core ran as plain products beside fused ones elsewhere: a state over pairs")
        uncounted: dict[str, dict[str, None]] = {}
        for module, op in self.steps[0].uncounted:
            uncounted.setdefault(op, {})[self.names.component(module)] = None
        for op, modules in uncounted.items():
            notes.append(f"{op} has no formula in FlopCounterMode and counts nothing: in {', '.join(modules)}")
        for module in dict.fromkeys(self.names.component(name) for name in self.steps[0].constants):
            notes.append(f"{module}: multiplies neither data nor weights: FlopCounterMode counts that product, and no row does")
        frozen = sum(p.numel() for p in self.model.parameters() if not p.requires_grad)
        if frozen:
            notes.append(
                f"{frozen} parameters are frozen: a product without one of its two gradients is an input_linear, one "
                "without both is detached"
            )
        if any(unit == "passes" for _, unit, _, _ in self.rows):
            notes.append(
                "what runs once for each pass of the model, whatever its batch, is counted by measured(passes): 1 of "
                "what is given as lengths, and what measured={'passes': n} or Tally.add_measured says"
            )
        chunked = sorted({str(unit).rpartition(" ")[2] for _, unit, _, _ in self.rows if of_chunks(unit)})
        if chunked:
            notes.append(f"counts by chunks of {', '.join(chunked)} tokens, of which the last one is filled up")
        if self.pairs_samples:
            notes.append(
                "what every two samples of a step do together is counted by measured(sample_pairs): the square of the "
                "batch that meets, by measured={'sample_pairs': n * n} or Tally.add_measured"
            )
        return notes + list(dict.fromkeys(self.notes))

    # -- rows ---------------------------------------------------------------------------------------------------------

    def put(
        self, module: str, unit: str | Mask, term: str, flops: int, parameters: int = 0, weights: Sequence[str] = ()
    ) -> None:
        weight = ""
        if weights:
            own = weights[0].rpartition(".")[2]
            weight = module.rpartition(".")[2] if own == "weight" else own
        row = self.rows.setdefault((self.names.component(module), unit, term, weight), [0, 0])
        row[0] += flops
        row[1] += parameters

    def made(self, plain: bool = False) -> Cost:
        """The cost; `plain`: with every pair under every mask, as PyTorch counts it."""
        short = self.names.short(component for component, _, _, _ in self.rows)
        tower: Tower = "vision" if self.arity == GRIDS else "text"
        every = Mask.bidirectional().in_tower(tower)
        rows = []
        for (component, unit, term, weight), (flops, parameters) in self.rows.items():
            of: Any = {"patches": "tokens"}.get(unit, unit) if isinstance(unit, str) else unit
            if isinstance(unit, str) and unit in RULES:
                of = RULES[unit]
            elif isinstance(unit, str) and unit.startswith("after "):
                of = tokens_after(int(unit.removeprefix("after ")))
            elif isinstance(unit, str) and of_chunks(unit):
                of = in_chunks(unit)
            elif isinstance(unit, Mask):
                of = every if plain else unit.in_tower(tower)
            rows.append(Row(short[component], of, cast(Any, term), flops, parameters, weight=weight, tower=tower))
        return Cost.from_rows(rows, model_type=self.names.root, notes=[] if plain else self.all_notes())

    @property
    def pairs_samples(self) -> bool:
        return any(unit == "sample pairs" for _, unit, _, _ in self.rows)

    def batch_of(self, size: Size) -> dict[str, Any]:
        batch = batch_of(size, self.arity)
        return {**batch, "measured": {"sample_pairs": size[0] ** 2}} if self.pairs_samples else batch

    def checked(self) -> Cost:
        """The library's count of every step must be PyTorch's, but for what a note takes off; under masks too, which
        the convention makes squares of, where it knows them."""
        plain, made = self.made(plain=True), self.made()
        for size, step in zip(self.sizes, self.steps):
            batch = self.batch_of(size)
            counted = plain.flops(convention=self.convention, **batch).total
            excess = sum(product.groups_excess for product in step.products)
            if counted + excess + step.recomputed + sum(step.constants.values()) != step.total:
                raise Error(
                    "model",
                    f"FlopCounterMode counts {step.total} with {shown(size, self.arity)}, the rows of it "
                    f"{counted + step.recomputed}",
                )
            if not self.masks_given and made.flops(convention=self.convention, **batch).total != counted:
                names = ", ".join(mask.name for mask in made.masks)
                raise Error("masks", f"{names} count other squares than {counted}")
        return made

    def recomputing(self, cost: Cost, series: Sequence[Series]) -> Cost:
        """The plan of the cost, with what the backward ran again."""
        if not any(step.recomputed for step in self.steps):
            return cost
        short = self.names.short(component for component, _, _, _ in self.rows)
        once: dict[str, bool] = {}
        for one in series:
            name = short[self.names.component(one.module)]
            once[name] = once.get(name, True) and one.recomputed == one.forward
        plan = Plan(recompute_components=[name for name, whole in once.items() if whole])
        plain = self.made(plain=True)
        for size, step in zip(self.sizes, self.steps):
            batch = self.batch_of(size)
            again = plain.flops(convention=self.convention, plan=plan, **batch).executed.recompute
            if again != step.recomputed:
                self.notes.append(
                    f"checkpointing runs {step.recomputed} FLOPs again with {shown(size, self.arity)}, in parts of "
                    f"components: not in the plan, which says {again} of them"
                )
                break
        return self.made().planned(plan)
