// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string_view>

#include <floptally/statistics/mask.hpp>

// A mask of one's own whose call is not const.
struct every_other {
    static constexpr std::string_view name = "every_other";
#ifdef INVALID
    constexpr std::uint64_t operator()(const floptally::sequence& s) { return s.length / 2; }
#else
    constexpr std::uint64_t operator()(const floptally::sequence& s) const { return s.length / 2; }
#endif
};

int main() { return floptally::mask(every_other{}).is_measured() ? 1 : 0; }
