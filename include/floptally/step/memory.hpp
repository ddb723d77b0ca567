// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/integer/checked.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Counts the bytes of a step that do not depend on the implementation: logits, weights, gradients, optimizer state.
/// Activations depend on the implementation and are not counted here. docs/plans.md has tables of bytes, with sources.

namespace floptally::inline v0_3 {

/// The logits of one microbatch on one rank.
struct logits_shape {
    /// Number of tokens of the whole sequences, including padding, before context parallelism splits them.
    std::uint64_t tokens = 0;
    std::uint64_t vocabulary = 0;
    std::uint64_t bytes_per_element = 2;
    std::uint64_t context_parallel = 1;  ///< number of ranks over which the tokens are split
    std::uint64_t tensor_parallel = 1;   ///< number of ranks over which the vocabulary is split
};

namespace detail {

constexpr std::uint64_t share_of(std::uint64_t amount, std::uint64_t ranks, const char* amount_field,
                                 const char* ranks_field) {
    require_positive(ranks, ranks_field);
    if (amount % ranks != 0) {
        refuse(amount_field, {"must be a multiple of ", ranks_field, " (", ranks, "), got ", amount});
    }
    return amount / ranks;
}

constexpr std::uint64_t bytes_of(const logits_shape& logits, std::uint64_t tokens) {
    const std::uint64_t columns = share_of(logits.vocabulary, logits.tensor_parallel, "vocabulary", "tensor_parallel");
    return checked(tokens, "logits") * columns * logits.bytes_per_element;
}

}  // namespace detail

/// Returns the bytes of the logits if each context-parallel rank computes the loss only over its tokens.
[[nodiscard]] constexpr std::uint64_t local_logits_bytes(const logits_shape& logits) {
    return detail::bytes_of(logits,
                            detail::share_of(logits.tokens, logits.context_parallel, "tokens", "context_parallel"));
}

/// Returns the bytes of the logits if every rank gathers the logits of all tokens. Context parallelism does not reduce
/// these bytes.
[[nodiscard]] constexpr std::uint64_t gathered_logits_bytes(const logits_shape& logits) {
    static_cast<void>(local_logits_bytes(logits));  // throws for an invalid shape
    return detail::bytes_of(logits, logits.tokens);
}

/// Returns the bytes of the logits while a framework gathers them: twice `gathered_logits_bytes`, or once with one
/// context-parallel rank. The factor 2 is for a framework that gathers into a list (AReaL's
/// `postprocess_packed_seqs_context_parallel`). The list of shards and the ordered result then exist at the same time.
[[nodiscard]] constexpr std::uint64_t gathering_logits_bytes(const logits_shape& logits) {
    return checked(gathered_logits_bytes(logits), "logits") * (logits.context_parallel == 1 ? 1 : 2);
}

/// The stages of ZeRO (arXiv:1910.02054, section 5): the states that are sharded over data-parallel ranks.
enum class zero_stage : std::uint8_t {
    none,       ///< stage 0: every rank holds all states (DDP)
    optimizer,  ///< stage 1: shards the optimizer state (Megatron-LM's distributed optimizer)
    gradients,  ///< stage 2: also shards the gradients (FSDP's SHARD_GRAD_OP)
    weights     ///< stage 3: also shards the weights (FSDP's FULL_SHARD)
};

/// The bytes of weight, gradient and optimizer state that one trainable parameter needs.
struct parameter_bytes {
    std::uint64_t weight = 0;
    std::uint64_t gradient = 0;
    std::uint64_t optimizer = 0;  ///< bytes of the master weight, momentum and variance
};

/// The bytes of a parameter under well-known optimizers.
namespace optimizers {

/// Adam in mixed precision: 16-bit weight and gradient; master weight, momentum and variance in 32 bits
/// (arXiv:1910.02054, section 3.1: 2 + 2 + 12).
inline constexpr parameter_bytes mixed_precision_adam{.weight = 2, .gradient = 2, .optimizer = 12};
/// Megatron-LM with bf16 weights and gradients accumulated in 32 bits (its page "Distributed Optimizer").
inline constexpr parameter_bytes megatron_bf16{.weight = 2, .gradient = 4, .optimizer = 12};
/// Megatron-LM with fp16 weights and gradients: the optimizer keeps a 32-bit copy of the gradients.
inline constexpr parameter_bytes megatron_fp16{.weight = 2, .gradient = 2, .optimizer = 16};
/// Adam in 32 bits: weight, gradient, momentum and variance; no master weight.
inline constexpr parameter_bytes fp32_adam{.weight = 4, .gradient = 4, .optimizer = 8};

}  // namespace optimizers

/// How weights, gradients and optimizer state are stored and sharded over ranks.
struct memory_plan {
    zero_stage sharded = zero_stage::none;
    std::uint64_t data_parallel = 1;  ///< number of ranks over which the states are sharded
    parameter_bytes bytes = optimizers::mixed_precision_adam;
};

/// The bytes of weights, gradients and optimizer state on one rank.
struct state_bytes {
    std::uint64_t weights = 0;
    std::uint64_t gradients = 0;
    std::uint64_t optimizer = 0;

    [[nodiscard]] constexpr std::uint64_t total() const { return checked(weights, "memory") + gradients + optimizer; }
    [[nodiscard]] friend constexpr bool operator==(const state_bytes&, const state_bytes&) = default;
};

/// Returns the bytes of weights, gradients and optimizer state of one rank. `parameters` is the number of parameters of
/// the rank after tensor, pipeline and expert parallelism. `trainable` of them are trained. Frozen weights have neither
/// gradient nor optimizer state.
///
/// If the number of parameters is not divisible by the ranks, it is rounded up, as in a padded flat buffer. A framework
/// that shards each tensor separately pads more.
[[nodiscard]] constexpr state_bytes state_bytes_of(std::uint64_t parameters, std::uint64_t trainable,
                                                   const memory_plan& plan = {}) {
    if (trainable > parameters) {
        detail::refuse("trainable", {"must be at most the parameters (", parameters, "), got ", trainable});
    }
    require_positive(plan.data_parallel, "data_parallel");
    const auto held = [&](std::uint64_t count, std::uint64_t bytes, zero_stage sharded_from) {
        const bool is_sharded = plan.sharded >= sharded_from;
        const std::uint64_t own =
            is_sharded ? count / plan.data_parallel + (count % plan.data_parallel != 0 ? 1 : 0) : count;
        return checked(own, "memory") * bytes;
    };
    return {.weights = held(parameters, plan.bytes.weight, zero_stage::weights),
            .gradients = held(trainable, plan.bytes.gradient, zero_stage::gradients),
            .optimizer = held(trainable, plan.bytes.optimizer, zero_stage::optimizer)};
}

/// Returns the bytes of weights, gradients and optimizer state of one rank if every weight trains.
[[nodiscard]] constexpr state_bytes state_bytes_of(std::uint64_t parameters, const memory_plan& plan = {}) {
    return state_bytes_of(parameters, parameters, plan);
}

}  // namespace floptally
