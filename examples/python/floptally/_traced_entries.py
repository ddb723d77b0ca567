# SPDX-License-Identifier: Apache-2.0
"""Turns the products of training steps at several sizes into the entries of a cost; see _from_torch.py."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from fractions import Fraction
from math import gcd, lcm
from typing import TYPE_CHECKING, Any, cast

from ._core import Cost, Error, Mask, Plan, Entry

if TYPE_CHECKING:
    import torch

    from ._torch_cores import Attended
    from ._torch_masks import Seen
    from ._torch_trace import Product, Step
    from ._literals import ConventionName, PairShape, Tower

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
SQUARES = ("squares", "patch squares")
QUADRATIC = ("squares", "others", "crossed", "key squares", "patch squares")
POSITION_WORDS = ("position", "token_type", "segment")  #: parts of names of tables whose indices come from data
#: The arity of grids; other arities are how many sizes vary.
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
    """Returns a statistic (a number for each sequence) that counts the tokens after the first `first` ones. FLOPs of
    convolutions without padding, and of layers that read the previous token, are proportional to this number."""

    def count(length: int, past: int, keys: int) -> int:
        return max(length - max(first - past, 0), 0)

    if first not in AFTER:
        AFTER[first] = Mask.from_callable(f"tokens_after_{first}", count)
    return AFTER[first]


AFTER: dict[int, Mask] = {}


def unregistered(unit: str | Mask) -> str | Mask:
    """Returns a statistic (a number for each sequence) with the values of `unit`, for operators that FlopCounterMode
    has no formula for. PyTorch's conventions do not count this statistic. A measured unit is returned unchanged."""
    counted = of_name(unit) if isinstance(unit, str) else unit
    if counted.name.startswith("measured("):
        return unit
    name = re.sub(r"[^a-z0-9]+", "_", counted.name.replace("-", "minus")).strip("_") + UNREGISTERED
    if name not in WITHOUT_FORMULA:
        WITHOUT_FORMULA[name] = Mask.from_callable(name, counted.pairs, shape="unregistered"), unit
    return WITHOUT_FORMULA[name][0]


def of_name(unit: str) -> Mask:
    """Returns the Mask that counts the statistic of this name, such as "tokens" or "squares"."""
    if unit in RULES:
        return RULES[unit]
    if "_by_length_" in unit:
        return Mask.from_text(unit)
    if unit.startswith("after "):
        return tokens_after(int(unit.removeprefix("after ")))
    if of_chunks(unit):
        return in_chunks(unit)
    if unit in SQUARES:
        return Mask.bidirectional()
    if unit not in SIMPLE:
        numbers: dict[str, Callable[[int, int], int]] = {
            "count": lambda n, k: 1, "tokens": lambda n, k: n, "patches": lambda n, k: n, "keys": lambda n, k: k
        }  # fmt: skip
        of = numbers[unit]
        SIMPLE[unit] = Mask.from_callable(f"every_{unit}", lambda length, past, keys: of(length, keys))
    return SIMPLE[unit]


def unit_of_entry(unit: str) -> Any:
    """Returns the statistic of this name ("tokens", "squares", …) in the form that `Entry(unit=…)` takes: a name or a
    Mask."""
    name = {"patches": "tokens"}.get(unit, unit)
    return name if name in ("count", "tokens", "keys") else of_name(unit)


def with_every_operator(cost: Cost) -> Cost:
    """Returns a cost in which PyTorch's conventions count all operators, even those that FlopCounterMode has no formula
    for."""
    entries = []
    for one in cost.entries:
        unit: Any = one.unit
        if isinstance(unit, Mask) and unit.name.endswith(UNREGISTERED):
            of = WITHOUT_FORMULA[unit.name.rpartition(".")[2]][1]
            unit = of.in_tower(one.tower) if isinstance(of, Mask) else unit_of_entry(of)
        key = one.component, unit, one.kind, one.flops_per_unit, one.parameters
        entries.append(Entry(*key, weight=one.weight, tower=one.tower))
    merged = Cost.from_entries(entries, model_type=cost.model_type, notes=cost.notes)
    return merged.planned(cost.plan) if cost.plan is not None else merged


UNREGISTERED = "_unregistered"  #: end of the names of masks for operators without a formula in FlopCounterMode
WITHOUT_FORMULA: dict[str, tuple[Mask, str | Mask]] = {}  #: such masks, each with the unit that it counts
SIMPLE: dict[str, Mask] = {}
#: How the name of a mask begins that counts pairs, or pairs that are masked out.
PAIRS: dict[str, str] = {"units": "pairs", "masked_out": "masked_out_pairs"}


def in_chunks(name: str) -> Mask:
    """Returns a statistic (a number for each sequence) that counts the sequence's chunks. A last chunk that is not full
    counts as one.

    name: "chunks of 64" counts all chunks, "later chunks of 64" all but the first. "chunk squares of 64" counts the
        square of their number.
    """

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
    if "_by_length_" in name:
        from ._torch_cores import TABLES

        return size[0] * TABLES[name][1][size[1:]]
    return size[0] * chunks_in(name, size[1]) if of_chunks(name) else STATISTICS[name](size)


