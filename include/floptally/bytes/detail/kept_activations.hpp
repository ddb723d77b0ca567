// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <floptally/bytes/activation_kernels.hpp>
#include <floptally/bytes/detail/batch_units.hpp>
#include <floptally/bytes/detail/element_rows.hpp>
#include <floptally/bytes/detail/moved_elements.hpp>
#include <floptally/bytes/detail/tensor_flow.hpp>
#include <floptally/count/plan_walk.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_row.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/integer/checked.hpp>

/// @file
/// The values that a forward keeps for its backward, from which values the rows of a part read and make.

namespace floptally::detail {

/// When a value is kept.
enum class kept_for : std::uint8_t {
    weight,       ///< for the gradient of a weight
    gradient,     ///< for any gradient
    core,         ///< by a fused kernel, as its operand
    inside_core,  ///< by that kernel for itself
    layer_input   ///< for the recompute of a layer
};

struct kept_value {
    kept_for what = kept_for::weight;
    std::uint64_t bits = 16;
    bool is_of_adapters = false;

    [[nodiscard]] friend bool operator==(const kept_value&, const kept_value&) = default;
};

/// Puts the values that the parts of a model keep into rows.
class kept_activations {
  public:
    kept_activations(const activation_kernels& kernels, std::uint64_t tp, bool sequence_parallel, std::uint64_t bits,
                     const weight_states& states, const batch_units& units, element_rows<kept_value>& to)
        : kernels_(kernels),
          tp_(tp),
          of_whole_(sequence_parallel ? tp : 1),
          bits_(bits),
          states_(states),
          units_(units),
          to_(to) {}

    /// Puts in what a part keeps. `has_norm`: of what it reads; `opens_layer`: the first of its layer that reads the
    /// stream.
    void put(const model_part& part, std::size_t index, bool has_norm, bool opens_layer) {
        part_ = &part;
        index_ = index;
        const tensor_flow flow(part.cost);
        const moved_elements moved(part.cost, units_);
        const cost_row* const reader = reader_of_stream(part.cost);
        if (reader != nullptr && !part.beside) {
            const std::uint64_t states = moved.read(*reader).value_or(0) / of_whole_;
            if (has_norm) {
                keep(*reader, kept_for::gradient, states * (kernels_.fused_elementwise ? 1 : 2));
            }
            if (opens_layer) {
                keep(*reader, kept_for::layer_input, states);
            }
            if (kernels_.hidden_dropout && part.role != part_role::head) {
                keep(*reader, kept_for::gradient, states, 8);
            }
        }
        put_matrices(flow, moved);
        put_cores(flow, moved);
    }

    [[nodiscard]] static const cost_row* reader_of_stream(const cost& part) {
        for (const cost_row& row : part.rows()) {
            const bool reads = moved_elements::is_matrix(row) && row.flow.reads == value::stream;
            if (reads && row.per_rank.in != 0 && row.padded != 0 && row.dealt.by != tensor_split::experts) {
                return &row;
            }
        }
        return nullptr;
    }

    /// The components whose values their rows do not say.
    std::vector<std::string> unsaid{};

  private:
    [[nodiscard]] const cost& rows() const { return part_->cost; }

    void keep(const cost_row& like, kept_for what, std::uint64_t amount, std::uint64_t bits = 0) {
        to_.put(index_, rows(), like, {what, bits == 0 ? bits_ : bits}, amount, what == kept_for::weight ? amount : 0);
    }
    [[nodiscard]] std::uint64_t shares(const tensor_flow& flow, value::set values) const {
        return flow.is_shared(values) ? tp_ : of_whole_;
    }
    [[nodiscard]] bool trains(const cost_row& row) const {
        for (std::uint64_t n = 0; n < part_->repeat; ++n) {
            if (states_.trains(*part_, part_->first_layer == no_layer ? no_layer : part_->first_layer + n, row)) {
                return true;
            }
        }
        return false;
    }
    void say(const cost_row& row) {
        const std::string name(rows().components()[row.component].view());
        if (std::find(unsaid.begin(), unsaid.end(), name) == unsaid.end()) {
            unsaid.push_back(name);
        }
    }
    /// The result of a core alone, which a fused kernel keeps itself.
    [[nodiscard]] bool is_of_core(value::set values) const {
        bool is_made = false;
        for (const cost_row& row : rows().rows()) {
            const bool makes = (row.flow.writes & values) != 0;
            if (makes && row.kind != term::values) {
                return false;
            }
            is_made = is_made || makes;
        }
        return is_made;
    }

