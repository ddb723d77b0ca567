// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include <floptally/batch/tally.hpp>
#include <floptally/batch/tally_accumulators.hpp>
#include <floptally/cuda/detail/refusals.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/integer/host_device.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/library_statistics.hpp>
#include <floptally/statistics/mask_set.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/sequence.hpp>
#include <floptally/statistics/sequence_masks.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/statistics/statistic_table.hpp>
#include <floptally/statistics/statistic_type.hpp>
#include <floptally/text/error.hpp>

namespace floptally::inline v0_3::detail {

/// The limit for lengths that kernels add eight at a time. Below it, the squares of eight lengths stay far below 2^64,
/// and the sum of eight lengths stays below 2^32. For such lengths, a window wider than the limit excludes no key.
inline constexpr std::uint32_t plain_limit = std::uint32_t{1} << 24U;

/// One side (left or right of the query) of a window (`mask_statistics::band`). Kernels that add eight lengths at a
/// time compute one sum for each side. On a side a query attends to at most `keys` keys. The left side also counts the
/// query itself.
struct window_side {
    std::uint32_t accumulator;  ///< index of the side's accumulator within a view
    std::uint32_t keys;         ///< number of keys on this side; 2^32 − 1: no limit
    std::uint32_t plain_keys;   ///< the smaller of `keys` and `plain_limit`
    std::int32_t factor;        ///< 1 − 2·plain_keys; kernels compute n² + factor·n for n keys
    bool is_left;
};

/// The order of a tally's accumulators: which accumulator counts which moment or mask. It is passed to kernels by
/// value.
struct accumulator_schema {
    /// The largest number of masks of a device tally. With this many masks the sums of `add_samples` fill the shared
    /// memory of a block. The limit also keeps the schema small enough to be passed to kernels by value. A refusal
    /// record has 64 bits, one for each accumulator.
    static constexpr std::size_t max_masks = 17;
    static constexpr std::size_t max_sides = 4;
    static constexpr std::uint32_t fixed =
        tally_accumulators::fixed;  ///< number of accumulators of each modality that belong to no mask
    static constexpr std::size_t most = tally_accumulators::fixed * modality_count + max_masks;
    static_assert(most <= 64);

    statistic masks[max_masks];      ///< the masks that have an accumulator of their own
    window_side sides[max_sides]{};  ///< sides of the windows; valid if `side_count` is at most `max_sides`
    std::uint32_t side_count = 0;
    bool only_windows = true;  ///< true if all text masks are windows or measured statistics
    std::uint32_t mask_count = 0;
    std::uint32_t before_masks = 0;
    bool has[modality_count]{};

    accumulator_schema() = default;
    explicit accumulator_schema(const mask_set& model_masks) {
        const tally empty{model_masks};
        if (empty.masks().size() > max_masks) {
            refuse("masks", {"this model needs accumulators for ", empty.masks().size(),
                             " masks, and a device's tally has room for ", max_masks, ": count it on the host"});
        }
        mask_count = static_cast<std::uint32_t>(empty.masks().size());
        before_masks = static_cast<std::uint32_t>(tally_accumulators::before_masks(empty.masks()));
        for (std::uint32_t i = 0; i < mask_count; ++i) {
            masks[i] = empty.masks()[i];
            if (masks[i].in() != modality::text) {
                continue;
            }
            if (masks[i].is<mask_statistics::band>()) {
                const auto window = masks[i].as<mask_statistics::band>();
                add_side(before_masks + i, window.left, true);
                if (window.right != 0) {
                    add_side(before_masks + i, window.right, false);
                }
            } else {
                only_windows = only_windows && masks[i].is_measured();
            }
        }
        for (const modality stream : {modality::text, modality::vision, modality::audio}) {
            has[static_cast<std::size_t>(stream)] = empty.masks().has(stream);
        }
    }

    /// Returns true if kernels can add eight lengths at a time: all masks are windows, with at most `max_sides` sides
    /// together.
    [[nodiscard]] bool is_plain() const { return only_windows && side_count <= max_sides; }

