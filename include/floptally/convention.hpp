// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/error.hpp>
#include <floptally/model/term.hpp>

namespace floptally {

/// How the pairs of a causal mask are counted.
enum class causal_pairs : std::uint8_t {
    exact,        ///< L(L+1)/2
    half_square,  ///< L²/2
    full_square   ///< L²
};

/// How the pairs of windows, chunks and top-k are counted.
enum class window_pairs : std::uint8_t {
    exact,     ///< as attended
    ignored,   ///< as if the mask were plain causal (or bidirectional), by the rule for those
    half_box,  ///< L·min(L, W)/2 where layers with and without a window alternate, else ignored
    box,       ///< L·min(L, W) for a sliding window, else ignored
    limited,   ///< a sliding window as attended where it is shorter than the sequence, else L²/2; others as attended
    half_squares  ///< causal ones with their triangles as halves of squares: LW − W²/2 for a window, C²/2 a chunk
};

/// How the pairs of HSTU's masks are counted.
enum class hstu_pairs : std::uint8_t {
    attended,        ///< and as L² where `causal` says so
    history_squares  ///< windows ignored, the history's triangle as h²/2, of its group a target sees itself only
};

/// How many products the backward of the attention core counts.
enum class attention_backward : std::uint8_t {
    twice,  ///< two per product of the forward
    flash   ///< five for two (2.5x): a fused kernel computes QKᵀ again
};

/// Which rows the lm_head is counted for.
enum class head_rows : std::uint8_t {
    every_token,
    one_per_sequence  ///< inference: only the last token of each request is sampled from
};

/// Which weights count where a token does not pass all of them.
enum class counted_weights : std::uint8_t {
    visited,  ///< the chosen experts
    stored    ///< every parameter once, by every token of this side, and no lm_head that shares the embedding's table
};

/// How FLOPs are counted: data that goes into every report.
struct convention {
    std::string_view name;
    std::string_view summary;
    causal_pairs causal = causal_pairs::exact;
    window_pairs windows = window_pairs::exact;
    attention_backward backward = attention_backward::twice;
    term_set counted = products;
    std::uint8_t delta_rule_flops = 6;  ///< forward, of one element of a delta rule's state; exact: 6
    std::uint8_t scan_flops = 4;        ///< forward, of one element of a selective scan's state; exact: 4
    head_rows head = head_rows::every_token;
    counted_weights parameters = counted_weights::visited;
    hstu_pairs hstu = hstu_pairs::attended;
};

namespace conventions {

/// Every product once, over the pairs that are attended.
inline constexpr convention exact{.name = "exact",
                                  .summary = "every matmul of the step, attention over the attended pairs"};

/// Megatron-LM `num_floating_point_operations` (training.py).
inline constexpr convention megatron{
    .name = "megatron",
    .summary = "6 x matmul weights x tokens + causal attention as L²/2; no router, windows ignored",
    .causal = causal_pairs::half_square,
    .windows = window_pairs::ignored,
    .counted = products.without(term::router).without(term::scan_convolution).with(term::latent_norm),
    .delta_rule_flops = 8,
    .scan_flops = 7};

/// Megatron-Bridge: Megatron-LM's, with windows.
inline constexpr convention megatron_bridge{
    .name = "megatron_bridge",
    .summary = "as megatron; a window that is shorter than the sequence as attended",
    .causal = megatron.causal,
    .windows = window_pairs::limited,
    .counted = megatron.counted,
    .delta_rule_flops = megatron.delta_rule_flops,
    .scan_flops = megatron.scan_flops};

/// NeMo Automodel's formulas of each model.
inline constexpr convention nemo_automodel{.name = "nemo_automodel",
                                           .summary = "as megatron, without the norms inside latent attention",
                                           .causal = megatron.causal,
                                           .windows = megatron.windows,
                                           .counted = megatron.counted.without(term::latent_norm),
                                           .delta_rule_flops = megatron.delta_rule_flops,
                                           .scan_flops = megatron.scan_flops};

/// NeMo Automodel's formula of hybrids (Nemotron-H), the one that counts routers.
inline constexpr convention nemo_automodel_hybrid{.name = "nemo_automodel_hybrid",
                                                  .summary = "as nemo_automodel, with routers",
                                                  .causal = nemo_automodel.causal,
                                                  .windows = nemo_automodel.windows,
                                                  .counted = nemo_automodel.counted.with(term::router),
                                                  .delta_rule_flops = nemo_automodel.delta_rule_flops,
                                                  .scan_flops = nemo_automodel.scan_flops};

/// MaxText `calculate_tflops_training_per_device`.
inline constexpr convention maxtext{
    .name = "maxtext",
    .summary = "every matmul; causal attention as L²/2, a window as LW − W²/2, a chunk as C²/2",
    .causal = causal_pairs::half_square,
    .windows = window_pairs::half_squares,
    .delta_rule_flops = 8};

/// BioNeMo recipes' `PerfLogger`.
inline constexpr convention bionemo{.name = "bionemo",
                                    .summary = "6 x matmul weights x tokens + attention as L²; no router",
                                    .causal = causal_pairs::full_square,
                                    .windows = window_pairs::ignored,
                                    .counted = products.without(term::router)};

/// levanter `lm_flops_per_token`, three times.
inline constexpr convention levanter{.name = "levanter",
                                     .summary = "every matmul and the softmax, every mask as L²",
                                     .causal = causal_pairs::full_square,
                                     .windows = window_pairs::ignored,
                                     .counted = products.with(term::softmax)};

/// nanotron `get_flops`.
inline constexpr convention nanotron{.name = "nanotron",
                                     .summary = "every matmul, every mask as L²",
                                     .causal = causal_pairs::full_square,
                                     .windows = window_pairs::ignored};

/// vLLM's `ModelMetrics`, to be counted with `phases::forward`.
inline constexpr convention vllm_prefill{
    .name = "vllm_prefill",
    .summary = "new tokens x context, or x min(context, W); lm_head of one token a request; no router",
    .causal = causal_pairs::full_square,
    .windows = window_pairs::box,
    .counted = products.without(term::router),
    .head = head_rows::one_per_sequence};

/// transformers' `Trainer`: `floating_point_ops`, 6 x tokens x `num_parameters(exclude_embeddings=True)`.
inline constexpr convention hf_6nd{
    .name = "hf_6nd",
    .summary = "6 x tokens x stored parameters without embeddings (a tied lm_head is one); no attention",
    .counted = stored_weights,
    .parameters = counted_weights::stored};

/// PaLM (arXiv:2204.02311, appendix B): 6N + 12LHQT a token, N all parameters.
inline constexpr convention palm{
    .name = "palm",
    .summary = "(6N + 12LHQT) x tokens, N all parameters (a tied embedding once), attention as L²",
    .causal = causal_pairs::full_square,
    .windows = window_pairs::ignored,
    .counted = products.with(term::embedding)
                   .with(term::position_embedding)
                   .with(term::norm)
                   .with(term::latent_norm)
                   .with(term::bias)};

/// nanoGPT `estimate_mfu`: PaLM's formula, N without position embeddings.
inline constexpr convention nanogpt{.name = "nanogpt",
                                    .summary = "(6N + 12LHQT) x tokens, N without position embeddings, attention as L²",
                                    .causal = causal_pairs::full_square,
                                    .windows = window_pairs::ignored,
                                    .counted = palm.counted.without(term::position_embedding)};

/// torchtitan before its 2026 fix: 6 x (parameters without the input embedding) + 12LHQT.
inline constexpr convention torchtitan{
    .name = "torchtitan",
    .summary = "(6 x parameters without the input embedding + 12LHQT) x tokens, attention as L²",
    .causal = causal_pairs::full_square,
    .windows = window_pairs::ignored,
    .counted = products.with(term::norm).with(term::latent_norm).with(term::bias)};

/// verl `FlopsCounter`.
inline constexpr convention verl{
    .name = "verl",
    .summary =
        "causal attention as L²/2, embedding look-up as a GEMM; a window as L x min(L, W)/2 where layers alternate",
    .causal = causal_pairs::half_square,
    .windows = window_pairs::half_box,
    .counted = products.with(term::embedding).with(term::tied_embedding)};

/// The FlashAttention papers' rule: causal attention as half, its backward 2.5x.
inline constexpr convention flash_attention{
    .name = "flash_attention",
    .summary = "causal attention as L²/2 and its backward 2.5x; windows ignored",
    .causal = causal_pairs::half_square,
    .windows = window_pairs::ignored,
    .backward = attention_backward::flash};

/// `torch.utils.flop_counter.FlopCounterMode` where a fused attention kernel runs.
inline constexpr convention torch_flop_counter{.name = "torch_flop_counter",
                                               .summary = "every mask as L², attention backward 2.5x (fused kernel)",
                                               .causal = causal_pairs::full_square,
                                               .windows = window_pairs::ignored,
                                               .backward = attention_backward::flash};

/// The same counter over eager attention.
inline constexpr convention torch_flop_counter_eager{
    .name = "torch_flop_counter_eager",
    .summary = "every mask as L², attention backward 2x (eager attention)",
    .causal = causal_pairs::full_square,
    .windows = window_pairs::ignored};

/// recsys-examples `cal_hstu_flops`.
inline constexpr convention recsys_examples{
    .name = "recsys_examples",
    .summary = "HSTU layers only, with gate and residual; history as h²/2, attention backward 2.5x; windows ignored",
    .causal = causal_pairs::half_square,
    .windows = window_pairs::ignored,
    .backward = attention_backward::flash,
    .counted = products.without(term::preprocessing).without(term::lm_head).with(term::gating).with(term::residual),
    .hstu = hstu_pairs::history_squares};

inline constexpr std::array<const convention*, 19> all{&exact,
                                                       &megatron,
                                                       &megatron_bridge,
                                                       &nemo_automodel,
                                                       &nemo_automodel_hybrid,
                                                       &maxtext,
                                                       &bionemo,
                                                       &levanter,
                                                       &nanotron,
                                                       &vllm_prefill,
                                                       &hf_6nd,
                                                       &palm,
                                                       &nanogpt,
                                                       &torchtitan,
                                                       &verl,
                                                       &flash_attention,
                                                       &torch_flop_counter,
                                                       &torch_flop_counter_eager,
                                                       &recsys_examples};

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
