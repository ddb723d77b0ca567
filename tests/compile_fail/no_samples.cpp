// SPDX-License-Identifier: Apache-2.0
#include <floptally/batch/tally.hpp>
#include <floptally/statistics/mask.hpp>

// A batch of one's own that does not say of what.
struct one_pair {
#ifndef INVALID
    using sample = floptally::sequence;
#endif
    template <class Visit>
    constexpr void each(Visit visit) const {
        visit(floptally::sequence{.length = 3}, floptally::sequence{.length = 4});
    }
};

int main() {
    floptally::tally batch{floptally::mask_set{}};
    batch.add(one_pair{});
}