    /// Returns the number of accumulators of one modality in one view: the fixed accumulators, and one for each mask.
    /// Masks of other modalities are included.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t columns() const { return fixed + mask_count; }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t accumulator_of(modality in, std::uint32_t column) const {
        return column < fixed ? static_cast<std::uint32_t>(in) * fixed + column : before_masks + column - fixed;
    }
    /// Returns the number of accumulators of one view.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t stride() const { return before_masks + mask_count; }
    /// Returns the number of accumulators of both views (useful, padded) together.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE std::uint32_t size() const { return 2 * stride(); }
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool has_tower(modality in) const { return has[static_cast<std::size_t>(in)]; }
    /// Returns true if an accumulator counts samples of a modality.
    [[nodiscard]] FLOPTALLY_HOST_DEVICE bool is_of(modality in, std::uint32_t index) const {
        return index < before_masks ? index / tally_accumulators::fixed == static_cast<std::uint32_t>(in)
                                    : masks[index - before_masks].in() == in;
    }

  private:
    /// Adds one side of a window with `width` keys; −1 means no limit.
    void add_side(std::uint32_t index, std::int32_t width, bool is_left) {
        const std::uint32_t keys = width < 0 ? ~std::uint32_t{0} : static_cast<std::uint32_t>(width);
        if (side_count < max_sides) {
            const std::uint32_t plain_keys = std::min(keys, plain_limit);
            sides[side_count] = {index, keys, plain_keys, 1 - 2 * static_cast<std::int32_t>(plain_keys), is_left};
        }
        ++side_count;
    }
};

/// Returns the record of refused samples. In device memory the record follows the accumulators of both views.
[[nodiscard]] inline FLOPTALLY_HOST_DEVICE refusal_record* record_after(const accumulator_schema& schema,
                                                                        std::uint64_t* accumulators) {
    return reinterpret_cast<refusal_record*>(accumulators + schema.size());
}

/// The arguments of a kernel that adds the samples of a list.
template <class List>
struct list_arguments {
    List list;
    accumulator_schema schema;
    std::uint64_t* accumulators;
    std::uint32_t call;

    [[nodiscard]] FLOPTALLY_HOST_DEVICE refusal_record* refusals() const { return record_after(schema, accumulators); }
};

/// True if a statistic can count samples of type `Unit`.
template <class Statistic, class Unit>
inline constexpr bool counts_unit = counts<Statistic, Unit>;
template <class Statistic>
inline constexpr bool counts_unit<Statistic, grid> = counts_grids<Statistic>;
template <class Statistic>
inline constexpr bool counts_unit<Statistic, audio_clip> = counts_clips<Statistic>;

/// Sets `sum` to the amount that a statistic counts for a sample, like `statistic::amount`, but in a kernel. Returns
/// false if the statistic cannot count samples of this type.
template <class Statistic, class Unit>
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool amount_of_statistic(const Statistic& value, const Unit& unit,
                                                                       uint128& sum) {
    if constexpr (counts<Statistic, Unit>) {
        sum = value(unit);
    } else if constexpr (std::is_same_v<Unit, grid> && counts_frame<Statistic>) {
        sum = uint128{unit.t} * value.of_frame(unit);
    } else if constexpr (std::is_same_v<Unit, grid> && counts_unit<Statistic, Unit>) {
        sum = uint128{unit.t} * value(sequence_of_frame(unit));
    } else if constexpr (counts_unit<Statistic, Unit>) {
        sum = value(sequence{unit.frames});
    }
    return counts_unit<Statistic, Unit>;
}

/// True if a tally can have an accumulator for this statistic of samples of type `Unit`. There is no such accumulator
/// if the statistic is always a sum of moments, or if it always equals another statistic. Kernels have no code for such
/// statistics.
template <class Statistic, class Unit>
inline constexpr bool adds_to_accumulators = [] {
    if constexpr (requires(const Statistic& value) { value.canonical(); }) {
        if (!std::is_same_v<std::remove_cv_t<decltype(std::declval<const Statistic&>().canonical())>, Statistic>) {
            return false;
        }
    }
    if constexpr (std::is_empty_v<Statistic> && requires(const Statistic& value) { value.moments(); }) {
        if (Statistic{}.moments().exists) {
            return false;
        }
    }
    return counts_unit<Statistic, Unit>;
}();

/// Finds a statistic in the list and calls `apply` with the statistic's struct. Returns false if the list lacks the
/// statistic. (A kernel cannot use a statistic's function table, because the table holds host functions.)
template <class Apply, class... Statistics>
FLOPTALLY_HOST_DEVICE constexpr bool with_struct_of(const statistic& which, statistic_list<Statistics...> /*list*/,
                                                    const Apply& apply) {
    return ((which.id() == id_of<Statistics> && (apply(statistic_from<Statistics>(which.parameters())), true)) || ...);
}

