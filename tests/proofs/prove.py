# SPDX-License-Identifier: Apache-2.0
"""Proves the library's closed forms for all lengths, pasts and parameters, and compares them with what it computes.

    pip install z3-solver
    python prove.py [PROGRAM [FAMILY...]]      # PROGRAM is built from values.cpp; without it nothing is compared

Without z3 it says so and exits with status 77. `solver.py` says what a proof is, `formulas.py` has what is proven.
"""

import concurrent.futures
import importlib
import os
import sys
import time

FAMILIES = ("hstu", "chunks", "sparse", "grids", "choices", "bands", "evaluation", "sound")


def prove(family):
    import solver

    started = time.perf_counter()
    solver.results = solver.Tally()
    importlib.import_module(family).prove() if family != "lemmas" else solver.prove_lemmas()
    return solver.results.proven, solver.results.failed, time.perf_counter() - started


def main(program=None, *families):
    try:
        import z3  # noqa: F401
    except ImportError:
        print("z3 is not installed (pip install z3-solver): nothing is proven")
        return 77
    failed = []
    if program:
        import tie

        compared, failed = tie.differences(program)
        print(f"{compared} inputs: the formulas compute what the library computes")
    with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as processes:
        names = families or ("lemmas", *FAMILIES)
        for name, (proven, refuted, seconds) in zip(names, processes.map(prove, names)):
            print(f"{name}: {proven} proven in {seconds:.1f} s", flush=True)
            failed += [f"{name}: {claim}" for claim in refuted]
            if proven == 0:
                failed.append(f"{name}: proves nothing")
    print("\n".join(failed), end="\n" if failed else "")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
