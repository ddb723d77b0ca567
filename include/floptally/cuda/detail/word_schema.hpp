// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <floptally/batch/tally.hpp>
#include <floptally/batch/tally_words.hpp>
#include <floptally/batch/unit_amounts.hpp>
#include <floptally/cuda/detail/refusals.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/rules/library_rules.hpp>
#include <floptally/rules/mask_set.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/rule_table.hpp>
#include <floptally/rules/sequence.hpp>
#include <floptally/rules/sequence_masks.hpp>
#include <floptally/rules/statistic.hpp>
#include <floptally/rules/statistic_rule.hpp>
#include <floptally/text/error.hpp>

namespace floptally::detail {

/// The limit below which kernels add lengths eight at a time: eight squares then add up far below 2^64, eight lengths
/// below 2^32, and a window that is wider caps none of them.
inline constexpr std::uint32_t plain_limit = std::uint32_t{1} << 24U;

/// A side of a window of attention (`mask_rules::band`) that has a word of its own, for kernels that add eight lengths
/// at a time: row i sees min(i, keys) keys on it. The left one has each query itself too.
struct window_side {
    std::uint32_t word;
    std::uint32_t keys;        ///< all keys where there is no limit
    std::uint32_t plain_keys;  ///< as far as plain lengths can tell
    std::int32_t factor;       ///< 1 − 2·plain_keys
    bool is_left;
};

/// The words of a tally in their order, as a value that a kernel takes: which word counts which statistic or mask.
struct word_schema {
    /// The most masks: sums of samples fill a block's shared memory with them (`add_samples`). A kernel takes the
    /// schema by value, with its memory inside, and a refusal record has a bit for each word.
    static constexpr std::size_t max_masks = 17;
    static constexpr std::size_t max_sides = 4;
    static constexpr std::uint32_t fixed = tally_words::fixed;  ///< words of each modality that no mask has
    static constexpr std::size_t most = tally_words::fixed * modality_count + max_masks;
    static_assert(most <= 64);

    rule masks[max_masks];           ///< masks that have a word of their own
    window_side sides[max_sides]{};  ///< of the windows, where they are so few
    std::uint32_t side_count = 0;
    bool only_windows = true;  ///< no text has another mask to add to
    std::uint32_t mask_count = 0;
    std::uint32_t before_masks = 0;
    bool has[modality_count]{};

    word_schema() = default;
    explicit word_schema(const mask_set& of_model) {
        const tally like{of_model};
        if (like.masks().size() > max_masks) {
            refuse("masks", {"this model needs words of ", like.masks().size(),
                             " masks, and a device's tally has room for ", max_masks});
        }
        mask_count = static_cast<std::uint32_t>(like.masks().size());
        before_masks = static_cast<std::uint32_t>(tally_words::before_masks(like.masks()));
        for (std::uint32_t i = 0; i < mask_count; ++i) {
            masks[i] = like.masks()[i];
            if (masks[i].in() != modality::text) {
                continue;
            }
            if (masks[i].is<mask_rules::band>()) {
                const auto sides_of = masks[i].as<mask_rules::band>();
                add_side(before_masks + i, sides_of.left, true);
                if (sides_of.right != 0) {
                    add_side(before_masks + i, sides_of.right, false);
                }
            } else {
                only_windows = only_windows && masks[i].is_measured();
            }
        }
        for (const modality in : {modality::text, modality::vision, modality::audio}) {
            has[static_cast<std::size_t>(in)] = like.masks().has(in);
        }
    }

    /// True where eight lengths at a time are enough: all masks are windows, of few sides.
    [[nodiscard]] bool is_plain() const { return only_windows && side_count <= max_sides; }

