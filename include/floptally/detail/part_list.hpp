// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <floptally/cost.hpp>
#include <floptally/mask.hpp>
#include <floptally/model/component_name.hpp>
#include <floptally/model/modality.hpp>
#include <floptally/model/model_part.hpp>

namespace floptally::detail {

/// Collects the stages of a config in whatever order it is read.
class part_list {
  public:
    static constexpr std::size_t no_part = ~std::size_t{0};

    /// What stands outside the layers; a cost without rows is no stage.
    void add(const component_name& name, part_role role, const cost& one) {
        if (!one.rows().empty()) {
            add_after({.name = name, .role = role, .cost = one});
        }
    }

    /// What follows the layers, unless it is an input or may be one.
    void add_after(const model_part& next) {
        const bool before = next.role == part_role::input || next.role == part_role::anywhere;
        (before ? inputs_ : after_).push_back(next);
    }

    /// The parts of one layer; equal layers that follow each other become one run.
    void add_layer(std::uint64_t index, std::vector<cost> parts) { add_layers(index, 1, std::move(parts)); }

    /// `beside`: the part that reads what entered the layer, if any does.
    void add_layers(std::uint64_t index, std::uint64_t repeat, std::vector<cost> parts, std::size_t beside = no_part) {
        if (!runs_.empty() && runs_.back().parts == parts && runs_.back().beside == beside) {
            runs_.back().repeat += repeat;
        } else {
            runs_.push_back({index, repeat, std::move(parts), beside});
        }
    }

    /// These stages, changed, as those of an encoder before the layers of a decoder.
    template <class Change>
    void append_encoder_to(part_list& decoder, Change change) const {
        for (model_part one : in_order("encoder", part_role::encoder)) {
            const bool before = one.role == part_role::input || one.role == part_role::anywhere;
            one.name = "encoder";
            one.role = before ? one.role : part_role::encoder;
            one.cost = change(one.cost);
            (before ? decoder.inputs_ : decoder.encoder_).push_back(one);
        }
    }

    /// All stages over the statistics of a tower.
    void move_into(modality which) {
        each([which](cost& one) { one = one.in(which); });
    }
    /// All stages over other units than tokens.
    void move_over(const rule& units, const rule& attends) {
        each([&](cost& one) { one = one.over(units, attends); });
    }
    /// All stages that are there, over sequences that are longer.
    void add_prefix_tokens(std::uint64_t n) {
        each([n](cost& one) { one = one.with_prefix_tokens(n); });
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

    template <class Change>
    void each(Change change) {
        for (std::vector<model_part>* list : {&inputs_, &encoder_, &after_}) {
            for (model_part& one : *list) {
                change(one.cost);
            }
        }
        for (run& layers : runs_) {
            for (cost& part : layers.parts) {
                change(part);
            }
        }
    }

    [[nodiscard]] std::vector<model_part> in_order(const component_name& name, part_role role) const {
        std::vector<model_part> stages = inputs_;
        stages.insert(stages.end(), encoder_.begin(), encoder_.end());
        for (const run& layers : runs_) {
            for (std::size_t i = 0; i < layers.parts.size(); ++i) {
                stages.push_back({.name = name,
                                  .role = role,
                                  .cost = layers.parts[i],
                                  .first_layer = layers.first,
                                  .repeat = layers.repeat,
                                  .beside = i == layers.beside});
            }
        }
        stages.insert(stages.end(), after_.begin(), after_.end());
        return stages;
    }

    std::vector<model_part> inputs_;
    std::vector<model_part> encoder_;
    std::vector<run> runs_;
    std::vector<model_part> after_;
};

}  // namespace floptally::detail
