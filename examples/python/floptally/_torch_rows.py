# SPDX-License-Identifier: Apache-2.0
"""From the products of training steps at several sizes to the rows of a cost; see _from_torch.py."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from fractions import Fraction
from typing import TYPE_CHECKING

from ._core import Cost, Error, Mask, Row

if TYPE_CHECKING:
    import torch

    from ._torch_trace import Product, Step

MAX_NAME = 39

Size = tuple[int, int, int]  #: samples, tokens of each, tokens on the other side of each

STATISTICS: dict[str, Callable[[Size], int]] = {
    "count": lambda s: s[0],
    "tokens": lambda s: s[0] * s[1],
    "keys": lambda s: s[0] * s[2],
    "squares": lambda s: s[0] * s[1] ** 2,
    "crossed": lambda s: s[0] * s[1] * s[2],
    "key squares": lambda s: s[0] * s[2] ** 2,
}
QUADRATIC = ("squares", "crossed", "key squares")
POSITION_WORDS = ("position", "token_type", "segment")  #: in the names of tables whose indices come from data
OF_ARITY = {1: ("count",), 2: ("count", "tokens", "squares"), 3: tuple(STATISTICS)}


def shown(size: Size, arity: int) -> str:
    """A size as errors say it."""
    return ", ".join([f"{size[0]} samples", f"length {size[1]}", f"{size[2]} keys"][:arity])


def solved(sizes: Sequence[Size], values: Sequence[int], names: Sequence[str]) -> dict[str, Fraction]:
    """The coefficients with Σ coefficient·statistic = value at as many sizes as there are names; without zeros."""
    rows = [[Fraction(STATISTICS[name](size)) for name in names] + [Fraction(v)] for size, v in zip(sizes, values)]
    for column in range(len(names)):
        pivot = next(i for i in range(column, len(rows)) if rows[i][column] != 0)
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [entry / rows[column][column] for entry in rows[column]]
        for i, row in enumerate(rows):
            if i != column and row[column] != 0:
                rows[i] = [entry - row[column] * lead for entry, lead in zip(row, rows[column])]
    return {name: row[-1] for name, row in zip(names, rows) if row[-1] != 0}


def is_cubic(points: Sequence[tuple[int, int]]) -> bool:
    """Whether (length, count) lie on a polynomial of the third degree, by divided differences."""
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
            return self.components(module)
        folded = self.folded(module)
        for pattern, name in (self.components or {}).items():
            if fnmatchcase(module, pattern) or fnmatchcase(folded, pattern):
                return name
        if self.depth is not None:
            folded = ".".join(folded.split(".")[: self.depth])
        return folded or self.root

    @staticmethod
    def short(names: Iterable[str]) -> dict[str, str]:
        """Of at most 39 characters each: ``..`` in place of as few parts as possible, the first of them that no other
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
                raise Error(
                    name, f"has no own name of at most {MAX_NAME} characters: name it with components= or give a depth="
                )
        return made


@dataclass
class Series:
    """One product at all sizes; or several of a module as one, where their number differs from size to size."""

    first: Product
    forward: list[int]
    backward: list[int]
    excess: list[int]
    dims: list[tuple[int, ...]]  #: empty where it is several

    @property
    def module(self) -> str:
        return self.first.module


def series_of(products: list[list[Product]]) -> Series:
    first = next(p for ps in products for p in ps)
    single = all(len(ps) == 1 for ps in products)
    return Series(
        first,
        [sum(p.forward for p in ps) for ps in products],
        [sum(p.backward for p in ps) for ps in products],
        [sum(p.groups_excess for p in ps) for ps in products],
        [ps[0].dims for ps in products] if single else [],
    )


