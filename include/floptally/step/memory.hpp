// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include <floptally/integer/checked.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Bytes that a step must hold whatever the kernels do: logits, weights, gradients, optimizer state. Activations depend
/// on the implementation and are not guessed. docs/plans.md has the tables and their sources.

namespace floptally {

/// The logits of one microbatch on one rank.
struct logits_shape {
    std::uint64_t tokens = 0;  ///< slots of the whole sequences, padding included
    std::uint64_t vocabulary = 0;
    std::uint64_t bytes_per_element = 2;
    std::uint64_t context_parallel = 1;  ///< ranks that share the tokens
    std::uint64_t tensor_parallel = 1;   ///< ranks that share the vocabulary
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

/// Bytes of the logits where each rank computes the loss over its own part of the sequence.
[[nodiscard]] constexpr std::uint64_t local_logits_bytes(const logits_shape& logits) {
    return detail::bytes_of(logits,
                            detail::share_of(logits.tokens, logits.context_parallel, "tokens", "context_parallel"));
}

/// Bytes of the logits of all tokens, which every rank has where the parts are gathered first: they do not shrink with
/// context parallelism.
[[nodiscard]] constexpr std::uint64_t gathered_logits_bytes(const logits_shape& logits) {
    static_cast<void>(local_logits_bytes(logits));  // refuses the shapes that it refuses
    return detail::bytes_of(logits, logits.tokens);
}

/// Bytes of the logits while they are gathered: twice those of all tokens, since a framework that gathers into a list
/// holds the list of parts and the whole in order at once (AReaL's `postprocess_packed_seqs_context_parallel`). Once,
/// where one rank has all tokens.
[[nodiscard]] constexpr std::uint64_t gathering_logits_bytes(const logits_shape& logits) {
    return checked(gathered_logits_bytes(logits), "logits") * (logits.context_parallel == 1 ? 1 : 2);
}

/// The stages of ZeRO (arXiv:1910.02054, section 5): the states that data-parallel ranks split.
enum class zero_stage : std::uint8_t {
    none,       ///< 0: every rank holds all states (DDP)
    optimizer,  ///< 1: the optimizer state (Megatron-LM's distributed optimizer)
    gradients,  ///< 2: gradients too (FSDP's SHARD_GRAD_OP)
    weights     ///< 3: weights too (FSDP's FULL_SHARD)
};

/// Bytes of one parameter.
struct parameter_bytes {
    std::uint64_t weight = 0;
    std::uint64_t gradient = 0;
    std::uint64_t optimizer = 0;  ///< master weight and moments
};

namespace optimizers {

/// Mixed precision: 16-bit weight and gradient; master weight, momentum and variance in 32 bits (arXiv:1910.02054,
/// section 3.1: 2 + 2 + 12).
inline constexpr parameter_bytes mixed_precision_adam{.weight = 2, .gradient = 2, .optimizer = 12};
/// Megatron-LM with bf16 weights, whose gradients are accumulated in 32 bits (its page "Distributed Optimizer").
inline constexpr parameter_bytes megatron_bf16{.weight = 2, .gradient = 4, .optimizer = 12};
/// Megatron-LM with fp16 weights and gradients: the optimizer keeps 32-bit gradients of its own.
inline constexpr parameter_bytes megatron_fp16{.weight = 2, .gradient = 2, .optimizer = 16};
/// Everything in 32 bits: momentum and variance, no master weight.
inline constexpr parameter_bytes fp32_adam{.weight = 4, .gradient = 4, .optimizer = 8};

}  // namespace optimizers

/// The way that ranks hold model states.
struct memory_plan {
    zero_stage sharded = zero_stage::none;
    std::uint64_t data_parallel = 1;  ///< ranks that the states are split over
    parameter_bytes bytes = optimizers::mixed_precision_adam;
};

/// Bytes of the model states of one rank.
struct state_bytes {
    std::uint64_t weights = 0;
    std::uint64_t gradients = 0;
    std::uint64_t optimizer = 0;

    [[nodiscard]] constexpr std::uint64_t total() const { return checked(weights, "memory") + gradients + optimizer; }
    [[nodiscard]] friend constexpr bool operator==(const state_bytes&, const state_bytes&) = default;
};

/// Weights, gradients and optimizer state of one rank that is given `parameters` by tensor, pipeline and expert
/// parallelism, `trainable` of them trained: frozen weights have neither gradient nor optimizer state.
///
/// A number that the ranks do not divide is rounded up, as a flat buffer is padded to a multiple of the ranks. A
/// framework that splits each tensor on its own pads more.
[[nodiscard]] constexpr state_bytes state_bytes_of(std::uint64_t parameters, std::uint64_t trainable,
                                                   const memory_plan& plan = {}) {
    if (trainable > parameters) {
        detail::refuse("trainable", {"must be at most the parameters (", parameters, "), got ", trainable});
    }
    require_positive(plan.data_parallel, "data_parallel");
    const auto held = [&](std::uint64_t count, std::uint64_t bytes, zero_stage split_from) {
        const bool split = plan.sharded >= split_from;
        const std::uint64_t own =
            split ? count / plan.data_parallel + (count % plan.data_parallel != 0 ? 1 : 0) : count;
        return checked(own, "memory") * bytes;
    };
    return {.weights = held(parameters, plan.bytes.weight, zero_stage::weights),
            .gradients = held(trainable, plan.bytes.gradient, zero_stage::gradients),
            .optimizer = held(trainable, plan.bytes.optimizer, zero_stage::optimizer)};
}

/// Weights, gradients and optimizer state of one rank where every weight is trained.
[[nodiscard]] constexpr state_bytes state_bytes_of(std::uint64_t parameters, const memory_plan& plan = {}) {
    return state_bytes_of(parameters, parameters, plan);
}

}  // namespace floptally
