// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

/// @file
/// The kinds of work that an entry of a cost can stand for. Each kind has operands, a place in a model and a backward.

namespace floptally::inline v0_3 {

/// The kind of work of an entry of a cost. The table `meanings` has the properties of each kind.
enum class term : std::uint8_t {
    linear,              ///< weight times activation
    input_linear,        ///< a weight times the model's input (pixels, sound), which needs no gradient
    preprocessing,       ///< matrices between look-up tables and the first layer
    router,              ///< matrices that choose and weigh experts
    lm_head,             ///< matrices after the last layer: over the vocabulary or the classes, and a dense layer
                         ///< before them
    scores,              ///< QKᵀ: activation times activation, per attended pair
    values,              ///< PV: activation times activation, per attended pair
    state,               ///< products of activations, per token, that update or read a recurrent state
    delta_rule,          ///< products that look up, correct and read a delta rule's state (gated delta net, KDA)
    scan,                ///< products that write and read a selective scan's state (Mamba-2)
    scan_convolution,    ///< the short convolution in front of a selective scan
    detached,            ///< weight times activation whose result does not reach the loss: forward only
    detached_head,       ///< `detached` work after the last layer: a pooler whose result does not reach the loss
    embedding,           ///< a look-up in an embedding table; it takes the place of a matrix product of tokens x
                         ///< vocabulary x hidden
    tied_embedding,      ///< a look-up in a table that is also the lm_head's weight
    position_embedding,  ///< a look-up in a learned table of positions or segments
    norm,                ///< norm weights: element-wise
    latent_norm,         ///< the norms inside latent attention (MLA), on the compressed query and key-value
    bias,                ///< bias vectors: element-wise
    softmax,             ///< three FLOPs per attended pair and head: element-wise
    gating,              ///< a product of two activations, element by element
    residual,            ///< the addition of a layer's input to its result; counted once per head, as in
                         ///< recsys-examples
    optimizer,           ///< matrix products of an optimizer, once per step: Muon's orthogonalisation
    /// A weight of a sparse attention's indexer. No gradient passes through the choice of keys; a separate loss may
    /// train it (`training_plan::indexer`).
    index_linear,
    index_scores,    ///< activation times activation in an indexer, per scored pair
    teacher_scores,  ///< the attention's QKᵀ computed once more, as the target of an indexer's loss; added by a
                     ///< training plan
    gradient         ///< a matrix product that only the backward pass runs, such as the gradient of a linear solve
};

/// The operands of the work that an entry of a cost stands for.
enum class term_operands : std::uint8_t {
    matrix,       ///< a weight matrix and activations
    vector,       ///< a weight for each element, multiplied or added: no matrix product
    table,        ///< weights that are looked up: no matrix product
    activations,  ///< two activations: a matrix product without a weight
    elements,     ///< activations that are combined element by element
    updates       ///< matrices that an optimizer computes from a weight's update: products outside forward and backward
};

/// Where in a model the work of a cost entry runs. This decides whether activation recompute runs the work again.
enum class term_place : std::uint8_t { before_layers, layer, attention_core, after_layers, after_backward };

/// The work of a cost entry in the backward pass, compared to its work in the forward pass.
enum class term_backward : std::uint8_t {
    weight_and_data,  ///< a product for dW and one for dX
    weight_only,      ///< dW only: the model's input needs no gradient
    each_operand,     ///< one product for each of the two activations
    fused,            ///< one product for each activation, in the fused kernel of an attention's backward
    fused_again,      ///< like `fused`, and the kernel computes the forward product once more
    once,             ///< as much work as the forward, if a gradient reaches the entry
    none,             ///< no convention counts a backward for this work
    alone,            ///< the work runs only in the backward pass
    instead           ///< the work runs only after the backward pass, such as an optimizer's
};

/// The properties of one kind of work: its operands, its place in the model and its backward.
struct term_meaning {
    const char* name = "";
    term_operands operands = term_operands::matrix;
    term_place place = term_place::layer;
    term_backward backward = term_backward::weight_and_data;
    term when_detached = term::detached;  ///< the kind of work that an entry becomes if its result does not reach the
                                          ///< loss; element-wise kinds do not change
    /// Number of FLOPs that ranks never split, such as 2 for a multiply-add. A rank's part of the work is a multiple of
    /// this number.
    std::uint64_t flops_together = 2;
};

/// The properties of each kind of work, in the order of `term`.
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
    {"teacher_scores", term_operands::activations, term_place::layer, term_backward::none, term::teacher_scores},
    {"gradient", term_operands::activations, term_place::layer, term_backward::alone}};

