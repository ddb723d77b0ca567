// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

/// @file
/// The kinds of products, and all that the library knows of each.

namespace floptally {

/// The kind of product that a row of a cost is; `meanings` says all that the library knows of each.
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
    residual,            ///< the sum with a layer's input, as recsys-examples has it: once for each head
    optimizer,           ///< what an optimizer multiplies besides, once a step: Muon's orthogonalisation
    index_linear,   ///< a weight of an indexer, whose choice of keys passes no gradient: see `training_plan::indexer`
    index_scores,   ///< activation times activation in an indexer, per pair that it scores
    teacher_scores  ///< the attention's QKᵀ once more, by which an indexer's loss measures: a plan adds it
};

/// The operands of a row.
enum class term_operands : std::uint8_t {
    matrix,       ///< a weight matrix and activations
    vector,       ///< a weight for each element, or beside it: no product of matrices
    table,        ///< weights that are looked up: no product
    activations,  ///< two activations: a product of matrices without a weight
    elements,     ///< activations, element by element
    updates       ///< updates of weights among themselves: products outside of forward and backward
};

/// The place of a row in a model, which says whether recompute runs it again.
enum class term_place : std::uint8_t { before_layers, layer, attention_core, after_layers, after_backward };

/// The backward of a row, in units of its forward.
enum class term_backward : std::uint8_t {
    weight_and_data,  ///< a product for dW and one for dX
    weight_only,      ///< dW: nothing asks for the gradient of what a model is given
    each_operand,     ///< one for each of the two activations
    fused,            ///< likewise, in the one kernel of an attention's backward
    fused_again,      ///< likewise; that kernel computes the forward product once more
    once,             ///< as much as the forward, where a gradient arrives
    none,             ///< nothing that a convention counts
    instead           ///< nothing but the product itself, which runs after the backward and has no forward
};

/// All that the library knows of a kind of product.
struct term_meaning {
    const char* name = "";
    term_operands operands = term_operands::matrix;
    term_place place = term_place::layer;
    term_backward backward = term_backward::weight_and_data;
    term when_detached = term::detached;  ///< where its result does not reach the loss; element-wise ones stay
    std::uint64_t flops_together = 2;     ///< what a convention scales or halves: a split leaves it whole
};

/// The meaning of each kind, in the order of `term`.
inline constexpr term_meaning meanings[] = {
    {"linear"},
    {.name = "input_linear", .backward = term_backward::weight_only},
    {.name = "preprocessing", .place = term_place::before_layers},
    {"router"},
    {.name = "lm_head", .place = term_place::after_layers, .when_detached = term::detached_head},
    {"scores", term_operands::activations, term_place::attention_core, term_backward::fused_again},
    {"values", term_operands::activations, term_place::attention_core, term_backward::fused},
    {"state", term_operands::activations, term_place::layer, term_backward::each_operand},
    {"delta_rule", term_operands::activations, term_place::layer, term_backward::each_operand, term::detached, 6},
    {"scan", term_operands::activations, term_place::layer, term_backward::each_operand, term::detached, 4},
    {"scan_convolution"},
    {"detached"},
    {.name = "detached_head", .place = term_place::after_layers, .when_detached = term::detached_head},
    {.name = "embedding",
     .operands = term_operands::table,
     .place = term_place::before_layers,
     .when_detached = term::embedding},
    {.name = "tied_embedding",
     .operands = term_operands::table,
     .place = term_place::before_layers,
     .when_detached = term::tied_embedding},
    {.name = "position_embedding",
     .operands = term_operands::table,
     .place = term_place::before_layers,
     .when_detached = term::position_embedding},
    {.name = "norm", .operands = term_operands::vector, .when_detached = term::norm},
    {.name = "latent_norm", .operands = term_operands::vector, .when_detached = term::latent_norm},
    {.name = "bias", .operands = term_operands::vector, .when_detached = term::bias},
    {"softmax", term_operands::elements, term_place::attention_core, term_backward::each_operand, term::softmax, 3},
    {"gating", term_operands::elements, term_place::layer, term_backward::once, term::gating},
    {"residual", term_operands::elements, term_place::layer, term_backward::none, term::residual},
    {"optimizer", term_operands::updates, term_place::after_backward, term_backward::instead, term::optimizer},
    {.name = "index_linear", .when_detached = term::index_linear},
    {"index_scores", term_operands::activations, term_place::layer, term_backward::each_operand, term::index_scores},
    {"teacher_scores", term_operands::activations, term_place::layer, term_backward::none, term::teacher_scores}};