def aligned(steps: Sequence[Step]) -> list[Series]:
    """The same product at every size, in the order of the forward."""
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
        for key in dict.fromkeys((p.kind, p.weights) for products in lists for p in products):
            series.append(series_of([[p for p in ps if (p.kind, p.weights) == key] for ps in lists]))
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
    mask_of: Callable[[Product], Mask]
    terms: Mapping[str, str]
    rows: dict[tuple[str, str | Mask, str, str], list[int]] = field(default_factory=dict)  #: FLOPs a unit, parameters
    notes: list[str] = field(default_factory=list)
    units: dict[str, set[str]] = field(default_factory=dict)  #: what the products of a module are counted by
    stored: set[str] = field(default_factory=set)  #: parameters that a row has

    def cost(self) -> Cost:
        series = aligned(self.steps)
        # Where one core is fused, one that ran as plain products differs from it: no second QK^T in the backward.
        self.fused = any(one.first.kind == "attention" for one in series)
        places = [one.first.place for one in series if self.names.in_layer(one.module)]
        self.first_layer, self.last_layer = (min(places), max(places)) if places else (-1, 1 << 62)
        self.plain_cores: list[str] = []
        for one in series:
            # What has no form at all is said first.
            self.units.setdefault(one.module, set()).update(self.fit(one.module, one.first.op, one.forward))
        for one in series:
            if one.first.kind == "attention":
                self.add_fused(one)
            elif one.first.kind == "weight":
                self.add_weight(one)
            elif one.first.kind == "activations":
                self.add_activations(one)
            else:
                raise Error(
                    one.module or self.names.root,
                    f"{one.first.op} counts {one.backward[0]} in the backward of an operator that counts nothing "
                    "forward: no row of a cost has that",
                )
        self.add_softmax(series)
        self.add_parameters()
        return self.checked(self.made())

    # -- fits ---------------------------------------------------------------------------------------------------------

    def fit(self, module: str, op: str, values: Sequence[int]) -> dict[str, int]:
        """Integers of statistics; an error where there are none, or where they do not hold at the other sizes."""
        names = OF_ARITY[self.arity]
        where = module or self.names.root
        found = solved(self.sizes[: self.fitted], values, names)

        def at(size: Size) -> Fraction:
            return sum((c * STATISTICS[name](size) for name, c in found.items()), Fraction(0))

        wrong = [(size, v) for size, v in zip(self.sizes, values) if at(size) != v]
        if wrong:
            raise Error(where, f"{op} counts {self.why_not(values, wrong, at)}")
        for name, c in found.items():
            if c.denominator != 1 or c < 0:
                raise Error(
                    where,
                    f"{op} counts {c} FLOPs per {name}: a cost has integers of at least 0"
                    + ("; lengths that are multiples of a chunk or a stride may give them" if self.arity > 1 else ""),
                )
        return {name: int(c) for name, c in found.items()}

    def why_not(
        self, values: Sequence[int], wrong: Sequence[tuple[Size, int]], at: Callable[[Size], Fraction]
    ) -> str:
        size, value = wrong[0]
        base = f"{value} with {shown(size, self.arity)}, where samples, tokens and squares give {float(at(size)):.15g}"
        of_size = dict(zip(self.sizes, values))
        batches = [(s, of_size[(2,) + s[1:]]) for s, _ in wrong if (2,) + s[1:] in of_size and s[0] != 2]
        if len(batches) == len(wrong):
            before = batches[0][1]
            if before == value:
                return base + ": the same for any batch, as a product that runs once for all samples"
            if value * 4 == before * batches[0][0][0] ** 2:
                return base + ": with the square of the batch, so that samples meet each other"
        else:
            points = [(s[1], v) for s, v in of_size.items() if s[0] == 2 and s[2] == self.sizes[0][2]]
            if len(points) >= 5 and is_cubic(points):
                return base + ": with the third power of the length"
        return base + ": chunks, padding or data decide. Chunks of fixed size fit lengths= of whole ones"

    def runs_backward(self, one: Series, forward: Sequence[int]) -> int:
        """How many products the backward has for each of the forward: 0, 1 or 2."""
        backward = [b - e for b, e in zip(one.backward, one.excess)]
        for times in (2, 1, 0):
            if backward == [times * f for f in forward]:
                return times
        raise Error(
            one.module or self.names.root,
            f"{one.first.op} counts {forward[0]} forward and {backward[0]} backward with "
            f"{shown(self.sizes[0], self.arity)}: a row's backward counts 0, 1 or 2 times its forward",
        )

    # -- products -----------------------------------------------------------------------------------------------------

    def add_weight(self, one: Series) -> None:
        times = self.runs_backward(one, one.forward)
        units = self.fit(one.module, one.first.op, one.forward)
        term = self.weight_term(one, times)
        parameters = 0
        for weight in one.first.weights:
            if weight not in self.stored:
                self.stored.add(weight)
                parameters += self.model.get_parameter(weight).numel()
        excess = self.fit(one.module, one.first.op, one.excess) if any(one.excess) else {}
        for statistic, more in excess.items():
            self.notes.append(
                f"{one.module}: FlopCounterMode counts {more} FLOPs more per {statistic} in the backward: the weight "
                "gradient of a convolution in groups, over the channels of all"
            )
        for statistic, flops in units.items():
            unit = Mask.encoder() if statistic == "key squares" else statistic
            self.put(one.module, unit, term, flops, parameters, one.first.weights)
            parameters = 0
        if not units and parameters:
            self.stored.difference_update(one.first.weights)

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
        self.add_core(one, "scores" if trained else "detached", scores)
        self.add_core(one, "values" if trained else "detached", values)
        self.add_core(one, "softmax", [3 * dims[0] * dims[1] * dims[2] for dims in one.dims])

    def add_activations(self, one: Series) -> None:
        """QK^T, PV, or another product of activations: told by whether the axis that is summed over has the length."""
        times = self.runs_backward(one, one.forward)
        units = self.fit(one.module, one.first.op, one.forward)
        if times != 2:
            self.add_core(one, "detached" if times == 0 else "input_linear", one.forward)
            return
        quadratic = any(name in units for name in QUADRATIC)
        softmax = self.steps[0].softmax.get(one.module)
        term = "state"
        if quadratic and len({dims[2] for dims in one.dims}) > 1:
            term = "values"
        elif quadratic and one.dims:
            term = "scores"
        elif softmax is not None:
            term = "scores" if one.first.place < softmax[1] else "values"
        if self.fused and term != "state":
            self.plain_cores.append(one.module)
            term = "state"
        self.add_core(one, term, one.forward)

    def add_core(self, one: Series, term: str, values: Sequence[int]) -> None:
        units = self.fit(one.module, one.first.op, values)
        squares = "squares" in units
        fixed = self.arity == 1 or not any(name in units for name in QUADRATIC)
        is_core = one.first.kind == "attention" or term in ("scores", "values")
        mask = self.mask_of(one.first) if squares or (fixed and is_core) else None
        others = [name for name in units if name not in QUADRATIC]
        if mask is not None and others and mask != Mask.bidirectional():
            raise Error(
                one.module or self.names.root,
                f"{one.first.op} counts {units[others[0]]} FLOPs per {others[0]} besides pairs under {mask.name}: "
                "tokens that are in no length have a form under bidirectional only",
            )
        of_pairs = {"squares": mask, "crossed": Mask.cross_attention(), "key squares": Mask.encoder()}
        for statistic, flops in units.items():
            self.put(one.module, of_pairs.get(statistic) or statistic, term, flops)

    def add_softmax(self, series: Sequence[Series]) -> None:
        """Three FLOPs an element: what the conventions count that count it at all."""
        cores = {one.module: one for one in series if one.first.kind == "activations"}
        for module, one in cores.items():
            elements = [step.softmax.get(module, (0, 0))[0] for step in self.steps]
            if all(elements):
                self.add_core(one, "softmax", [3 * n for n in elements])

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
        """What runs over a parameter that multiplies no matrix: what runs over the products around it."""
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
    def convention(self) -> str:
        return "torch_flop_counter" if self.fused else "torch_flop_counter_eager"

    def said(self, sizes: Iterable[Size]) -> str:
        """Sizes as a note has them: batch x length, or batch x length x keys."""
        return "at " + ", ".join(" x ".join(str(n) for n in size[: self.arity]) for size in sizes)

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
        frozen = sum(p.numel() for p in self.model.parameters() if not p.requires_grad)
        if frozen:
            notes.append(
                f"{frozen} parameters are frozen: a product without one of its two gradients is an input_linear, one "
                "without both is detached"
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

    def made(self) -> Cost:
        short = self.names.short(component for component, _, _, _ in self.rows)
        rows = [
            Row(short[component], unit, term, flops, parameters, weight=weight)
            for (component, unit, term, weight), (flops, parameters) in self.rows.items()
        ]
        return Cost.from_rows(rows, model_type=self.names.root, notes=self.all_notes())

    def checked(self, cost: Cost) -> Cost:
        """The library's count of every step must be PyTorch's, but for what a note takes off."""
        for size, step in zip(self.sizes, self.steps):
            counted = cost.flops(
                convention=self.convention,
                lengths=[size[1] or 1] * size[0],
                encoder_lengths=[size[2]] * size[0] if self.arity == 3 else None,
            ).total
            excess = sum(product.groups_excess for product in step.products)
            if counted + excess != step.total:
                raise Error(
                    "model",
                    f"FlopCounterMode counts {step.total} with {shown(size, self.arity)}, the rows of it {counted}",
                )
        return cost
