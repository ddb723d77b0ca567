// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <floptally/descriptors/cost_entry.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/descriptors/sharding.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/statistics/accumulator.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Layers whose tokens choose among experts, and the experts that a pass reads.

namespace floptally::inline v0_3::detail {

/// The choice of a token among experts: `chosen` of `experts`. It is derived from an entry of expert weights.
struct expert_choice {
    /// Number of experts to choose from; 0 if the entry is not a choice among experts.
    std::uint64_t experts = 0;
    std::uint64_t chosen = 0;  ///< number of experts that each token chooses
    std::uint64_t size = 0;    ///< number of elements of one expert's matrix

    [[nodiscard]] static constexpr expert_choice of(const cost_entry& entry) {
        const std::uint64_t experts = entry.sharding.by == sharding_kind::experts ? entry.sharding.units : 0;
        const std::uint64_t size = experts == 0 ? 0 : entry.parameters / experts;
        const bool is_choice = size != 0 && entry.what != accumulator::routed && size * experts == entry.parameters &&
                               entry.padded / 2 % size == 0 && entry.padded / 2 < entry.parameters;
        return is_choice ? expert_choice{experts, entry.padded / 2 / size, size} : expert_choice{};
    }
};

/// The layers of a model whose tokens choose among experts.
struct expert_layers {
    std::uint64_t layers = 0;
    expert_choice choice{};
    bool are_alike = true;  ///< true: all layers have equally many experts of the same size
    bool are_all = true;    ///< true: the numbers of experts and of chosen experts are known for every layer with
                            ///< experts

    explicit expert_layers(std::span<const model_part> parts) {
        std::uint64_t layer_size = 0;
        for (const model_part& part : parts) {
            expert_choice own;
            for (const cost_entry& entry : part.elsewhere ? std::span<const cost_entry>{} : entries_of(part)) {
                const expert_choice next = expert_choice::of(entry);
                const bool is_matrix = meaning_of(entry.kind).operands == term_operands::matrix;
                are_all = are_all && (next.experts != 0 || !is_matrix || entry.parameters <= entry.padded / 2);
                if (next.experts != 0) {
                    are_alike = are_alike && (own.experts == 0 || own.experts == next.experts);
                    own = {next.experts, next.chosen, own.size + next.size};
                }
            }
            if (own.experts != 0) {
                are_alike = are_alike && (layer_size == 0 || (layer_size == own.size && choice.experts == own.experts &&
                                                              choice.chosen == own.chosen));
                layer_size = own.size;
                choice = own;
                layers += part.repeat;
            }
        }
    }

    /// Throws `error` if `tokens` tokens cannot have read `distinct` distinct experts, summed over all layers and
    /// batches.
    void require_possible(std::uint64_t distinct, std::uint64_t tokens, std::uint64_t batches) const {
        constexpr const char* field = "distinct_experts";
        if (layers == 0) {
            refuse(field, {"is passed, but this model has no routed experts: leave it out"});
        }
        if (!are_alike || !are_all) {
            refuse(field, {"is one number, but this model has routed experts of several kinds: leave it out"});
        }
        const std::uint64_t least = checked(tokens == 0 ? 0 : layers, field) * choice.chosen;
        const std::uint64_t most =
            checked(layers, field) *
            std::min<std::uint64_t>(checked(batches, field) * choice.experts, checked(tokens, field) * choice.chosen);
        if (distinct < least || distinct > most) {
            refuse(field,
                   {"must be from ", least, " to ", most, " for ", choice.experts, " experts in each of ", layers,
                    " layers and ", batches, batches == 1 ? " batch, got " : " batches, got ", distinct});
        }
    }

  private:
    [[nodiscard]] static std::span<const cost_entry> entries_of(const model_part& part) {
        return {part.cost.entries().begin(), part.cost.entries().end()};
    }
};

/// The factor `times` ÷ `layers`. It turns a sum over one expert of each layer into a sum over `times` experts.
/// `layers` is the number of layers with experts.
struct layer_share {
    std::uint64_t times = 1;
    std::uint64_t layers = 1;
};

}  // namespace floptally::detail
