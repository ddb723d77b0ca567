// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include <floptally/descriptors/cost.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/lists/bounded_vector.hpp>
#include <floptally/rules/mask.hpp>
#include <floptally/text/error.hpp>

/// @file
/// A layer as its parts see it, the concept of a part, and the mask of each layer.

namespace floptally {

/// Where a part of a layer stands: all that a part may depend on besides its own fields.
struct layer {
    std::uint64_t index = 0;  ///< 0 is the layer after the embedding
    std::uint64_t hidden_size = 0;
    mask attends{};  ///< what this layer's attention sees
};

/// An attention, a feed-forward or a user's own layer: anything whose forward pass is known in its layer.
/// It needs nothing else to be part of a `transformer`.
template <class Part>
concept layer_part = requires(const Part& part, const layer& where) {
    { part.cost(where) } -> std::same_as<cost>;
};

namespace detail {

/// True where a type is a part of a layer; where it is none, the text of a compiler's error says what to mend.
template <class Part>
[[nodiscard]] constexpr bool require_layer_part() {
    constexpr bool is_part = layer_part<Part>;
    constexpr bool is_mutable_part = requires(Part & part, const layer& where) { part.cost(where); };
    constexpr bool is_const_part = requires(const Part& part, const layer& where) { part.cost(where); };
    static_assert(is_part || !is_mutable_part || is_const_part, "part.cost(where) must be const");
    static_assert(is_part || !is_const_part, "part.cost(where) must return a floptally::cost");
    static_assert(is_part || is_mutable_part,
                  "a part of a layer needs `floptally::cost cost(const floptally::layer& where) const`");
    return is_part;
}

}  // namespace detail

/// Weights of a part that multiply no matrix. `exact` does not count them; see `cost::add_parameters`.
struct elementwise_parameters {
    std::uint64_t norm = 0;
    std::uint64_t bias = 0;

    /// Adds them to a cost as its components "norm" and "bias".
    constexpr void add_to(floptally::cost& sum) const {
        sum.add_parameters("norm", term::norm, norm);
        sum.add_parameters("bias", term::bias, bias);
    }
};

/// The mask of each layer: one for all, a period ({window × 5, causal}) or a list with one entry per layer.
class layer_masks {
  public:
    static constexpr std::size_t max_entries = 512;
    static constexpr std::size_t max_masks = 16;  ///< different ones

    constexpr layer_masks() : layer_masks(mask::causal()) {}
    constexpr layer_masks(const rule& every) { append(every); }  // NOLINT(google-explicit-constructor): one for all

    /// Layer i has entry i modulo the length.
    [[nodiscard]] static constexpr layer_masks period(std::initializer_list<mask> entries) {
        return layer_masks(detail::array_view<mask>(entries.begin(), entries.size()), false);
    }
    /// Layer i has entry i; a model with another number of layers is an error.
    [[nodiscard]] static constexpr layer_masks list(const detail::array_view<mask>& entries) { return {entries, true}; }

    /// The mask of a layer.
    [[nodiscard]] constexpr const rule& operator[](std::uint64_t layer_index) const {
        return known_[entries_[static_cast<std::size_t>(layer_index % size_)]];
    }

    /// Throws where a list has another number of entries than the model has layers.
    constexpr void require_layers(std::uint64_t num_layers) const {
        if (is_list_ && size_ != num_layers) {
            detail::refuse("layer_types", {"lists ", size_, " layers, the model has ", num_layers});
        }
    }

  private:
    constexpr layer_masks(const detail::array_view<mask>& entries, bool is_list) : is_list_(is_list) {
        if (entries.empty()) {
            throw error("layer_types", "must name at least one layer");
        }
        for (const rule& entry : entries) {
            append(entry);
        }
    }

    constexpr void append(const rule& entry) {
        if (size_ == max_entries) {
            detail::refuse("layer_types", {"more than the ", max_entries, " that fit"});
        }
        entries_[size_++] = static_cast<std::uint8_t>(known_.find_or_add(entry, "masks"));
    }

    detail::bounded_vector<mask, max_masks> known_;  // inside, so that a descriptor is a constant
    std::uint8_t entries_[max_entries]{};            // indices into `known_`
    std::size_t size_ = 0;
    bool is_list_ = false;
};

}  // namespace floptally