/// The number of kinds.
inline constexpr std::size_t term_count = sizeof(meanings) / sizeof(meanings[0]);
static_assert(meanings[static_cast<std::size_t>(term::optimizer)].when_detached == term::optimizer);

/// The meaning of a kind of product.
[[nodiscard]] constexpr const term_meaning& meaning_of(term kind) { return meanings[static_cast<std::size_t>(kind)]; }

/// A row with weights: matrices, vectors, look-up tables.
[[nodiscard]] constexpr bool has_weight(term kind) {
    const term_operands operands = meaning_of(kind).operands;
    return operands == term_operands::matrix || operands == term_operands::vector || operands == term_operands::table;
}
/// A product of matrices, which a training step computes.
[[nodiscard]] constexpr bool is_product(term kind) {
    const term_operands operands = meaning_of(kind).operands;
    return operands == term_operands::matrix || operands == term_operands::activations;
}
/// Weights without a product: norms, biases, look-up tables.
[[nodiscard]] constexpr bool is_elementwise_weight(term kind) { return has_weight(kind) && !is_product(kind); }
/// A product whose result does not reach the loss.
[[nodiscard]] constexpr bool is_detached(term kind) {
    return is_product(kind) && meaning_of(kind).when_detached == kind;
}

/// A product of an indexer, which trains, where it does, by a loss of its own that no gradient leaves.
[[nodiscard]] constexpr bool is_of_indexer(term kind) {
    return kind == term::index_linear || kind == term::index_scores;
}
/// Pairs that a convention may count in a way of their own.
[[nodiscard]] constexpr bool is_index_pairs(term kind) {
    return kind == term::index_scores || kind == term::teacher_scores;
}

/// A set of terms.
class term_set {
  public:
    constexpr term_set() = default;
    template <class... Terms>
    constexpr explicit term_set(Terms... terms) : bits_(((1U << static_cast<unsigned>(terms)) | ...)) {}

    /// True where the term belongs to it.
    [[nodiscard]] constexpr bool contains(term which) const {
        return ((bits_ >> static_cast<unsigned>(which)) & 1U) != 0;
    }
    /// True where no term belongs to it.
    [[nodiscard]] constexpr bool is_empty() const { return bits_ == 0; }
    /// The set and one more.
    [[nodiscard]] constexpr term_set with(term which) const {
        term_set set = *this;
        set.bits_ |= 1U << static_cast<unsigned>(which);
        return set;
    }
    /// The set less one.
    [[nodiscard]] constexpr term_set without(term which) const {
        term_set set = *this;
        set.bits_ &= ~(1U << static_cast<unsigned>(which));
        return set;
    }

  private:
    unsigned bits_ = 0;
};

/// All terms that `belongs` returns true for.
template <class Belongs>
[[nodiscard]] constexpr term_set terms_that(Belongs belongs) {
    term_set set;
    for (std::size_t kind = 0; kind < term_count; ++kind) {
        set = belongs(static_cast<term>(kind)) ? set.with(static_cast<term>(kind)) : set;
    }
    return set;
}

/// Every product that a training step computes, and nothing else.
inline constexpr term_set products = terms_that(is_product);

/// Every weight, whether it multiplies a matrix or an element; no look-up table.
inline constexpr term_set stored_weights =
    terms_that([](term kind) { return has_weight(kind) && meaning_of(kind).operands != term_operands::table; });

}  // namespace floptally
