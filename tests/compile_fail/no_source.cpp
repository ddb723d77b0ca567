// SPDX-License-Identifier: Apache-2.0
#include <floptally/mask.hpp>
#include <floptally/tally.hpp>

// A batch of one's own whose `each` is not const.
struct one_pair {
    using sample = floptally::sequence;
    template <class Visit>
#ifdef INVALID
    constexpr void each(Visit visit){
#else
    constexpr void each(Visit visit) const {
#endif
        visit(floptally::sequence{.length = 3}, floptally::sequence{.length = 4});
}
}
;

int main() {
    floptally::tally batch{floptally::mask_set{}};
    batch.add(one_pair{});
}
