// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <floptally/count/convention.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/statistics/counter_statistics.hpp>
#include <floptally/statistics/hstu_statistics.hpp>
#include <floptally/statistics/sequence_masks.hpp>
#include <floptally/statistics/sparse_masks.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/names.hpp>

/// @file
/// Every convention of the library, and a look-up by name.

/// The conventions by which well-known tools count. Each is a constant: pass it to a `flop_counter`.
namespace floptally::inline v0_3::conventions {

// Conventions that treat every mask alike: they count L² pairs, L²/2 pairs, or no pairs.

/// `floating_point_ops` of transformers' `Trainer` for text: 6 x tokens x `num_parameters(exclude_embeddings=True)`.
/// Frozen weights and adapters are parameters too. For a model whose main input is no text, the Trainer multiplies by
/// the values of that input (pixels, a spectrogram) instead of its tokens.
inline constexpr convention hf_6nd{
    .name = "hf_6nd"sv,
    .summary =
        "6 x tokens x stored parameters without embeddings (a tied lm_head is one), frozen or not; no attention"sv,
    .counted = stored_weights,
    .parameters = counted_weights::stored,
    .training = counted_training::every_weight};

/// PaLM (arXiv:2204.02311, appendix B): 6N + 12LHQT FLOPs a token. N is all parameters, L layers, H heads, Q the head
/// dimension, T the sequence length.
inline constexpr convention palm{
    .name = "palm"sv,
    .summary = "(6N + 12LHQT) x tokens, N all parameters (a tied embedding once), attention as L²"sv,
    .causal = causal_pairs::full_square,
    .windows = window_pairs::ignored,
    .counted = products.with(term::embedding)
                   .with(term::position_embedding)
                   .with(term::norm)
                   .with(term::latent_norm)
                   .with(term::bias)};

/// nanoGPT's `estimate_mfu`: PaLM's formula, but N does not include position embeddings.
inline constexpr convention nanogpt{
    .name = "nanogpt"sv,
    .summary = "(6N + 12LHQT) x tokens, N without position embeddings, attention as L²"sv,
    .causal = causal_pairs::full_square,
    .windows = window_pairs::ignored,
    .counted = palm.counted.without(term::position_embedding)};

/// torchtitan before its fix of 2026: 6 x (parameters without the input embedding) + 12LHQT FLOPs a token. L is layers,
/// H heads, Q the head dimension, T the sequence length.
inline constexpr convention torchtitan{
    .name = "torchtitan"sv,
    .summary = "(6 x parameters without the input embedding + 12LHQT) x tokens, attention as L²"sv,
    .causal = causal_pairs::full_square,
    .windows = window_pairs::ignored,
    .counted = products.with(term::norm).with(term::latent_norm).with(term::bias)};

/// Counts like `PerfLogger` of the BioNeMo recipes.
inline constexpr convention bionemo{.name = "bionemo"sv,
                                    .summary = "6 x matmul weights x tokens + attention as L²; no router"sv,
                                    .causal = causal_pairs::full_square,
                                    .windows = window_pairs::ignored,
                                    .counted = products.without(term::router)};

/// Counts like levanter's `lm_flops_per_token`, times three for forward and backward.
inline constexpr convention levanter{.name = "levanter"sv,
                                     .summary = "every matmul and the softmax, every mask as L²"sv,
                                     .causal = causal_pairs::full_square,
                                     .windows = window_pairs::ignored,
                                     .counted = products.with(term::softmax)};

/// Counts like nanotron's `get_flops`.
inline constexpr convention nanotron{.name = "nanotron"sv,
                                     .summary = "every matmul, every mask as L²"sv,
                                     .causal = causal_pairs::full_square,
                                     .windows = window_pairs::ignored};

/// The FlashAttention papers: causal attention counts as L²/2 pairs, and its backward as 2.5 times the forward.
inline constexpr convention flash_attention{
    .name = "flash_attention"sv,
    .summary = "causal attention as L²/2 and its backward 2.5x; windows ignored"sv,
    .causal = causal_pairs::half_square,
    .windows = window_pairs::ignored,
    .backward = attention_backward::flash};

/// Counts like PyTorch's `torch.utils.flop_counter.FlopCounterMode` for a model with a fused attention kernel.
inline constexpr convention torch_flop_counter{.name = "torch_flop_counter"sv,
                                               .summary = "every mask as L², attention backward 2.5x (fused kernel)"sv,
                                               .causal = causal_pairs::full_square,
                                               .windows = window_pairs::ignored,
                                               .backward = attention_backward::flash,
                                               .groups = grouped_gradient::all_channels,
                                               .operators = counted_operators::registered};

/// Counts like PyTorch's `FlopCounterMode` for a model with eager attention.
inline constexpr convention torch_flop_counter_eager{
    .name = "torch_flop_counter_eager"sv,
    .summary = "every mask as L², attention backward 2x (eager attention)"sv,
    .causal = causal_pairs::full_square,
    .windows = window_pairs::ignored,
    .groups = grouped_gradient::all_channels,
    .operators = counted_operators::registered};

}  // namespace floptally::conventions

