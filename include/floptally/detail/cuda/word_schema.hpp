// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <floptally/batch/mask_set.hpp>
#include <floptally/detail/checked.hpp>
#include <floptally/detail/rule_table.hpp>
#include <floptally/detail/tally_words.hpp>
#include <floptally/detail/unit_amounts.hpp>
#include <floptally/error.hpp>
#include <floptally/host_device.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/sequence.hpp>
#include <floptally/statistic.hpp>
#include <floptally/statistics/library_rules.hpp>
#include <floptally/statistics/rule.hpp>
#include <floptally/statistics/statistic_rule.hpp>
#include <floptally/tally.hpp>

namespace floptally::detail {

/// The words of a tally in its order, as a value that a kernel takes: which word counts what.
struct word_schema {
    /// A kernel takes it by value, with memory inside; and a refusal has a bit for each word.
    static constexpr std::size_t max_masks = 16;
    static constexpr std::size_t most = tally_words::fixed * modality_count + max_masks;

    rule masks[max_masks];  ///< those that have a word of their own
    std::uint32_t mask_count = 0;
    std::uint32_t before_masks = 0;
    bool has[modality_count]{};

    word_schema() = default;
    explicit word_schema(const mask_set& of_model) {
        const tally like{of_model};
        require_few(like.masks());
        mask_count = static_cast<std::uint32_t>(like.masks().size());
        before_masks = static_cast<std::uint32_t>(tally_words::before_masks(like.masks()));
        for (std::uint32_t i = 0; i < mask_count; ++i) {
            masks[i] = like.masks()[i];
        }
        for (const modality in : {modality::text, modality::vision, modality::audio}) {
            has[static_cast<std::size_t>(in)] = like.masks().has(in);
        }
    }

    /// Throws where a device's tally has no room for these masks.
    static void require_few(const mask_set& masks) {
        if (masks.size() > max_masks) {
            throw error("masks", "this model needs words of " + std::to_string(masks.size()) +
                                     " masks, and a device's tally has room for " + std::to_string(max_masks));
        }
    }

    /// Words of one view.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t stride() const { return before_masks + mask_count; }
    /// Words of both.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t size() const { return 2 * stride(); }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool has_tower(modality in) const { return has[static_cast<std::size_t>(in)]; }
    /// Whether this word counts what is in a tower.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool is_of(modality in, std::uint32_t word) const {
        return word < before_masks ? word / tally_words::fixed == static_cast<std::uint32_t>(in)
                                   : masks[word - before_masks].in() == in;
    }
};

/// What a kernel knows of a rule: what its struct makes of a sample. The owner refuses rules that are in no list of its
/// kernels, so that one of them always answers.
template <class Unit, class... Rules>
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr uint128 amount_of_known(const rule& what, const Unit& unit,
                                                                      rule_list<Rules...> /*list*/) {
    uint128 sum = 0;
    static_cast<void>(
        ((what.id() == id_of<Rules> && amount_of_rule(rule_from<Rules>(what.parameters()), unit, sum)) || ...));
    return sum;
}
template <class... Rules>
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool has_problem_known(const rule& what, const grid& g,
                                                                     rule_list<Rules...> /*list*/) {
    const auto found = [&]<class Rule>(const Rule& made) {
        if constexpr (requires { made.problem_of(g); }) {
            return made.problem_of(g) != grid_problem::none;
        } else {
            return false;
        }
    };
    return ((what.id() == id_of<Rules> && found(rule_from<Rules>(what.parameters()))) || ...);
}

/// Throws where a tally has a word whose rule the kernels were not compiled with.
template <class... Rules>
void require_known(const mask_set& masks, rule_list<Rules...> /*list*/) {
    for (const rule& one : masks) {
        if (!(one.is<Rules>() || ...)) {
            throw error(one.name(),
                        "these kernels were compiled without its struct: add it to the list of basic_device_tally");
        }
    }
}

/// What a unit adds to a word of its modality.
template <class List, class Unit>
[[nodiscard]] FLOPTALLY_HOST_DEVICE uint128 amount_of(const word_schema& schema, std::uint32_t word, const Unit& unit) {
    return word < schema.before_masks ? amount_of(static_cast<statistic>(word % tally_words::fixed), unit)
                                      : amount_of_known(schema.masks[word - schema.before_masks], unit, List{});
}

}  // namespace floptally::detail
