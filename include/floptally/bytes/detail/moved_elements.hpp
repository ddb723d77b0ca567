// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include <floptally/bytes/detail/batch_units.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_row.hpp>
#include <floptally/descriptors/dealing.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/statistic.hpp>

/// @file
/// The elements that the products of one part read and write for a batch, from what its rows say: the widths of their
/// matrices and which values they read and make.

namespace floptally::detail {

/// A number of elements, where the rows say it.
using elements = std::optional<std::uint64_t>;

[[nodiscard]] inline elements sum_of(const elements& a, const elements& b) {
    return a && b ? elements(checked(*a, "bytes") + *b) : elements();
}

/// The elements that the rows of one part move.
class moved_elements {
  public:
    moved_elements(const cost& part, const batch_units& units) : part_(part), units_(units) {}

    [[nodiscard]] static bool is_matrix(const cost_row& row) {
        return meaning_of(row.kind).operands == term_operands::matrix;
    }
    [[nodiscard]] static bool is_state(const cost_row& row) {
        return row.kind == term::state || row.kind == term::delta_rule || row.kind == term::scan;
    }
    [[nodiscard]] static bool is_core(const cost_row& row) {
        return row.kind == term::scores || row.kind == term::values;
    }

    /// The activations that a row reads: the operand of a matrix, or both operands of a product of activations.
    [[nodiscard]] elements read(const cost_row& row) const {
        if (is_matrix(row) && row.per_rank.in != 0) {
            return times(row.per_rank.in / 2, row);
        }
        const auto from = static_cast<value::set>(row.flow.reads | row.flow.also_reads);
        return from == 0 ? elements() : value_elements(from);
    }

    /// The activations that a row writes.
    [[nodiscard]] elements written(const cost_row& row) const {
        if (is_matrix(row) && row.per_rank.in != 0) {
            return times(row.per_rank.padded_out / 2, row);
        }
        return row.flow.writes == 0 ? elements() : width_of_unsaid(row);
    }

    /// The values of a component's attention core, all of whose rows are one kernel.
    struct core {
        value::set q = 0;
        value::set k = 0;
        value::set v = 0;
        value::set writes = 0;
        std::uint64_t scores = 0;    ///< of the rows over pairs: query heads times width, of keys
        std::uint64_t values = 0;    ///< likewise of values
        const rule* over = nullptr;  ///< the mask of those pairs, where they are of the text
    };
    [[nodiscard]] core core_of(std::uint32_t component) const {
        core all;
        for (const cost_row& row : part_.rows()) {
            if (row.component == component && row.kind == term::scores) {
                all.q |= row.flow.reads;
                all.k |= row.flow.also_reads;
                all.v |= row.flow.fused_with;
                if (row.what == statistic::pairs) {
                    all.scores = row.padded / 2;
                    all.over = row.in == modality::text ? &part_.masks()[row.mask] : nullptr;
                }
            }
            if (row.component == component && row.kind == term::values) {
                all.v |= row.flow.also_reads;
                all.writes |= row.flow.writes;
                all.values = row.what == statistic::pairs ? row.padded / 2 : all.values;
            }
        }
        all.v = static_cast<value::set>(all.v & ~(all.q & ~all.k));  // a kernel that is fused with its queries
        return all;
    }

    /// Queries, keys and values that a core reads, each once.
    [[nodiscard]] elements core_operands(const core& kernel) const {
        const auto keys = static_cast<value::set>(kernel.k | kernel.v);
        const auto only_q = static_cast<value::set>(kernel.q & ~keys);
        if (kernel.q == 0 || keys == 0) {  // nothing is said: as many heads of keys as of queries
            is_bound_ = true;
            return sum_of(of_text(kernel.scores, kernel, false), core_keys(kernel));
        }
        const cost_row* const queries = made_in_steps(kernel.q) ? maker(kernel.q) : nullptr;
        const elements asked = queries != nullptr ? of_each_unit(kernel.scores, *queries)
                               : only_q == 0      ? elements(0)
                                                  : value_elements(only_q);
        return sum_of(asked, core_keys(kernel));
    }