/// Returns true if the ids of all statistics in a list differ. Kernels identify statistics by their ids.
template <class... Statistics>
[[nodiscard]] FLOPTALLY_HOST_DEVICE constexpr bool numbers_differ(statistic_list<Statistics...> /*list*/) {
    const auto with_number = [](std::uint32_t number) { return ((id_of<Statistics> == number ? 1 : 0) + ...); };
    return ((with_number(id_of<Statistics>) == 1) && ...);
}

/// Throws `error` if a tally has an accumulator for a statistic that the kernels were not compiled with.
template <class... Statistics>
void require_known(const mask_set& masks, statistic_list<Statistics...> list,
                   const char* problem =
                       "these kernels were compiled without this statistic: use a basic_device_tally of "
                       "library_statistics::with<…>") {
    static_assert(numbers_differ(list),
                  "two statistics of the list have the same name, or names with the same hash: rename your own");
    for (const statistic& known : masks) {
        if (!(known.is<Statistics>() || ...)) {
            throw error(known.name(), problem);
        }
    }
}

/// True if a statistic cannot count some samples of type `Unit`. For a list: true if this holds for any statistic in
/// it.
template <class Statistic, class Unit>
inline constexpr bool has_problems = requires(const Statistic& value, const Unit& unit) {
    value.problem_of(unit);
};
template <class... Statistics, class Unit>
inline constexpr bool has_problems<statistic_list<Statistics...>, Unit> = (has_problems<Statistics, Unit> || ...);

/// Sets `sum` to the amount that a sample adds to an accumulator of its modality. Returns false if the accumulator's
/// statistic cannot count the sample.
template <class List, class Unit>
[[nodiscard]] FLOPTALLY_HOST_DEVICE bool take_amount(const accumulator_schema& schema, std::uint32_t index,
                                                     const Unit& unit, uint128& sum) {
    if (index < schema.before_masks) {
        sum = amount_of(static_cast<accumulator>(index % tally_accumulators::fixed), unit);
        return true;
    }
    bool counted = true;
    with_struct_of(schema.masks[index - schema.before_masks], List{}, [&]<class Statistic>(const Statistic& value) {
        if constexpr (has_problems<Statistic, Unit>) {
            counted = value.problem_of(unit) == grid_problem::none;
        }
        if constexpr (adds_to_accumulators<Statistic, Unit>) {
            static_cast<void>(amount_of_statistic(value, unit, sum));
        }
    });
    return counted;
}

/// Computes the amounts that a sample (view 0, useful) and its slot (view 1, padded) add to the accumulators of their
/// modality. Calls `take(column, view_index, accumulator, sum)` for the columns `first`, `first + step`, … If a
/// statistic cannot count the sample, the function returns false without calling `take`. The same loop first checks and
/// then adds. This keeps the kernel small, because the loop contains the code of all statistics.
template <class List, class Unit, class Take>
[[nodiscard]] FLOPTALLY_HOST_DEVICE bool take_amounts(const accumulator_schema& schema, const Unit& real,
                                                      const Unit& slot, const Take& take, std::uint32_t first = 0,
                                                      std::uint32_t step = 1) {
    const std::uint32_t columns = schema.columns();
    FLOPTALLY_ROLLED
    for (std::uint32_t step_index = first + (has_problems<List, Unit> ? 0 : 2 * columns); step_index < 4 * columns;
         step_index += step) {
        const bool adds = step_index >= 2 * columns;
        const std::uint32_t column = adds ? step_index - 2 * columns : step_index;
        const std::uint32_t view_index = column < columns ? 0 : 1;
        const std::uint32_t index = schema.accumulator_of(modality_of(real), column - view_index * columns);
        if (adds && !schema.is_of(modality_of(real), index)) {
            continue;
        }
        Unit unit = real;  // The sample is copied. If its address depended on `view_index`, the compiler would move
                           // both samples to slow local memory.
        if (view_index != 0) {
            unit = slot;
        }
        uint128 sum = 0;
        if (!take_amount<List>(schema, index, unit, sum) && !adds) {
            return false;
        }
        if (adds) {
            take(column, view_index, index, sum);
        }
    }
    return true;
}

}  // namespace floptally::detail
