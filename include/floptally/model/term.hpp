// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace floptally {

/// What kind of product a row of a cost is. It decides the backward, what recompute adds, and which conventions count
/// it.
enum class term : std::uint8_t {
    linear,              ///< weight times activation
    input_linear,        ///< weight times what the model is given (pixels, sound): no gradient to data
    preprocessing,       ///< the linears between look-up tables and the first layer
    router,              ///< the linears that choose and weigh experts
    lm_head,             ///< the linears after the last layer: vocabulary, classifier, the dense before them
    scores,              ///< QKᵀ: activation times activation, per attended pair
    values,              ///< PV: likewise
    state,               ///< activation times activation, per token: a recurrent state
    delta_rule,          ///< the state of a delta rule (gated delta net, KDA): read, correct, read
    scan,                ///< the state of a selective scan (Mamba-2): write, read
    scan_convolution,    ///< the short convolution before a selective scan
    detached,            ///< weight times activation whose result does not reach the loss: forward only
    detached_head,       ///< the same after the last layer: a pooler beside the output
    embedding,           ///< a look-up; as a GEMM it would be tokens x vocabulary x hidden
    tied_embedding,      ///< the same, where the table is also the lm_head's weight
    position_embedding,  ///< a learned table of positions or segments
    norm,                ///< norm weights: element-wise
    latent_norm,         ///< the norms inside latent attention (MLA), on the compressed query and key-value
    bias,                ///< bias vectors: element-wise
    softmax,             ///< three FLOPs per attended pair and head: element-wise
    gating,              ///< a product of two activations, element by element
    residual             ///< the sum with a layer's input, as recsys-examples has it: once for each head
};

inline constexpr std::size_t term_count = 22;

/// What a term is where its result does not reach the loss; element-wise ones stay what they are.
[[nodiscard]] constexpr term detached_form(term kind) {
    switch (kind) {
        case term::linear:
        case term::input_linear:
        case term::preprocessing:
        case term::router:
        case term::scores:
        case term::values:
        case term::state:
        case term::delta_rule:
        case term::scan:
        case term::scan_convolution:
            return term::detached;
        case term::lm_head:
            return term::detached_head;
        default:  // forward only already, or no product
            return kind;
    }
}

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
inline constexpr term_set products{term::linear,       term::preprocessing, term::input_linear,     term::router,
                                   term::lm_head,      term::scores,        term::values,           term::state,
                                   term::delta_rule,   term::scan,          term::scan_convolution, term::detached,
                                   term::detached_head};

/// Every weight, whether it multiplies a matrix or an element; no look-up table.
inline constexpr term_set stored_weights{
    term::linear,        term::preprocessing,    term::input_linear, term::router,      term::lm_head, term::detached,
    term::detached_head, term::scan_convolution, term::norm,         term::latent_norm, term::bias};

}  // namespace floptally
