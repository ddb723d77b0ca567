// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include <floptally/descriptors/cost.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/lists/bounded_vector.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/text/error.hpp>

/// @file
/// `layer`: the position of a part in a model; the concept `layer_part`; and the mask of each layer.

namespace floptally::inline v0_3 {

/// The position of a part in a model. The cost of a part depends only on this position and on the part's own fields.
struct layer {
    std::uint64_t index = 0;  ///< index of the layer; 0 is the first after the embedding
    std::uint64_t hidden_size = 0;
    mask attends{};  ///< the mask of this layer's attention
};

/// A part of a layer: an attention, a feed-forward or your own struct. Such a struct needs only a function
/// `cost(layer)` that returns the forward cost.
template <class Part>
concept layer_part = requires(const Part& part, const layer& where) {
    { part.cost(where) } -> std::same_as<cost>;
};

namespace detail {

/// Returns true if a type satisfies `layer_part`. If not, a compile error says what to change in the type.
template <class Part>
[[nodiscard]] constexpr bool require_layer_part() {
    constexpr bool is_part = layer_part<Part>;
    constexpr bool is_mutable_part = requires(Part & part, const layer& where) { part.cost(where); };
    constexpr bool is_const_part = requires(const Part& part, const layer& where) { part.cost(where); };
    static_assert(is_part || !is_mutable_part || is_const_part, "part.cost(where) must be const");
    static_assert(is_part || !is_const_part, "part.cost(where) must return a floptally::cost");
    static_assert(is_part || is_mutable_part,
                  "a part of a layer needs `floptally::cost cost(const floptally::layer& where) const`: add it");
    return is_part;
}

}  // namespace detail

/// The numbers of a part's norm weights and biases. No matrix product uses them, so the convention `exact` counts no
/// FLOPs for them (see `cost::add_parameters`).
struct elementwise_parameters {
    std::uint64_t norm = 0;
    std::uint64_t bias = 0;

    /// Adds these numbers of weights to a cost, as the components "norm" and "bias".
    constexpr void add_to(floptally::cost& sum) const {
        sum.add_parameters("norm", term::norm, norm);
        sum.add_parameters("bias", term::bias, bias);
    }
};

/// The masks of a model's layers: one mask for all layers, a repeating pattern ({window × 5, causal}), or a list with
/// one mask for each layer.
class layer_masks {
  public:
    static constexpr std::size_t max_entries = 512;
    static constexpr std::size_t max_masks = 16;  ///< largest number of different masks in one model

    constexpr layer_masks() : layer_masks(mask::causal()) {}
    constexpr layer_masks(const statistic& every) {
        append(every);
    }  // NOLINT(google-explicit-constructor): one mask for all layers

    /// Repeats a pattern of masks: with n entries, layer i has entry i modulo n.
    [[nodiscard]] static constexpr layer_masks period(std::initializer_list<mask> entries) {
        return layer_masks(array_view<mask>(entries.begin(), entries.size()), false);
    }
    /// Takes a list with the mask of each layer. Throws `error` if the model has another number of layers.
    [[nodiscard]] static constexpr layer_masks list(const array_view<mask>& entries) { return {entries, true}; }

    /// Returns the mask of a layer.
    [[nodiscard]] constexpr const statistic& operator[](std::uint64_t layer_index) const {
        return known_[entries_[layer_index % size_]];
    }

    /// Throws `error` if a list has another number of entries than the model has layers.
    constexpr void require_layers(std::uint64_t num_layers) const {
        if (is_list_ && size_ != num_layers) {
            detail::refuse("layer_types",
                           {"lists ", size_, " layers, but the model has ", num_layers, ": list one for each layer"});
        }
    }

  private:
    constexpr layer_masks(const array_view<mask>& entries, bool is_list) : is_list_(is_list) {
        if (entries.empty()) {
            throw error("layer_types", "must name at least one layer, got none");
        }
        for (const statistic& entry : entries) {
            append(entry);
        }
    }

    constexpr void append(const statistic& entry) {
        if (size_ == max_entries) {
            detail::refuse("layer_types", {"must list at most ", max_entries, " layers"});
        }
        entries_[size_++] = static_cast<std::uint8_t>(known_.find_or_add(entry, "masks"));
    }

    bounded_vector<mask, max_masks> known_;  // a bounded vector allocates no memory, so a descriptor can be a constant
    std::uint8_t entries_[max_entries]{};    // for each layer of the pattern or list: its mask's index in `known_`
    std::size_t size_ = 0;
    bool is_list_ = false;
};

}  // namespace floptally
