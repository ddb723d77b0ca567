// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <floptally/bytes/detail/batch_units.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_entry.hpp>
#include <floptally/descriptors/sharding.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/statistics/statistic.hpp>

/// @file
/// Counts the elements that one part of a model reads and writes for a batch. The numbers follow from the part's
/// entries: the widths of their matrices, and the values that they read and write.

namespace floptally::inline v0_3::detail {

/// A number of elements; empty if the entries of a model part do not determine it.
using elements = std::optional<std::uint64_t>;

/// Returns the sum of two numbers of elements; empty if one of them is unknown.
[[nodiscard]] inline elements sum_of(const elements& a, const elements& b) {
    return a && b ? elements(checked(*a, "bytes") + *b) : elements();
}

/// Counts the elements that one part of a model reads and writes.
class moved_elements {
  public:
    moved_elements(const cost& part, const batch_units& units) : part_(part), units_(units) {}

    [[nodiscard]] static bool is_matrix(const cost_entry& entry) {
        return meaning_of(entry.kind).operands == term_operands::matrix;
    }
    [[nodiscard]] static bool is_state(const cost_entry& entry) {
        return entry.kind == term::state || entry.kind == term::delta_rule || entry.kind == term::scan;
    }
    [[nodiscard]] static bool is_core(const cost_entry& entry) {
        return entry.kind == term::scores || entry.kind == term::values;
    }

    /// Returns the number of activations that an entry reads: the input of a matrix, or both inputs of a product of
    /// activations.
    [[nodiscard]] elements read(const cost_entry& entry) const {
        if (is_matrix(entry) && entry.per_rank.in != 0) {
            return times(entry.per_rank.in / 2, entry);
        }
        const auto from = static_cast<value::set>(entry.flow.reads | entry.flow.also_reads);
        return from == 0 ? elements() : value_elements(from);
    }

    /// Returns the number of activations that an entry writes.
    [[nodiscard]] elements written(const cost_entry& entry) const {
        if (is_matrix(entry) && entry.per_rank.in != 0) {
            return times(entry.per_rank.padded_out / 2, entry);
        }
        return entry.flow.writes == 0 ? elements() : written_without_width(entry);
    }

    /// The values that a component's attention core reads and writes. All entries of the core are one kernel.
    struct core {
        value::set q = 0;
        value::set k = 0;
        value::set v = 0;
        value::set writes = 0;
        std::uint64_t scores = 0;         ///< size of one token's queries: query heads x width of keys
        std::uint64_t values = 0;         ///< size of one token's result: query heads x width of values
        const statistic* over = nullptr;  ///< the mask of the core's pairs; null unless the core attends over text
    };
    [[nodiscard]] core core_of(std::uint32_t component) const {
        core kernel;
        for (const cost_entry& entry : part_.entries()) {
            if (entry.component == component && entry.kind == term::scores) {
                kernel.q |= entry.flow.reads;
                kernel.k |= entry.flow.also_reads;
                kernel.v |= entry.flow.fused_with;
                if (entry.what == accumulator::pairs) {
                    kernel.scores = entry.padded / 2;
                    kernel.over = entry.in == modality::text ? &part_.masks()[entry.mask] : nullptr;
                }
            }
            if (entry.component == component && entry.kind == term::values) {
                kernel.v |= entry.flow.also_reads;
                kernel.writes |= entry.flow.writes;
                kernel.values = entry.what == accumulator::pairs ? entry.padded / 2 : kernel.values;
            }
        }
        // This set has the values (V), but it may contain queries too. Queries that are not also keys are removed from
        // it.
        kernel.v = static_cast<value::set>(kernel.v & ~(kernel.q & ~kernel.k));
        return kernel;
    }

    /// Returns the number of elements of queries, keys and values that a core reads, each once.
    [[nodiscard]] elements core_operands(const core& kernel) const {
        const auto keys = static_cast<value::set>(kernel.k | kernel.v);
        const auto only_q = static_cast<value::set>(kernel.q & ~keys);
        if (kernel.q == 0 || keys == 0) {  // The number of key and value heads is unknown. The number of query heads is
                                           // used as an upper bound.
            is_bound_ = true;
            return sum_of(of_text(kernel.scores, kernel, false), core_keys(kernel));
        }
        const cost_entry* const queries = made_in_steps(kernel.q) ? maker(kernel.q) : nullptr;
        const elements query_elements = queries != nullptr ? of_each_unit(kernel.scores, *queries)
                                        : only_q == 0      ? elements(0)
                                                           : value_elements(only_q);
        return sum_of(query_elements, core_keys(kernel));
    }