namespace floptally::inline v0_3 {

// The conventions of MaxText, before and since its change of July 2026.

/// The function of the conventions of MaxText.
namespace maxtext {

/// Counts L²/2 pairs for a sequence of L tokens under causal windows, chunks and top-k masks. For masks that are not
/// causal, counts the attended pairs.
[[nodiscard]] constexpr counted_statistics count_pairs(const statistic& attends, const convention& counted_as,
                                                       const attention_context& model) {
    if (is_sliding_window(attends)) {
        return {window_squares{{attends.as<mask_statistics::band>().left}}, 2};
    }
    if (attends.is<mask_statistics::top_k>()) {
        return {window_squares{{attends.as<mask_statistics::top_k>().keys - 1}}, 2};
    }
    if (attends.is<mask_statistics::chunked>()) {
        return {chunk_squares{attends.as<mask_statistics::chunked>().tokens}, 2};
    }
    return floptally::count_pairs(attends, counted_as, model);
}

/// Counts like `count_pairs`, except for compressed keys (DeepSeek-V4). For these it counts half of the product of the
/// numbers of queries and compressed keys.
[[nodiscard]] constexpr counted_statistics count_compressed_pairs(const statistic& attends,
                                                                  const convention& counted_as,
                                                                  const attention_context& model) {
    if (attends.is<mask_statistics::compressed_keys>()) {
        const std::int32_t ratio = attends.as<mask_statistics::compressed_keys>().ratio;
        return {mask_statistics::compressed_box{ratio, mask_statistics::compressed_box::every}, 2};
    }
    if (attends.is<mask_statistics::best_compressed_keys>()) {
        const auto best = attends.as<mask_statistics::best_compressed_keys>();
        return {best_compressed_squares{best.ratio, best.keys}, 2};
    }
    return maxtext::count_pairs(attends, counted_as, model);
}

}  // namespace maxtext

namespace conventions {

/// Counts like MaxText's `calculate_tflops_training_per_device`.
inline constexpr convention maxtext{
    .name = "maxtext"sv,
    .summary = "every matmul; causal attention as L²/2, a window as LW − W²/2, a chunk as C²/2"sv,
    .causal = causal_pairs::half_square,
    .delta_rule_flops = 8,
    .pairs = floptally::maxtext::count_pairs};

/// MaxText since its change 4410 (July 2026). It also counts DeepSeek-V4. An indexer counts like any other part of a
/// layer.
inline constexpr convention maxtext_2026{
    .name = "maxtext_2026"sv,
    .summary =
        "as maxtext; compressed keys as L²/2R, the best K of them as LK − K²R/2, indexers as any part of a layer"sv,
    .causal = maxtext.causal,
    .counted = maxtext.counted.without(term::teacher_scores),
    .delta_rule_flops = maxtext.delta_rule_flops,
    .indexer = indexer_backward::as_layers,
    .pairs = floptally::maxtext::count_compressed_pairs};

}  // namespace conventions

// The conventions of Megatron-LM and its descendants: Megatron-Bridge and NeMo Automodel.

/// The function of the convention of Megatron-Bridge.
namespace megatron_bridge {

/// Counts the attended pairs of a sliding window that is shorter than the sequence. For a longer window and a sequence
/// of n tokens it counts n²/2. For other masks and for the scores of an indexer, counts the attended pairs.
[[nodiscard]] constexpr counted_statistics count_pairs(const statistic& attends, const convention& counted_as,
                                                       const attention_context& model) {
    if (model.of_indexer) {
        return floptally::count_pairs(attends, conventions::exact, model);
    }
    if (is_sliding_window(attends)) {
        const std::int32_t left = attends.as<mask_statistics::band>().left;
        return counted_statistics(within_window{{left}}, 2).also(limited_by_window{{left}});
    }
    return floptally::count_pairs(attends, counted_as, model);
}

}  // namespace megatron_bridge

namespace conventions {

/// Megatron-LM's `num_floating_point_operations` (training.py). It has no formula for sparse attention, so no indexer
/// counts.
inline constexpr convention megatron{
    .name = "megatron"sv,
    .summary = "6 x matmul weights x tokens + causal attention as L²/2; no router, windows ignored"sv,
    .causal = causal_pairs::half_square,
    .windows = window_pairs::ignored,
    .counted = products.without(term::router)
                   .without(term::scan_convolution)
                   .with(term::latent_norm)
                   .without(term::index_linear)
                   .without(term::index_scores)
                   .without(term::teacher_scores),
    .delta_rule_flops = 8,
    .scan_flops = 7};

/// Megatron-Bridge: like Megatron-LM, but it also counts sliding windows and the training of indexers. For an indexer
/// it counts the projections (forward and dW) and the scores over all keys. Over the keys on which the indexer's loss
/// is computed, it also counts the gradients of the scores, and QKᵀ of the attention that serves as teacher.
inline constexpr convention megatron_bridge{
    .name = "megatron_bridge"sv,
    .summary = "as megatron; a window that is shorter than the sequence as attended"sv,
    .causal = megatron.causal,
    .counted = megatron.counted.with(term::index_linear).with(term::index_scores).with(term::teacher_scores),
    .delta_rule_flops = megatron.delta_rule_flops,
    .scan_flops = megatron.scan_flops,
    .pairs = floptally::megatron_bridge::count_pairs};

/// NeMo Automodel, which has a formula for each model.
inline constexpr convention nemo_automodel{
    .name = "nemo_automodel"sv,
    .summary = "as megatron, without the norms inside latent attention"sv,
    .causal = megatron.causal,
    .windows = megatron.windows,
    .counted = megatron.counted.without(term::latent_norm).with(term::index_linear).with(term::index_scores),
    .delta_rule_flops = megatron.delta_rule_flops,
    .scan_flops = megatron.scan_flops,
    .indexer = indexer_backward::as_layers};

/// NeMo Automodel's formula for hybrid models (Nemotron-H). It is the only formula of NeMo Automodel that counts
/// routers.
inline constexpr convention nemo_automodel_hybrid{.name = "nemo_automodel_hybrid"sv,
                                                  .summary = "as nemo_automodel, with routers"sv,
                                                  .causal = nemo_automodel.causal,
                                                  .windows = nemo_automodel.windows,
                                                  .counted = nemo_automodel.counted.with(term::router),
                                                  .delta_rule_flops = nemo_automodel.delta_rule_flops,
                                                  .scan_flops = nemo_automodel.scan_flops,
                                                  .indexer = nemo_automodel.indexer};

}  // namespace conventions

/// The function of the convention of Megatron-LM since October 2026.
namespace megatron_2026_10 {

/// Counts LK − K²/2 pairs for a sequence of L tokens under a top-k mask with K keys for each query. Otherwise counts
/// like `megatron`.
[[nodiscard]] constexpr counted_statistics count_pairs(const statistic& attends, const convention& counted_as,
                                                       const attention_context& model) {
    if (attends.is<mask_statistics::top_k>()) {
        return {floptally::maxtext::window_squares{{attends.as<mask_statistics::top_k>().keys - 1}}, 2};
    }
    return floptally::count_pairs(attends, counted_as, model);
}

}  // namespace megatron_2026_10

namespace conventions {

/// Megatron-LM since its changes 6753 and 7157 (September 2026): like `megatron`, with sparse attention. It counts the
/// top-k keys of a query. For an indexer that trains it counts projections and scores, without the teacher's QKᵀ. It
/// assumes absorbed MLA, so read the config with `mla_core::absorbed`.
inline constexpr convention megatron_2026_10{
    .name = "megatron_2026_10"sv,
    .summary = "as megatron; the best K keys as LK − K²/2, indexers as the plan trains them, without a teacher"sv,
    .causal = megatron.causal,
    .windows = megatron.windows,
    .counted = megatron.counted.with(term::index_linear).with(term::index_scores),
    .delta_rule_flops = megatron.delta_rule_flops,
    .scan_flops = megatron.scan_flops,
    .pairs = floptally::megatron_2026_10::count_pairs};

/// NeMo Automodel 0.7 (October 2026): like `nemo_automodel`, except for Kimi delta attention. For a token and a head of
/// width d it counts 6·d² + 3·C·d + C² forward FLOPs with C = 64, the number of tokens in a chunk of the kernel.
/// Release 0.7.0 has the formula in `_kda_attention_per_layer_flops` of nemo_automodel/components/utils/flops_utils.py,
/// from section 6.3 of arXiv:2510.26692 (equation 13). For DeepSeek-V4.1, Qwen3.8-Flash-Next and MiniMax-M3 its
/// formulas give the same FLOPs as `exact`.
inline constexpr convention nemo_automodel_0_7{
    .name = "nemo_automodel_0_7"sv,
    .summary = "as nemo_automodel; a delta rule with a decay for each channel by chunks of 64 tokens"sv,
    .causal = nemo_automodel.causal,
    .windows = nemo_automodel.windows,
    .counted = nemo_automodel.counted,
    .delta_rule_flops = nemo_automodel.delta_rule_flops,
    .channel_decay_flops = 6,
    .delta_chunk = 64,
    .scan_flops = nemo_automodel.scan_flops,
    .indexer = nemo_automodel.indexer};

}  // namespace conventions

/// The function of the convention of torchtitan.
namespace torchtitan {

/// For a sequence of n tokens, counts n² pairs, or n·min(n, W) under a sliding window of W keys. For compressed keys it
/// counts the number of queries times the number of compressed keys.
[[nodiscard]] constexpr counted_statistics count_pairs(const statistic& attends, const convention& counted_as,
                                                       const attention_context& model) {
    if (is_sliding_window(attends)) {
        return statistic(mask_statistics::box{{attends.as<mask_statistics::band>().left}});
    }
    if (attends.is<mask_statistics::best_compressed_keys>()) {
        const auto best = attends.as<mask_statistics::best_compressed_keys>();
        return statistic(mask_statistics::compressed_box{best.ratio, best.keys});
    }
    if (attends.is<mask_statistics::compressed_keys>()) {
        return statistic(mask_statistics::compressed_box{attends.as<mask_statistics::compressed_keys>().ratio,
                                                         mask_statistics::compressed_box::every});
    }
    return floptally::count_pairs(attends, counted_as, model);
}

}  // namespace torchtitan

// The conventions of OLMo-core, before and since its release 3.0 (October 2026).

namespace conventions {

/// Counts like OLMo-core's `num_flops_per_token` before its release 3.0.
inline constexpr convention olmo_core{.name = "olmo_core"sv,
                                      .summary = "every matmul; attention as L², a window as L x min(L, W)"sv,
                                      .causal = causal_pairs::full_square,
                                      .windows = window_pairs::ignored,
                                      .pairs = floptally::torchtitan::count_pairs};

/// Counts like OLMo-core's `num_flops_per_token` since its release 3.0: only the attended pairs count. In the forward,
/// an element of a gated delta net's state counts 8 FLOPs, and one of Kimi delta attention counts 10.
inline constexpr convention olmo_core_3{
    .name = "olmo_core_3"sv,
    .summary = "every matmul over the attended pairs; 8 FLOPs an element of a delta rule's state, 10 of KDA"sv,
    .delta_rule_flops = 8,
    .channel_decay_flops = 10};

/// SGLang's estimate for its MFU metrics. Use it with `counted_passes::forward`.
inline constexpr convention sglang{
    .name = "sglang"sv,
    .summary = "layers alone, new tokens over the attended context; no lm_head and no router"sv,
    .windows = window_pairs::ignored,
    .counted = products.without(term::lm_head).without(term::router)};

}  // namespace conventions

// The convention of recsys-examples.

/// The function of the convention of recsys-examples.
namespace recsys_examples {

/// Counts h²/2 pairs for a history of h tokens and ignores windows. In its group of targets, a target counts only
/// itself.
[[nodiscard]] constexpr counted_statistics count_pairs(const statistic& attends, const convention& counted_as,
                                                       const attention_context& model) {
    if (!attends.is<mask_statistics::hstu>()) {
        return floptally::count_pairs(attends, counted_as, model);
    }
    const mask_statistics::hstu mask = attends.as<mask_statistics::hstu>();
    const std::int32_t flags = detail::unlimited_flags(static_cast<std::uint8_t>(mask.flags));
    counted_statistics counted;
    if (!mask.has(detail::hstu_bidirectional)) {
        counted.also(history_squares{flags}, 2);
    }
    return counted.also(other_pairs{flags});
}

}  // namespace recsys_examples

namespace conventions {

/// Counts like `cal_hstu_flops` of recsys-examples.
inline constexpr convention recsys_examples{
    .name = "recsys_examples"sv,
    .summary = "HSTU layers only, with gate and residual; history as h²/2, attention backward 2.5x; windows ignored"sv,
    .causal = causal_pairs::half_square,
    .windows = window_pairs::ignored,
    .backward = attention_backward::flash,
    .counted = products.without(term::preprocessing).without(term::lm_head).with(term::gating).with(term::residual),
    .pairs = floptally::recsys_examples::count_pairs};

}  // namespace conventions

// The convention of torchtitan since its change 4300 (August 2026). The older formula is `conventions::torchtitan`.

namespace conventions {

/// torchtitan's `get_nparams_and_flops` of each model since August 2026: 6 x active parameters. The attention of each
/// layer counts with the window of this layer. An indexer counts like any other part of a layer. Mixing the streams of
/// hyper-connections does not count.
inline constexpr convention torchtitan_2026{
    .name = "torchtitan_2026"sv,
    .summary = "6 x active parameters without embeddings, norms too; attention as L², a window as L x min(L, W)"sv,
    .causal = causal_pairs::full_square,
    .windows = window_pairs::ignored,
    .counted = products.with(term::norm)
                   .with(term::latent_norm)
                   .with(term::bias)
                   .without(term::state)
                   .without(term::teacher_scores),
    .indexer = indexer_backward::as_layers,
    .pairs = floptally::torchtitan::count_pairs};

}  // namespace conventions

// The conventions of verl, until June 2026 and since July 2026.

/// The function of the conventions of verl.
namespace verl {

/// For a sequence of n tokens and a sliding window of W keys, counts n·min(n, W)/2 pairs if the model also has layers
/// without a window. Otherwise it ignores windows.
[[nodiscard]] constexpr counted_statistics count_pairs(const statistic& attends, const convention& counted_as,
                                                       const attention_context& model) {
    if (model.has_layer_without_window && is_sliding_window(attends)) {
        return {mask_statistics::box{{attends.as<mask_statistics::band>().left}}, 2};
    }
    return floptally::count_pairs(attends, counted_as, model);
}

}  // namespace verl

namespace conventions {

/// Counts like verl's `FlopsCounter` until June 2026.
inline constexpr convention verl{
    .name = "verl"sv,
    .summary =
        "causal attention as L²/2, embedding look-up as a GEMM; a window as L x min(L, W)/2 where layers alternate"sv,
    .causal = causal_pairs::half_square,
    .windows = window_pairs::ignored,
    .counted = products.with(term::embedding).with(term::tied_embedding),
    .pairs = floptally::verl::count_pairs};

/// verl's `FlopsCounter` since its change 6389 (July 2026), which added Qwen3.5. It counts 15 training FLOPs for each
/// element of a gated delta net's state, 5 of them in the forward.
inline constexpr convention verl_2026{.name = "verl_2026"sv,
                                      .summary = "as verl; 5 FLOPs forward an element of a delta rule's state"sv,
                                      .causal = verl.causal,
                                      .windows = verl.windows,
                                      .counted = verl.counted,
                                      .delta_rule_flops = 5,
                                      .pairs = verl.pairs};

}  // namespace conventions

// The convention of vLLM.

/// The function of the convention of vLLM.
namespace vllm {

/// Counts n·min(n, W) pairs for a sequence of n tokens under a sliding window of W keys. Ignores other windows.
[[nodiscard]] constexpr counted_statistics count_pairs(const statistic& attends, const convention& counted_as,
                                                       const attention_context& model) {
    if (is_sliding_window(attends)) {
        return statistic(mask_statistics::box{{attends.as<mask_statistics::band>().left}});
    }
    return floptally::count_pairs(attends, counted_as, model);
}

}  // namespace vllm

namespace conventions {

/// Counts like vLLM's `ModelMetrics`. Use it with `counted_passes::forward`.
inline constexpr convention vllm_prefill{
    .name = "vllm_prefill"sv,
    .summary = "new tokens x context, or x min(context, W); lm_head of one token a request; no router"sv,
    .causal = causal_pairs::full_square,
    .windows = window_pairs::ignored,
    .counted = products.without(term::router),
    .head = head_rows::one_per_sequence,
    .pairs = floptally::vllm::count_pairs};

}  // namespace conventions

namespace conventions {

/// All conventions of the library. `exact` is the first.
inline constexpr std::array all{&exact,
                                &megatron,
                                &megatron_2026_10,
                                &megatron_bridge,
                                &nemo_automodel,
                                &nemo_automodel_0_7,
                                &nemo_automodel_hybrid,
                                &maxtext,
                                &maxtext_2026,
                                &bionemo,
                                &levanter,
                                &nanotron,
                                &olmo_core,
                                &olmo_core_3,
                                &vllm_prefill,
                                &sglang,
                                &hf_6nd,
                                &palm,
                                &nanogpt,
                                &torchtitan,
                                &torchtitan_2026,
                                &verl,
                                &verl_2026,
                                &flash_attention,
                                &torch_flop_counter,
                                &torch_flop_counter_eager,
                                &recsys_examples};

/// A public FLOP counter that follows a convention with another name. For example, trl's counter follows `nanotron`.
struct counter_of_preset {
    std::string_view name;
    const convention* how;
    std::string_view what;  ///< the counter's function, its release or commit, and what it counts other than FLOPs
};

/// Public FLOP counters that follow a convention with another name.
inline constexpr counter_of_preset counters[] = {
    {"trl"sv, &nanotron, "compute_flops_per_token of TRL 1.16"sv},
    {"prime_rl"sv, &nanotron, "PerfCounter of prime-rl, commit 2ffe374e020a of August 2026"sv},
    {"veomni"sv, &nanotron, "VeomniFlopsCounter of VeOmni, commit 6efdf2217d46 of August 2026"sv},
    {"llama_factory"sv, &nanotron, "cal_mfu.py of LLaMA-Factory, commit 264538cb2692 of March 2025"sv},
    {"nemo_rl"sv, &nemo_automodel, "flops_formulas.py of NeMo-RL, commit 66a7e4286d9a of June 2026"sv},
    {"slime"sv, &nemo_automodel, "three times calculate_fwd_flops of slime, commit 55d3e4164a5e of May 2026"sv},
    {"deepspeed_profiler"sv, &nanotron,
     "FlopsProfiler of DeepSpeed 0.19.8: its MACs are half of the forward's FLOPs"sv},
    {"fvcore"sv, &nanotron,
     "FlopCountAnalysis of fvcore 0.1.5: its MACs are half of the forward's FLOPs, and norms"sv}};

}  // namespace conventions

namespace detail {

/// Returns true if two names of counters are equal in lower case, with `_` for every `-` and blank: "NeMo-RL" and
/// "nemo_rl".
[[nodiscard]] constexpr bool is_same_counter(std::string_view left, std::string_view right) {
    const auto plain = [](char c) { return c == '-' || c == ' ' ? '_' : lower(c); };
    if (left.size() != right.size()) {
        return false;
    }
    for (std::size_t i = 0; i < left.size(); ++i) {
        if (plain(left[i]) != plain(right[i])) {
            return false;
        }
    }
    return true;
}

}  // namespace detail

/// Returns the names of the public counters that follow this convention, separated by commas: "trl, prime_rl" for
/// "nanotron". Empty if no counter follows the convention.
[[nodiscard]] inline std::string counters_of(std::string_view preset) {
    std::string names;
    for (const conventions::counter_of_preset& counter : conventions::counters) {
        if (counter.how->name == preset) {
            append_item(names, counter.name);
        }
    }
    return names;
}

/// Returns the convention with that name, or the convention that a public counter with that name follows: `nanotron`
/// for "trl". Ignores letter case, and takes `-` for `_`. Throws an `error` that lists all names if the name is
/// unknown.
[[nodiscard]] inline const convention& convention_named(std::string_view name) {
    std::string known;
    for (const convention* preset : conventions::all) {
        if (detail::is_same_counter(preset->name, name)) {
            return *preset;
        }
        append_item(known, preset->name);
    }
    for (const conventions::counter_of_preset& counter : conventions::counters) {
        if (detail::is_same_counter(counter.name, name)) {
            return *counter.how;
        }
        append_item(known, counter.name);
    }
    detail::refuse("convention", {"unknown name \"", name, "\"; known: ", known});
}

}  // namespace floptally
