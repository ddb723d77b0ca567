// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/text/error.hpp>

/// @file
/// `module_map`: which component runs under which module, operator or kernel of a trace.

namespace floptally {

/// The name of what runs under some spans of a trace. `pattern` has a `*` for any run of characters and is of
///
///     a path        "*.self_attn.q_proj", "*Attention/Linear": spans around it, from outside, apart by "/":
///                   modules as a profiler names them ("LlamaAttention", without their number), and
///                   `record_function`s as they are
///     "op:NAME"     an operator, "op:aten::scaled_dot_product_attention*"
///     "kernel:NAME" a kernel of a GPU, "kernel:nccl*"
///
/// `part` is a component, or several with a "+" between them where spans do not tell them apart; any other name is time
/// that is no counted work.
struct module_pattern {
    std::string pattern;
    std::string part;
};

namespace detail {

/// `*` is any run of characters, also an empty one.
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

/// "op:" or "kernel:", of a span and of a pattern; empty of a path.
[[nodiscard]] constexpr std::string_view kind_of_span(std::string_view span) {
    return span.starts_with("op:") ? "op:" : span.starts_with("kernel:") ? "kernel:" : "";
}

struct module_names {
    std::string_view part;
    std::string_view patterns;  ///< apart by blanks
};

/// By the names of attributes, as `record_function` has them, and by classes, as a profiler has them. What is inside a
/// span and fits no pattern is of that span.
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

/// The parts that run under spans of a trace, by patterns in order: of those that fit a span the first one holds.
class module_map {
  public:
    /// `own` stand before the usual names of modules, and replace them where they fit.
    explicit module_map(std::vector<module_pattern> own = {}) : patterns_(std::move(own)) {
        for (std::size_t i = 0; i < patterns_.size(); ++i) {
            if (patterns_[i].pattern.empty() || patterns_[i].part.empty()) {
                throw error(indexed("modules", i), "must have a pattern and the name of what runs there");
            }
        }
        own_ = patterns_.size();
        for (const detail::module_names& usual : detail::usual_modules) {
            std::string_view patterns = usual.patterns;
            while (!patterns.empty()) {
                const std::size_t end = std::min(patterns.find(' '), patterns.size());
                patterns_.push_back({std::string(patterns.substr(0, end)), std::string(usual.part)});
                patterns.remove_prefix(std::min(end + 1, patterns.size()));
            }
        }
    }

    /// The part that runs under a path, "op:NAME" or "kernel:NAME"; empty where no pattern fits. Usual names under a
    /// path with "vision", "visual" or "audio" in it are those of that tower: "vision.mlp".
    [[nodiscard]] std::string part_of(std::string_view span) const {
        const std::string_view kind = detail::kind_of_span(span);
        for (std::size_t i = 0; i < patterns_.size(); ++i) {
            if (detail::kind_of_span(patterns_[i].pattern) == kind &&
                detail::matches_stars(patterns_[i].pattern, span)) {
                return i < own_ ? patterns_[i].part : in_tower(patterns_[i].part, span);
            }
        }
        return {};
    }

    /// All patterns in order, the usual ones last.
    [[nodiscard]] std::span<const module_pattern> patterns() const { return patterns_; }

  private:
    [[nodiscard]] static std::string in_tower(const std::string& part, std::string_view span) {
        const auto has = [span](std::string_view word) { return span.find(word) != std::string_view::npos; };
        const bool vision = has("vision") || has("Vision") || has("visual") || has("Visual");
        const bool audio = has("audio") || has("Audio");
        if (part.find(' ') != std::string::npos || vision == audio) {  // no tower, or none that is told apart
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
    std::size_t own_ = 0;
};

/// A map from its text, "*.mixer=mamba,*.attn/Linear=attention.qkv+attention.output".
[[nodiscard]] inline module_map module_map_named(std::string_view text) {
    std::vector<module_pattern> patterns;
    for (std::size_t first = 0; first <= text.size();) {
        const std::size_t end = std::min(text.find(',', first), text.size());
        const std::string_view item = text.substr(first, end - first);
        const std::size_t equals = item.rfind('=');
        if (equals == std::string_view::npos || equals == 0 || equals + 1 == item.size()) {
            detail::refuse(indexed("modules", patterns.size()),
                           {"must be PATTERN=NAME, apart by commas, got \"", item, "\""});
        }
        patterns.push_back({std::string(item.substr(0, equals)), std::string(item.substr(equals + 1))});
        first = end + 1;
    }
    return module_map(std::move(patterns));
}

}  // namespace floptally