    /// The keys and values among them, where one value is not queries too.
    [[nodiscard]] elements core_keys(const core& kernel) const {
        const auto keys = static_cast<value::set>(kernel.k | kernel.v);
        if (kernel.q == 0 || keys == 0) {
            return of_text(checked(kernel.scores, "bytes") + kernel.values, kernel, true);
        }
        const cost_row* const expanded = maker_of_last_step(keys);
        return expanded != nullptr ? of_each_unit(checked(kernel.scores, "bytes") + kernel.values, *expanded)
                                   : value_elements(keys);
    }

    /// The result of a core: as wide as its heads for each query, else as its reader says.
    [[nodiscard]] elements core_result(const core& kernel) const {
        const cost_row* const queries = kernel.values == 0 ? nullptr : maker(kernel.q);
        if (queries != nullptr) {
            return of_each_unit(kernel.values, *queries);
        }
        const elements read = kernel.writes == 0 ? elements() : read_from(kernel.writes);
        return read ? read : of_text(kernel.values, kernel, false);
    }

    /// Elements that are kept of each key of the past: of keys and values that are expanded from a latent the latent
    /// alone. As many heads as queries have where the part does not say what makes its keys.
    [[nodiscard]] std::uint64_t cached_per_key(const cost_row& scores) const {
        const bool is_indexer = scores.kind == term::index_scores;  // which keeps keys of its own, and no values
        const core kernel = is_indexer ? core{.q = scores.flow.reads} : core_of(scores.component);
        value::set keys = scores.flow.also_reads;
        for (const cost_row& row : part_.rows()) {
            const bool beside = row.kind == term::values && row.component == scores.component && !is_indexer;
            keys |= beside && row.what == scores.what && row.mask == scores.mask ? row.flow.also_reads : value::set{0};
        }
        const std::uint64_t all_heads = checked(kernel.scores, "bytes") + kernel.values;
        std::uint64_t sum = 0;
        std::uint64_t latent = 0;  // which an earlier layer made
        for (const cost_row& row : part_.rows()) {
            if (!is_matrix(row) || (row.flow.writes & keys) == 0 || row.what == statistic::count) {
                continue;
            }
            const std::uint64_t out = row.per_rank.padded_out / 2;
            if ((row.flow.reads & keys) != 0) {
                latent = row.per_rank.in / 2;
            } else if ((row.flow.writes & kernel.q) == 0) {
                sum = checked(sum, "bytes") + out;
            } else if (row.dealt.by == tensor_split::fused_qkv) {
                const std::uint64_t kv = 2 * row.dealt.inner;
                sum = checked(sum, "bytes") + out / (row.dealt.units + kv) * kv;
            } else {
                return all_heads;
            }
        }
        is_bound_ = is_bound_ || (sum == 0 && latent == 0);
        return sum != 0 ? sum : latent != 0 ? latent : all_heads;
    }

    /// True where a number since the last call is a bound: there may be less.
    [[nodiscard]] bool took_bound() const { return std::exchange(is_bound_, false); }

  private:
    /// So many elements for each query, or key, of a core over the text.
    [[nodiscard]] elements of_text(std::uint64_t width, const core& kernel, bool of_keys) const {
        if (kernel.over == nullptr || width == 0) {
            return {};
        }
        const bool other_side = kernel.over->is_of_other_side() || (of_keys && kernel.over->reads_other_side());
        return times(width, cost_row{.what = other_side ? statistic::keys : statistic::tokens});
    }

    [[nodiscard]] elements times(std::uint64_t width, const cost_row& row) const {
        return checked(width, "bytes") * units_.of(part_, row);
    }

