// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/text/error.hpp>

/// @file
/// Maps modules, operators and kernels in a trace to components of the work.

namespace floptally::inline v0_3 {

/// A pattern for spans of a trace, and the name of the component that runs in them. `*` in a pattern matches any run of
/// characters. A pattern has one of three forms. "op:NAME" is an operator: "op:aten::scaled_dot_product_attention*".
/// "kernel:NAME" is a kernel of a GPU: "kernel:nccl*". Any other pattern is a path.
///
/// A path is a pattern for nested spans from the outermost on, joined by "/": "*.self_attn.q_proj",
/// "*Attention/Linear". A module has its class name without a number in the path ("LlamaAttention"), and a
/// `record_function` span its full name.
///
/// `part` is the name of a component, or of several joined by "+" if a span runs all of them. A name that is not a
/// component stands for time without counted work.
struct module_pattern {
    std::string pattern;
    std::string part;
};

namespace detail {

/// Returns true if the whole text matches the pattern. `*` matches any run of characters, also an empty one.
[[nodiscard]] constexpr bool matches_stars(std::string_view pattern, std::string_view text) {
    std::size_t at = 0;
    std::size_t in = 0;
    std::size_t star = std::string_view::npos;
    std::size_t after_star = 0;
    while (in < text.size()) {
        if (at < pattern.size() && pattern[at] == '*') {
            star = at++;
            after_star = in;
        } else if (at < pattern.size() && pattern[at] == text[in]) {
            ++at;
            ++in;
        } else if (star != std::string_view::npos) {
            at = star + 1;
            in = ++after_star;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', at) == std::string_view::npos;
}

/// Returns the prefix "op:" or "kernel:" of a span or a pattern. Returns an empty text for a path.
[[nodiscard]] constexpr std::string_view kind_of_span(std::string_view span) {
    return span.starts_with("op:") ? "op:" : span.starts_with("kernel:") ? "kernel:" : "";
}

struct module_names {
    std::string_view part;
    std::string_view patterns;  ///< patterns for names of modules, separated by blanks
};

/// Patterns for common names of modules. Spans of `record_function` have the names of attributes ("mlp"), and spans of
/// a profiler have the names of classes ("LlamaMLP"). A nested span that matches no pattern belongs to its outer span.
inline constexpr module_names usual_modules[] = {
    {"optimizer", "*Optimizer.step#* *Optimizer.zero_grad#*"},
    {"data loading", "*enumerate(DataLoader)#*"},
    {"communication", "kernel:nccl* op:nccl:* op:c10d::*"},
    {"gradient accumulation", "op:*torch::autograd::AccumulateGrad"},
    {"lm_head",
     "*lm_head *embed_out *.output_layer *predictions *predictions.decoder *ForCausalLM/Linear *LMHeadModel/Linear "
     "*LMPredictionHead"},
    {"rotary embedding", "*rotary_emb *RotaryEmbedding"},
    {"norm",
     "*norm *norm1 *norm2 *_norm *layernorm *layer_norm *LayerNorm *RMSNorm *.ln_1 *.ln_2 *.ln_f *.attention_norm "
     "*.ffn_norm"},
    {"moe.router", "*.mlp.gate *.block_sparse_moe.gate *.router *Router *SparseMoeBlock/Linear"},
    {"moe.shared", "*.shared_expert *.shared_experts"},
    {"moe.experts", "*.experts *Experts"},
    {"moe.experts+moe.shared", "*SparseMoeBlock/*MLP"},
    {"moe routing", "*SparseMoeBlock *.block_sparse_moe"},
    {"cross_attention.qkv",
     "*cross_attn.q_proj *cross_attn.k_proj *cross_attn.v_proj *encoder_attn.q_proj *encoder_attn.k_proj "
     "*encoder_attn.v_proj"},
    {"cross_attention.output", "*cross_attn.o_proj *cross_attn.out_proj *encoder_attn.out_proj"},
    {"cross_attention.core", "*cross_attn *encoder_attn *CrossAttention"},
    {"mlp", "*.mlp *MLP *.feed_forward *FeedForward *.fc1 *.fc2"},
    {"attention.qkv",
     "*.q_proj *.k_proj *.v_proj *.qkv_proj *.c_attn *.query_key_value *.Wqkv *.linear_qkv *.self.query *.self.key "
     "*.self.value *.wq *.wk *.wv *.q_a_proj *.q_b_proj *.kv_a_proj_with_mqa *.kv_b_proj"},
    {"attention.output",
     "*attn.o_proj *attn.out_proj *attn.c_proj *attn.dense *attention.dense *attention.output *attention.output.dense "
     "*attention.wo "
     "*attention.linear_proj *attention.o_proj *attention.out_proj"},
    {"attention.qkv+attention.output", "*Attention/*Linear *Attention/Conv1D"},
    {"attention.core", "*attn *attention *attention.self *attention.core_attention *Attention"},
    {"mlp", "*.intermediate *Intermediate *.layer.*.output *BertOutput *RobertaOutput"},
    {"embedding", "*embed_tokens *.wte *.wpe *embeddings *Embedding *Embeddings"}};

}  // namespace detail

/// Maps spans of a trace to parts of the work. The first pattern that matches a span gives the part of the work.
class module_map {
  public:
    /// Creates a map. The patterns in `own` take precedence over the usual names.
    explicit module_map(std::vector<module_pattern> own = {}) : patterns_(std::move(own)) {
        for (std::size_t i = 0; i < patterns_.size(); ++i) {
            if (patterns_[i].pattern.empty() || patterns_[i].part.empty()) {
                throw error(indexed("modules", i),
                            "has an empty pattern or name: write a pattern and the component that runs there");
            }
        }
        own_count_ = patterns_.size();
        for (const detail::module_names& usual : detail::usual_modules) {
            std::string_view patterns = usual.patterns;
            while (!patterns.empty()) {
                const std::size_t end = std::min(patterns.find(' '), patterns.size());
                patterns_.push_back({std::string(patterns.substr(0, end)), std::string(usual.part)});
                patterns.remove_prefix(std::min(end + 1, patterns.size()));
            }
        }
    }

    /// Returns the part of the work that runs in a span: a path, "op:NAME" or "kernel:NAME". Empty if no pattern
    /// matches. If a path contains "vision", "visual" or "audio", a name from `usual_modules` gets the name of that
    /// tower as its prefix: "vision.mlp".
    [[nodiscard]] std::string part_of(std::string_view span) const {
        const std::string_view kind = detail::kind_of_span(span);
        for (std::size_t i = 0; i < patterns_.size(); ++i) {
            if (detail::kind_of_span(patterns_[i].pattern) == kind &&
                detail::matches_stars(patterns_[i].pattern, span)) {
                return i < own_count_ ? patterns_[i].part : in_tower(patterns_[i].part, span);
            }
        }
        return {};
    }

  private:
    [[nodiscard]] static std::string in_tower(const std::string& part, std::string_view span) {
        const auto has = [span](std::string_view word) { return span.find(word) != std::string_view::npos; };
        const bool vision = has("vision") || has("Vision") || has("visual") || has("Visual");
        const bool audio = has("audio") || has("Audio");
        if (part.find(' ') != std::string::npos || vision == audio) {  // the part is not a component, or the path does
                                                                       // not name exactly one tower
            return part;
        }
        const std::string tower = vision ? "vision." : "audio.";
        std::string named = tower;
        for (const char c : part) {
            named += c;
            named += c == '+' ? tower : "";
        }
        return named;
    }

    std::vector<module_pattern> patterns_;
    std::size_t own_count_ = 0;
};

/// Parses a map from text: "*.mixer=mamba,*.attn/Linear=attention.qkv+attention.output". Throws `error` if an item is
/// not of the form PATTERN=NAME.
[[nodiscard]] inline module_map module_map_named(std::string_view text) {
    std::vector<module_pattern> patterns;
    for (std::size_t first = 0; first <= text.size();) {
        const std::size_t end = std::min(text.find(',', first), text.size());
        const std::string_view item = text.substr(first, end - first);
        const std::size_t equals = item.rfind('=');
        if (equals == std::string_view::npos || equals == 0 || equals + 1 == item.size()) {
            detail::refuse(indexed("modules", patterns.size()),
                           {"must be PATTERN=NAME, items separated by commas, got \"", item, "\""});
        }
        patterns.push_back({std::string(item.substr(0, equals)), std::string(item.substr(equals + 1))});
        first = end + 1;
    }
    return module_map(std::move(patterns));
}

}  // namespace floptally
