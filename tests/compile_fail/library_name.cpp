// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string_view>

#include <floptally/statistics/mask.hpp>

// A mask of one's own under a name of the library's.
namespace own {
struct window {
    std::int32_t size;
#ifdef INVALID
    static constexpr std::string_view name = "window";
#else
    static constexpr std::string_view name = "own_window";
#endif
    constexpr std::uint64_t operator()(const floptally::sequence& s) const {
        return std::uint64_t{s.length} * static_cast<std::uint32_t>(size);
    }
};
}  // namespace own

int main() { return floptally::mask(own::window{4}).is_measured() ? 1 : 0; }
