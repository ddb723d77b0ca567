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
#include <floptally/rules/mask.hpp>
#include <floptally/rules/modality.hpp>

/// @file
/// The parts of a model in forward order, collected in any order in which a config is read.

namespace floptally::detail {

/// The parts of a config, collected in any order.
class part_list {
  public:
    static constexpr std::size_t no_part = ~std::size_t{0};

    /// Adds a part outside the layers; a cost without rows is no part.
    [[gnu::noinline]] void add(const component_name& name, part_role role, const cost& sum) {
        if (!sum.rows().empty()) {
            add_after({.name = name, .role = role, .cost = sum});
        }
    }

    /// Adds a part after the layers, unless it is an input or may be one.
    [[gnu::noinline]] void add_after(const model_part& next) {
        const bool before = next.role == part_role::input || next.role == part_role::anywhere;
        (before ? inputs_ : after_).push_back(next);
    }

    /// The parts of one layer; equal layers that follow each other become one run.
    void add_layer(std::uint64_t index, std::vector<cost> parts) { add_layers(index, 1, std::move(parts)); }

    /// `beside`: the part that reads what entered the layer, if any does.
    [[gnu::noinline]] void add_layers(std::uint64_t index, std::uint64_t repeat, std::vector<cost> parts,
                                      std::size_t beside = no_part) {
        if (!runs_.empty() && runs_.back().parts == parts && runs_.back().beside == beside) {
            runs_.back().repeat += repeat;
        } else {
            runs_.push_back({index, repeat, std::move(parts), beside});
        }
    }

    /// These parts, changed, as those of an encoder before the layers of a decoder.
    template <class Change>
    void append_encoder_to(part_list& decoder, Change change) const {
        for (model_part& part : in_order("encoder", part_role::encoder)) {
            part.cost = change(part.cost);
            decoder.add_of_encoder(part);
        }
    }

    /// All parts over the statistics of a tower.
    void move_into(modality which) {
        for (cost* const part : all()) {
            *part = part->in(which);
        }
    }
    /// All parts over other units than tokens.
    void move_over(const rule& units, const rule& attends) {
        for (cost* const part : all()) {
            *part = part->over(units, attends);
        }
    }
    /// All parts so far over sequences that are longer by `n` tokens.
    void add_prefix_tokens(std::uint64_t n) {
        for (cost* const part : all()) {
            *part = part->with_prefix_tokens(n);
        }
    }

    /// In forward order: inputs, the encoder, the layers, and what follows them in the order in which it was added.
    [[nodiscard]] std::vector<model_part> in_order() const { return in_order("layer", part_role::layer); }

  private:
    struct run {
        std::uint64_t first = 0;
        std::uint64_t repeat = 1;
        std::vector<cost> parts;
        std::size_t beside = no_part;
    };

    /// The cost of every part so far.
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

    [[gnu::noinline]] void add_of_encoder(model_part& part) {
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
