// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <floptally/floptally.hpp>
#include <floptally/fmt.hpp>

#include "catch2.hpp"

namespace fmt_test {

using namespace floptally;

TEST_CASE("fmt::print shows FLOPs as an integer, beyond 64 bits too", "[fmt]") {
    CHECK(fmt::format("{}", flops{}) == "0");
    CHECK(fmt::format("{}", flops{1234}) == "1234");
    CHECK(fmt::format("{:>8}|{:<8}|{:08}|{:x}", flops{1234}, flops{1234}, flops{1234}, flops{1234}) ==
          "    1234|1234    |00001234|4d2");
    CHECK(fmt::format("{}", flops{~uint128{0}}) == "340282366920938463463374607431768211455");
}

TEST_CASE("fmt::print shows breakdowns, rates, masks and names as text", "[fmt]") {
    tally batch{presets::llama_3_8b.cost().masks()};
    batch.add(sequence{.length = 8192});
    const breakdown work = evaluate(presets::llama_3_8b, batch);
    const utilization rates = utilize(work, batch, {.seconds = 1, .gpus = 1, .peak_tflops = 989.4});
    CHECK(fmt::format("{}", work) == to_string(work));
    CHECK(fmt::format("{}", rates) == to_string(rates));
    CHECK(fmt::format("{} {} {}", view::padded, phase::recompute, accumulator::squares) == "padded recompute squares");
    CHECK(fmt::format("{}", work.components()[0].name) == "attention.qkv");
    CHECK(fmt::format("{}", mask::sliding_window(7)) == "sliding_window(7)");
    CHECK(fmt::format("{:>8}|{:.3}", view::useful, view::useful) == "  useful|use");
}

// clang-format off
TEST_CASE("the fmt examples of docs/cpp.md print what their comments say", "[fmt]") {
    tally batch{presets::llama_3_8b.cost().masks()};
    batch.add(sequence{.length = 8192});
    const breakdown work = evaluate(presets::llama_3_8b, batch);
    CHECK(fmt::format("{} FLOP\n{:>20}\n{}: {:L}\n", work.total(), work.total(), view::useful, work.total()) ==
          "421651971833856 FLOP\n     421651971833856\nuseful: 421651971833856\n");
    fmt::print("{} FLOP\n", work.total());                  // 421651971833856 FLOP
    fmt::print("{:>20}\n", work.total());                   //      421651971833856
    fmt::print("{}: {:L}\n", view::useful, work.total());   // useful: 421651971833856, with a comma at each third digit in some locales
}
// clang-format on

}  // namespace fmt_test