def rule_of(kind: str, numbers: Sequence[int]) -> Callable[[Any, Any], Any] | None:
    """Returns a function of arrays (query, key) -> bool that is True if a mask attends that pair of positions. None for a
    mask of another kind.

    kind, numbers: of the mask's name, such as "window", (4, 0).
    """
    rules: dict[str, Callable[[Any, Any], Any]] = {
        "causal": lambda q, k: k <= q,
        "bidirectional": lambda q, k: (k <= k) & (q <= q),
        "sliding_window": lambda q, k: (k <= q) & (q - k < numbers[0]),
        "window": lambda q, k: ((numbers[0] < 0) | (q - k <= numbers[0])) & ((numbers[1] < 0) | (k - q <= numbers[1])),
        "chunked": lambda q, k: (k <= q) & (q // numbers[0] == k // numbers[0]),
        "prefix_lm": lambda q, k: (k <= q) | (k < numbers[0]),
    }
    return rules.get(kind)


def shown(size: Size, arity: int) -> str:
    """Returns an input size as text for an error, such as "2 samples, length 64".

    arity: which sizes vary. 1: samples; 2: samples and length; 3: samples, length and keys; GRIDS: samples, rows and
        columns of patches.
    """
    if arity == GRIDS:
        return f"{size[0]} samples of {size[1]} x {size[2]} patches"
    return ", ".join([f"{size[0]} samples", f"length {size[1]}", f"{size[2]} keys"][:arity])


def batch_of(size: Size, arity: int) -> dict[str, Any]:
    """Returns the keywords of `Cost.flops` for a batch of this input size."""
    if arity == GRIDS:
        return {"grid_thw": [[1, size[1], size[2]]] * size[0]}
    both = {"lengths": [size[1] or 1] * size[0]}
    return {**both, "encoder_lengths": [size[2]] * size[0]} if arity == 3 else both


def solved(sizes: Sequence[Size], values: Sequence[int], names: Sequence[str]) -> dict[str, Fraction]:
    """Solves linear equations for a coefficient of each statistic (tokens, squares, …). At each input size, the sum of
    coefficient times statistic must be the value.

    sizes: as many input sizes as there are names.
    values: the value at each size.
    names: names of the statistics.

    Returns {name: coefficient} without coefficients of 0. Empty if there is no single solution.
    """
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
    """Removes a negative coefficient of n from a formula in the length n, by writing c·n² − c·n as c·(n² − n). The
    statistic "others" counts the n² − n pairs of two different tokens. Returns `found` unchanged if this is
    impossible."""
    squares, tokens = found.get("squares", 0), -found.get("tokens", 0)
    if not 0 < tokens <= squares:
        return found
    result = {name: c for name, c in found.items() if name not in ("squares", "tokens")}
    result["others"] = tokens
    return {**result, "squares": squares - tokens} if squares > tokens else result


def without_first(found: dict[str, int], sizes: Iterable[Size]) -> dict[str, int]:
    """Removes a negative constant from a formula in the length n, by writing c·n − d as b·(n − k) + (c − b)·n. The
    statistic "after k" counts the n − k tokens after the first k. Returns `found` unchanged if this is impossible."""
    tokens, count = found.get("tokens", 0), -found.get("count", 0)
    if tokens <= 0 or count <= 0:
        return found
    first = -(-count // tokens)
    whole, rest = divmod(count, first)
    if rest or whole > tokens or first > min(size[1] for size in sizes):
        return found
    result = {name: c for name, c in found.items() if name not in ("tokens", "count")}
    result[f"after {first}"] = whole
    return {**result, "tokens": tokens - whole} if tokens > whole else result


def masks_by_count(values: Mapping[Size, int], flops: int) -> Iterator[Mask]:
    """Returns known masks with the same number of pairs as an attention core attends. Used for cores that process their
    queries in parts.

    values: {input size: FLOPs over attended pairs}.
    flops: FLOPs of one pair. 0 if the core does not have n² pairs at length n.
    """
    if not flops:
        return
    length = max(size[1] for size in values)
    masks = [Mask.causal(), *(of(n) for n in range(1, length) for of in (Mask.sliding_window, Mask.chunked))]
    for mask in masks:
        if all(flops * size[0] * mask.pairs(size[1]) == value for size, value in values.items()):
            yield mask


def is_cubic(points: Sequence[tuple[int, int]]) -> bool:
    """True if all points (length, count) lie on a polynomial of the third degree or less."""
    xs = [x for x, _ in points]
    differences = [Fraction(y) for _, y in points]
    for order in range(1, 5):
        differences = [
            (b - a) / (xs[i + order] - xs[i]) for i, (a, b) in enumerate(zip(differences, differences[1:]))
        ]
    return not any(differences)


class Names:
    """Finds the component name that a module or a parameter of the model belongs to."""

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
        """Returns a module's name with "*" for a layer's index: ``model.layers.*.mlp`` for ``model.layers.3.mlp``."""
        parts = module.split(".")
        return ".".join("*" if ".".join(parts[: i + 1]) in self.indices else part for i, part in enumerate(parts))

    def in_layer(self, module: str) -> bool:
        return "*" in self.folded(module).split(".")

    def component(self, module: str) -> str:
        """Returns the name of the component that a module belongs to, by the caller's `components` and `depth`. The
        name may still be longer than 39 characters."""
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
        """Returns {name: short name} with unique short names of at most 39 characters. A short name begins with
        ``..`` in place of the parts that are left out. No more parts are left out than necessary."""
        of_name = {name: name.split(".") for name in names}
        result: dict[str, str] = {}
        for name, parts in of_name.items():
            forms = (
                (parts[:at], parts[at + dropped :])
                for dropped in range(0 if len(name) <= MAX_NAME else 1, len(parts))
                for at in range(len(parts) - dropped)
            )
            for head, tail in forms:
                shortened = name if len(head) + len(tail) == len(parts) else ".".join(head) + ".." + ".".join(tail)
                others = (one for other, one in of_name.items() if other != name and len(shortened) < len(name))
                alike = any(one[: len(head)] == head and one[-len(tail) :] == tail for one in others)
                if len(shortened) <= MAX_NAME and not alike and shortened not in result.values():
                    result[name] = shortened
                    break
            else:
                result[name] = Names.cut(name, result.values())
        return result


    @staticmethod
    def cut(name: str, taken: Iterable[str]) -> str:
        """Shortens a component name to ``..`` and its last characters. Adds a number if the short name is in `taken`.
        Used for names that are still too long, or not unique, after whole parts were left out."""
        others = set(taken)
        for number in range(len(others) + 2):
            mark = f"~{number}" if number else ""
            shortened = ".." + name[len(name) - (MAX_NAME - 2 - len(mark)) :] + mark
            if shortened not in others:
                return shortened
        raise AssertionError(name)


@dataclass
class Series:
    """One matrix product of a module, with its FLOPs at each input size that was run. If a module runs more products at
    some sizes than at others, a Series is the sum of all products of one kind."""

    first: Product
    forward: list[int]
    backward: list[int]
    excess: list[int]
    recomputed: list[int]
    dims: list[tuple[int, ...]]  #: empty if it stands for several products
    seen: list[list[Seen]]  #: the pairs that it attends at each size; an empty list: all
    weights: tuple[str, ...]  #: parameters that it multiplies
    own_forward: list[int] = field(default_factory=list)  #: of `forward`: what FlopCounterMode alone does not count
    own_backward: list[int] = field(default_factory=list)  #: of `backward`: the same
    is_unregistered: bool = False  #: True if FlopCounterMode alone counts nothing of it

    @property
    def module(self) -> str:
        return self.first.module

    @property
    def runs_again(self) -> bool:
        """True if the backward runs the product's forward again, at every size."""
        return any(self.recomputed) and self.recomputed == self.forward

    def by_formula(self) -> list[Series]:
        """Splits a product into two: the FLOPs that FlopCounterMode counts without floptally's formulas, and the other
        FLOPs. A part without FLOPs is left out. If FlopCounterMode counts only the backward, the product is not split,
        since a cost cannot express that."""
        if not any(self.own_forward) and not any(self.own_backward):
            return [self]
        again = [own if self.recomputed[at] else 0 for at, own in enumerate(self.own_forward)]

        def less(all_of: list[int], part: list[int]) -> list[int]:
            return [whole - own for whole, own in zip(all_of, part)]

        own = replace(
            self, forward=self.own_forward, backward=self.own_backward, recomputed=again, excess=[0] * len(again),
            is_unregistered=True,
        )  # fmt: skip
        rest = replace(
            self, forward=less(self.forward, self.own_forward), backward=less(self.backward, self.own_backward),
            recomputed=less(self.recomputed, again),
        )  # fmt: skip
        if any(back > 2 * ahead for ahead, back in zip(rest.forward, rest.backward)) and not any(rest.forward):
            return [self]
        return [rest, own] if any(rest.forward) else [own]


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
        [list({id(pairs): pairs for p in ps for pairs in p.seen}.values()) for ps in products],
        tuple(sorted({weight for ps in products for p in ps for weight in p.weights})),
        [sum(p.own_forward for p in ps) for ps in products],
        [sum(p.own_backward for p in ps) for ps in products],
    )


def gathered(several: Sequence[Series]) -> Series:
    """Returns the sum of several products as one Series. Use it for experts: data may decide how many tokens each
    expert gets, while the number for all experts together is fixed."""

    def sums(of: Callable[[Series], list[int]]) -> list[int]:
        return [sum(values) for values in zip(*map(of, several))]

    return Series(
        several[0].first,
        sums(lambda one: one.forward),
        sums(lambda one: one.backward),
        sums(lambda one: one.excess),
        sums(lambda one: one.recomputed),
        [],
        several[0].seen,
        tuple(sorted({weight for one in several for weight in one.weights})),
        is_unregistered=several[0].is_unregistered,
    )


def kind_of(product: Product) -> tuple[str, tuple[str, ...]]:
    """Returns (kind, names of the weights) of a matrix product. The kind is "activations" if the product has no weight.
    Products of a module for which this result is equal are added up, if the module runs different numbers of products
    at different input sizes."""
    return "activations" if product.kind == "weight" and not product.weights else product.kind, product.weights


def aligned(steps: Sequence[Step]) -> list[Series]:
    """Matches the matrix products of several training steps with each other. Returns a Series for each product, in the
    order of the forward. steps: a Step for each input size."""
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


class EntryRows:
    """The entries of a cost that is being made.

    rows: [FLOPs per unit, parameters, FLOPs per unit where every mask counts all pairs] of each (component, unit, kind,
        weight).
    arity: which sizes vary; see `shown`.
    """

    rows: dict[tuple[str, Any, str, str], list[int]]
    arity: int

    def put_entry(
        self,
        component: str,
        unit: Any,
        term: str,
        flops: int,
        parameters: int = 0,
        weight: str = "",
        plain: int | None = None,
    ) -> None:
        """Adds an entry to the cost. plain: FLOPs per unit for conventions that also count masked pairs. None: the same
        as `flops`."""
        row = self.rows.setdefault((component, unit, term, weight), [0, 0, 0])
        row[0] += flops
        row[1] += parameters
        row[2] += flops if plain is None else plain

    @property
    def pairs_samples(self) -> bool:
        return any(unit == "sample pairs" for _, unit, _, _ in self.rows)

    def batch_of(self, size: Size) -> dict[str, Any]:
        batch = batch_of(size, self.arity)
        return {**batch, "measured": {"sample_pairs": size[0] ** 2}} if self.pairs_samples else batch


@dataclass
class Table(EntryRows):
    """Makes the entries of a model's cost from the matrix products that ran at several input sizes."""

    model: torch.nn.Module  #: the fake copy that ran
    sizes: list[Size]
    fitted: int  #: the first sizes are for the fit, the others check it
    arity: int  #: how many sizes vary
    steps: list[Step]
    names: Names
    attended: Callable[[Series, bool], Attended]  #: what a core attends, and whether it counts squares of the length
    terms: Mapping[str, str]
    masks_given: bool = False  #: by the caller; a convention may not know how to turn such masks into squares
    chunks: Sequence[int] = ()  #: chunk sizes in tokens that it may count by
    notes: list[str] = field(default_factory=list)
    by_size: bool = False  #: True if FLOPs that fit no form may count by a table of the lengths that ran
    by_table: dict[str, dict[str, None]] = field(default_factory=dict)  #: notes, each with the components of such tables
    #: FLOPs per unit, parameters, FLOPs per unit where every mask counts all pairs
    rows: dict[tuple[str, str | Mask, str, str], list[int]] = field(default_factory=dict)
    has_parts: bool = False  #: True if some core attends a part of its pairs that is no mask over a sequence
    #: of each step: FLOPs that FlopCounterMode alone does not count, and a convention of PyTorch does
    own: list[int] = field(default_factory=list)
    units: dict[str, set[str]] = field(default_factory=dict)  #: the units of a module's products
    stored: set[str] = field(default_factory=set)  #: parameters that are in an entry
    #: Components of which the backward runs some products again and others not. They become two components each.
    parted: set[str] = field(default_factory=set)

    def cost(self) -> Cost:
        parts = [one.by_formula() for one in aligned(self.steps)]
        series = [one for several in parts for one in several]
        whole = [several[0] for several in parts if len(several) == 1 and not several[0].is_unregistered]
        self.own = [sum(sums) for sums in zip(*(map(sum, zip(one.own_forward, one.own_backward)) for one in whole))]
        # If one core is fused, a core of plain products differs: its backward has no second QK^T.
        self.fused = any(one.first.kind == "attention" for one in series)
        places = [one.first.place for one in series if self.names.in_layer(one.module)]
        self.first_layer, self.last_layer = (min(places), max(places)) if places else (-1, 1 << 62)
        self.plain_cores: list[str] = []
        series = self.with_form(series)
        ran_again: dict[str, set[bool]] = {}
        for one in series:
            if any(one.forward):
                ran_again.setdefault(self.names.component(one.module), set()).add(one.runs_again)
        self.parted = {component for component, both in ran_again.items() if len(both) > 1}
        for one in series:
            if one.first.kind == "attention":
                self.add_fused(one)
            elif one.first.kind == "weight":
                self.add_weight(one)
            elif one.first.kind in ("activations", "operator"):
                self.add_activations(one)
            else:  # the gradient of an operator whose forward multiplies no matrices
                for unit, flops in self.fit(one.module, one.first.op, one.backward).items():
                    self.put(one, unit, "gradient", flops)
        self.add_softmax(series)
        self.add_parameters()
        return self.recomputing(self.checked(), series)

    def with_form(self, series: Sequence[Series]) -> list[Series]:
        """Returns the products as entries of a cost: each has an integer of FLOPs for each token, pair or sample.
        Products whose FLOPs only add up to such integers, such as those of all experts, are replaced by their sum."""
        found: list[Series] = []
        odd: dict[tuple[str, str, tuple[str, ...], bool], list[Series]] = {}
        problems: dict[tuple[str, str, tuple[str, ...], bool], Error] = {}
        for one in series:
            try:
                units = self.fit(one.module, one.first.op, one.forward)
            except Error as problem:
                own = tuple(self.names.folded(weight) for weight in one.weights)
                key = (self.names.folded(one.module), one.first.kind, own, one.is_unregistered)
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
        """Fits the FLOPs of a product to sums over the batch. Returns {name of a statistic: FLOPs per unit}, in ints
        that give the FLOPs at every input size. Raises an Error if there are no such ints.

        module, op: the name of the module and of the operator, for the error.
        values: the FLOPs at each size.
        """
        where = module or self.names.root
        found: dict[str, Fraction] = {}
        wrong: list[tuple[Size, int]] = []

        def at(size: Size) -> Fraction:
            return sum((c * statistic(name, size) for name, c in found.items()), Fraction(0))

        for names in (OF_ARITY[self.arity], ("passes",) + OF_ARITY[self.arity]):
            # A second batch size shows what runs once for any batch.
            used = [i for i in range(len(self.sizes)) if i < self.fitted or (names[0] == "passes" and self.is_other(i))]
            partial = found, wrong
            found = solved([self.sizes[i] for i in used], [values[i] for i in used], names)
            wrong = [(size, v) for size, v in zip(self.sizes, values) if at(size) != v]
            if not wrong and all(c.denominator == 1 for c in found.values()):
                whole = without_first(with_others({name: int(c) for name, c in found.items()}), self.sizes)
                if all(c >= 0 for c in whole.values()):
                    return whole
            if names[0] == "passes":
                found, wrong = partial
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
        if self.by_size and self.arity == 2 and all(v % size[0] == 0 for size, v in zip(self.sizes, values)):
            table = {size[1:]: v // size[0] for size, v in zip(self.sizes, values)}
            if all(table[size[1:]] * size[0] == v for size, v in zip(self.sizes, values)):
                return self.table_of(where, table)
        each, rest = divmod(values[0], self.sizes[0][0] ** 2)
        if not rest and each > 0 and all(v == each * size[0] ** 2 for size, v in zip(self.sizes, values)):
            return {"sample pairs": each}
        if wrong:
            raise Error(where, f"{op} counts {self.why_not(values, wrong, at)}")
        for name, c in found.items():
            if c.denominator != 1 or c < 0:
                raise Error(
                    where,
                    f"{op} counts {c} FLOPs per {name}, but a cost needs integers of at least 0"
                    + (": if the model has a chunk or a stride, pass multiples of this number as lengths=" if self.arity > 1 else ""),
                )
        raise AssertionError(where)

    def table_of(self, where: str, table: Mapping[tuple[int, int], int]) -> dict[str, int]:
        """Makes a new statistic for FLOPs that follow no formula. The statistic looks up a sample's FLOPs by its size,
        divided by the common factor of all FLOPs in the table. Returns {name of the statistic: common factor}.

        where: the module's name, for a note.
        table: {(length, number of keys): FLOPs of one sample} at the sizes that ran.
        """
        from ._torch_cores import by_length, common

        whole = common(table.values())
        name = by_length("units", {key: value // whole for key, value in table.items()}).name
        lengths = ", ".join(str(n) for n in sorted({size[1] for size in self.sizes}))
        note = f"counts by a table of lengths {lengths}, since no form of the length fits"
        self.by_table.setdefault(note, {})[self.names.component(where)] = None
        return {name: whole}

    def is_other(self, index: int) -> bool:
        """True if `sizes[index]` is the first input size whose batch size differs from that of sizes[0]."""
        return index == next(i for i, size in enumerate(self.sizes) if size[0] != self.sizes[0][0])

    def length_of(self, value: int, size: Size, at: Callable[[Size], Fraction]) -> int:
        """Returns the sequence length to which a model cuts its input: a length shorter than that of `size`, at which
        the fitted formula gives `value`. 0 if there is no such length.

        value: FLOPs at the input size `size`.
        at: the fitted formula, a function of the input size.
        """
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
            right = {s[0] for s in of_size} - {s[0] for s, _ in wrong}
            if 3 in right:
                return base + (
                    f": otherwise at a batch of {size[0]} than at {', '.join(map(str, sorted(right)))}. It branches on the "
                    "number of samples, and a cost holds for any batch"
                )
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

    def passes_of(self, series: Series, forward: Sequence[int]) -> dict[str, dict[int, int]]:
        """Splits the forward FLOPs of a product by n = 2, 1 or 0: the backward runs n times as many FLOPs. Returns
        {statistic: {n: FLOPs per unit}}.

        forward: the forward FLOPs at each input size.
        """
        where = series.module or self.names.root
        backward = [b - e for b, e in zip(series.backward, series.excess)]
        ran = self.fit(where, series.first.op, backward) if any(backward) else {}
        units = self.fit(where, series.first.op, forward)
        if ran and set(ran) != set(units):  # two forms of numbers that are proportional: a table, and a polynomial
            ratio = Fraction(backward[0], forward[0]) if forward[0] else Fraction()
            if all(b == ratio * f for b, f in zip(backward, forward)) and all((ratio * c).denominator == 1 for c in units.values()):
                ran = {name: int(ratio * c) for name, c in units.items()}
        for name in [name for name in ran if name.startswith(("after ", "later ")) and name not in units]:
            # The first tokens, or the first chunk, need fewer FLOPs and are counted separately.
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
                f"{series.first.op} counts {forward[0]} FLOPs in its forward and {backward[0]} in its backward with "
                f"{shown(self.sizes[0], self.arity)}, but the backward must be at most twice the forward: pass "
                f"formulas={{{series.first.op}: function}}, where the function returns the FLOPs of the operator",
            )
        return split

    # -- products -----------------------------------------------------------------------------------------------------

    def add_weight(self, series: Series) -> None:
        parameters = 0
        for weight in series.weights:
            if weight not in self.stored:
                self.stored.add(weight)
                parameters += self.model.get_parameter(weight).numel()
        excess = self.fit(series.module, series.first.op, series.excess) if any(series.excess) else {}
        for statistic, more in excess.items():
            self.notes.append(
                f"{series.module}: FlopCounterMode counts {more} FLOPs more per {statistic} in the backward: the weight "
                "gradient of a convolution in groups, over the channels of all"
            )
        split = self.passes_of(series, series.forward)
        for statistic, by_times in split.items():
            for times, flops in by_times.items():
                term = self.weight_term(series, times)
                if series.first.dims and any(series.seen):  # learned queries times keys, under a mask
                    self.put_core(series, term, {statistic: flops})
                    flops = 0
                self.put(series, statistic, term, flops, parameters)
                parameters = 0
        if not split and parameters:
            self.stored.difference_update(series.weights)

    def given_term(self, module: str) -> str | None:
        folded = self.names.folded(module)
        for pattern, term in self.terms.items():
            if fnmatchcase(module, pattern) or fnmatchcase(folded, pattern):
                return term
        return None

    def weight_term(self, series: Series, times: int) -> str:
        chosen = self.given_term(series.module)
        if chosen is not None:
            return chosen
        after = series.first.place > self.last_layer
        if times == 0:
            return "detached_head" if after else "detached"
        if times == 1:
            return "input_linear"
        if after:
            return "lm_head"
        if series.first.place < self.first_layer:
            return "preprocessing"
        parent, _, own = series.module.rpartition(".")
        if own in ("gate", "router") and any(
            name == "experts" for name, _ in self.model.get_submodule(parent).named_children()
        ):
            return "router"
        return "linear"

    def add_fused(self, series: Series) -> None:
        """Adds the cost entries of a fused attention kernel. Its forward runs QK^T and PV once. Its backward runs twice
        as many FLOPs, and QK^T once more."""
        scores, values = [], []
        for heads, queries, keys, width, value_width in series.dims:
            scores.append(2 * heads * queries * keys * width)
            values.append(2 * heads * queries * keys * value_width)
        where = series.module or self.names.root
        if not series.dims or [s + v for s, v in zip(scores, values)] != series.forward:
            raise Error(
                where,
                f"{series.first.op} counts {series.forward[0]} FLOPs in its forward, but the shapes of its arguments do "
                f"not give this number: pass formulas={{{series.first.op}: function}}, where the function returns the FLOPs of "
                "the operator",
            )
        trained = [3 * s + 2 * v for s, v in zip(scores, values)] == series.backward
        if not trained and any(series.backward):
            raise Error(
                where,
                f"{series.first.op} counts {series.forward[0]} FLOPs in its forward and {series.backward[0]} in its backward, "
                "but the backward of attention must be three products as large as QK^T and two as large as PV, or 0: pass "
                f"formulas={{{series.first.op}: function}}, where the function returns the FLOPs of the operator",
            )
        term = "{}" if trained else "detached"
        for kind, counted in (("scores", scores), ("values", values)):
            self.put_core(series, term.format(kind), self.fit(series.module, series.first.op, counted))
        self.put_softmax(series, [3 * dims[0] * dims[1] * dims[2] for dims in series.dims])

    def add_activations(self, series: Series) -> None:
        """Adds the cost entries for a product of two activations: QK^T, PV, or one outside of attention. A product is
        PV if it sums over an axis of the sequence's length."""
        if series.first.kind == "operator" and self.is_fused_operator(series):
            return
        units = self.fit(series.module, series.first.op, series.forward)
        quadratic = any(name in units for name in QUADRATIC)
        softmax = self.steps[0].softmax.get(series.module)
        term = "state"
        if series.first.kind == "operator":
            term = "state"
        elif quadratic and len({dims[2] for dims in series.dims}) > 1:
            term = "values"
        elif quadratic and series.dims:
            term = "scores"
        elif softmax is not None:
            term = "scores" if series.first.place < softmax[1] else "values"
        if self.fused and term != "state":
            self.plain_cores.append(series.module)
            term = "state"
        by_term: dict[str, dict[str, int]] = {}
        for unit, by_times in self.passes_of(series, series.forward).items():
            for times, flops in by_times.items():
                by_term.setdefault({2: term, 1: "input_linear", 0: "detached"}[times], {})[unit] = flops
        for name, units in by_term.items():
            of_core = series.first.is_attention or series.first.kind == "operator"
            if any(unit in QUADRATIC for unit in units) if quadratic else of_core:
                self.put_core(series, name, units)
                continue
            for unit, flops in units.items():  # a scan by chunks, whose decays leave out no pair that is computed
                self.put(series, unit, name, flops)

    def is_fused_operator(self, series: Series) -> bool:
        """Adds the cost entries of a user's operator if its FLOPs are those of a fused attention kernel: 5 products in
        the backward for 2 in the forward. Half of the forward is QK^T. Returns False, and adds nothing, for any other
        operator."""
        if [2 * b for b in series.backward] != [5 * f for f in series.forward]:
            return False
        self.fused = True
        units = self.fit(series.module, series.first.op, series.forward)
        self.put_core(series, "scores", {unit: flops - flops // 2 for unit, flops in units.items()})
        self.put_core(series, "values", {unit: flops // 2 for unit, flops in units.items()})
        return True

    def put_core(self, series: Series, term: str, units: Mapping[str, int]) -> None:
        """Adds the cost entries of an attention core. Only attended pairs count.

        units: {statistic: FLOPs per unit} over all pairs of the core. If the core has n² pairs at length n, its mask
            replaces the statistic n². For any other core, the FLOPs over attended pairs are fitted.
        """
        squares = [unit for unit in units if unit in SQUARES]
        attended = self.attended(series, bool(squares))
        if attended.is_full:
            for unit, flops in units.items():
                self.put(series, Mask.bidirectional() if unit in SQUARES else unit, term, flops)
        elif squares and attended.parts and self.are_of_lengths(series, units, attended):
            self.put_masks(series, term, units, attended)
        else:
            self.put_part(series, term, units, attended)

    def are_of_lengths(self, one: Series, units: Mapping[str, int], attended: Attended) -> bool:
        """True if the masks of an attention core can count its pairs from the sequence lengths alone. This needs equal
        FLOPs in all heads. It also needs a core that adds no tokens to the sequence, unless the caller passed the
        masks."""
        whole = all(flops * k % n == 0 for unit, flops in units.items() if unit in SQUARES for k, n, _ in attended.parts)
        added = any(mask != Mask.bidirectional() for _, _, mask in attended.parts) and self.extra_tokens(one)
        return whole and (attended.is_given or not added or not any(attended.counts))

    def put_masks(self, series: Series, term: str, units: Mapping[str, int], attended: Attended) -> None:
        longer = self.extra_tokens(series)
        for _, _, mask in attended.parts:
            if longer and mask not in (Mask.bidirectional(), Mask.bidirectional().in_tower("vision")):
                raise Error(
                    series.module or self.names.root,
                    f"{series.first.op} counts {longer} more than the pairs of {mask.name} need, for example for "
                    "prefix tokens: pass masks=floptally.Mask.bidirectional() to count all pairs",
                )
        for unit, flops in units.items():
            if unit not in SQUARES:
                self.put(series, unit, term, flops)
                continue
            for heads, of, mask in attended.parts:
                self.put(series, mask, term, flops * heads // of)

    def put_part(self, series: Series, term: str, units: Mapping[str, int], attended: Attended) -> None:
        """Splits the FLOPs of an attention core into those over attended pairs and those over masked pairs. Adds cost
        entries for both. The entries for masked pairs count only in conventions that count every pair."""
        where = series.module or self.names.root
        values: dict[Size, int] = {}
        masked_out: dict[Size, int] = {}
        for_each: set[Fraction] = set()  # FLOPs for each pair, which no size changes
        for size, count in zip(self.sizes, attended.counts):
            if count is None:
                continue
            every = sum(flops * statistic(unit, size) for unit, flops in units.items())
            if every * count[0] % (count[1] * size[0]) and term == "softmax":
                continue
            if every * count[0] % (count[1] * size[0]):
                raise Error(
                    where,
                    f"{series.first.op} attends {count[0]} of {count[1]} pairs with {shown(size, self.arity)}, which "
                    f"fits no known mask: pass masks={{'{series.module or '*'}': floptally.Mask.causal()}} or another mask",
                )
            values[size] = every * count[0] // count[1]
            masked_out[size] = every - values[size]
            for_each.add(Fraction(every, count[1]))
        if len(for_each) > 1:
            raise Error(
                where,
                f"{series.first.op} has a mask, but its module runs other matrix products that cannot be told apart from this "
                "attention: move the attention into a separate module",
            )
        self.has_parts = True
        squares = sum(units.values()) if len(units) == 1 and next(iter(units)) in SQUARES else 0
        for mask in masks_by_count(values, squares):
            self.put(series, mask, term, squares)
            return
        for unit, flops in units.items():
            self.put(series, Mask.bidirectional() if unit in SQUARES else unit, term, 0, plain=flops)
        self.put_values(series, term, values, "units")
        if any(masked_out.values()):
            self.put_values(series, term, masked_out, "masked_out")

    def put_values(self, series: Series, term: str, values: Mapping[Size, int], shape: PairShape) -> None:
        """Adds cost entries for a part of an attention core's FLOPs, such as those over attended pairs. Uses the first
        form that fits: a sum of statistics, a polynomial of the length, a table by length.

        values: {input size: FLOPs}.
        """
        from ._torch_cores import by_formula

        where = series.module or self.names.root
        names = OF_ARITY[self.arity]
        at = [size for size in self.sizes[: self.fitted] if size in values]
        found = solved(at, [values[size] for size in at], names) if len(at) == len(names) else {}
        fits = all(sum(c * statistic(name, size) for name, c in found.items()) == v for size, v in values.items())
        if shape == "units" and found and fits and all(c.denominator == 1 and c > 0 for c in found.values()):
            for name, c in found.items():
                self.put(series, Mask.bidirectional() if name in SQUARES else name, term, int(c), plain=0)
        elif found and fits:
            # Such as the pairs of the last 16 queries: 16n - 120.
            divisor = lcm(*(c.denominator for c in found.values()))
            terms = {name: int(c * divisor) for name, c in found.items()}
            whole = gcd(*terms.values())
            shared = gcd(whole, divisor)  # the FLOPs are integers, so the units are
            units_of = {name: c // whole for name, c in terms.items()}
            least = min(size[1] * (size[2] if self.arity == GRIDS else 1) for size in values)
            mask = by_formula(PAIRS[shape], units_of, divisor // shared, least, shape)
            self.put(series, mask, term, whole // shared, plain=0)
        elif term != "softmax":
            self.put_table(series, term, values, shape)
        else:
            self.notes.append(f"{where}: its softmax has no form, and conventions do not count it")

    def put_table(self, series: Series, term: str, values: Mapping[Size, int], shape: PairShape) -> None:
        from ._torch_cores import by_length, common

        where = series.module or self.names.root
        if self.arity == GRIDS:
            raise Error(
                where,
                f"{series.first.op} attends pairs that fit no known mask over image grids: pass "
                f"masks={{'{series.module or '*'}': floptally.Mask.causal()}} or another mask",
            )
        table: dict[tuple[int, int], int] = {}
        for size, value in values.items():
            if table.setdefault(size[1:], value // size[0]) * size[0] != value:
                raise Error(
                    where,
                    f"{series.first.op} attends a number of pairs that is not proportional to the batch size: pass "
                    f"masks={{'{series.module or '*'}': floptally.Mask.causal()}} or another mask",
                )
        whole = common(table.values())
        mask = by_length(PAIRS[shape], {key: value // whole for key, value in table.items()}, shape)
        if shape == "units":
            lengths = ", ".join(str(n) for n in sorted({size[1] for size in values}))
            self.notes.append(f"{mask.name}: pairs of {where}, which are known at lengths {lengths} only")
        self.put(series, mask, term, whole, plain=0)

    def extra_tokens(self, series: Series) -> str:
        """Returns text about FLOPs of an attention core that do not grow with the sequence length, such as those of
        learned queries. No mask counts such pairs. Empty if there are none."""
        units = self.fit(series.module, series.first.op, series.forward)
        found = [name for name in ("count", "passes") if name in units]
        # There may be more keys than queries: a prefix that every query attends.
        return f"{units[found[0]]} FLOPs per {found[0]}" if found else ""

    def put_softmax(self, series: Series, elements: list[int]) -> None:
        try:
            units = self.fit(series.module, series.first.op, elements)
        except Error:
            try:  # Of tokens pooled in pairs, for example, the squares have a factor of 1/4: it counts pools.
                units = self.in_pools(series, elements)
            except Error:
                where = series.module or self.names.root
                self.notes.append(f"{where}: its softmax has no form, and conventions do not count it")
                return
        self.put_core(series, "softmax", units)

    def in_pools(self, series: Series, elements: list[int]) -> dict[str, int]:
        """Fits the FLOPs of a softmax over tokens that were pooled by n. Returns {"chunk squares of n": FLOPs per
        square}. All input lengths must be multiples of n. Raises an Error if no n fits.

        elements: the FLOPs at each input size.
        """
        whole = gcd(*(size[1] for size in self.sizes))
        before, self.chunks = self.chunks, [n for n in range(2, min(whole, 1024) + 1) if whole % n == 0]
        try:
            return self.fit(series.module, series.first.op, elements)
        finally:
            self.chunks = before

    def add_softmax(self, series: Sequence[Series]) -> None:
        """Adds cost entries for the softmax over attention scores: three FLOPs for each score. These entries count only
        in conventions that count a softmax."""
        cores = {one.module: one for one in series if one.first.kind == "activations"}
        for module, core in cores.items():
            elements = [step.softmax.get(module, (0, 0))[0] for step in self.steps]
            if all(elements):
                self.put_softmax(core, [3 * n for n in elements])

    # -- parameters ---------------------------------------------------------------------------------------------------

    def add_parameters(self) -> None:
        """Adds cost entries for the parameters that are in no matrix product, such as those of norms. Each parameter
        belongs to the component of its module."""
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
            stored = 0 if term == "tied_embedding" else count
            self.put_entry(self.names.component(module), self.side_of(module), term, 2 * count, stored)

    def side_of(self, module: str) -> str:
        """Returns the unit by which a parameter outside of matrix products is counted: "keys" if the parameter's module
        runs only over the encoder's tokens, else "tokens"."""
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
        """Returns input sizes as text for a note, such as "at 2 x 64, 2 x 128": batch x length, batch x length x keys,
        or batch x rows x columns."""
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
        for module, op in self.steps[0].others:
            uncounted.setdefault(op, {})[self.names.component(module)] = None
        for op, modules in uncounted.items():
            notes.append(f"{op}, in {', '.join(modules)}, multiplies outside of matrix products, and counts nothing")
        for op, flops in self.steps[0].unlike_pytorch.items():
            notes.append(
                f"{op}: {flops} FLOPs {self.said(self.sizes[:1])} are counted by floptally's own formula, and not by "
                f"FlopCounterMode of PyTorch {torch.__version__}"
            )
        if not any(product.backward for product in self.steps[0].products):
            notes.append("forward only: no parameter or input that needs a gradient reaches the loss by a product")
        for module in dict.fromkeys(self.names.component(name) for name in self.steps[0].constants):
            notes.append(f"{module}: multiplies neither data nor weights: FlopCounterMode counts that product, and no row does")
        frozen = sum(p.numel() for p in self.model.parameters() if not p.requires_grad)
        if frozen:
            notes.append(
                f"{frozen} parameters are frozen: a product without one of its two gradients is an input_linear, one "
                "without both is detached"
            )
        if self.once:
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
        for note, components in self.by_table.items():
            notes.append(f"{', '.join(components)}: {note}")
        return notes + list(dict.fromkeys(self.notes))

    # -- entries ------------------------------------------------------------------------------------------------------

    def put(
        self, series: Series, unit: str | Mask, term: str, flops: int, parameters: int = 0, plain: int | None = None
    ) -> None:
        """Adds a cost entry for a matrix product. Takes the arguments of put_entry."""
        weight = ""
        if series.weights and series.first.kind == "weight":
            own = series.weights[0].rpartition(".")[2]
            weight = series.module.rpartition(".")[2] if own == "weight" else own
        counted = unregistered(unit) if series.is_unregistered else unit
        self.put_entry(self.component_of(series), counted, term, flops, parameters, weight, plain)

    def component_of(self, series: Series) -> str:
        component = self.names.component(series.module)
        return f"{component}.recomputed" if series.runs_again and component in self.parted else component

    def made(self, plain: bool = False) -> Cost:
        """Returns a Cost of the entries that were added so far. plain: True counts masked pairs too, as PyTorch
        does."""
        short = self.names.short(component for component, _, _, _ in self.rows)
        tower: Tower = "vision" if self.arity == GRIDS else "text"
        every = Mask.bidirectional().in_tower(tower)
        rows = []
        for (component, unit, term, weight), (masked, parameters, every_pair) in self.rows.items():
            flops = every_pair if plain else masked
            if not flops and not parameters and (masked or every_pair):
                continue
            if isinstance(unit, str):
                of = unit_of_entry(unit)
            else:
                of = every if plain and not unit.name.endswith(UNREGISTERED) else unit.in_tower(tower)
            rows.append(Entry(short[component], of, cast(Any, term), flops, parameters, weight=weight, tower=tower))
        return Cost.from_entries(rows, model_type=self.names.root, notes=[] if plain else self.all_notes())

    @property
    def has_tables(self) -> bool:
        """True if some FLOPs of the cost are known only as a table by sequence length, not as a formula."""
        units = (unit if isinstance(unit, str) else unit.name for _, unit, _, _ in self.rows)
        return any("_by_length_" in unit for unit in units)

    @property
    def once(self) -> bool:
        """True if some work runs once per forward pass, whatever the batch is."""
        return any(unit == "passes" for _, unit, _, _ in self.rows)

    def forward(self, size: Size) -> int:
        """Returns the forward FLOPs of the fitted cost at an input size, as PyTorch counts them: with the pairs that the
        mask excludes, and with every operator."""
        return int(self.made(plain=True).flops(**self.batch_of(size)).padded.forward)

    def checked(self) -> Cost:
        """Compares the fitted cost with PyTorch's FLOP count at every input size, and returns the cost. Raises an Error
        if the two differ and no note explains it. Masked pairs count in this comparison, as in PyTorch's count."""
        plain, masked = self.made(plain=True), self.made()
        for size, step, own in zip(self.sizes, self.steps, self.own):
            batch = self.batch_of(size)
            counted = plain.flops(convention=self.convention, **batch).total
            again = step.recomputed - step.own_recomputed
            excess = sum(product.groups_excess for product in step.products)
            if counted + excess + again + sum(step.constants.values()) != step.by_pytorch + own:
                raise Error(
                    "model",
                    f"FlopCounterMode counts {step.by_pytorch} with {shown(size, self.arity)}, but the entries of the cost "
                    f"{counted + again}: please report this with the code of the model",
                )
            try:
                by_convention = masked.flops(convention=self.convention, **batch).total
            except Error:
                if not self.has_tables:
                    raise
                continue  # a length that is in no table
            if by_convention != counted and not self.masks_given:
                names = ", ".join(mask.name for mask in masked.masks)
                raise Error(
                    "masks",
                    f"{names} do not give the {counted} FLOPs of full attention that PyTorch counts: pass the masks of the model as masks=",
                )
        return masked

    def recomputing(self, cost: Cost, series: Sequence[Series]) -> Cost:
        """Returns the cost with a plan for activation checkpointing, if the backward ran some of the forward again.
        Otherwise returns the cost unchanged."""
        if not any(step.recomputed for step in self.steps):
            return cost
        short = self.names.short(component for component, _, _, _ in self.rows)
        once: dict[str, bool] = {}
        for one in series:
            if any(one.forward):
                name = short[self.component_of(one)]
                once[name] = once.get(name, True) and one.runs_again
        plan = Plan(recompute_components=[name for name, whole in once.items() if whole])
        plain = self.made(plain=True)
        for size, step in zip(self.sizes, self.steps):
            batch = self.batch_of(size)
            again = plain.flops(convention=self.convention, plan=plan, **batch).executed.recompute
            ran = step.recomputed - step.own_recomputed
            if again != ran:
                self.notes.append(
                    f"checkpointing runs {ran} FLOPs again with {shown(size, self.arity)}, in parts of "
                    f"components: not in the plan, which says {again} of them"
                )
                break
        return self.made().planned(plan)
