// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/error.hpp>

namespace floptally {

/// What kind of product a row of a cost is. It decides the backward, what recompute adds, and which conventions count
/// it.
enum class term : std::uint8_t {
    linear,              ///< weight times activation
    router,              ///< the linear that chooses experts
    lm_head,             ///< the linears after the last layer: vocabulary, classifier, the dense before them
    scores,              ///< QKᵀ: activation times activation, per attended pair
    values,              ///< PV: likewise
    state,               ///< activation times activation, per token: a recurrent state
    detached,            ///< weight times activation whose result does not reach the loss: forward only
    detached_head,       ///< the same after the last layer: a pooler beside the output
    embedding,           ///< a look-up; as a GEMM it would be tokens x vocabulary x hidden
    tied_embedding,      ///< the same, where the table is also the lm_head's weight
    position_embedding,  ///< a learned table of positions or segments
    norm,                ///< norm weights: element-wise
    bias                 ///< bias vectors: element-wise
};

inline constexpr std::size_t term_count = 13;

/// A set of terms.
class term_set {
  public:
    constexpr term_set() = default;
    template <class... Terms>
    constexpr explicit term_set(Terms... terms) : bits_(((1U << static_cast<unsigned>(terms)) | ...)) {}

    [[nodiscard]] constexpr bool contains(term which) const {
        return ((bits_ >> static_cast<unsigned>(which)) & 1U) != 0;
    }
    [[nodiscard]] constexpr term_set with(term which) const {
        term_set set = *this;
        set.bits_ |= 1U << static_cast<unsigned>(which);
        return set;
    }
    [[nodiscard]] constexpr term_set without(term which) const {
        term_set set = *this;
        set.bits_ &= ~(1U << static_cast<unsigned>(which));
        return set;
    }

  private:
    unsigned bits_ = 0;
};

/// Every product that a training step computes, and nothing else.
inline constexpr term_set products{term::linear, term::router, term::lm_head,  term::scores,
                                   term::values, term::state,  term::detached, term::detached_head};

/// How the pairs of a causal mask are counted.
enum class causal_pairs : std::uint8_t {
    exact,        ///< L(L+1)/2
    half_square,  ///< L²/2
    full_square   ///< L²
};

/// How the pairs of windows, chunks and top-k are counted.
enum class window_pairs : std::uint8_t {
    exact,    ///< as attended
    ignored,  ///< as if the mask were plain causal (or bidirectional), by the rule for those
    half_box  ///< L·min(L, W)/2 where layers with and without a window alternate, else ignored
};

/// How many products the backward of the attention core counts.
enum class attention_backward : std::uint8_t {
    twice,  ///< two per product of the forward
    flash   ///< five for two (2.5x): a fused kernel computes QKᵀ again
};

/// How FLOPs are counted: data that goes into every report.
struct convention {
    std::string_view name;
    std::string_view summary;
    causal_pairs causal = causal_pairs::exact;
    window_pairs windows = window_pairs::exact;
    attention_backward backward = attention_backward::twice;
    term_set counted = products;
};

namespace conventions {

/// Every product once, over the pairs that are attended.
inline constexpr convention exact{"exact", "every matmul of the step, attention over the attended pairs"};

/// Megatron-LM `num_floating_point_operations`; NeMo Automodel counts dense models alike.
inline constexpr convention megatron{
    "megatron",
    "6 x matmul weights x tokens + causal attention as L²/2; no router, windows ignored",
    causal_pairs::half_square,
    window_pairs::ignored,
    attention_backward::twice,
    products.without(term::router)};

/// PaLM (arXiv:2204.02311, appendix B): 6N + 12LHQT a token, N all parameters.
inline constexpr convention palm{
    "palm",
    "(6N + 12LHQT) x tokens, N all parameters (a tied embedding once), attention as L²",
    causal_pairs::full_square,
    window_pairs::ignored,
    attention_backward::twice,
    products.with(term::embedding).with(term::position_embedding).with(term::norm).with(term::bias)};

/// nanoGPT `estimate_mfu`: PaLM's formula, N without position embeddings.
inline constexpr convention nanogpt{"nanogpt",
                                    "(6N + 12LHQT) x tokens, N without position embeddings, attention as L²",
                                    causal_pairs::full_square,
                                    window_pairs::ignored,
                                    attention_backward::twice,
                                    products.with(term::embedding).with(term::norm).with(term::bias)};

/// The FlashAttention papers' rule: causal attention as half, its backward 2.5x.
inline constexpr convention flash_attention{
    "flash_attention",         "causal attention as L²/2 and its backward 2.5x; windows ignored",
    causal_pairs::half_square, window_pairs::ignored,
    attention_backward::flash, products};

/// `torch.utils.flop_counter.FlopCounterMode` where a fused attention kernel runs.
inline constexpr convention torch_flop_counter{
    "torch_flop_counter",      "every mask as L², attention backward 2.5x (fused kernel)",
    causal_pairs::full_square, window_pairs::ignored,
    attention_backward::flash, products};

/// The same counter over eager attention.
inline constexpr convention torch_flop_counter_eager{
    "torch_flop_counter_eager", "every mask as L², attention backward 2x (eager attention)",
    causal_pairs::full_square,  window_pairs::ignored,
    attention_backward::twice,  products};

/// verl `FlopsCounter`.
inline constexpr convention verl{
    "verl",
    "causal attention as L²/2, embedding look-up as a GEMM; a window as L x min(L, W)/2 where layers alternate",
    causal_pairs::half_square,
    window_pairs::half_box,
    attention_backward::twice,
    products.with(term::embedding).with(term::tied_embedding)};

/// torchtitan before its 2026 fix: 6 x (parameters without the input embedding) + 12LHQT.
inline constexpr convention torchtitan{
    "torchtitan",
    "(6 x parameters without the input embedding + 12LHQT) x tokens, attention as L²",
    causal_pairs::full_square,
    window_pairs::ignored,
    attention_backward::twice,
    products.with(term::norm).with(term::bias)};

inline constexpr std::array<const convention*, 9> all{&exact,           &megatron,           &palm,
                                                      &nanogpt,         &torchtitan,         &verl,
                                                      &flash_attention, &torch_flop_counter, &torch_flop_counter_eager};

}  // namespace conventions

/// The preset of that name, or an error that lists them.
[[nodiscard]] inline const convention& convention_named(std::string_view name) {
    std::string known;
    for (const convention* preset : conventions::all) {
        if (preset->name == name) {
            return *preset;
        }
        append_item(known, preset->name);
    }
    throw error("convention", "unknown name \"" + std::string(name) + "\"; known: " + known);
}

}  // namespace floptally
