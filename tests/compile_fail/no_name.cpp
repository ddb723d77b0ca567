// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string_view>

#include <floptally/descriptors/cost.hpp>

// A mask of one's own without a name, on a row of a cost.
struct every_other {
#ifndef INVALID
    static constexpr std::string_view name = "every_other";
#endif
    constexpr std::uint64_t operator()(const floptally::sequence& s) const { return s.length / 2; }
};

int main() {
    floptally::cost sum;
    sum.add("attention.core", floptally::attention_core{1, 2, 2}, every_other{});
    return sum.entries().empty() ? 1 : 0;
}
