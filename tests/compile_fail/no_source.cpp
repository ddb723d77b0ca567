// SPDX-License-Identifier: Apache-2.0
#include <floptally/batch/tally.hpp>
#include <floptally/statistics/mask.hpp>

#ifdef INVALID
#define OF_A_CONSTANT
#else
#define OF_A_CONSTANT const
#endif

// A batch of one's own whose `each` is not const.
struct one_pair {
    using sample = floptally::sequence;
    template <class Visit>
    constexpr void each(Visit visit) OF_A_CONSTANT {
        visit(floptally::sequence{.length = 3}, floptally::sequence{.length = 4});
    }
};

int main() {
    floptally::tally batch{floptally::mask_set{}};
    batch.add(one_pair{});
}