/// The number of kinds of work.
inline constexpr std::size_t term_count = sizeof(meanings) / sizeof(meanings[0]);
static_assert(meanings[static_cast<std::size_t>(term::optimizer)].when_detached == term::optimizer);

/// Returns the properties of this kind of work.
[[nodiscard]] constexpr const term_meaning& meaning_of(term kind) { return meanings[static_cast<std::size_t>(kind)]; }

/// Returns true for kinds of work that have weights: matrices, vectors, look-up tables.
[[nodiscard]] constexpr bool has_weight(term kind) {
    const term_operands operands = meaning_of(kind).operands;
    return operands == term_operands::matrix || operands == term_operands::vector || operands == term_operands::table;
}
/// Returns true for matrix products of forward and backward.
[[nodiscard]] constexpr bool is_product(term kind) {
    const term_operands operands = meaning_of(kind).operands;
    return operands == term_operands::matrix || operands == term_operands::activations;
}
/// Returns true for weights without a matrix product: norms, biases, look-up tables.
[[nodiscard]] constexpr bool is_elementwise_weight(term kind) { return has_weight(kind) && !is_product(kind); }
/// Returns true for matrix products whose result does not reach the loss.
[[nodiscard]] constexpr bool is_detached(term kind) {
    return is_product(kind) && meaning_of(kind).when_detached == kind;
}

/// Returns true for products of a sparse attention's indexer. Only a separate loss can train an indexer, and no
/// gradient leaves it.
[[nodiscard]] constexpr bool is_of_indexer(term kind) {
    return kind == term::index_linear || kind == term::index_scores;
}
/// Returns true for work that is counted for each (query, key) pair that an indexer scores. Some conventions count such
/// work differently.
[[nodiscard]] constexpr bool is_index_pairs(term kind) {
    return kind == term::index_scores || kind == term::teacher_scores;
}

/// A set of kinds of work (`term`).
class term_set {
  public:
    constexpr term_set() = default;
    template <class... Terms>
    constexpr explicit term_set(Terms... terms) : bits_(((1U << static_cast<unsigned>(terms)) | ...)) {}

    /// Returns true if the set has the kind of work `which`.
    [[nodiscard]] constexpr bool contains(term which) const {
        return ((bits_ >> static_cast<unsigned>(which)) & 1U) != 0;
    }
    /// Returns true if the set has no kind of work.
    [[nodiscard]] constexpr bool is_empty() const { return bits_ == 0; }
    /// Returns the set plus the kind of work `which`.
    [[nodiscard]] constexpr term_set with(term which) const {
        term_set set = *this;
        set.bits_ |= 1U << static_cast<unsigned>(which);
        return set;
    }
    /// Returns the set minus the kind of work `which`.
    [[nodiscard]] constexpr term_set without(term which) const {
        term_set set = *this;
        set.bits_ &= ~(1U << static_cast<unsigned>(which));
        return set;
    }

  private:
    unsigned bits_ = 0;
};

/// Returns the set of all kinds of work for which `belongs` returns true.
template <class Belongs>
[[nodiscard]] constexpr term_set terms_that(Belongs belongs) {
    term_set set;
    for (std::size_t kind = 0; kind < term_count; ++kind) {
        set = belongs(static_cast<term>(kind)) ? set.with(static_cast<term>(kind)) : set;
    }
    return set;
}

/// Every matrix product of a training step's forward and backward.
inline constexpr term_set products = terms_that(is_product);

/// Every kind of work whose weights are matrices or vectors, not look-up tables.
inline constexpr term_set stored_weights =
    terms_that([](term kind) { return has_weight(kind) && meaning_of(kind).operands != term_operands::table; });

}  // namespace floptally
