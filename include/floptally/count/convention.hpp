// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <floptally/descriptors/term.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/moments.hpp>
#include <floptally/statistics/other_side_masks.hpp>
#include <floptally/statistics/sparse_masks.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/statistics/statistic_type.hpp>

/// @file
/// Conventions for counting FLOPs. A convention consists of settings and one function. This header defines the
/// convention `exact`; conventions.hpp defines those of other tools.

namespace floptally::inline v0_3 {

/// The number of pairs of query and key that count under a causal mask, for a sequence of length L.
enum class causal_pairs : std::uint8_t {
    exact,        ///< L(L+1)/2 pairs: each token attends to itself and the tokens before it
    half_square,  ///< L²/2 pairs
    full_square   ///< L² pairs, as without a mask
};

/// The pairs of query and key that a convention counts for attention with windows, chunks or top-k keys.
enum class window_pairs : std::uint8_t {
    exact,   ///< the pairs that the window, the chunk or the choice of keys admits
    ignored  ///< the pairs of a plain causal or bidirectional mask over the same length, as if there were no window
};

/// The number of matrix products that a convention counts for the backward of the attention core.
enum class attention_backward : std::uint8_t {
    twice,  ///< two products for each product of the forward
    flash   ///< five products (2.5x the forward's two), because a fused kernel computes QKᵀ again
};

/// The tokens for which a convention counts the lm_head.
enum class head_rows : std::uint8_t {
    every_token,
    one_per_sequence  ///< only the last token of each sequence, as in inference
};

/// The FLOPs that a convention counts for the backward of an indexer (the part of sparse attention that chooses keys).
enum class indexer_backward : std::uint8_t {
    as_run,    ///< only the backward of the indexer's own loss, if the plan trains it
    as_layers  ///< two products for each product of the forward, as for any other part of a layer
};

/// How a convention counts the weights of a layer in which a token uses only some of them, as with experts.
enum class counted_weights : std::uint8_t {
    visited,  ///< weights that a token uses: of the experts only the chosen ones
    /// Every parameter counts for every token of its modality. A table that the embedding and the lm_head share counts
    /// once.
    stored
};

/// The multiplications that a convention counts for the weight gradient of a grouped convolution.
enum class grouped_gradient : std::uint8_t {
    as_run,       ///< multiplications of each channel with the channels of its group, as a kernel runs them
    all_channels  ///< multiplications of each channel with all channels, as if there were one group
};

/// The operators whose FLOPs a convention counts.
enum class counted_operators : std::uint8_t {
    every,      ///< every operator that multiplies numbers
    registered  ///< operators for which PyTorch's FlopCounterMode has a formula
};

/// The weights that a convention counts as trained.
enum class counted_training : std::uint8_t {
    as_planned,   ///< only the weights that the plan trains
    every_weight  ///< every weight with all its gradients, including frozen weights and adapters
};

struct convention;

/// The statistics that a convention counts instead of a mask's pairs. The sum of each statistic may be divided by a
/// small number. Example: for a causal mask over n tokens, the setting `half_square` counts n²/2, which is the
/// statistic n² with the divisor 2.
class counted_statistics {
  public:
    /// A statistic, and the number by which its sum is divided.
    struct divided {
        statistic what;
        std::uint8_t divisor = 1;
    };

    /// Creates an empty list of statistics: no pairs count.
    constexpr counted_statistics() = default;
    /// Creates a list of one statistic.
    constexpr counted_statistics(const statistic& counted,
                                 std::uint8_t divisor = 1) {  // NOLINT(google-explicit-constructor)
        also(counted, divisor);
    }
    /// Adds a statistic. At most four are possible: throws `error` for a fifth.
    constexpr counted_statistics& also(const statistic& counted, std::uint8_t divisor = 1) {
        if (size_ == most) {
            throw error("convention", "must use at most 4 statistics for each entry of a cost: add fewer");
        }
        parts_[size_++] = {counted, divisor};
        return *this;
    }

    [[nodiscard]] constexpr const divided* begin() const { return parts_; }
    [[nodiscard]] constexpr const divided* end() const { return parts_ + size_; }

