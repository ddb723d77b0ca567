// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/lists/list.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/statistics/modality.hpp>

/// @file
/// `part_list`: collects the parts of a model in any order and returns them in forward order.

namespace floptally::inline v0_3::detail {

/// Collects the parts of a model. They can be added in any order.
class part_list {
  public:
    static constexpr std::size_t no_part = ~std::size_t{0};

    /// Adds a part outside the layers. Ignores a cost without entries.
    [[gnu::noinline]] void add(const component_name& name, part_role role, const cost& sum) {
        if (!sum.entries().empty()) {
            add_after({.name = name, .role = role, .cost = sum});
        }
    }

    /// Adds a part outside the layers. It goes before the layers if its role is `input` or `anywhere`, and after them
    /// otherwise.
    [[gnu::noinline]] void add_after(const model_part& next) {
        const bool before = next.role == part_role::input || next.role == part_role::anywhere;
        (before ? inputs_ : after_).push_back(next);
    }

    /// Adds `repeat` equal layers. Equal consecutive layers are merged. `beside` is the index in `parts` of the part
    /// that reads the layer's input instead of the previous part's output.
    [[gnu::noinline]] void add_layers(std::uint64_t index, std::uint64_t repeat, std::vector<cost> parts,
                                      std::size_t beside = no_part) {
        if (!runs_.empty() && runs_.back().parts == parts && runs_.back().beside == beside) {
            runs_.back().repeat += repeat;
        } else {
            runs_.push_back({index, repeat, std::move(parts), beside});
        }
    }

    /// Adds these parts to the list `decoder` as its encoder. First applies `change` to the cost of each part.
    template <class Change>
    void append_encoder_to(part_list& decoder, Change change) const {
        for (model_part& part : in_order("encoder", part_role::encoder)) {
            part.cost = change(part.cost);
            decoder.add_to_encoder(part);
        }
    }

    /// Changes all parts so that they count images or audio clips instead of text, as parts of a vision or audio tower.
    void move_into(modality which) {
        for (cost* const part : all()) {
            *part = part->in(which);
        }
    }
    /// Changes all parts so that their FLOPs are per unit that `units` counts (such as patches), not per token.
    void move_over(const statistic& units, const statistic& attends) {
        for (cost* const part : all()) {
            *part = part->over(units, attends);
        }
    }
    /// Adds `n` prefix tokens to the sequences of all parts that were added so far.
    void add_prefix_tokens(std::uint64_t n) {
        for (cost* const part : all()) {
            *part = part->with_prefix_tokens(n);
        }
    }

    /// Returns the parts in forward order: inputs, encoder, layers, and then the parts after the layers, in the order
    /// in which they were added.
    [[nodiscard]] std::vector<model_part> in_order() const { return in_order("layer", part_role::layer); }

  private:
    struct run {
        std::uint64_t first = 0;
        std::uint64_t repeat = 1;
        std::vector<cost> parts;
        std::size_t beside = no_part;
    };

    /// Returns pointers to the costs of all parts that were added so far.
    [[nodiscard, gnu::noinline]] list<cost*> all() {
        list<cost*> costs;
        for (std::vector<model_part>* parts : {&inputs_, &encoder_, &after_}) {
            for (model_part& part : *parts) {
                costs.push_back(&part.cost, "parts");
            }
        }
        for (run& layers : runs_) {
            for (cost& part : layers.parts) {
                costs.push_back(&part, "parts");
            }
        }
        return costs;
    }

    [[gnu::noinline]] void add_to_encoder(model_part& part) {
        const bool before = part.role == part_role::input || part.role == part_role::anywhere;
        part.name = "encoder";
        part.role = before ? part.role : part_role::encoder;
        (before ? inputs_ : encoder_).push_back(part);
    }

    [[nodiscard, gnu::noinline]] std::vector<model_part> in_order(const component_name& name, part_role role) const {
        std::vector<model_part> parts = inputs_;
        parts.insert(parts.end(), encoder_.begin(), encoder_.end());
        for (const run& layers : runs_) {
            for (std::size_t i = 0; i < layers.parts.size(); ++i) {
                parts.push_back({.name = name,
                                 .role = role,
                                 .cost = layers.parts[i],
                                 .first_layer = layers.first,
                                 .repeat = layers.repeat,
                                 .beside = i == layers.beside});
            }
        }
        parts.insert(parts.end(), after_.begin(), after_.end());
        return parts;
    }

    std::vector<model_part> inputs_;
    std::vector<model_part> encoder_;
    std::vector<run> runs_;
    std::vector<model_part> after_;
};

}  // namespace floptally::detail