    /// Returns the number of elements of keys and values that a core reads. If one value holds keys and queries
    /// together, all its elements count.
    [[nodiscard]] elements core_keys(const core& kernel) const {
        const auto keys = static_cast<value::set>(kernel.k | kernel.v);
        if (kernel.q == 0 || keys == 0) {
            return of_text(checked(kernel.scores, "bytes") + kernel.values, kernel, true);
        }
        const cost_entry* const expanded = maker_of_last_step(keys);
        return expanded != nullptr ? of_each_unit(checked(kernel.scores, "bytes") + kernel.values, *expanded)
                                   : value_elements(keys);
    }

    /// Returns the number of elements of a core's result: the width of its heads for each query. If that width is
    /// unknown, it is the input width of the matrix that reads the result.
    [[nodiscard]] elements core_result(const core& kernel) const {
        const cost_entry* const queries = kernel.values == 0 ? nullptr : maker(kernel.q);
        if (queries != nullptr) {
            return of_each_unit(kernel.values, *queries);
        }
        const elements read = kernel.writes == 0 ? elements() : read_from(kernel.writes);
        return read ? read : of_text(kernel.values, kernel, false);
    }

    /// Returns the number of elements that the cache keeps for each past key. If keys and values are expanded from a
    /// latent (MLA), the cache keeps only the latent. If the part does not say which entry produces its keys, as many
    /// key heads as query heads are assumed, which is an upper bound.
    [[nodiscard]] std::uint64_t cached_per_key(const cost_entry& scores) const {
        const bool is_indexer = scores.kind == term::index_scores;  // an indexer caches its own keys and no values
        const core kernel = is_indexer ? core{.q = scores.flow.reads} : core_of(scores.component);
        value::set keys = scores.flow.also_reads;
        for (const cost_entry& entry : part_.entries()) {
            const bool is_of_values = entry.kind == term::values && entry.component == scores.component && !is_indexer;
            keys |= is_of_values && entry.what == scores.what && entry.mask == scores.mask ? entry.flow.also_reads
                                                                                           : value::set{0};
        }
        const std::uint64_t all_heads = checked(kernel.scores, "bytes") + kernel.values;
        std::uint64_t sum = 0;
        std::uint64_t latent = 0;  // elements of a latent that an earlier layer computes
        for (const cost_entry& entry : part_.entries()) {
            if (!is_matrix(entry) || (entry.flow.writes & keys) == 0 || entry.what == accumulator::count) {
                continue;
            }
            const std::uint64_t out = entry.per_rank.padded_out / 2;
            if ((entry.flow.reads & keys) != 0) {
                latent = entry.per_rank.in / 2;
            } else if ((entry.flow.writes & kernel.q) == 0) {
                sum = checked(sum, "bytes") + out;
            } else if (entry.sharding.by == sharding_kind::fused_qkv) {
                const std::uint64_t kv = 2 * entry.sharding.inner;
                sum = checked(sum, "bytes") + out / (entry.sharding.units + kv) * kv;
            } else {
                return all_heads;
            }
        }
        is_bound_ = is_bound_ || (sum == 0 && latent == 0);
        return sum != 0 ? sum : latent != 0 ? latent : all_heads;
    }

    /// Returns true if a number returned since the previous call of this function is an upper bound.
    [[nodiscard]] bool took_bound() const { return std::exchange(is_bound_, false); }

  private:
    /// Returns `width` times the number of queries of an attention core over text. With `of_keys` it returns `width`
    /// times the number of keys.
    [[nodiscard]] elements of_text(std::uint64_t width, const core& kernel, bool of_keys) const {
        if (kernel.over == nullptr || width == 0) {
            return {};
        }
        const bool other_side = kernel.over->is_of_other_side() || (of_keys && kernel.over->reads_other_side());
        return times(width, cost_entry{.what = other_side ? accumulator::keys : accumulator::tokens});
    }

    [[nodiscard]] elements times(std::uint64_t width, const cost_entry& entry) const {
        return checked(width, "bytes") * units_.count(part_, entry);
    }

    /// Returns `width` times the number of tokens, patches or other vectors to which a matrix is applied. Prefix tokens
    /// have a second entry with the same weight. The width of that entry is already multiplied by the number of prefix
    /// tokens.
    [[nodiscard]] elements of_each_unit(std::uint64_t width, const cost_entry& matrix) const {
        checked units(0, "bytes");
        for (const cost_entry& entry : part_.entries()) {
            if (entry.component == matrix.component && entry.weight == matrix.weight && entry.kind == matrix.kind &&
                entry.flow == matrix.flow) {
                const std::uint64_t times = matrix.per_rank.out == 0 ? 1 : entry.per_rank.out / matrix.per_rank.out;
                units += checked(times, "bytes") * units_.count(part_, entry);
            }
        }
        return width * units;
    }