    /// The number of words that one modality adds to: its fixed ones, and after them all masks, some of which may be of
    /// other modalities.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t columns() const { return fixed + mask_count; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t word_of(modality in, std::uint32_t column) const {
        return column < fixed ? static_cast<std::uint32_t>(in) * fixed + column : before_masks + column - fixed;
    }
    /// The number of words of one view.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t stride() const { return before_masks + mask_count; }
    /// The number of words of both views.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t size() const { return 2 * stride(); }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool has_tower(modality in) const { return has[static_cast<std::size_t>(in)]; }
    /// True where a word counts units of that modality.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool is_of(modality in, std::uint32_t word) const {
        return word < before_masks ? word / tally_words::fixed == static_cast<std::uint32_t>(in)
                                   : masks[word - before_masks].in() == in;
    }

  private:
    /// Adds a side of `width` keys; of all keys where that is below 0.
    void add_side(std::uint32_t word, std::int32_t width, bool is_left) {
        const std::uint32_t keys = width < 0 ? ~std::uint32_t{0} : static_cast<std::uint32_t>(width);
        if (side_count < max_sides) {
            const std::uint32_t plain_keys = std::min(keys, plain_limit);
            sides[side_count] = {word, keys, plain_keys, 1 - 2 * static_cast<std::int32_t>(plain_keys), is_left};
        }
        ++side_count;
    }
};

/// The record of refusals, which follows the words of both views.
[[nodiscard]] inline FLOPTALLY_HOST_DEVICE refusal_record* record_after(const word_schema& schema,
                                                                        std::uint64_t* words) {
    return reinterpret_cast<refusal_record*>(words + schema.size());
}

/// The arguments of a kernel that adds a list.
template <class List>
struct list_arguments {
    List list;
    word_schema schema;
    std::uint64_t* words;
    std::uint32_t call;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE refusal_record* refusals() const { return record_after(schema, words); }
};

/// True where a rule counts such samples.
template <class Rule, class Unit>
inline constexpr bool counts_unit = counts<Rule, Unit>;
template <class Rule>
inline constexpr bool counts_unit<Rule, grid> = counts_grids<Rule>;
template <class Rule>
inline constexpr bool counts_unit<Rule, audio_clip> = counts_clips<Rule>;

/// Sets `sum` to the amount that a rule counts of a sample, in a kernel, as `rule::amount` computes it; returns false
/// where the rule counts no such sample.
template <class Rule, class Unit>
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool amount_of_rule(const Rule& made, const Unit& unit, uint128& sum) {
    if constexpr (counts<Rule, Unit>) {
        sum = made(unit);
    } else if constexpr (std::is_same_v<Unit, grid> && counts_frame<Rule>) {
        sum = uint128{unit.t} * made.of_frame(unit);
    } else if constexpr (std::is_same_v<Unit, grid> && counts_unit<Rule, Unit>) {
        sum = uint128{unit.t} * made(sequence_of_frame(unit));
    } else if constexpr (counts_unit<Rule, Unit>) {
        sum = made(sequence{unit.frames});
    }
    return counts_unit<Rule, Unit>;
}

/// True where a tally can have a word to which the rule adds such samples: not where the sum follows from the moments
/// whatever the rule's parameters, nor where the word is always that of another rule. Kernels have no code for the
/// rest.
template <class Rule, class Unit>
inline constexpr bool adds_to_words = [] {
    if constexpr (requires(const Rule& made) { made.canonical(); }) {
        if (!std::is_same_v<std::remove_cv_t<decltype(std::declval<const Rule&>().canonical())>, Rule>) {
            return false;
        }
    }
    if constexpr (std::is_empty_v<Rule> && requires(const Rule& made) { made.moments(); }) {
        if (Rule{}.moments().exists) {
            return false;
        }
    }
    return counts_unit<Rule, Unit>;
}();

/// Calls `apply` with the struct of a rule where the list has it; else returns false. A device cannot use the rule's
/// own table of functions, which are the host's.
template <class Apply, class... Rules>
FLOPTALLY_HOST_DEVICE constexpr bool with_struct_of(const rule& what, rule_list<Rules...> /*list*/,
                                                    const Apply& apply) {
    return ((what.id() == id_of<Rules> && (apply(rule_from<Rules>(what.parameters())), true)) || ...);
}

