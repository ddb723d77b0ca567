// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string_view>

#include <floptally/statistics/mask.hpp>

// A mask of one's own of two members, of which one has a name.
struct dilated {
    std::int32_t tokens;
    std::int32_t step;
    static constexpr std::string_view name = "dilated";
#ifdef INVALID
    static constexpr floptally::statistic_parameter parameters[] = {{"tokens", 1}};
#else
    static constexpr floptally::statistic_parameter parameters[] = {{"tokens", 1}, {"step", 1}};
#endif
    constexpr std::uint64_t operator()(const floptally::sequence& s) const {
        return s.length / static_cast<std::uint32_t>(step) + static_cast<std::uint32_t>(tokens);
    }
};

int main() { return floptally::mask(dilated{4, 2}).is_measured() ? 1 : 0; }