    /// Returns how many elements a set of values has. The size follows from the entries that produce the values. For
    /// values that enter the part, it follows from a matrix that reads them.
    [[nodiscard]] elements value_elements(value::set values) const {
        elements sum = 0;
        value::set found = 0;
        for (const cost_entry& entry : part_.entries()) {
            if ((entry.flow.writes & values) != 0 && (is_matrix(entry) || is_state(entry))) {
                found |= entry.flow.writes;
                sum = sum_of(sum, written(entry));
            }
        }
        for (const value::set input : {value::stream, value::context, value::time}) {
            if ((values & input) != 0 && (found & input) == 0) {
                found |= input;
                sum = sum_of(sum, read_from(input));
            }
        }
        return (values & ~found) == 0 ? sum : core_written(static_cast<value::set>(values & ~found), sum);
    }

    /// Returns `before` plus the elements of an attention core's result, if the core produces these values. Empty if no
    /// attention core produces them.
    [[nodiscard]] elements core_written(value::set values, const elements& before) const {
        for (const cost_entry& entry : part_.entries()) {
            if (entry.kind == term::values && (entry.flow.writes & values) == values) {
                const core kernel = core_of(entry.component);
                const cost_entry* const queries = maker(kernel.q);
                return queries == nullptr ? elements() : sum_of(before, of_each_unit(kernel.values, *queries));
            }
        }
        return {};
    }

    /// Returns the number of elements that an entry of unknown width writes. This is the number that the next entry
    /// reads, or the number of elements of an attention core's queries. If neither is known, the number of elements
    /// that the entry reads is an upper bound.
    [[nodiscard]] elements written_without_width(const cost_entry& entry) const {
        if (const elements read = read_from(entry.flow.writes)) {
            return read;
        }
        for (const cost_entry& scores : part_.entries()) {
            if (scores.kind == term::scores && (scores.flow.reads & entry.flow.writes) != 0) {
                return times(core_of(scores.component).scores, entry);
            }
        }
        if (entry.flow.reads == 0 || (entry.flow.reads & entry.flow.writes) != 0 || depth_ > 8) {
            return {};
        }
        is_bound_ = true;
        ++depth_;
        const elements read = value_elements(static_cast<value::set>(entry.flow.reads | entry.flow.also_reads));
        --depth_;
        return read;
    }

    /// Returns the number of elements of a value: the input size of the first matrix with known widths that reads it.
    [[nodiscard]] elements read_from(value::set values) const {
        const cost_entry* reader = nullptr;
        elements sum;
        for (const cost_entry& entry : part_.entries()) {
            const bool reads = is_matrix(entry) && entry.per_rank.in != 0 && (entry.flow.reads & values) != 0;
            if (reads &&
                (reader == nullptr || (entry.component == reader->component && entry.weight == reader->weight))) {
                // A second entry of the same weight applies the same matrix to other tokens.
                sum = checked(sum.value_or(0), "bytes") + *times(entry.per_rank.in / 2, entry);
                reader = &entry;
            }
        }
        return sum;
    }

    [[nodiscard]] const cost_entry* maker(value::set values) const {
        for (const cost_entry& entry : part_.entries()) {
            if (is_matrix(entry) && (entry.flow.writes & values) != 0) {
                return &entry;
            }
        }
        return nullptr;
    }
    /// Returns true if one of these values is computed from another of them. For example, keys are expanded from a
    /// latent.
    [[nodiscard]] bool made_in_steps(value::set values) const { return maker_of_last_step(values) != nullptr; }
    [[nodiscard]] const cost_entry* maker_of_last_step(value::set values) const {
        for (const cost_entry& entry : part_.entries()) {
            if (is_matrix(entry) && (entry.flow.writes & values) != 0 && (entry.flow.reads & values) != 0) {
                return &entry;
            }
        }
        return nullptr;
    }

    const cost& part_;
    const batch_units& units_;
    mutable bool is_bound_ = false;
    mutable int depth_ = 0;
};

/// The hidden states that a part reads.
struct hidden_states {
    const cost_entry* reader = nullptr;  ///< the first matrix product with them; null if none has a known width
    std::uint64_t elements = 0;          ///< of all tokens

    /// Returns the elements of one rank if `ranks` share the tokens.
    [[nodiscard]] std::uint64_t of_rank(std::uint64_t ranks) const {
        return elements / ranks + (elements % ranks != 0 ? 1 : 0);
    }
};
[[nodiscard]] inline hidden_states states_read_by(const cost& part, const batch_units& units) {
    for (const cost_entry& entry : part.entries()) {
        if (moved_elements::is_matrix(entry) && entry.flow.reads == value::stream && entry.per_rank.padded_out != 0 &&
            entry.what == accumulator::tokens) {
            return {&entry, checked(entry.padded / entry.per_rank.padded_out, "bytes") * units.count(part, entry)};
        }
    }
    return {};
}

}  // namespace floptally::detail