/// True where no two rules of a list share the number by which a kernel tells them apart.
template <class... Rules>
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool numbers_differ(rule_list<Rules...> /*list*/) {
    const auto with_number = [](std::uint32_t number) { return ((id_of<Rules> == number ? 1 : 0) + ...); };
    return ((with_number(id_of<Rules>) == 1) && ...);
}

/// Throws where a tally has a word whose rule the kernels were not compiled with.
template <class... Rules>
void require_known(const mask_set& masks, rule_list<Rules...> list,
                   const char* problem =
                       "these kernels were compiled without this rule: use a basic_device_tally of "
                       "library_rules::with<…>") {
    static_assert(numbers_differ(list),
                  "two rules of the list have the same name, or names of the same number: rename your own");
    for (const rule& counted : masks) {
        if (!(counted.is<Rules>() || ...)) {
            throw error(counted.name(), problem);
        }
    }
}

/// True where a rule, or one of a list, can have a problem with a unit.
template <class Rule, class Unit>
inline constexpr bool has_problems = requires(const Rule& made, const Unit& unit) {
    made.problem_of(unit);
};
template <class... Rules, class Unit>
inline constexpr bool has_problems<rule_list<Rules...>, Unit> = (has_problems<Rules, Unit> || ...);

/// Sets `sum` to the amount that a unit adds to a word of its modality; returns false where the word's rule cannot
/// count the unit.
template <class List, class Unit>
[[nodiscard]] FLOPTALLY_HOST_DEVICE bool take_amount(const word_schema& schema, std::uint32_t word, const Unit& unit,
                                                     uint128& sum) {
    if (word < schema.before_masks) {
        sum = amount_of(static_cast<statistic>(word % tally_words::fixed), unit);
        return true;
    }
    bool counted = true;
    with_struct_of(schema.masks[word - schema.before_masks], List{}, [&]<class Rule>(const Rule& made) {
        if constexpr (has_problems<Rule, Unit>) {
            counted = made.problem_of(unit) == grid_problem::none;
        }
        if constexpr (adds_to_words<Rule, Unit>) {
            static_cast<void>(amount_of_rule(made, unit, sum));
        }
    });
    return counted;
}

/// Calls `take(column, seen, word, sum)` with what a unit and its slot add to every word of their modality, from column
/// `first` on to each, or to one in `step`; of view `seen`, 0 useful or 1 padded. Returns false and calls nothing where
/// a rule cannot count them: the same text asks first and then adds, since rules have much of it.
template <class List, class Unit, class Take>
[[nodiscard]] FLOPTALLY_HOST_DEVICE bool take_amounts(const word_schema& schema, const Unit& real, const Unit& slot,
                                                      const Take& take, std::uint32_t first = 0,
                                                      std::uint32_t step = 1) {
    const std::uint32_t columns = schema.columns();
    FLOPTALLY_ROLLED
    for (std::uint32_t at = first + (has_problems<List, Unit> ? 0 : 2 * columns); at < 4 * columns; at += step) {
        const bool adds = at >= 2 * columns;
        const std::uint32_t column = adds ? at - 2 * columns : at;
        const std::uint32_t seen = column < columns ? 0 : 1;
        const std::uint32_t word = schema.word_of(modality_of(real), column - seen * columns);
        if (adds && !schema.is_of(modality_of(real), word)) {
            continue;
        }
        Unit unit = real;  // by value: an address that depends on `seen` would be one of local memory
        if (seen != 0) {
            unit = slot;
        }
        uint128 sum = 0;
        if (!take_amount<List>(schema, word, unit, sum) && !adds) {
            return false;
        }
        if (adds) {
            take(column, seen, word, sum);
        }
    }
    return true;
}

}  // namespace floptally::detail