    /// So many elements for each unit that a matrix is applied to. Tokens in front of a sequence are rows of their own
    /// with the same weight, as many times as wide as there are such tokens.
    [[nodiscard]] elements of_each_unit(std::uint64_t width, const cost_row& matrix) const {
        checked units(0, "bytes");
        for (const cost_row& row : part_.rows()) {
            if (row.component == matrix.component && row.weight == matrix.weight && row.kind == matrix.kind &&
                row.flow == matrix.flow) {
                const std::uint64_t times = matrix.per_rank.out == 0 ? 1 : row.per_rank.out / matrix.per_rank.out;
                units += checked(times, "bytes") * units_.of(part_, row);
            }
        }
        return width * units;
    }

    /// A value as what makes it writes it; what enters the part, as a matrix reads it.
    [[nodiscard]] elements value_elements(value::set values) const {
        elements sum = 0;
        value::set found = 0;
        for (const cost_row& row : part_.rows()) {
            if ((row.flow.writes & values) != 0 && (is_matrix(row) || is_state(row))) {
                found |= row.flow.writes;
                sum = sum_of(sum, written(row));
            }
        }
        for (const value::set given : {value::stream, value::context, value::time}) {
            if ((values & given) != 0 && (found & given) == 0) {
                found |= given;
                sum = sum_of(sum, read_from(given));
            }
        }
        return (values & ~found) == 0 ? sum : core_written(static_cast<value::set>(values & ~found), sum);
    }

    /// The result of a core, for values that no matrix and no state makes.
    [[nodiscard]] elements core_written(value::set values, const elements& before) const {
        for (const cost_row& row : part_.rows()) {
            if (row.kind == term::values && (row.flow.writes & values) == values) {
                const core kernel = core_of(row.component);
                const cost_row* const queries = maker(kernel.q);
                return queries == nullptr ? elements() : sum_of(before, of_each_unit(kernel.values, *queries));
            }
        }
        return {};
    }

    /// The result of a row that does not say its sides: what the next one reads, as wide as a core's queries, or at
    /// most as much as it reads itself, as a convolution over channels does.
    [[nodiscard]] elements width_of_unsaid(const cost_row& row) const {
        if (const elements read = read_from(row.flow.writes)) {
            return read;
        }
        for (const cost_row& scores : part_.rows()) {
            if (scores.kind == term::scores && (scores.flow.reads & row.flow.writes) != 0) {
                return times(core_of(scores.component).scores, row);
            }
        }
        if (row.flow.reads == 0 || (row.flow.reads & row.flow.writes) != 0 || depth_ > 8) {
            return {};
        }
        is_bound_ = true;
        ++depth_;
        const elements read = value_elements(static_cast<value::set>(row.flow.reads | row.flow.also_reads));
        --depth_;
        return read;
    }

    /// A value as the first matrix that says its sides reads it.
    [[nodiscard]] elements read_from(value::set values) const {
        const cost_row* reader = nullptr;
        elements sum;
        for (const cost_row& row : part_.rows()) {
            const bool reads = is_matrix(row) && row.per_rank.in != 0 && (row.flow.reads & values) != 0;
            if (reads && (reader == nullptr || (row.component == reader->component && row.weight == reader->weight))) {
                // A second row of the same weight is the same matrix over other units.
                sum = checked(sum.value_or(0), "bytes") + *times(row.per_rank.in / 2, row);
                reader = &row;
            }
        }
        return sum;
    }

    [[nodiscard]] const cost_row* maker(value::set values) const {
        for (const cost_row& row : part_.rows()) {
            if (is_matrix(row) && (row.flow.writes & values) != 0) {
                return &row;
            }
        }
        return nullptr;
    }
    /// True where one of these values is made of another of them: keys that are expanded from a latent.
    [[nodiscard]] bool made_in_steps(value::set values) const { return maker_of_last_step(values) != nullptr; }
    [[nodiscard]] const cost_row* maker_of_last_step(value::set values) const {
        for (const cost_row& row : part_.rows()) {
            if (is_matrix(row) && (row.flow.writes & values) != 0 && (row.flow.reads & values) != 0) {
                return &row;
            }
        }
        return nullptr;
    }

    const cost& part_;
    const batch_units& units_;
    mutable bool is_bound_ = false;
    mutable int depth_ = 0;
};

}  // namespace floptally::detail
