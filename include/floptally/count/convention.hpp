// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <floptally/descriptors/term.hpp>
#include <floptally/rules/modality.hpp>
#include <floptally/rules/moments.hpp>
#include <floptally/rules/other_side_masks.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/rules/statistic_rule.hpp>

/// @file
/// Conventions of counting FLOPs: data and one function each. `exact` is here.

namespace floptally {

/// Counts of the pairs of a causal mask over a sequence of length L.
enum class causal_pairs : std::uint8_t {
    exact,        ///< L(L+1)/2
    half_square,  ///< L²/2
    full_square   ///< L²
};

/// Counts of the pairs of windows, chunks and top-k.
enum class window_pairs : std::uint8_t {
    exact,   ///< as attended
    ignored  ///< as if the mask were plain causal (or bidirectional), by the rule for those
};

/// Numbers of products that the backward of the attention core counts.
enum class attention_backward : std::uint8_t {
    twice,  ///< two per product of the forward
    flash   ///< five for two (2.5x): a fused kernel computes QKᵀ again
};

/// Rows that the lm_head is counted for.
enum class head_rows : std::uint8_t {
    every_token,
    one_per_sequence  ///< inference: only the last token of each request is sampled from
};

/// Counts of the backward of an indexer.
enum class indexer_backward : std::uint8_t {
    as_run,    ///< what the plan runs: none, or that of the indexer's own loss
    as_layers  ///< as if it were any other part of a layer: two products for each of the forward
};

/// Weights that count where a token does not pass all of them.
enum class counted_weights : std::uint8_t {
    visited,  ///< the chosen experts
    stored    ///< every parameter once, by every token of this side, and no lm_head that shares the embedding's table
};

/// Counts of the gradient of a grouped convolution's weight.
enum class grouped_gradient : std::uint8_t {
    as_run,       ///< each channel with those of its group
    all_channels  ///< every channel with every other, as if there were one group
};

struct convention;

/// The statistics that a convention counts instead of one, each with a divisor: `half_square` counts a causal mask as
/// Σn²/2 + Σn·past.
class counted_statistics {
  public:
    /// One rule, and the divisor of its sum.
    struct entry {
        rule what;
        std::uint8_t divisor = 1;
    };

    constexpr counted_statistics() = default;  ///< nothing
    /// One statistic.
    constexpr counted_statistics(const rule& what, std::uint8_t divisor = 1) {  // NOLINT(google-explicit-constructor)
        also(what, divisor);
    }
    /// Adds a statistic. More than four are an error.
    constexpr counted_statistics& also(const rule& what, std::uint8_t divisor = 1) {
        if (size_ == most) {
            throw error("convention", "gives a row more than 4 statistics");
        }
        entries_[size_++] = {what, divisor};
        return *this;
    }

    [[nodiscard]] constexpr const entry* begin() const { return entries_; }
    [[nodiscard]] constexpr const entry* end() const { return entries_ + size_; }

  private:
    static constexpr std::size_t most = 4;
    entry entries_[most]{};
    std::size_t size_ = 0;
};

/// The facts about the model around a mask that a convention may use.
struct attention_context {
    bool has_layer_without_window = false;  ///< of the text
    bool of_indexer = false;                ///< the pairs are those that an indexer scores, or its teacher
};

/// The one function of a convention: what it counts for the pairs of a mask, over samples of the same modality.
using count_pairs_function = counted_statistics (*)(const rule& attends, const convention& how,
                                                    const attention_context& model);

/// The library's `count_pairs_function`: by `convention::causal`, `convention::windows` and the shape of the rule.
[[nodiscard]] constexpr counted_statistics count_pairs(const rule& attends, const convention& how,
                                                       const attention_context& model);

/// A convention of counting FLOPs: data, and one function from the pairs of a mask to the statistics that are counted
/// for them. It goes into every report. A convention of your own is a value of this type.
struct convention {
    std::string_view name;
    std::string_view summary;
    causal_pairs causal = causal_pairs::exact;
    window_pairs windows = window_pairs::exact;
    attention_backward backward = attention_backward::twice;
    term_set counted = products;        ///< kinds of rows
    std::uint8_t delta_rule_flops = 6;  ///< forward, of one element of a delta rule's state; exact: 6
    std::uint8_t scan_flops = 4;        ///< forward, of one element of a selective scan's state; exact: 4
    head_rows head = head_rows::every_token;
    counted_weights parameters = counted_weights::visited;
    indexer_backward indexer = indexer_backward::as_run;
    grouped_gradient groups = grouped_gradient::as_run;
    count_pairs_function pairs = count_pairs;
};

constexpr counted_statistics count_pairs(const rule& attends, const convention& how,
                                         const attention_context& /*model*/) {
    const auto square = [&] { return counted_statistics(moment_rules::squares{}).also(moment_rules::cached{}); };
    if (attends.is_of_other_side() && attends.shape() == pair_shape::full && how.windows == window_pairs::ignored) {
        return counted_statistics(mask_rules::encoder{});  // whose square is not of this side's length
    }
    switch (attends.is_of_other_side() ? pair_shape::units : attends.shape()) {
        case pair_shape::units:
            break;
        case pair_shape::beyond_causal:
            return how.causal == causal_pairs::exact ? counted_statistics(attends) : counted_statistics{};
        case pair_shape::mixed:
            return how.causal == causal_pairs::full_square ? square() : counted_statistics(attends);
        case pair_shape::full:
        case pair_shape::causal:
            if (!attends.is_polynomial() && how.windows == window_pairs::exact) {
                break;
            }
            if (attends.shape() == pair_shape::full || how.causal == causal_pairs::full_square) {
                return square();
            }
            // Exact: (Σn² + Σn)/2 + Σn·past. Coefficients of pairs are even: every product counts two FLOPs.
            counted_statistics triangle(moment_rules::squares{}, 2);
            if (how.causal == causal_pairs::exact) {
                triangle.also(moment_rules::tokens{}, 2);
            }
            return triangle.also(moment_rules::cached{});
    }
    return attends;
}

namespace conventions {

/// The library's own convention: every product once, over the pairs that are attended.
inline constexpr convention exact{.name = "exact"sv,
                                  .summary = "every matmul of the step, attention over the attended pairs"sv,
                                  .counted = products.with(term::optimizer)};

}  // namespace conventions

}  // namespace floptally