    /// Operands of matrices, for the gradients of their weights, each value once; and what an element-wise product or a
    /// norm between two matrices reads.
    void put_matrices(const tensor_flow& flow, const moved_elements& moved) {
        std::vector<const cost_row*> read;
        for (const cost_row& row : rows().rows()) {
            if (moved_elements::is_state(row) && row.padded != 0) {
                say(row);
            }
            if (!moved_elements::is_matrix(row) || row.padded == 0) {
                continue;
            }
            const elements in = moved.read(row);
            const elements out = moved.written(row);
            if (!in || row.flow.reads == 0 || row.per_rank.in == 0) {
                say(row);
                continue;
            }
            const bool of_experts = row.dealt.by == tensor_split::experts;
            if (trains(row) && row.per_rank.in != 0 && !of_experts) {  // what an adapter's A made, for its B
                to_.put(index_, rows(), row, {kept_for::weight, bits_, true}, 0, units_.of(rows(), row) / of_whole_);
            }
            if (is_read_by_matrix(row) && out) {
                keep(row, kept_for::gradient, *out / (of_experts ? tp_ : shares(flow, row.flow.writes)));
            }
            const bool is_known = std::any_of(read.begin(), read.end(), [&](const cost_row* known) {
                return known->flow.reads == row.flow.reads && known->what == row.what && known->in == row.in &&
                       (known->dealt.by == tensor_split::experts) == of_experts && known->kind != term::router;
            });
            if (is_known || (kernels_.flash_attention && is_of_core(row.flow.reads))) {
                continue;
            }
            read.push_back(&row);
            const std::uint64_t share = of_experts ? tp_ : shares(flow, row.flow.reads);
            keep(trained_reader(row), kept_for::weight, *in / share);
            if (!kernels_.fused_elementwise && makers(row.flow.reads) > 1) {
                keep(row, kept_for::gradient, *in / share);  // the activation of a gate, which the product reads
            }
            if (of_experts && flow.makes_summands(row) && out) {
                keep(row, kept_for::gradient, *out / of_whole_);  // results of experts, which the router weighs
            }
        }
    }

    /// A row that reads the same value and trains, if any does.
    [[nodiscard]] const cost_row& trained_reader(const cost_row& row) const {
        for (const cost_row& other : rows().rows()) {
            const bool alike = moved_elements::is_matrix(other) && other.flow.reads == row.flow.reads &&
                               other.what == row.what && other.in == row.in &&
                               (other.dealt.by == tensor_split::experts) == (row.dealt.by == tensor_split::experts);
            if (alike && !trains(row) && trains(other)) {
                return other;
            }
        }
        return row;
    }
    /// True for a matrix whose result another matrix of the part reads.
    [[nodiscard]] bool is_read_by_matrix(const cost_row& row) const {
        return row.flow.writes != 0 &&
               std::any_of(rows().rows().begin(), rows().rows().end(), [&](const cost_row& next) {
                   return moved_elements::is_matrix(next) && (next.flow.reads & row.flow.writes) != 0;
               });
    }
    [[nodiscard]] std::size_t makers(value::set values) const {
        return static_cast<std::size_t>(
            std::count_if(rows().rows().begin(), rows().rows().end(), [values](const cost_row& row) {
                return moved_elements::is_matrix(row) && row.flow.writes != 0 && row.flow.writes == values;
            }));
    }

    void put_cores(const tensor_flow& flow, const moved_elements& moved) {
        std::vector<std::uint32_t> done;
        for (const cost_row& row : rows().rows()) {
            if (row.kind == term::index_scores && row.padded != 0) {
                say(row);
            }
            const bool is_new = std::find(done.begin(), done.end(), row.component) == done.end();
            if (row.kind != term::scores || row.padded == 0 || !is_new) {
                continue;
            }
            done.push_back(row.component);
            const moved_elements::core core = moved.core_of(row.component);
            const elements operands = moved.core_operands(core);
            const elements result = moved.core_result(core);
            const std::uint64_t heads = heads_of(row);
            if (!operands || !result || heads == 0 || core.over == nullptr) {
                say(row);
                continue;
            }
            cost_row kernel = row;  // its backward runs where any of its operands needs a gradient
            kernel.flow.fused_with = static_cast<value::set>(core.q | core.k | core.v);
            const std::uint64_t share = shares(flow, core.q);
            keep(kernel, kept_for::core, *operands / share);
            if (kernels_.flash_attention) {
                keep(kernel, kept_for::core, *result / share);
                const std::uint64_t queries = units_.of(rows(), cost_row{.in = row.in});
                keep(kernel, kept_for::inside_core, std::uint64_t{checked(heads, "memory") * queries} / share, 32);
                continue;
            }
            const std::uint64_t squares = units_.of(rows(), cost_row{.what = statistic::squares, .in = row.in});
            const std::uint64_t pairs = std::uint64_t{checked(heads, "memory") * squares} / share;
            keep(kernel, kept_for::inside_core, pairs);
            if (kernels_.attention_dropout) {
                keep(kernel, kept_for::inside_core, pairs, 8);
                keep(kernel, kept_for::inside_core, pairs);
            }
        }
    }

    [[nodiscard]] std::uint64_t heads_of(const cost_row& scores) const {
        for (const cost_row& row : rows().rows()) {
            if (row.kind == term::softmax && row.component == scores.component && row.mask == scores.mask) {
                return row.padded / 3;
            }
        }
        return scores.dealt.by == tensor_split::heads ? scores.dealt.units : 0;
    }

    const activation_kernels& kernels_;
    std::uint64_t tp_;
    std::uint64_t of_whole_;  ///< ranks that share the tokens of values that each has whole
    std::uint64_t bits_;
    const weight_states& states_;
    const batch_units& units_;
    element_rows<kept_value>& to_;
    const model_part* part_ = nullptr;
    std::size_t index_ = 0;
};

}  // namespace floptally::detail
