# SPDX-License-Identifier: Apache-2.0
"""Lets pickle save objects of the extension, as the arguments that create an equal object."""

from __future__ import annotations

import ast
import copyreg
from collections.abc import Callable
from itertools import count
from typing import Any

from ._core import CanonicalGroups, ExchangePlan, ParallelLayout, Scope
from ._errors import Error


def _made(kind: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    return kind(**arguments)


def _of_layout(layout: ParallelLayout) -> tuple[Any, ...]:
    own = {"rank": layout.rank, "world_size": layout.world_size, "order": layout.order, "expert_order": layout.expert_order}
    return _made, (ParallelLayout, {**layout.sizes, **own})


def _of_scope(scope: Scope) -> tuple[Any, ...]:
    call = ast.parse(repr(scope), mode="eval").body  # Scope(dp="sharded", …)
    assert isinstance(call, ast.Call)
    return _made, (Scope, {str(one.arg): ast.literal_eval(one.value) for one in call.keywords})


def _of_exchange(plan: ExchangePlan) -> tuple[Any, ...]:
    names = ("owners", "destinations", "sizes", "ranks", "window")
    return _made, (ExchangePlan, {name: getattr(plan, name) for name in names})


def _of_groups(groups: CanonicalGroups) -> tuple[Any, ...]:
    sizes = []
    for module in count():
        try:
            sizes.append(groups.size // len(groups.groups_of(module, 0)))
        except Error:  # there is no such module
            return _made, (CanonicalGroups, {"dp_sizes": sizes})
    raise AssertionError


# `pickle` and `copy` look these up.
copyreg.pickle(ParallelLayout, _of_layout)
copyreg.pickle(Scope, _of_scope)
copyreg.pickle(ExchangePlan, _of_exchange)
copyreg.pickle(CanonicalGroups, _of_groups)
