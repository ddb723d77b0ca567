// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string_view>

#include <floptally/floptally.hpp>

/// @file
/// Counts that must be constants where g++ compiles with -fsanitize=undefined too: the masks of five tokens by hand.

using namespace floptally;

namespace {

/// Every token sees itself alone.
struct itself {
    static constexpr std::string_view name = "itself";
    FLOPTALLY_HOST_DEVICE constexpr std::uint64_t operator()(const sequence& s) const { return s.length; }
};

constexpr sequence five{.length = 5};
static_assert(statistic(itself{})(five) == 5);
static_assert(mask::causal()(five) == 1 + 2 + 3 + 4 + 5);
static_assert(mask::sliding_window(2)(five) == 1 + 2 + 2 + 2 + 2);
static_assert(mask::top_k(2)(five) == 1 + 2 + 2 + 2 + 2);
static_assert(mask::chunked(2)(five) == 1 + 2 + 1 + 2 + 1);
static_assert(mask::prefix_lm(3)(five) == 3 + 3 + 3 + 4 + 5);
static_assert(mask::top_k(2).canonical() == mask::sliding_window(2) && mask::top_k(2) != mask::sliding_window(2));
static_assert(mask::bidirectional().is_polynomial() && !mask::chunked(2).is_polynomial());

}  // namespace

int main() {}
