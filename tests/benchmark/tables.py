#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints tables of the C++ library's speed and of reading a config, of which docs/contributing.md has some rows: each
figure beside the program that printed it. (Those of Python: python_flops.py. That of compile time: compile_time.sh.)

    python3 tests/benchmark/tables.py build/benchmark/tests/benchmark

Times are the least of some repetitions, in turn, since other work on a machine only ever adds; instructions are
callgrind's, which repeat exactly. Nothing is installed: the programs are those of the preset `benchmark`.
"""

import json
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
REPETITIONS = 7


def runs(program, pattern="."):
    """Every benchmark of a program, again and again, as it prints it."""
    for _ in range(REPETITIONS):
        command = [program, f"--benchmark_filter={pattern}", "--benchmark_format=json", "--benchmark_min_time=0.05"]
        printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        yield from json.loads(printed)["benchmarks"]


def least(program, pattern="."):
    """{benchmark: least nanoseconds} of a program's benchmarks."""
    times = {}
    for one in runs(program, pattern):
        factor = {"ns": 1, "us": 1e3, "ms": 1e6}[one["time_unit"]]
        name = one["name"]
        times[name] = min(times.get(name, float("inf")), one["cpu_time"] * factor)
    return times


def figure(nanoseconds):
    return f"{nanoseconds:.0f}" if nanoseconds >= 100 else f"{nanoseconds:.1f}"


def table(head, rows):
    print("\n| " + " | ".join(head) + " |")
    print("|" + "".join(" --- |" if i == 0 else " ---: |" for i in range(len(head))))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def main(folder):
    folder = pathlib.Path(folder)
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True)
    changed = subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "../../include"], cwd=HERE).returncode != 0
    print(f"Commit {commit.stdout.strip()}{' with changes' if changed else ''}.")

    times = least(folder / "evaluate_bench")
    table(["`evaluate_bench`", "ns"], [[f"`{name}`", figure(value)] for name, value in times.items()])

    times = least(folder / "tally_bench")
    sizes = ("1", "16", "64", "4096")
    masks = {"0": "without masks", "1": "one window", "4": "four windows"}
    rows = [[f"`add_lengths/n/{m}`: {said}"] + [figure(times[f"add_lengths/{n}/{m}"]) for n in sizes]
            for m, said in masks.items()]
    padded = [figure(times[f"add_padded_row/{n}"]) if f"add_padded_row/{n}" in times else "" for n in sizes]
    table(["`tally_bench`, ns a call of n sequences", *sizes], [*rows, ["`add_padded_row/n`", *padded]])
    alone = [name for name in times if "/" not in name]
    table(["`tally_bench`", "ns"], [[f"`{name}`", figure(times[name])] for name in alone])

    times = least(folder / "length_sums_bench", "^int32/.*/(1|16|64|4096)$")
    names = list(dict.fromkeys(name.rpartition("/")[0] for name in times))
    table(["`length_sums_bench`, ns a call of n lengths", *sizes],
          [[f"`{name}`", *(figure(times[f"{name}/{n}"]) for n in sizes)] for name in names])
    times = least(folder / "length_sums_bench", "^int32/.*/67108864$")
    plain = times["int32/plain_sum/67108864"]
    table(["`length_sums_bench`, 2^26 lengths from memory", "share of a plain sum"],
          [[f"`{name.rpartition('/')[0]}`", f"{100 * plain / value:.0f} %"] for name, value in times.items()])

    command = [HERE / "callgrind.sh", folder / "length_sums_callgrind"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[1:]
    table(["`callgrind.sh length_sums_callgrind`", "instructions a sequence"],
          [[f"`{line.rsplit(maxsplit=1)[0].strip()}`", line.split()[-1]] for line in lines])

    # Counters in seconds: of one config on average, and of the slowest.
    configs = list(runs(folder / "read_config_bench"))
    table(["`read_config_bench`", "ms a config"],
          [[said, f"{1e3 * min(one[counter] for one in configs if counter in one):.2f}"]
           for said, counter in (("on average", "of one"), ("the slowest", "slowest"))])


if __name__ == "__main__":
    main(*sys.argv[1:])
