# SPDX-License-Identifier: Apache-2.0
"""The Python reference: a docstring says "name: text." of one parameter or attribute after the other; here each begins a
line of a list."""

import re

import griffe


def names_of(obj):
    """What a docstring can describe so: parameters of a function, of a class those of its constructor and its members."""
    if obj.is_function:
        return {one.name for overload in (obj, *(obj.overloads or ())) for one in overload.parameters}
    made = [obj.members[name] for name in ("__init__", "__new__") if name in obj.members]
    return set(obj.members).union(*(names_of(one) for one in made if one.is_function)) if obj.is_class else set()


class Lists(griffe.Extension):
    def on_object(self, *, obj, **_):
        known = "|".join(sorted(map(re.escape, names_of(obj)), key=len, reverse=True))
        if obj.docstring is None or not known or "Args:" in obj.docstring.value:
            return
        one = rf"(?:\*\*?)?(?:{known})"
        # At the beginning of a sentence or of a part of one, which may stand at that of a line.
        begins = re.compile(rf"(^|(?<=[.!?…)\],;:])\s+|\n\s*\n\s*)({one}(?:(?:,| and)\s+{one})*):\s+")
        obj.docstring.value = begins.sub(lambda found: f"\n\n* `{' '.join(found[2].split())}`: ", obj.docstring.value).strip()
