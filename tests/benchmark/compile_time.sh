#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Prints what each use of the library costs to compile, as a ratio to <nlohmann/json.hpp> in the same run (docs/contributing.md
# has some rows). User seconds, the median of RUNS (5). Units take turns, so that a slow minute slows all of them.
#   tests/benchmark/compile_time.sh [compiler ...]        (g++ and clang++)
# OPTIONS are the options of the compiler (-O0). INCLUDE is another commit's include/, to compare with. UNITS are the units
# to measure, such as "core.hpp umbrella" (all). The last two rows have <nlohmann/json.hpp> in them.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
include=$(cd "${INCLUDE:-$root/include}" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

echo '#include <nlohmann/json.hpp>' >json.cpp
echo '#include <string>' >string.cpp
echo '#include <floptally/core.hpp>' >core.hpp.cpp
echo '#include <floptally/floptally.hpp>' >umbrella.cpp
echo '#include <floptally/meter.hpp>' >meter.hpp.cpp
cp "$root/examples/count_one_step.cpp" count_one_step.cpp
cat >tally.cpp <<'UNIT'
#include <cstdint>
#include <floptally/core.hpp>
double mfu(const floptally::flop_counter& model, floptally::array_view<std::int32_t> cu_seqlens, double seconds) {
    floptally::tally step{model.masks()};
    step.add_cu_seqlens(cu_seqlens);
    return floptally::utilize(model.evaluate(step), step, {.seconds = seconds, .gpus = 8, .peak_tflops = 989.4}).mfu;
}
UNIT
cat >meter_loop.cpp <<'UNIT'
#include <cstdint>
#include <cstdio>
#include <floptally/floptally.hpp>
#include <floptally/meter.hpp>
void train(floptally::array_view<std::int32_t> cu_seqlens) {
    floptally::meter meter(floptally::presets::mistral_7b, {}, floptally::accelerator_named("H100 SXM"));
    for (int step = 0; step < 1000; ++step) {
        meter.begin_step();
        meter.microbatch().add_cu_seqlens(cu_seqlens);
        meter.end_step();
        for (const floptally::metric& entry : floptally::metrics(meter, meter.last_step(), "train/")) {
            std::printf("%s %g\n", entry.name.c_str(), entry.value);
        }
    }
}
UNIT
cat >load_header_only.cpp <<'UNIT'
#include <floptally/json.hpp>
int main(int, char** arguments) { return floptally::load_config(arguments[1]).cost.parameters() > 0 ? 0 : 1; }
UNIT
{ echo '#define FLOPTALLY_SEPARATE_COMPILATION' && cat load_header_only.cpp; } >load_linked.cpp
cat >parse.cpp <<'UNIT'
#include <fstream>
#include <nlohmann/json.hpp>
int main(int, char** arguments) {
    std::ifstream text(arguments[1]);
    const nlohmann::json config = nlohmann::json::parse(text);
    return config.value("hidden_size", 0) + (config.find("num_layers") != config.end() ? 1 : 0);
}
UNIT

cat >measure.py <<'MEASURE'
import resource, statistics, subprocess, sys

compiler, options, include, runs, units = sys.argv[1], sys.argv[2].split(), sys.argv[3], int(sys.argv[4]), sys.argv[5:]
seconds = {unit: [] for unit in units}
for _ in range(runs):
    for unit in units:
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        command = [compiler, "-std=c++20", *options, "-I" + include, "-c", unit + ".cpp", "-o", "unit.o"]
        subprocess.run(command, check=True)
        seconds[unit].append(resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before)
json = statistics.median(seconds["json"])
USES = {
    "json": "`<nlohmann/json.hpp>`",
    "string": "`<string>`, which `core.hpp` includes",
    "core.hpp": "`core.hpp`",
    "tally": "`core.hpp`, and a tally to an MFU",
    "umbrella": "`floptally.hpp`",
    "count_one_step": "`examples/count_one_step.cpp`",
    "meter.hpp": "`meter.hpp`",
    "meter_loop": "`meter.hpp`, and a meter in a loop",
    "load_linked": "`load_config` by the linked reader",
    "parse": "JSON that is parsed, for comparison",
    "load_header_only": "`load_config`, header-only",
}
print(f"| {compiler} {' '.join(options)} | seconds | of json.hpp |\n| --- | ---: | ---: |")
for unit in units:
    median = statistics.median(seconds[unit])
    print(f"| {USES[unit]} | {median:.2f} | {median / json:.2f} |")
MEASURE

[ $# -gt 0 ] || set -- g++ clang++
read -ra units <<<"${UNITS:-string core.hpp tally umbrella count_one_step meter.hpp meter_loop load_linked parse load_header_only}"
echo "Commit $(git -C "$include" rev-parse --short HEAD)."
for compiler in "$@"; do
    echo
    python3 measure.py "$compiler" "${OPTIONS:--O0}" "$include" "${RUNS:-5}" json "${units[@]}"
done