  private:
    static constexpr std::size_t most = 4;
    divided parts_[most]{};
    std::size_t size_ = 0;
};

/// Facts about a model's attention. A convention's function gets them in addition to the mask.
struct attention_context {
    bool has_layer_without_window = false;  ///< true if some text layer attends without a window
    bool of_indexer = false;                ///< true if the pairs are those for which an indexer computes scores or its
                                            ///< loss
};

/// The type of a convention's function. The function returns the statistics that count instead of a mask's pairs. All
/// of them must have the modality of the mask.
using count_pairs_function = counted_statistics (*)(const statistic& attends, const convention& counted_as,
                                                    const attention_context& model);

/// The default `count_pairs_function`. The result depends on `convention::causal`, `convention::windows` and the kind
/// of the mask.
[[nodiscard]] constexpr counted_statistics count_pairs(const statistic& attends, const convention& counted_as,
                                                       const attention_context& model);

/// A convention for counting FLOPs: settings, and one function that says which statistics count for a mask's pairs.
/// Every report shows the name of its convention. To define your own convention, make a value of this type.
struct convention {
    std::string_view name;                                    ///< the name that reports show: "exact", "megatron", …
    std::string_view summary;                                 ///< what it counts, in one line
    causal_pairs causal = causal_pairs::exact;                ///< the pairs of a causal mask
    window_pairs windows = window_pairs::exact;               ///< the pairs of a sliding window
    attention_backward backward = attention_backward::twice;  ///< the products of the attention core's backward
    term_set counted = products;        ///< the kinds of cost entries whose FLOPs count, such as products with weights
    std::uint8_t delta_rule_flops = 6;  ///< forward FLOPs for each element of a delta rule's state; the exact number is
                                        ///< 6
    /// Forward FLOPs for each element of the state of a delta rule with a separate decay for each channel (KDA). With
    /// 0, `delta_rule_flops` is used.
    std::uint8_t channel_decay_flops = 0;
    /// The number of tokens C in a chunk of KDA's chunked kernel. The products inside a chunk count too: 3·C·d + C²
    /// forward FLOPs for a head of width d. With 0 these products do not count.
    std::uint8_t delta_chunk = 0;
    std::uint8_t scan_flops = 4;  ///< forward FLOPs for each element of a selective scan's state; the exact number is 4
    head_rows head = head_rows::every_token;
    counted_weights parameters = counted_weights::visited;
    indexer_backward indexer = indexer_backward::as_run;
    grouped_gradient groups = grouped_gradient::as_run;
    counted_operators operators = counted_operators::every;
    counted_training training = counted_training::as_planned;
    count_pairs_function pairs = count_pairs;
};

constexpr counted_statistics count_pairs(const statistic& attends, const convention& counted_as,
                                         const attention_context& /*model*/) {
    const auto square = [&] {
        return counted_statistics(moment_statistics::squares{}).also(moment_statistics::cached{});
    };
    if (attends.is_of_other_side() && attends.shape() == pair_shape::full &&
        counted_as.windows == window_pairs::ignored) {
        return counted_statistics(mask_statistics::encoder{});  // The square of the encoder's length counts instead of
                                                                // the window's pairs.
    }
    switch (attends.is_of_other_side() ? pair_shape::units : attends.shape()) {
        case pair_shape::units:
            break;
        case pair_shape::beyond_causal:
            return counted_as.causal == causal_pairs::exact ? counted_statistics(attends) : counted_statistics{};
        case pair_shape::masked_out:
            return counted_as.causal == causal_pairs::full_square && counted_as.windows == window_pairs::ignored
                       ? counted_statistics(attends)
                       : counted_statistics{};
        case pair_shape::unregistered:
            return counted_as.operators == counted_operators::every ? counted_statistics(attends)
                                                                    : counted_statistics{};
        case pair_shape::mixed: {
            if (counted_as.causal != causal_pairs::full_square) {
                return counted_statistics(attends);
            }
            counted_statistics all = square();
            if (attends.is<mask_statistics::block_causal>() &&
                attends.as<mask_statistics::block_causal>().copies == 2) {
                // Two copies of a sequence have (2n)² pairs. Half of them count for each copy.
                all.also(moment_statistics::squares{}).also(moment_statistics::cached{});
            }
            return all;
        }
        case pair_shape::full:
        case pair_shape::causal:
            if (!attends.is_polynomial() && counted_as.windows == window_pairs::exact) {
                break;
            }
            if (attends.shape() == pair_shape::full || counted_as.causal == causal_pairs::full_square) {
                return square();
            }
            // A sequence of n new tokens after `past` cached tokens has (n² + n)/2 + n·past causal pairs. The division
            // by 2 leaves no remainder, because a product has two FLOPs for each pair.
            counted_statistics triangle(moment_statistics::squares{}, 2);
            if (counted_as.causal == causal_pairs::exact) {
                triangle.also(moment_statistics::tokens{}, 2);
            }
            return triangle.also(moment_statistics::cached{});
    }
    return attends;
}

/// The conventions by which the library counts, as constants. `conventions::exact` is the default; include
/// `conventions.hpp` for the others.
namespace conventions {

/// The library's own convention: every product counts once, over the attended pairs.
inline constexpr convention exact{.name = "exact"sv,
                                  .summary = "every matmul of the step, attention over the attended pairs"sv,
                                  .counted = products.with(term::optimizer)};

}  // namespace conventions

}  // namespace floptally
