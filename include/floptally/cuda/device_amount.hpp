// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/detail/checked.hpp>
#include <floptally/detail/cuda/word_schema.hpp>
#include <floptally/detail/rule_table.hpp>
#include <floptally/host_device.hpp>
#include <floptally/statistics/library_rules.hpp>
#include <floptally/statistics/rule.hpp>

namespace floptally {

/// What one sample adds to a rule, in a kernel: `rule::amount` for a device, which cannot call through the rule's own
/// functions of the host and so knows the structs of its list only. False, and `amount` as it was, where the list lacks
/// the rule's struct or that counts no such sample: a device cannot throw.
///
///     floptally::uint128 pairs = 0;
///     if (floptally::device_amount<floptally::library_rules::with<dilated_window>>(attends, sample, pairs)) { … }
template <class Rules = library_rules, class Sample>
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool device_amount(const rule& what, const Sample& sample,
                                                                 uint128& amount) {
    static_assert(detail::numbers_differ(Rules{}),
                  "two rules of the list have one name, or names of one number: rename one's own");
    bool counted = false;
    detail::with_struct_of(
        what, Rules{}, [&]<class Rule>(const Rule& made) { counted = detail::amount_of_rule(made, sample, amount); });
    return counted;
}

}  // namespace floptally
