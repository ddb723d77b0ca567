// SPDX-License-Identifier: Apache-2.0
//
// Every way in which a config can be wrong, and the one line that says so.

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/config/json_text.hpp>
#include <floptally/count/flop_counter.hpp>
#include <floptally/json.hpp>
#include <floptally/statistics/library_statistics.hpp>
#include <floptally/statistics/statistic_text.hpp>

#include "catch2.hpp"
#include "error_of.hpp"
#include "markdown.hpp"
#include "sanitized.hpp"

namespace json_errors_test {
namespace {

struct malformed {
    const char* config;  ///< with ' for "
    const char* error;  ///< the whole text; * stands for the ways out of an unknown type, {masks} for the keys of masks
};

constexpr malformed malformed_configs[] = {
    {"[]", "config: must be a JSON object, got []"},
    {"5", "config: must be a JSON object, got 5"},
    {"'llama'", R"(config: must be a JSON object, got "llama")"},
    {"null", "config: must be a JSON object, got null"},
    {"true", "config: must be a JSON object, got true"},
    {"{", "config: must be a JSON object, cannot be parsed at line 1, column 2"},
    {"{'model_type': 'llama'",
     "config: must be a JSON object, cannot be parsed at line 1, column 23, near the key \"model_type\""},
    {"{'model_type': 'llama'} x", "config: must be a JSON object, cannot be parsed at line 1, column 25"},
    {"{'model_type': 'llama',}",
     "config: must be a JSON object, cannot be parsed at line 1, column 24, near the key \"model_type\""},
    {"", "config: must be a JSON object, cannot be parsed at line 1, column 1"},
    {"{'model_type': 'llama', 'x': 1e400}",
     "config: must be a JSON object, has a number beyond the range of a double at line 1, column 35, near the key "
     "\"x\""},
    {"{}", "model_type: is missing; `floptally models` lists the known types"},
    {"{'model_type': null}", "model_type: must be a string, got null"},
    {"{'model_type': 7}", "model_type: must be a string, got 7"},
    {"{'model_type': ['llama']}", R"(model_type: must be a string, got ["llama"])"},
    {"{'model_type': 'Llama'}", R"(model_type: unknown type "Llama"; nearest: llama*)"},
    {"{'model_type': ''}", R"(model_type: unknown type ""*)"},
    {"{'model_type': 'deepseek_v9'}", R"(model_type: unknown type "deepseek_v9"; nearest: deepseek_v2*)"},
    {"{'model_type': 'llama', 'hidden_size': 0}", "hidden_size: must be an integer from 1 to 16777216, got 0"},
    {"{'model_type': 'llama', 'hidden_size': -4096}", "hidden_size: must be an integer from 1 to 16777216, got -4096"},
    {"{'model_type': 'llama', 'hidden_size': 4096.0}",
     "hidden_size: must be an integer from 1 to 16777216, got 4096.0"},
    {"{'model_type': 'llama', 'hidden_size': 4096.5}",
     "hidden_size: must be an integer from 1 to 16777216, got 4096.5"},
    {"{'model_type': 'llama', 'hidden_size': true}", "hidden_size: must be an integer from 1 to 16777216, got true"},
    {"{'model_type': 'llama', 'hidden_size': null}", "hidden_size: must be an integer from 1 to 16777216, got null"},
    {"{'model_type': 'llama', 'hidden_size': '4096'}",
     R"(hidden_size: must be an integer from 1 to 16777216, got "4096")"},
    {"{'model_type': 'llama', 'hidden_size': [4096]}",
     "hidden_size: must be an integer from 1 to 16777216, got [4096]"},
    {"{'model_type': 'llama', 'hidden_size': {'a': 1}}",
     R"(hidden_size: must be an integer from 1 to 16777216, got {"a":1})"},
    {"{'model_type': 'llama', 'hidden_size': [[4096]]}",
     "hidden_size: must be an integer from 1 to 16777216, got a list of lists or objects"},
    {"{'model_type': 'llama', 'hidden_size': {'a': [1]}}",
     "hidden_size: must be an integer from 1 to 16777216, got an object of lists or objects"},
    {"{'model_type': 'llama', 'hidden_size': 16777217}",
     "hidden_size: must be an integer from 1 to 16777216, got 16777217"},
    {"{'model_type': 'llama', 'hidden_size': 18446744073709551615}",
     "hidden_size: must be an integer from 1 to 16777216, got 18446744073709551615"},
    {"{'model_type': 'llama', 'hidden_size': 18446744073709551616}",
     "hidden_size: must be an integer from 1 to 16777216, got 1.84467440737096e+19"},
    {"{'model_type': 'llama', 'hidden_size': -9223372036854775809}",
     "hidden_size: must be an integer from 1 to 16777216, got -9.22337203685478e+18"},
    {"{'model_type': 'llama', 'hidden_size': 1e300}", "hidden_size: must be an integer from 1 to 16777216, got 1e+300"},
    {"{'model_type': 'llama', 'hidden_size': '0123456789012345678901234567890123456789012345678901234567890123456789'}",
     R"(hidden_size: must be an integer from 1 to 16777216, got "01234567890123456789012345678901234567890123456789012345...)"},
    {"{'model_type': 'llama', 'vocab_size': 0}", "vocab_size: must be an integer from 1 to 268435456, got 0"},
    {"{'model_type': 'llama', 'vocab_size': 268435457}",
     "vocab_size: must be an integer from 1 to 268435456, got 268435457"},
    {"{'model_type': 'llama', 'num_hidden_layers': 10001}",
     "num_hidden_layers: must be an integer from 1 to 10000, got 10001"},
    {"{'model_type': 'llama', 'num_hidden_layers': 0}", "num_hidden_layers: must be an integer from 1 to 10000, got 0"},
    {"{'model_type': 'llama', 'num_attention_heads': 0}",
     "num_attention_heads: must be an integer from 1 to 16777216, got 0"},
    {"{'model_type': 'llama', 'num_attention_heads': 30}",
     "num_attention_heads: must divide hidden_size (4096), got 30"},
    {"{'model_type': 'llama', 'num_attention_heads': 30, 'head_dim': 128}",
     "num_attention_heads: must divide hidden_size (4096), got 30"},
    {"{'model_type': 'llama', 'num_key_value_heads': 0}",
     "num_key_value_heads: must be an integer from 1 to 16777216 or null, got 0"},
    {"{'model_type': 'llama', 'num_key_value_heads': 5}",
     "num_key_value_heads: must divide num_attention_heads (32), got 5"},
    {"{'model_type': 'llama', 'num_key_value_heads': 64}",
     "num_key_value_heads: must divide num_attention_heads (32), got 64"},
    {"{'model_type': 'mistral', 'num_key_value_heads': null}",
     "num_key_value_heads: must be an integer from 1 to 16777216, got null"},
    {"{'model_type': 'mistral', 'num_attention_heads': 12}",
     "num_key_value_heads: must divide num_attention_heads (12), got 8, its default"},
    {"{'model_type': 'mistral', 'hidden_size': 16}",
     "num_attention_heads: must be at most hidden_size (16); it is missing, and its default is 32"},
    {"{'model_type': 'llama', 'head_dim': 0}", "head_dim: must be an integer from 1 to 16777216 or null, got 0"},
    {"{'model_type': 'qwen3', 'head_dim': null}", "head_dim: must be an integer from 1 to 16777216, got null"},
    {"{'model_type': 'qwen2', 'head_dim': null}", "head_dim: must be an integer from 1 to 16777216, got null"},
    {"{'model_type': 'llama', 'intermediate_size': null}",
     "intermediate_size: must be an integer from 1 to 16777216, got null"},
    {"{'model_type': 'llama', 'intermediate_size': [8192, 8192]}",
     "intermediate_size: must be an integer from 1 to 16777216, got [8192,8192]"},
    {"{'model_type': 'llama', 'tie_word_embeddings': null}", "tie_word_embeddings: must be true or false, got null"},
    {"{'model_type': 'llama', 'tie_word_embeddings': 'false'}",
     R"(tie_word_embeddings: must be true or false, got "false")"},
    {"{'model_type': 'llama', 'attention_bias': 1}", "attention_bias: must be true or false, got 1"},
    {"{'model_type': 'llama', 'mlp_bias': null}", "mlp_bias: must be true or false, got null"},
    {"{'model_type': 'esm'}", "vocab_size: is missing; must be an integer from 1 to 268435456"},
    {"{'model_type': 'esm', 'vocab_size': null}", "vocab_size: must be an integer from 1 to 268435456, got null"},
    {"{'model_type': 'esm', 'vocab_size': 33, 'emb_layer_norm_before': 'no'}",
     R"(emb_layer_norm_before: must be true or false or null, got "no")"},
    {"{'model_type': 'esm', 'vocab_size': 33, 'position_embedding_type': 3}",
     "position_embedding_type: must be a string, got 3"},
    {"{'model_type': 'esm', 'vocab_size': 33, 'is_folding_model': true}",
     "is_folding_model: is not supported for model_type esm; must be false or absent, got true"},
    {"{'model_type': 'esm', 'vocab_size': 33, 'embedding_size': 128}",
     "embedding_size: must be null, absent or hidden_size (768), got 128"},
    {"{'model_type': 'esm', 'vocab_size': 33, 'is_decoder': null}", "is_decoder: must be true or false, got null"},
    {"{'model_type': 'bert', 'type_vocab_size': 0}", "type_vocab_size: must be an integer from 1 to 268435456, got 0"},
    {"{'model_type': 'bert', 'num_attention_heads': 11}", "num_attention_heads: must divide hidden_size (768), got 11"},
    {"{'model_type': 'bert', 'add_cross_attention': true, 'is_decoder': true}",
     "add_cross_attention: is not supported for model_type bert; must be false or absent, got true"},
    {"{'model_type': 'distilbert', 'n_heads': 7}", "n_heads: must divide hidden_size (768), got 7"},
    {"{'model_type': 'distilbert', 'is_decoder': true}",
     "is_decoder: is not supported for model_type distilbert; must be false or absent, got true"},
    {"{'model_type': 'ibert', 'is_decoder': true}",
     "is_decoder: is not supported for model_type ibert; must be false or absent, got true"},
    {"{'model_type': 'ibert', 'quant_mode': true}",
     "quant_mode: is not supported for model_type ibert; must be false or absent, got true"},
    {"{'model_type': 'electra', 'embedding_size': 0}", "embedding_size: must be an integer from 1 to 16777216, got 0"},
    {"{'model_type': 'electra', 'architectures': ['ElectraForMultipleChoice'], 'summary_type': 'attn'}",
     R"(summary_type: must be "first", "last", "mean" or "cls_index", got "attn")"},
    {"{'model_type': 'electra', 'architectures': ['ElectraForMultipleChoice'], 'summary_proj_to_labels': true}",
     "summary_proj_to_labels: is not supported for model_type electra; must be false or absent, got true"},
    {"{'model_type': 'rembert', 'tie_word_embeddings': true}",
     "tie_word_embeddings: is not supported for model_type rembert; must be false or absent, got true"},
    {"{'model_type': 'roberta', 'embedding_size': 128}",
     "embedding_size: must be null, absent or hidden_size (768), got 128"},
    {"{'model_type': 'xmod', 'hidden_size': 48, 'adapter_reduction_factor': 49}",
     "adapter_reduction_factor: must be at most hidden_size (48), got 49"},
    {"{'model_type': 'xmod', 'languages': 'en_XX'}", R"(languages: must be a list or null, got "en_XX")"},
    {"{'model_type': 'xmod', 'languages': ['en_XX', 7]}", "languages[1]: must be a string, got 7"},
    {"{'model_type': 'big_bird'}",
     R"(attention_type: must be "original_full": the random blocks of "block_sparse" are not followed; it is missing)"},
    {"{'model_type': 'big_bird', 'attention_type': 'block_sparse'}",
     R"(attention_type: must be "original_full": the random blocks of "block_sparse" are not followed, got "block_sparse")"},
    {"{'model_type': 'modernbert', 'sparse_prediction': true}",
     "sparse_prediction: is not supported for model_type modernbert; must be false or absent, got true"},
    {"{'model_type': 'modernbert', 'local_attention': 1}",
     "local_attention: must be an integer from 2 to 2147483647, got 1"},
    {"{'model_type': 'eurobert', 'architectures': ['EuroBertForSequenceClassification'], 'classifier_pooling': 'cls'}",
     R"(classifier_pooling: must be "late", "bos" or "mean", got "cls")"},
    {"{'model_type': 'esmc', 'num_key_value_heads': 20}",
     "num_key_value_heads: must be num_attention_heads (40), got 20"},
    {"{'model_type': 'albert', 'num_hidden_groups': 13}",
     "num_hidden_groups: must be at most num_hidden_layers (12), got 13"},
    {"{'model_type': 'deberta', 'talking_head': true}",
     "talking_head: is not supported for model_type deberta; must be false or absent, got true"},
    {"{'model_type': 'deberta', 'relative_attention': true, 'pos_att_type': 7}",
     "pos_att_type: must be a string or a list or null, got 7"},
    {"{'model_type': 'deberta-v2', 'attention_head_size': 32}",
     "attention_head_size: must be hidden_size / num_attention_heads (64), got 32"},
    {"{'model_type': 'deberta-v2', 'conv_kernel_size': 4}", "conv_kernel_size: must be odd or 0, got 4"},
    {"{'model_type': 'squeezebert', 'hidden_size': 48}",
     "embedding_size: must be null, absent or hidden_size (48); it is missing, and its default is 768"},
    {"{'model_type': 'squeezebert', 'k_groups': 5}", "k_groups: must divide hidden_size (768), got 5"},
    {"{'model_type': 'convbert', 'hidden_size': 54}",
     "hidden_size: must be a multiple of 2 x num_attention_heads / head_ratio (2 x 6), got 54"},
    {"{'model_type': 'mobilebert', 'num_attention_heads': 7}",
     "num_attention_heads: must divide the width inside a layer (128), got 7"},
    {"{'model_type': 'mobilebert', 'key_query_shared_bottleneck': false}",
     "key_query_shared_bottleneck: must be true where intra_bottleneck_size is not hidden_size: queries would be as "
     "wide as the layers, got false"},
    {"{'model_type': 'mobilebert', 'true_hidden_size': 512}",
     "true_hidden_size: must be the width inside a layer (128), got 512"},
    {"{'model_type': 'mobilebert', 'embedding_size': 513}",
     "embedding_size: must be at most hidden_size (512), got 513"},
    {"{'model_type': 'fnet', 'use_tpu_fourier_optimizations': true}",
     "use_tpu_fourier_optimizations: is not supported for model_type fnet; must be false or absent, got true"},
    {"{'model_type': 'gpt2', 'n_embd': 0}", "n_embd: must be an integer from 1 to 16777216, got 0"},
    {"{'model_type': 'gpt2', 'n_layer': '12'}", R"(n_layer: must be an integer from 1 to 10000, got "12")"},
    {"{'model_type': 'gpt2', 'n_head': 7}", "n_head: must divide hidden_size (768), got 7"},
    {"{'model_type': 'gpt2', 'hidden_size': null, 'n_embd': 768}",
     "hidden_size: must be an integer from 1 to 16777216, got null"},
    {"{'model_type': 'gpt2', 'n_inner': 0}", "n_inner: must be an integer from 1 to 16777216 or null, got 0"},
    {"{'model_type': 'gpt2', 'n_positions': -1}", "n_positions: must be an integer from 1 to 16777216, got -1"},
    {"{'model_type': 'gpt2', 'add_cross_attention': true}",
     "add_cross_attention: is not supported for model_type gpt2; must be false or absent, got true"},
    {"{'model_type': 'gpt2', 'add_cross_attention': 'yes'}",
     R"(add_cross_attention: must be true or false, got "yes")"},
    {"{'model_type': 'gpt2', 'architectures': ['GPT2DoubleHeadsModel'], 'summary_type': 'attn'}",
     R"(summary_type: must be "cls_index", "first", "last" or "mean", got "attn")"},
    {"{'model_type': 'gpt2', 'architectures': ['GPT2DoubleHeadsModel'], 'summary_use_proj': 1}",
     "summary_use_proj: must be true or false, got 1"},
    {"{'model_type': 'llama', 'architectures': 'LlamaForCausalLM'}",
     R"(architectures: must be a list, got "LlamaForCausalLM")"},
    {"{'model_type': 'llama', 'architectures': [7]}",
     "architectures[0]: unknown class 7 for model_type llama; known: LlamaForCausalLM, LlamaModel, "
     "LlamaForSequenceClassification, LlamaForTokenClassification, LlamaForQuestionAnswering"},
    {"{'model_type': 'llama', 'architectures': ['MistralForCausalLM']}",
     R"(architectures[0]: unknown class "MistralForCausalLM" for model_type llama; known: LlamaForCausalLM, LlamaModel, LlamaForSequenceClassification, LlamaForTokenClassification, LlamaForQuestionAnswering)"},
    {"{'model_type': 'granite', 'architectures': ['GraniteForMaskedLM']}",
     R"(architectures[0]: unknown class "GraniteForMaskedLM" for model_type granite; known: GraniteForCausalLM, GraniteModel)"},
    {"{'model_type': 'gemma3_text', 'architectures': ['Gemma3ForConditionalGeneration']}",
     R"(architectures[0]: unknown class "Gemma3ForConditionalGeneration" for model_type gemma3_text; known: Gemma3ForCausalLM, Gemma3TextModel, Gemma3TextForSequenceClassification)"},
    {"{'model_type': 'esm', 'vocab_size': 33, 'architectures': ['EsmForProteinFolding']}",
     R"(architectures[0]: unknown class "EsmForProteinFolding" for model_type esm; known: EsmForMaskedLM, EsmModel, EsmForSequenceClassification, EsmForTokenClassification)"},
    {"{'model_type': 'llama', 'architectures': ['LlamaForSequenceClassification'], 'num_labels': 0}",
     "num_labels: must be an integer from 1 to 16777216, got 0"},
    {"{'model_type': 'llama', 'architectures': ['LlamaForSequenceClassification'], 'num_labels': null}",
     "num_labels: must be an integer from 1 to 16777216, got null"},
    {"{'model_type': 'llama', 'architectures': ['LlamaForSequenceClassification'], 'id2label': {}}",
     "id2label: must be an object with at least one label, got {}"},
    {"{'model_type': 'llama', 'architectures': ['LlamaForSequenceClassification'], 'id2label': ['A', 'B']}",
     R"(id2label: must be an object or null, got ["A","B"])"},
    {"{'model_type': 'llama', 'architectures': ['LlamaForTokenClassification'], 'token_classification_bias': 0}",
     "token_classification_bias: must be true or false, got 0"},
    {"{'model_type': 'llama', 'is_causal': false}",
     "is_causal: is not supported for model_type llama; must be true or absent, got false"},
    {"{'model_type': 'llama', 'is_causal': null}", "is_causal: must be true or false, got null"},
    {"{'model_type': 'gemma', 'use_bidirectional_attention': true}",
     "use_bidirectional_attention: is not supported for model_type gemma; must be false or absent, got true"},
    {"{'model_type': 'gemma3_text', 'use_bidirectional_attention': 'yes'}",
     R"(use_bidirectional_attention: must be true or false or "all" or "vision" or null, got "yes")"},
    {"{'model_type': 'llama', 'per_layer_config': {'1': {'intermediate_size': 30}}}",
     "per_layer_config: is not supported for model_type llama; must be empty or absent, got an object of lists or "
     "objects"},
    {"{'model_type': 'bert', 'pruned_heads': {'1': [0, 2]}}",
     "pruned_heads: is not supported for model_type bert; must be empty or absent, got an object of lists or objects"},
    {"{'model_type': 'mistral', 'sliding_window': 0}",
     "sliding_window: must be an integer from 1 to 2147483647 or null, got 0"},
    {"{'model_type': 'mistral', 'sliding_window': -1}",
     "sliding_window: must be an integer from 1 to 2147483647 or null, got -1"},
    {"{'model_type': 'mistral', 'sliding_window': 2147483648}",
     "sliding_window: must be an integer from 1 to 2147483647 or null, got 2147483648"},
    {"{'model_type': 'mistral', 'sliding_window': '4096'}",
     R"(sliding_window: must be an integer from 1 to 2147483647 or null, got "4096")"},
    {"{'model_type': 'mistral', 'sliding_window': null, 'num_hidden_layers': 1, 'layer_types': ['sliding_attention']}",
     "sliding_window: must be an integer from 1 to 2147483647, got null"},
    {"{'model_type': 'gemma2', 'sliding_window': null}",
     "sliding_window: must be an integer from 1 to 2147483647, got null"},
    {"{'model_type': 'qwen2', 'use_sliding_window': 1}", "use_sliding_window: must be true or false, got 1"},
    {"{'model_type': 'qwen2', 'use_sliding_window': true, 'max_window_layers': -1}",
     "max_window_layers: must be an integer from 0 to 10000, got -1"},
    {"{'model_type': 'qwen2', 'use_sliding_window': true, 'max_window_layers': null}",
     "max_window_layers: must be an integer from 0 to 10000, got null"},
    {"{'model_type': 'qwen2', 'num_hidden_layers': 2, 'layer_types': ['sliding_attention', 'full_attention']}",
     R"(layer_types[0]: must be "full_attention" while use_sliding_window is false, got "sliding_attention")"},
    {"{'model_type': 'qwen2', 'num_hidden_layers': 2, 'use_sliding_window': true, 'sliding_window': null, "
     "'layer_types': ['full_attention', 'sliding_attention']}",
     "sliding_window: must be an integer from 1 to 2147483647, got null"},
    {"{'model_type': 'qwen2_moe', 'use_sliding_window': true, 'sliding_window': null}",
     "sliding_window: must be an integer from 0 to 2147483647, got null"},
    {"{'model_type': 'gpt_oss', 'layer_types': []}",
     "layer_types: must have one element for each of the 36 layers, got 0"},
    {"{'model_type': 'gpt_oss', 'layer_types': 'full_attention'}",
     R"(layer_types: must be a list or null, got "full_attention")"},
    {"{'model_type': 'gpt_oss', 'num_hidden_layers': 2, 'layer_types': ['full_attention']}",
     "layer_types: must have one element for each of the 2 layers, got 1"},
    {"{'model_type': 'gpt_oss', 'num_hidden_layers': 2, 'layer_types': ['full_attention', 'chunked_attention']}",
     R"(layer_types[1]: must be "full_attention", "attention" or "sliding_attention", got "chunked_attention")"},
    {"{'model_type': 'gpt_oss', 'num_hidden_layers': 2, 'layer_types': ['full_attention', null]}",
     R"(layer_types[1]: must be "full_attention", "attention" or "sliding_attention", got null)"},
    {"{'model_type': 'gpt_neo', 'num_layers': 2, 'attention_types': [[['global', 'local'], 2]]}",
     "attention_types: must be for the 2 layers of the model, is for 4, got a list of lists or objects"},
    {"{'model_type': 'gpt_neo', 'num_layers': 2}",
     R"(attention_types: must be for the 2 layers of the model, is for 24; it is missing, and its default is [[["global","local"],12]])"},
    {"{'model_type': 'gpt_neo', 'attention_types': [[['global', 'sliding'], 12]]}",
     R"(attention_types: must name "global" or "local", not sliding, got a list of lists or objects)"},
    {"{'model_type': 'gpt_neo', 'attention_types': ['global', 24]}",
     R"(attention_types: must be a list of [[name, ...], times], of at most 10000 names altogether, got ["global",24])"},
    {"{'model_type': 'gpt_neo', 'attention_types': [[['global', 'local'], 12.0]]}",
     "attention_types: must be a list of [[name, ...], times], of at most 10000 names altogether, got a list "
     "of lists or objects"},
    {"{'model_type': 'gpt_neo', 'window_size': 0}", "window_size: must be an integer from 1 to 2147483647, got 0"},
    {"{'model_type': 'falcon', 'new_decoder_architecture': true, 'num_kv_heads': 8}",
     "num_kv_heads: must divide num_attention_heads (71), got 8"},
    {"{'model_type': 'falcon', 'multi_query': false, 'num_kv_heads': 1}",
     "num_kv_heads: must be 71 without multi_query: one for each head, got 1"},
    {"{'model_type': 'bloom', 'n_embed': 128, 'hidden_size': 64}", "n_embed: must be hidden_size (64), got 128"},
    {"{'model_type': 'nemotron'}", "num_key_value_heads: is missing; must be an integer from 1 to 16777216"},
    {"{'model_type': 'xlm', 'asm': true}",
     "asm: is not supported for model_type xlm; must be false or absent, got true"},
    {"{'model_type': 'flaubert', 'is_encoder': false}",
     "is_encoder: is not supported for model_type flaubert; must be true or absent, got false"},
    {"{'model_type': 'xlm', 'n_words': 7, 'vocab_size': 61}", "n_words: must be vocab_size (61), got 7"},
    {"{'model_type': 'xlnet', 'd_head': 32}", "d_head: must be d_model / n_head (64), got 32"},
    {"{'model_type': 'xlnet', 'attn_type': 'uni'}", R"(attn_type: must be "bi", got "uni")"},
    {"{'model_type': 'gpt_neox_japanese', 'intermediate_multiple_size': 0}",
     "intermediate_multiple_size: must be an integer from 1 to 16777216, got 0"},
    {"{'model_type': 'opt', 'word_embed_proj_dim': 0}",
     "word_embed_proj_dim: must be an integer from 1 to 16777216 or null, got 0"},
    {"{'model_type': 'mistral', 'num_hidden_layers': 2, 'layer_types': ['full_attention']}",  // llama: not read, noted
     "layer_types: must have one element for each of the 2 layers, got 1"},
    {"{'model_type': 'gemma3_text', 'sliding_window_pattern': 0}",
     "sliding_window_pattern: must be an integer from 1 to 2147483647, got 0"},
    {"{'model_type': 'gemma3_text', 'sliding_window_pattern': null}",
     "sliding_window_pattern: must be an integer from 1 to 2147483647, got null"},
    {"{'model_type': 'mixtral', 'num_local_experts': 0}",
     "num_local_experts: must be an integer from 1 to 16777216, got 0"},
    {"{'model_type': 'mixtral', 'num_experts': null}", "num_experts: must be an integer from 1 to 16777216, got null"},
    {"{'model_type': 'mixtral', 'num_experts_per_tok': 0}",
     "num_experts_per_tok: must be an integer from 1 to 16777216, got 0"},
    {"{'model_type': 'mixtral', 'num_experts_per_tok': 9}",
     "num_experts_per_tok: must be at most the 8 experts, got 9"},
    {"{'model_type': 'mixtral', 'num_local_experts': 16, 'num_experts': 4, 'num_experts_per_tok': 8}",
     "num_experts_per_tok: must be at most the 4 experts, got 8"},
    {"{'model_type': 'qwen3_moe', 'num_local_experts': 4, 'num_experts': 16}",
     "num_experts_per_tok: must be at most the 4 experts, got 8, its default"},
    {"{'model_type': 'qwen3_moe', 'moe_intermediate_size': 0}",
     "moe_intermediate_size: must be an integer from 1 to 16777216, got 0"},
    {"{'model_type': 'qwen2_moe', 'shared_expert_intermediate_size': 0}",
     "shared_expert_intermediate_size: must be an integer from 1 to 16777216, got 0"},
    {"{'model_type': 'laguna', 'gating': 'per-token'}",
     R"(gating: must be true, "per-head", false or "per-element", got "per-token")"},
    {"{'model_type': 'laguna', 'num_attention_heads_per_layer': [8, 8]}",
     "num_attention_heads_per_layer: must have one element for each of the 40 layers, got 2"},
    {"{'model_type': 'laguna', 'num_hidden_layers': 2, 'num_attention_heads_per_layer': [8, 0]}",
     "num_attention_heads_per_layer[1]: must be an integer from 1 to 16777216, got 0"},
    {"{'model_type': 'laguna', 'num_hidden_layers': 2, 'num_attention_heads_per_layer': [8, 12]}",
     "num_key_value_heads: must divide num_attention_heads (12); it is missing, and its default is 8"},
    {"{'model_type': 'hunyuan_v1_moe'}", "head_dim: is missing; must be an integer from 1 to 16777216"},
    {"{'model_type': 'hunyuan_v1_moe', 'head_dim': 8, 'moe_topk': [1]}",
     "moe_topk: must have one element for each of the 32 layers, got 1"},
    {"{'model_type': 'hy_v3', 'num_shared_experts': 0}",
     "num_shared_experts: must be an integer from 1 to 16777216, got 0"},
    {"{'model_type': 'hy_v3', 'num_hidden_layers': 2, 'mlp_layer_types': ['dense']}",
     "mlp_layer_types: must have one element for each of the 2 layers, got 1"},
    {"{'model_type': 'hy_v3', 'num_hidden_layers': 2, 'mlp_layer_types': ['dense', 'moe']}",
     R"(mlp_layer_types[1]: must be "dense" or "sparse", got "moe")"},
    {"{'model_type': 'ernie4_5_moe', 'moe_layer_end_index': -2}",
     "moe_layer_end_index: must be an integer from -1 to 10000, got -2"},
    {"{'model_type': 'ernie4_5_moe', 'moe_layer_interval': 0}",
     "moe_layer_interval: must be an integer from 1 to 10000, got 0"},
    {"{'model_type': 'afmoe', 'global_attn_every_n_layers': 0}",
     "global_attn_every_n_layers: must be an integer from 1 to 10000, got 0"},
    {"{'model_type': 'dots1', 'n_routed_experts': 4, 'num_experts_per_tok': 2}",
     "n_shared_experts: must be a number where layers have experts; it is missing"},
    {"{'model_type': 'mimo_v2_flash', 'num_key_value_heads': 64}",
     "num_key_value_heads: must divide num_attention_heads (64), twice in layers with a window, got 64"},
    {"{'model_type': 'mimo_v2_flash', 'sliding_window_size': 2147483647}",
     "sliding_window_size: must be an integer from 0 to 2147483646 or null, got 2147483647"},
    {"{'model_type': 'qwen2_moe', 'decoder_sparse_step': 0}",
     "decoder_sparse_step: must be an integer from 1 to 16777216, got 0"},
    {"{'model_type': 'qwen2_moe', 'mlp_only_layers': 3}", "mlp_only_layers: must be a list or null, got 3"},
    {"{'model_type': 'qwen2_moe', 'mlp_only_layers': [0, -1]}",
     "mlp_only_layers[1]: must be an integer from 0 to 10000, got -1"},
    {"{'model_type': 'qwen2_moe', 'mlp_only_layers': [0, '1']}",
     R"(mlp_only_layers[1]: must be an integer from 0 to 10000, got "1")"},
    {"{'model_type': 'olmoe', 'head_dim': 100}",
     "head_dim: must make heads that are together as wide as hidden_size (2048), makes 16 of 100, got 100"},
    {"{'model_type': 'olmoe', 'num_attention_heads': 15}",
     "num_attention_heads: must make heads that are together as wide as hidden_size (2048), makes 15 of 136, "
     "got 15"},
    {"{'model_type': 'phimoe', 'num_experts_per_tok': 3}",
     "num_experts_per_tok: is not supported for model_type phimoe; must be 2 or absent, got 3"},
    {"{'model_type': 'llama4_text', 'no_rope_layers': [1, 0]}",
     "no_rope_layers: must have one element for each of the 48 layers, got 2"},
    {"{'model_type': 'llama4_text', 'num_hidden_layers': 2, 'no_rope_layers': [1, 2]}",
     "no_rope_layers[1]: must be 0 or 1, got 2"},
    {"{'model_type': 'llama4_text', 'attention_chunk_size': null}",
     "attention_chunk_size: must be an integer from 1 to 2147483647, got null"},
    {"{'model_type': 'llama4_text', 'moe_layers': 2}", "moe_layers: must be a list or null, got 2"},
    {"{'model_type': 'cohere2_moe', 'first_k_dense_replace': 1, 'prefix_dense_sliding_window_pattern': 0}",
     "prefix_dense_sliding_window_pattern: must be an integer from 1 to 2147483647, got 0"},
    {"{'model_type': 'dbrx', 'tie_word_embeddings': true}",
     "tie_word_embeddings: is not supported for model_type dbrx; must be false or absent, got true"},
    {"{'model_type': 'dbrx', 'attn_config': {'kv_n_heads': 3}}",
     "attn_config.kv_n_heads: must divide n_heads (16), got 3"},
    {"{'model_type': 'dbrx', 'ffn_config': 4}", "ffn_config: must be an object or null, got 4"},
    {"{'model_type': 'dbrx', 'ffn_config': {'moe_num_experts': 4, 'moe_top_k': 5}}",
     "ffn_config.moe_top_k: must be at most moe_num_experts (4), got 5"},
    {"{'model_type': 'zaya', 'num_hidden_layers': 1, 'layer_types': ['sliding_attention']}",
     R"(layer_types[0]: must be "hybrid" or "hybrid_sliding", got "sliding_attention")"},
    {"{'model_type': 'zaya', 'num_hidden_layers': 1, 'layer_types': ['hybrid_sliding']}",
     "sliding_window: is missing; must be an integer from 1 to 2147483647"},
    {"{'model_type': 'zaya', 'num_experts_per_tok': 2}",
     "num_experts_per_tok: is not supported for model_type zaya; must be 1 or absent, got 2"},
    {"{'model_type': 'jetmoe', 'num_experts_per_tok': 9}", "num_experts_per_tok: must be at most the 8 experts, got 9"},
    {"{'model_type': 'mixtral', 'hidden_size': 16777216, 'intermediate_size': 16777216, 'num_local_experts': 16777216}",
     "moe.experts: 16777216 x 281474976710656 does not fit 64 bits: use smaller numbers"},
    {"{'model_type': 'mamba', 'time_step_rank': 'full'}",
     R"(time_step_rank: must be an integer or "auto", got "full")"},
    {"{'model_type': 'mamba2', 'num_heads': 3}", "num_heads: must divide the 8192 channels, got 3"},
    {"{'model_type': 'mamba2', 'head_dim': 32}",
     "head_dim: must be 64, the width of one of 128 heads of 8192 channels, got 32"},
    {"{'model_type': 'mamba2', 'n_groups': 7}", "n_groups: must divide the 128 heads, got 7"},
    {"{'model_type': 'falcon_h1', 'mamba_d_ssm': 1000}",
     "mamba_n_heads: must divide the 1000 channels; it is missing, and its default is 128"},
    {"{'model_type': 'bamba', 'layer_types': ['mamba']}", R"(layer_types: must be null, got ["mamba"])"},
    {"{'model_type': 'granitemoehybrid', 'num_hidden_layers': 2, 'layer_types': ['mamba', 'sliding_attention']}",
     R"(layer_types[1]: must be "linear_attention", "mamba", "full_attention" or "attention", got "sliding_attention")"},
    {"{'model_type': 'granitemoehybrid', 'num_hidden_layers': 2, 'layers_block_type': ['mamba']}",
     "layers_block_type: must have one element for each of the 2 layers, got 1"},
    {"{'model_type': 'granitemoehybrid', 'num_hidden_layers': 1, 'layer_types': [5]}",
     R"(layer_types[0]: must be "linear_attention", "mamba", "full_attention" or "attention", got 5)"},
    {"{'model_type': 'jamba', 'attn_layer_offset': 8}",
     "attn_layer_offset: must be less than attn_layer_period (8), got 8"},
    {"{'model_type': 'jamba', 'expert_layer_period': 1}",
     "expert_layer_offset: must be less than expert_layer_period (1); it is missing, and its default is 1"},
    {"{'model_type': 'nemotron_h', 'hybrid_override_pattern': 'M*|E'}",
     R"(hybrid_override_pattern: must consist of the letters M, *, - and E, got "M*|E")"},
    {"{'model_type': 'nemotron_h', 'hybrid_override_pattern': ''}",
     R"(hybrid_override_pattern: must have from 1 to 10000 layers, got "")"},
    {"{'model_type': 'nemotron_h', 'layers_block_type': ['mamba', 'conv']}",
     R"(layers_block_type[1]: must be "linear_attention", "mamba", "full_attention", "attention", "mlp" or "moe", got "conv")"},
    {"{'model_type': 'nemotron_h', 'tie_word_embeddings': true}",
     "tie_word_embeddings: is not supported for model_type nemotron_h; must be false or absent, got true"},
    {"{'model_type': 'zamba', 'num_hidden_layers': 2}",
     "layers_block_type: is missing, and its default has 3 layers, not 2"},
    {"{'model_type': 'zamba', 'attention_hidden_size': 3712}",
     "attention_hidden_size: must be twice hidden_size (7424), got 3712"},
    {"{'model_type': 'zamba2', 'num_hidden_layers': 6}",
     "layers_block_type: is missing, and its default has 54 layers, not 6"},
    {"{'model_type': 'zamba2', 'num_hidden_layers': 1, 'layer_types': ['hybrid']}",
     R"(layer_types: must be null, got ["hybrid"])"},
    {"{'model_type': 'zamba2', 'num_hidden_layers': 2, 'layers_block_type': ['mamba', 'hybrid'], "
     "'hybrid_layer_ids': [0]}",
     R"(hybrid_layer_ids: must be the layers that are "hybrid", got [0])"},
    {"{'model_type': 'zamba2', 'use_shared_attention_adapter': true, 'num_key_value_heads': 8}",
     "use_shared_attention_adapter: must be false where queries, keys and values are not all twice hidden_size wide "
     "(5120), got true"},
    {"{'model_type': 'qwen3_next', 'linear_num_value_heads': 24}",
     "linear_num_value_heads: must be a multiple of linear_num_key_heads (16), got 24"},
    {"{'model_type': 'qwen3_next', 'num_hidden_layers': 2, 'layer_types': ['linear_attention', 'conv']}",
     R"(layer_types[1]: must be "full_attention", "attention", "linear_attention" or "mamba", got "conv")"},
    {"{'model_type': 'qwen3_next', 'full_attention_interval': 0}",
     "full_attention_interval: must be an integer from 1 to 16777216, got 0"},
    {"{'model_type': 'qwen3_5_text', 'attn_output_gate': false}",
     "attn_output_gate: is not supported for model_type qwen3_5_text; must be true or absent, got false"},
    {"{'model_type': 'qwen3_5_moe_text', 'shared_expert_gate': false}",
     "shared_expert_gate: is not supported for model_type qwen3_5_moe_text; must be true or absent, got false"},
    {"{'model_type': 'olmo_hybrid', 'num_hidden_layers': 1}",
     "num_hidden_layers: must give at least one layer of full and one of linear attention, got 1"},
    {"{'model_type': 'olmo_hybrid', 'num_hidden_layers': 1, 'layer_types': ['linear_attention']}",
     R"(layer_types: must give at least one layer of full and one of linear attention, got ["linear_attention"])"},
    {"{'model_type': 'kimi_linear', 'num_attention_heads': 16}",
     "num_key_value_heads: must be num_attention_heads (16) or absent: latent attention has as many; it is "
     "missing, and its default is 32"},
    {"{'model_type': 'kimi_linear', 'num_hidden_layers': 3, 'linear_attn_config': {'full_attn_layers': [2], "
     "'kda_layers': [1]}}",
     "linear_attn_config.kda_layers: must name, with full_attn_layers, every layer; 3 is in neither, got [1]"},
    {"{'model_type': 'kimi_linear', 'num_hidden_layers': 3, 'linear_attn_config': {'full_attn_layers': [2], "
     "'kda_layers': [0, 1]}}",
     "linear_attn_config.kda_layers[0]: must be an integer from 1 to 10000, got 0"},
    {"{'model_type': 'kimi_linear', 'linear_attn_config': null}", "linear_attn_config: must be an object, got null"},
    {"{'model_type': 'kimi_linear', 'moe_layer_freq': 2}",
     "moe_layer_freq: is not supported for model_type kimi_linear; must be 1 or absent, got 2"},
    {"{'model_type': 'kimi_linear', 'tie_word_embeddings': true}",
     "tie_word_embeddings: is not supported for model_type kimi_linear; must be false or absent, got true"},
    {"{'model_type': 'bailing_hybrid', 'q_lora_rank': 512}", "q_lora_rank: must be null, got 512"},
    {"{'model_type': 'minimax', 'num_key_value_heads': null}",
     "num_key_value_heads: must be an integer from 1 to 16777216, got null"},
    {"{'model_type': 'lfm2', 'num_hidden_layers': 1, 'layer_types': ['linear_attention']}",
     R"(layer_types[0]: must be "full_attention", "attention" or "conv", got "linear_attention")"},
    {"{'model_type': 'lfm2', 'block_ffn_dim_multiplier': null}",
     "block_ffn_dim_multiplier: must be a number above 0 and up to 1024, got null"},
    {"{'model_type': 'lfm2', 'tie_embedding': 1}", "tie_embedding: must be true or false, got 1"},
    {"{'model_type': 'lfm2_moe'}", "layer_types: is missing; must be a list"},
    {"{'model_type': 'recurrent_gemma', 'block_types': ['recurrent', 'linear_attention']}",
     R"(block_types[1]: must be "recurrent" or "attention", got "linear_attention")"},
    {"{'model_type': 'recurrent_gemma', 'block_types': []}", "block_types: must name at least one layer, got []"},
    {"{'model_type': 'recurrent_gemma', 'layer_types': ['recurrent']}",
     R"(layer_types: must be null, got ["recurrent"])"},
    {"{'model_type': 'recurrent_gemma', 'lru_width': 2564}",
     "lru_width: must be a multiple of the number of blocks (10), got 2564"},
    {"{'model_type': 'recurrent_gemma', 'attention_window_size': 0}",
     "attention_window_size: must be an integer from 1 to 2147483647, got 0"},
    {"{'model_type': 'xlstm', 'embedding_dim': 2048}", "embedding_dim: must be hidden_size (4096) or absent, got 2048"},
    {"{'model_type': 'xlstm', 'qk_dim_factor': 0.3}",
     "qk_dim_factor: must give a multiple of num_heads (8), gives 1228, got 0.3"},
    {"{'model_type': 'xlstm', 'v_dim_factor': 0}", "v_dim_factor: must be a number above 0 and up to 1024, got 0"},
    {"{'model_type': 'xlstm', 'tie_word_embeddings': true}",
     "tie_word_embeddings: is not supported for model_type xlstm; must be false or absent, got true"},
    {"{'model_type': 'helium', 'head_dim': 64}",
     "head_dim: must be hidden_size / num_attention_heads (2560 / 20), got 64"},
    {"{'model_type': 'hunyuan_v1_dense'}", "head_dim: is missing; must be an integer from 1 to 16777216"},
    {"{'model_type': 'internlm3', 'qkv_bias': true, 'bias': false}", "bias: must be qkv_bias (true), got false"},
    {"{'model_type': 'iquestcoder', 'use_sliding_window': true}",
     "use_sliding_window: is not supported for model_type iquestcoder; must be false or absent, got true"},
    {"{'model_type': 'smollm3', 'use_sliding_window': true, 'sliding_window': 9, 'no_rope_layers': [1, 0]}",
     "no_rope_layers: must have one element for each of the 36 layers, got 2"},
    {"{'model_type': 'smollm3', 'num_hidden_layers': 1, 'use_sliding_window': true, 'sliding_window': 9, "
     "'no_rope_layers': [2]}",
     "no_rope_layers[0]: must be 0 or 1, got 2"},
    {"{'model_type': 'exaone4', 'sliding_window': null}",
     "sliding_window: must be an integer from 1 to 2147483647, got null"},
    {"{'model_type': 'ministral3', 'head_dim': null}", "head_dim: must be an integer from 1 to 16777216, got null"},
    {"{'model_type': 'gemma3n_text', 'num_hidden_layers': 15}",
     "num_kv_shared_layers: must leave a layer of each kind with keys and values of its own among the 15; it "
     "is missing, and its default is 15"},
    {"{'model_type': 'gemma3n_text', 'num_hidden_layers': 5, 'num_kv_shared_layers': 1}",
     "num_kv_shared_layers: must leave a layer of each kind with keys and values of its own among the 5, got 1"},
    {"{'model_type': 'gemma3n_text', 'intermediate_size': [64, 32]}",
     "intermediate_size: must have one element for each of the 35 layers, got 2"},
    {"{'model_type': 'gemma3n_text', 'num_hidden_layers': 1, 'num_kv_shared_layers': 0, 'intermediate_size': [0]}",
     "intermediate_size[0]: must be an integer from 1 to 16777216, got 0"},
    {"{'model_type': 'gemma4_text', 'num_hidden_layers': 1, 'layer_types': ['sliding_attention']}",
     R"(layer_types[0]: must be "full_attention", as the last layer is, got "sliding_attention")"},
    {"{'model_type': 'gemma4_text', 'use_bidirectional_attention': 'all'}",
     R"(use_bidirectional_attention: is not supported for model_type gemma4_text; must be false or absent, got "all")"},
    {"{'model_type': 'gemma4_text', 'per_layer_config': {'full_attention': {'head_dim': 64}}}",
     "per_layer_config.full_attention: the key must be the index of a layer, such as \"12\", got \"full_attention\""},
    {"{'model_type': 'gemma4_text', 'per_layer_config': {'03': {'num_attention_heads': 4}}}",
     "per_layer_config.03.num_attention_heads: unknown key; known: head_dim, num_key_value_heads"},
    {"{'model_type': 'diffllama', 'num_key_value_heads': 1}",
     "num_key_value_heads: must be even, as values go in pairs of heads, got 1"},
    {"{'model_type': 'doge', 'is_moe': true, 'num_experts': 24, 'num_experts_per_tok': 17}",
     "num_experts_per_tok: must be at most the 16 experts that keys find, got 17"},
    {"{'model_type': 'deepseek_v3', 'num_key_value_heads': 2}",
     "num_key_value_heads: must be num_attention_heads (128) or absent: latent attention has as many, got 2"},
    {"{'model_type': 'deepseek_v3', 'moe_layer_freq': 2}",
     "moe_layer_freq: is not supported for model_type deepseek_v3; must be 1 or absent, got 2"},
    {"{'model_type': 'deepseek_v3', 'q_lora_rank': 0}",
     "q_lora_rank: must be an integer from 1 to 16777216 or null, got 0"},
    {"{'model_type': 'deepseek_v3', 'v_head_dim': null}",
     "v_head_dim: must be an integer from 1 to 16777216, got null"},
    {"{'model_type': 'deepseek_v2'}", "num_experts_per_tok: is missing; must be an integer from 1 to 16777216"},
    {"{'model_type': 'deepseek_v2', 'num_attention_heads': 3}",
     "num_attention_heads: must divide hidden_size (4096), got 3"},
    {"{'model_type': 'deepseek_v32', 'q_lora_rank': null}",
     "q_lora_rank: must be an integer from 1 to 16777216, got null"},
    {"{'model_type': 'deepseek_v32', 'index_topk': 0}", "index_topk: must be an integer from 1 to 2147483647, got 0"},
    {"{'model_type': 'glm4_moe_lite', 'first_k_dense_replace': 3}",
     "first_k_dense_replace: is not supported for model_type glm4_moe_lite; must be 1 or absent, got 3"},
    {"{'model_type': 'glm_moe_dsa', 'num_hidden_layers': 2, 'index_topk_pattern': 'FX'}",
     R"(index_topk_pattern: must be letters F and S, got "FX")"},
    {"{'model_type': 'glm_moe_dsa', 'num_hidden_layers': 2, 'indexer_types': ['full', 'S']}",
     R"(indexer_types[1]: must be "full" or "shared", got "S")"},
    {"{'model_type': 'glm_moe_dsa', 'num_hidden_layers': 2, 'indexer_types': ['full']}",
     R"(indexer_types: must have one element for each of the 2 layers, got ["full"])"},
    {"{'model_type': 'glm_moe_dsa', 'num_hidden_layers': 2, 'indexer_types': 'FS'}",
     R"(indexer_types: must be a list or null, got "FS")"},
    {"{'model_type': 'glm_moe_dsa', 'num_hidden_layers': 2, 'index_topk_pattern': 'SF'}",
     R"(index_topk_pattern: must give the first layer an indexer, got "SF")"},
    {"{'model_type': 'glm_moe_dsa', 'index_topk_freq': 2, 'index_skip_topk_offset': 0}",
     "index_skip_topk_offset: must give the first layer an indexer, got 0"},
    {"{'model_type': 'deepseek_v4', 'num_key_value_heads': 2}",
     "num_key_value_heads: must be 1: one vector is key and value of all heads, got 2"},
    {"{'model_type': 'deepseek_v4', 'n_shared_experts': 2}",
     "n_shared_experts: is not supported for model_type deepseek_v4; must be 1, as the class has, got 2"},
    {"{'model_type': 'deepseek_v4', 'num_hidden_layers': 2, 'compress_ratios': [0, 8]}",
     "compress_ratios[1]: must be 0, 4 or 128, got 8"},
    {"{'model_type': 'deepseek_v4', 'num_hidden_layers': 2, 'compress_ratios': [0]}",
     "compress_ratios: must have one element for each of the 2 layers, got [0]"},
    {"{'model_type': 'deepseek_v4', 'num_hidden_layers': 2, 'layer_types': ['sliding_attention']}",
     R"(layer_types: must have one element for each of the 2 layers, got ["sliding_attention"])"},
    {"{'model_type': 'deepseek_v4', 'num_hidden_layers': 1, 'layer_types': ['full_attention']}",
     R"(layer_types[0]: must be "sliding_attention", "compressed_sparse_attention" or "heavily_compressed_attention", got "full_attention")"},
    {"{'model_type': 'deepseek_v4', 'num_hidden_layers': 2, 'mlp_layer_types': ['moe']}",
     R"(mlp_layer_types: must have one element for each of the 2 layers, got ["moe"])"},
    {"{'model_type': 'deepseek_v4', 'compress_rates': {'compressed_sparse_attention': 0}}",
     "compress_rates.compressed_sparse_attention: must be an integer from 1 to 16777216, got 0"},
    {"{'model_type': 'deepseek_v4', 'o_groups': 3}",
     "o_groups: must divide num_attention_heads x head_dim (32768), got 3"},
    {"{'model_type': 'deepseek_v4', 'hc_mult': 0}", "hc_mult: must be an integer from 1 to 16777216, got 0"},
    {"{'model_type': 'deepseek_v4', 'index_topk': 4294967296}",
     "index_topk: must be an integer from 1 to 16777216, got 4294967296"},
    {"{'model_type': 'minimax_m3_vl_text', 'num_key_value_heads': 3}",
     "num_key_value_heads: must divide num_attention_heads (64), got 3"},
    {"{'model_type': 'minimax_m3_vl_text', 'num_hidden_layers': 1, 'layer_types': ['minimax_m3_sparse'], "
     "'index_n_heads': 3}",
     "index_n_heads: must divide num_attention_heads (64), got 3"},
    {"{'model_type': 'minimax_m3_vl_text', 'num_hidden_layers': 1, 'layer_types': ['minimax_m3_sparse'], "
     "'index_local_blocks': 0}",
     "index_local_blocks: must be at least 1: without it the data say whether a query sees its own block, got 0"},
    {"{'model_type': 'minimax_m3_vl_text', 'num_hidden_layers': 1, 'layer_types': ['minimax_m3_sparse'], "
     "'index_local_blocks': 17}",
     "index_local_blocks: must be at most index_topk_blocks (16), got 17"},
    {"{'model_type': 'minimax_m3_vl_text', 'num_hidden_layers': 1, 'sparse_attention_config': "
     "{'sparse_attention_freq': "
     "[1], 'sparse_disable_index_value': [0]}}",
     "sparse_attention_config.sparse_disable_index_value[0]: must be 1 in sparse layers: the class has an indexer "
     "without values, got 0"},
    {"{'model_type': 'minimax_m3', 'num_hidden_layers': 2, 'moe_layer_freq': [0, 1], 'first_k_dense_replace': 2}",
     "first_k_dense_replace: must be the number of dense layers that moe_layer_freq begins with, got 2"},
    {"{'model_type': 'minimax_m3_vl_text', 'num_hidden_layers': 2, 'moe_layer_freq': [0, 2]}",
     "moe_layer_freq[1]: must be an integer from 0 to 1, got 2"},
    {"{'model_type': 'hy_v4', 'num_hidden_layers': 1, 'indexer_types': ['shared']}",
     R"(indexer_types[0]: must give the first layer an indexer, got "shared")"},
    {"{'model_type': 'hy_v4', 'num_hidden_layers': 2, 'indexer_types': ['full']}",
     "indexer_types: must have one element for each of the 2 layers, got 1"},
    {"{'model_type': 'qwen4_exp_text'}", "indexer_n_heads: must be given; it is missing"},
    {"{'model_type': 'qwen4_exp_text', 'indexer_n_heads': 4, 'indexer_kv_heads': 2, 'indexer_head_dim': 8, "
     "'indexer_budget': 8, 'indexer_compress_ratio': 2}",
     "indexer_kv_heads: must be 1, got 2"},
    {"{'model_type': 'qwen4_exp_text', 'indexer_n_heads': 4, 'indexer_kv_heads': 1, 'indexer_head_dim': 8, "
     "'indexer_budget': 9, 'indexer_compress_ratio': 2}",
     "indexer_budget: must be a multiple of indexer_compress_ratio (2), got 9"},
    {"{'model_type': 'qwen4_exp_text', 'num_hidden_layers': 2, 'ple_layer_ids': [3]}",
     "ple_layer_ids: must be of layers, counted from 1, of which there are 2, got [3]"},
    {"{'model_type': 'qwen4_exp_text', 'num_hidden_layers': 1, 'layer_types': ['linear_attention'], 'ple_layer_ids': "
     "[1], 'ple_embed_dim': 17}",
     "ple_embed_dim: must be a multiple of the number of tables (16), got 17"},
    {"{'model_type': 'qwen4_exp_text', 'num_hidden_layers': 1, 'layer_types': ['linear_attention'], 'ple_layer_ids': "
     "[1], 'heads_per_ngram': 1024, 'ple_embed_dim': 2048}",
     "heads_per_ngram: must make at most 1024 tables in all layers of ple_layer_ids, got 1024"},
    {"{'model_type': 'qwen4_exp_text', 'hc_count': 1}", "hc_count: must be an integer from 2 to 16777216, got 1"},
    {"{'model_type': 'qwen4_exp_text', 'num_hidden_layers': 1, 'layer_types': ['indexed_attention'], 'ple_layer_ids': "
     "[1], 'indexer_n_heads': 4, 'indexer_kv_heads': 1, 'indexer_head_dim': 8, 'indexer_budget': 8, "
     "'indexer_compress_ratio': 2}",
     "ple_layer_ids[0]: must be of layers of linear attention, got 1"},
    {"{'model_type': 'glm5_next_text', 'qk_rope_head_dim': 64}",
     "qk_rope_head_dim: is not supported for model_type glm5_next_text; must be 0: attention has no positions, got 64"},
    {"{'model_type': 'glm5_next_text', 'index_topk': 2047}",
     "index_topk: must be a multiple of index_kpool (16), got 2047"},
    {"{'model_type': 'glm5_next_text', 'index_kpool_always_select_tail': false}",
     "index_kpool_always_select_tail: is not supported for model_type glm5_next_text; must be true or absent, got "
     "false"},
    {"{'model_type': 'mistral_large4_text', 'num_hidden_layers': 2, 'kv_source_layers': [1, 1]}",
     "kv_source_layers[0]: must name earlier layers, or the layer itself, got 1"},
    {"{'model_type': 'mistral_large4_text', 'num_hidden_layers': 3, 'kv_source_layers': [0, 0, 1]}",
     "kv_source_layers[2]: must name layers with keys of their own, got 1"},
    {"{'model_type': 'mistral_large4_text', 'num_hidden_layers': 2, 'no_rope_layers': [1]}",
     "no_rope_layers: must have one element for each of the 2 layers, got [1]"},
    {"{'model_type': 'longcat_flash', 'qk_head_dim': 128}",
     "qk_head_dim: must be the sum of qk_nope_head_dim and qk_rope_head_dim, got 128"},
    {"{'model_type': 't5', 'num_heads': 0}", "num_heads: must be an integer from 1 to 16777216, got 0"},
    {"{'model_type': 't5', 'num_decoder_layers': 0}",
     "num_decoder_layers: must be an integer from 1 to 10000 or null, got 0"},
    {"{'model_type': 't5', 'feed_forward_proj': 'gated-gelu-new'}",
     R"(feed_forward_proj: must be an activation or "gated-" and one, got "gated-gelu-new")"},
    {"{'model_type': 'mt5', 'feed_forward_proj': 'silu-gated'}",
     R"(feed_forward_proj: must be an activation or "gated-" and one, got "silu-gated")"},
    {"{'model_type': 't5', 'architectures': ['T5ForCausalLM']}",
     R"(architectures[0]: unknown class "T5ForCausalLM" for model_type t5; known: T5ForConditionalGeneration, T5WithLMHeadModel, )"
     "T5Model, T5EncoderModel, T5ForSequenceClassification, T5ForTokenClassification, T5ForQuestionAnswering"},
    {"{'model_type': 'bart', 'encoder_attention_heads': 7}",
     "encoder_attention_heads: must divide hidden_size (1024), got 7"},
    {"{'model_type': 'bart', 'decoder_attention_heads': 7}",
     "decoder_attention_heads: must divide hidden_size (1024), got 7"},
    {"{'model_type': 'mvp', 'use_prompt': true}",
     "use_prompt: is not supported for model_type mvp; must be false or absent, got true"},
    {"{'model_type': 'marian', 'architectures': ['MarianForCausalLM'], 'decoder_vocab_size': 5}",
     "decoder_vocab_size: must be vocab_size (58101) in a decoder on its own, got 5"},
    {"{'model_type': 'qwen2_5_vl', 'vision_config': {'window_size': 27}}",
     "vision_config.window_size: must be at least spatial_merge_size x patch_size (2 x 14), got 27"},
    {"{'model_type': 'qwen2_vl', 'hidden_size': 100, 'num_attention_heads': 3}",
     "num_attention_heads: must divide hidden_size (100), got 3"},
    {"{'model_type': 'qwen2_vl', 'text_config': {'hidden_size': 0}}",
     "text_config.hidden_size: must be an integer from 1 to 16777216, got 0"},
    {"{'model_type': 'qwen3_vl', 'vision_config': {'deepstack_visual_indexes': [8, 27]}}",
     "vision_config.deepstack_visual_indexes: must be of layers, of which there are 27, got [8,27]"},
    {"{'model_type': 'qwen3_vl', 'vision_config': {'deepstack_visual_indexes': [8, 8]}}",
     "vision_config.deepstack_visual_indexes: must list a layer once, got [8,8]"},
    {"{'model_type': 'qwen3_vl', 'vision_config': {'deepstack_visual_indexes': 8}}",
     "vision_config.deepstack_visual_indexes: must be a list, got 8"},
    {"{'model_type': 'qwen3_vl', 'vision_config': {'depth': 12}}",
     "vision_config.deepstack_visual_indexes: must be of layers, of which there are 12; it is missing, and its"
     " default is [8,16,24]"},
    {"{'model_type': 'kimi_k25', 'projection_hidden_size': 1024}",
     "projection_hidden_size: must be the vision tower's hidden_size (1152), got 1024"},
    {"{'model_type': 'kimi_k25', 'vision_config': {'mm_hidden_size': 1024}}",
     "vision_config.mm_hidden_size: must be the tower's hidden_size (1152), got 1024"},
    {"{'model_type': 'kimi_k25', 'vision_config': {'text_hidden_size': 1024}}",
     "vision_config.text_hidden_size: must be the text's hidden_size (7168), got 1024"},
    {"{'model_type': 'kimi_k25', 'vision_config': {'vt_hidden_size': 576, 'hidden_size': 1152}}",
     "vision_config.vt_hidden_size: must be hidden_size (1152), its other name, got 576"},
    {"{'model_type': 'kimi_k25', 'vision_config': {'vt_intermediate_size': 576, 'intermediate_size': 1152}}",
     "vision_config.vt_intermediate_size: must be intermediate_size (1152), its other name, got 576"},
    {"{'model_type': 'kimi_k25', 'vision_config': {'vt_num_hidden_layers': 3, 'num_hidden_layers': 2}}",
     "vision_config.vt_num_hidden_layers: must be num_hidden_layers (2), its other name, got 3"},
    {"{'model_type': 'kimi_k25', 'vision_config': {'vt_num_attention_heads': 8, 'num_attention_heads': 16}}",
     "vision_config.vt_num_attention_heads: must be num_attention_heads (16), its other name, got 8"},
    {"{'model_type': 'kimi_k25', 'vision_config': {'init_pos_emb_height': 8, 'pos_emb_height': 16}}",
     "vision_config.init_pos_emb_height: must be pos_emb_height (16), its other name, got 8"},
    {"{'model_type': 'kimi_k25', 'vision_config': {'init_pos_emb_width': 8, 'pos_emb_width': 16}}",
     "vision_config.init_pos_emb_width: must be pos_emb_width (16), its other name, got 8"},
    {"{'model_type': 'qwen2_5_omni', 'thinker_config': {'vision_config': {'hidden_size': 1280, 'embed_dim': 1152}}}",
     "thinker_config.vision_config.embed_dim: must be hidden_size (1280), which the class reads, got 1152"},
    {"{'model_type': 'llama4_text', 'no_rope_layer_interval': 4, 'nope_layer_interval': 2}",
     "nope_layer_interval: must be no_rope_layer_interval (4), its other name, got 2"},
    {"{'model_type': 'kimi_k25', 'vision_config': {'merge_kernel_size': [2, 3]}}",
     "vision_config.merge_kernel_size: must be two equal numbers, got [2,3]"},
    {"{'model_type': 'glm46v', 'vision_config': {'model_type': 'vit'}}",
     R"(vision_config.architectures: names a class with the head "VisionModel", which model_type "vit" does not have: name another class)"},
    {"{'model_type': 'a_vision_model', 'text_config': {'model_type': 'llama'}, 'vision_config': {}}",
     R"(model_type: unknown type "a_vision_model"; its text_config alone can be read: llama*)"},
    {"{'model_type': 'an_omni_model', 'thinker_config': {'text_config': {'model_type': 'qwen3_moe'}}}",
     R"(model_type: unknown type "an_omni_model"; its thinker_config.text_config alone can be read: qwen3_moe*)"},
    {"{'model_type': 'a_vision_model', 'text_config': {'model_type': 'nobody'}}",
     R"(model_type: unknown type "a_vision_model"; nearest: sam_vision_model*)"},
    {"{'model_type': 'a_vision_model', 'text_config': {'hidden_size': 8}}",
     R"(model_type: unknown type "a_vision_model"; nearest: sam_vision_model*)"},
    {"{'model_type': 'a_vision_model', 'text_config': 7}",
     R"(model_type: unknown type "a_vision_model"; nearest: sam_vision_model*)"},
    {"{'model_type': 'idefics2', 'perceiver_config': {'num_key_value_heads': 3}}",
     "perceiver_config.num_key_value_heads: must divide resampler_n_heads (16), got 3"},
    {"{'model_type': 'mllama', 'text_config': {'tie_word_embeddings': true}}",
     "text_config.tie_word_embeddings: is not supported for model_type mllama_text_model; must be false or absent, "
     "got true"},
    {"{'model_type': 'mllama', 'vision_config': {'max_num_tiles': 2}}",
     "vision_config.max_num_tiles: must be 4 where supported_aspect_ratios is absent, got 2"},
    {"{'model_type': 'mllama', 'vision_config': {'intermediate_layers_indices': [1]}}",
     "vision_config.vision_output_dim: must be hidden_size x (1 + intermediate_layers_indices) (2560); it is "
     "missing"},
    {"{'model_type': 'blip-2', 'qformer_config': {'num_attention_heads': 7}}",
     "qformer_config.num_attention_heads: must divide hidden_size (768), got 7"},
    {"{'model_type': 'blip-2', 'qformer_config': {'use_qformer_text_input': true}}",
     "qformer_config.use_qformer_text_input: must be false or absent where queries alone enter, got true"},
    {"{'model_type': 'mpt', 'attn_config': {'attn_type': 'grouped_query_attention', 'kv_n_heads': 8}}",
     R"(attn_config.attn_type: must be "multihead_attention" or "multiquery_attention", got "grouped_query_attention")"},
    {"{'model_type': 'gpt_neo', 'num_layers': 2, 'attention_layers': ['global']}",
     "attention_layers: must have one element for each of the 2 layers, got 1"},
    {"{'model_type': 'gpt_neo', 'num_layers': 2, 'attention_layers': ['global', 'windowed']}",
     R"(attention_layers[1]: must be "global" or "local", got "windowed")"},
    {"{'model_type': 'mpt', 'attn_config': {'attn_type': 7}}",
     R"(attn_config.attn_type: must be "multihead_attention" or "multiquery_attention", got 7)"},
    {"{'model_type': 'baichuan', 'vocab_size': 64000}",
     "hidden_size: is missing; must be an integer from 1 to 16777216"},
    {"{'model_type': 'qwen', 'vocab_size': 9, 'hidden_size': 256, 'num_hidden_layers': 1, 'num_attention_heads': 2, "
     "'intermediate_size': 33}",
     "intermediate_size: must be even, got 33"},
    {"{'model_type': 'deepseek', 'vocab_size': 9, 'hidden_size': 8, 'num_hidden_layers': 1, 'num_attention_heads': 2, "
     "'moe_layer_freq': 2}",
     "moe_layer_freq: is not supported for model_type deepseek; must be 1 or absent, got 2"},
    {"{'model_type': 'vit', 'image_size': [224]}", "image_size: must be an integer or [height, width], got [224]"},
    {"{'model_type': 'vit', 'image_size': [224, 0]}", "image_size[1]: must be an integer from 1 to 16777216, got 0"},
    {"{'model_type': 'vit', 'patch_size': 225}",
     "image_size: must be at least patch_size, so that an image has a patch; it is missing, and its default is 224"},
    {"{'model_type': 'clip_vision_model', 'image_size': [224, 224]}",
     "image_size: must be an integer from 1 to 16777216, got [224,224]"},
    {"{'model_type': 'siglip_vision_model', 'num_attention_heads': 7}",
     "num_attention_heads: must divide hidden_size (768), got 7"},
    {"{'model_type': 'clip', 'text_config_dict': {'hidden_size': 5}}",
     R"(text_config_dict: must be null: write its values in text_config, got {"hidden_size":5})"},
    {"{'model_type': 'dinov2', 'mlp_ratio': 0}", "mlp_ratio: must be a number above 0 and up to 1024, got 0"},
    {"{'model_type': 'beit', 'layer_scale_init_value': '0.1'}",
     R"(layer_scale_init_value: must be a number from 0 to 16777216, got "0.1")"},
    {"{'model_type': 'swin', 'depths': [2, 2, 6]}",
     "num_heads: must have a number for each of the 3 levels; it is missing, and its default is [3,6,12,24]"},
    {"{'model_type': 'swin', 'num_heads': [3, 6, 12, 25]}",
     "num_heads: must divide the width of its level (768), got [3,6,12,25]"},
    {"{'model_type': 'swin', 'depths': []}", "depths: must have a number for each level, got []"},
    {"{'model_type': 'dinov3_convnext', 'patch_size': 2}", "patch_size: must be 4 or absent, got 2"},
    {"{'model_type': 'convnext', 'num_stages': 3}",
     "hidden_sizes: must have a number for each of the 3 levels; it is missing, and its default is "
     "[96,192,384,768]"},
    {"{'model_type': 'convnext', 'depths': [3, 3, 0, 3]}", "depths[2]: must be an integer from 1 to 16777216, got 0"},
    {"{'model_type': 'convnext', 'layer_scale_init_value': null}",
     "layer_scale_init_value: must be a number from 0 to 16777216, got null"},
    {"{'model_type': 'vit_mae', 'mask_ratio': 1.0}",
     "mask_ratio: must be from 0 to below 1 with at most six decimals, got 1.0"},
    {"{'model_type': 'vit_mae', 'mask_ratio': 0.12345678}",
     "mask_ratio: must be from 0 to below 1 with at most six decimals, got 0.12345678"},
    {"{'model_type': 'vjepa2', 'frames_per_clip': 1}", "frames_per_clip: must be at least tubelet_size (2), got 1"},
    {"{'model_type': 'vjepa2', 'pred_num_attention_heads': 11}",
     "pred_num_attention_heads: must divide its width (384), got 11"},
    {"{'model_type': 'wav2vec2', 'conv_kernel': [10, 3]}",
     "conv_kernel: must have as many numbers as conv_dim (7), got [10,3]"},
    {"{'model_type': 'hubert', 'conv_dim': [512, 0], 'conv_kernel': [10, 3], 'conv_stride': [5, 2]}",
     "conv_dim[1]: must be an integer from 1 to 16777216, got 0"},
    {"{'model_type': 'wavlm', 'feat_extract_norm': 'batch'}",
     R"(feat_extract_norm: must be "group" or "layer", got "batch")"},
    {"{'model_type': 'wav2vec2', 'num_conv_pos_embedding_groups': 5}",
     "num_conv_pos_embedding_groups: must divide hidden_size (768), got 5"},
    {"{'model_type': 'wav2vec2', 'architectures': ['Wav2Vec2ForSequenceClassification'], 'add_adapter': true}",
     "add_adapter: must be false in a class that classifies, got true"},
    {"{'model_type': 'hubert', 'add_adapter': true}",
     "add_adapter: is not supported for model_type hubert; must be false or absent, got true"},
    {"{'model_type': 'wav2vec2-conformer', 'vocab_size': 32, 'position_embeddings_type': 'relative_key'}",
     R"(position_embeddings_type: must be "relative" or "rotary" or null, got "relative_key")"},
    {"{'model_type': 'wav2vec2-conformer', 'vocab_size': 32, 'conv_depthwise_kernel_size': 4}",
     "conv_depthwise_kernel_size: must be odd, got 4"},
    {"{'model_type': 'wav2vec2-bert'}", "vocab_size: is missing; must be an integer from 1 to 268435456"},
    {"{'model_type': 'wav2vec2-bert', 'vocab_size': 32, 'add_adapter': true}",
     "add_adapter: is not supported for model_type wav2vec2-bert; must be false or absent, got true"},
    {"{'model_type': 'parakeet_encoder', 'subsampling_factor': 1}", "subsampling_factor: must be from 2 to 31, got 1"},
    {"{'model_type': 'voxtral', 'audio_config': {'intermediate_size': 2000}}",
     "audio_config.intermediate_size: must be a multiple of hidden_size (1280), since frames are stacked to "
     "rows of it, got 2000"},
    {"{'model_type': 'glmasr', 'audio_config': {'intermediate_size': 2560}}",
     "audio_config.intermediate_size: must be 4 x hidden_size (1280), since one token of the text stands for "
     "four frames, got 2560"},
    {"{'model_type': 'qwen3_omni_moe_audio_encoder', 'n_window': 100}",
     "n_window: must be from 49 to 52, since the class takes the chunks of twice as many frames for 13, got 100"},
    {"{'model_type': 'qwen3_omni_moe_audio_encoder', 'n_window_infer': 99}",
     "n_window_infer: must be at least 2 x n_window (100), got 99"},
    {"{'model_type': 'speech_to_text', 'num_conv_layers': 3}",
     "conv_kernel_sizes: must list 3 kernels; it is missing, and its default is [5,5]"},
    {"{'model_type': 'moonshine', 'decoder_num_key_value_heads': 4}",
     "decoder_num_key_value_heads: must be the number of attention heads (8), which is all that the class "
     "runs, got 4"},
    {"{'model_type': 'audio-spectrogram-transformer', 'max_length': 15}",
     "max_length: must be at least patch_size (16), got 15"},
    {"{'model_type': 'dpt', 'backbone_config': {'model_type': 'swin', 'out_indices': [1, 2, 3, 4]}}",
     "backbone_config: must be of a type whose layers all have one width, got an object of lists or objects"},
    {"{'model_type': 'depth_anything', 'backbone_config': {'model_type': 'swin', 'out_indices': [1, 2, 3, 4]}}",
     "backbone_config: must be of a type whose layers all have one width, got an object of lists or objects"},
    {"{'model_type': 'vitpose', 'backbone_config': {'model_type': 'swin', 'out_indices': [4]}}",
     "backbone_config: must be of a type whose layers all have one width, got an object of lists or objects"},
    {"{'model_type': 'vitmatte', 'hidden_size': 768, 'backbone_config': {'model_type': 'swin', 'patch_size': 16, "
     "'out_indices': [4]}}",
     "backbone_config: must be of a type whose layers all have one width, got an object of lists or objects"},
    {"{'model_type': 'detr', 'backbone_config': {'model_type': 'swin', 'out_features': ['stage3']}}",
     R"(backbone_config.out_features: must end with the last level, got ["stage3"])"},
    {"{'model_type': 'deimv2', 'backbone_config': {'model_type': 'pixio', 'patch_size': 16, 'out_indices': [2, 3, 4]}}",
     R"(backbone_config.model_type: must be "dinov3_vit" or a type with four levels, got "pixio")"},
};

/// Malformed configs of LLaVA and its descendants.
constexpr malformed malformed_llava_family[] = {
    {"{'model_type': 'llava', 'vision_feature_layer': -26}",
     "vision_feature_layer: must be an integer from -25 to 24, got -26"},
    {"{'model_type': 'llava', 'vision_feature_layer': [3, 25]}",
     "vision_feature_layer[1]: must be an integer from -25 to 24, got 25"},
    {"{'model_type': 'llava', 'vision_feature_select_strategy': 'cls'}",
     R"(vision_feature_select_strategy: must be "default" or "full", got "cls")"},
    {"{'model_type': 'llava', 'vision_config': {'model_type': 'siglip_vision_model'}}",
     R"(vision_feature_select_strategy: must be "full" for a tower without a class token; it is missing, and its default is "default")"},
    {"{'model_type': 'llava_next', 'vision_feature_select_strategy': 'full'}",
     R"(vision_feature_select_strategy: must be "default": a class token has no place among the patches, got "full")"},
    {"{'model_type': 'llava_next_video', 'spatial_pool_mode': 'conv'}",
     R"(spatial_pool_mode: must be "average" or "max", got "conv")"},
    {"{'model_type': 'vipllava', 'vision_config': {'model_type': 'pixtral'}}",
     R"(vision_config.model_type: must be a tower with one class token, got "pixtral")"},
    {"{'model_type': 'llava', 'vision_config': {'model_type': 'llama'}}",
     R"(vision_config.model_type: must be the type of a model of images or sound, got "llama")"},
    {"{'model_type': 'encoder-decoder', 'encoder': {'model_type': 'vit'}, 'decoder': {}}",
     R"(encoder.model_type: must be the type of a text model, not of images, of sound or of an encoder-decoder, got "vit")"},
    {"{'model_type': 'encoder-decoder', 'encoder': {'model_type': 't5'}, 'decoder': {}}",
     R"(encoder.model_type: must be the type of a text model, not of images, of sound or of an encoder-decoder, got "t5")"},
    {"{'model_type': 'mistral3', 'vision_feature_layer': [-1, -2]}",
     "vision_feature_layer: must be one integer, got [-1,-2]"},
    {"{'model_type': 'internvl', 'downsample_ratio': 0.3}",
     "downsample_ratio: must be 1.0, 0.5, 0.25 or 0.125, got 0.3"},
    {"{'model_type': 'internvl', 'vision_config': {'norm_type': 'batch_norm'}}",
     R"(vision_config.norm_type: must be "layer_norm" or "rms_norm", got "batch_norm")"},
    {"{'model_type': 'aya_vision'}",
     "vision_config.num_attention_heads: must divide hidden_size (1152); it is missing, and its default is 14"},
    {"{'model_type': 'cohere2_vision', 'alignment_intermediate_size': 7}",
     "alignment_intermediate_size: must be even, got 7"},
    {"{'model_type': 'llama4'}",
     "vision_config.intermediate_size: must be the width of merged patches (3072); it is missing, and its "
     "default is 5632"},
    {"{'model_type': 'llama4', 'vision_config': {'hidden_size': 1408, 'projector_input_dim': 8}}",
     "vision_config.projector_input_dim: must be projector_output_dim (4096), got 8"},
    {"{'model_type': 'llama4', 'vision_config': {'hidden_size': 1408}}",
     "vision_config.vision_output_dim: must be projector_output_dim (4096); it is missing"},
    {"{'model_type': 'ovis2', 'hidden_size': 8}", "hidden_size: must be the text's hidden_size (4096), got 8"},
    {"{'model_type': 'ovis2', 'hidden_size': 4096, 'vision_config': {'vocab_size': 5}}",
     "vision_config.num_visual_indicator_tokens: must be below vocab_size (5); it is missing, and its default is 5"},
    {"{'model_type': 'paligemma', 'projection_dim': 8}",
     "projection_dim: must be the text's hidden_size (2048), got 8"},
    {"{'model_type': 'gemma3', 'mm_tokens_per_image': 256}",
     "mm_tokens_per_image: must be at most the patches of an image (196), got 256"},
    {"{'model_type': 'gemma3', 'mm_tokens_per_image': 4, 'text_config': {'use_bidirectional_attention': true}}",
     "text_config.use_bidirectional_attention: must be false or absent, got true"},
    {"{'model_type': 'gemma4', 'audio_config': {'subsampling_conv_channels': [3, 4]}}",
     "audio_config.subsampling_conv_channels: must be at least 4, since a bin is left for each four of the first, "
     "got [3,4]"},
    {"{'model_type': 'gemma4', 'audio_config': {'attention_context_left': 1}}",
     "audio_config.attention_context_left: must be an integer from 2 to 16777216, got 1"},
    {"{'model_type': 'cohere_asr', 'encoder_config': 3}", "encoder_config: must be a JSON object, got 3"},
    {"{'model_type': 'cohere_asr', 'encoder_config': {'conv_kernel_size': 8}}",
     "encoder_config.conv_kernel_size: must be odd, got 8"},
    {"{'model_type': 'cohere_asr', 'encoder_config': {'hidden_size': '8'}}",
     R"(encoder_config.hidden_size: must be an integer from 1 to 16777216, got "8")"},
    {"{'model_type': 'canary', 'encoder_config': {'hidden_size': 512}}",
     "encoder_config.hidden_size: must be that of decoder_config (1024), whose layers read what the encoder leaves, "
     "got 512"},
    {"{'model_type': 'canary', 'decoder_config': {'vocab_size': 5}}",
     "decoder_config.vocab_size: must be vocab_size (16384), got 5"},
    {"{'model_type': 'parakeet_ctc', 'encoder_config': {'subsampling_factor': 1}}",
     "encoder_config.subsampling_factor: must be from 2 to 31, got 1"},
    {"{'model_type': 'granite_speech', 'window_size': 14}",
     "window_size: must be a multiple of downsample_rate (5), got 14"},
    {"{'model_type': 'granite_speech'}",
     "projector_config.encoder_hidden_size: must be the width of what the encoder leaves (1024); it is missing, and "
     "its default is 1408"},
    {"{'model_type': 'granite_speech_plus', 'encoder_config': {'cat_hidden_layers': [10]}}",
     "encoder_config.cat_hidden_layers: must be below num_layers (10), got [10]"},
    {"{'model_type': 'phi4_multimodal', 'audio_config': {'time_reduction': 6}}",
     "audio_config.time_reduction: must be 2, 4, 8 or 16, got 6"},
    {"{'model_type': 'phi4_multimodal', 'vision_config': {'image_size': 434}}",
     "vision_config.image_size: must be of an even number of patches (31), of which four are averaged, got 434"},
    {"{'model_type': 'seamless_m4t', 'num_adapter_layers': 2}", "num_adapter_layers: must be 1, got 2"},
    {"{'model_type': 'moshi', 'ffn_dim': 7}", "ffn_dim: must be even, got 7"},
    {"{'model_type': 'musicgen', 'decoder': {'cross_attention_hidden_size': 8}}",
     "decoder.cross_attention_hidden_size: must be null or hidden_size (1024), which its layers read, got 8"},
    {"{'model_type': 'fun_asr_nano', 'adaptor_config': {'intermediate_size': 8}}",
     "adaptor_config.intermediate_size: must be a quarter of the text's hidden_size (1024), got 8"},
};

constexpr malformed malformed_own[] = {
    {"{}", "hidden_size: is missing; must be an integer from 1 to 16777216"},
    {"{'hidden_size': 0}", "hidden_size: must be an integer from 1 to 16777216, got 0"},
    {"{'hidden_size': 4.0, 'layers': []}", "hidden_size: must be an integer from 1 to 16777216, got 4.0"},
    {"{'hidden_size': 4}",
     "layers: must list at least one group of layers, such as {\"repeat\": 32, \"parts\": [...]}"},
    {"{'hidden_size': 4, 'layers': []}",
     "layers: must list at least one group of layers, such as {\"repeat\": 32, \"parts\": [...]}"},
    {"{'hidden_size': 4, 'layers': null}",
     "layers: must list at least one group of layers, such as {\"repeat\": 32, \"parts\": [...]}"},
    {"{'hidden_size': 4, 'layers': {'parts': []}}", "layers: must be a list, got an object of lists or objects"},
    {"{'hidden_size': 4, 'layers': [7]}", "layers[0]: must be a JSON object, got 7"},
    {"{'hidden_size': 4, 'layer': []}",
     "layer: unknown key; known: model_type, name, hidden_size, encoder_layers, layers, vocab_size, padded_vocab_size, "
     "tie_word_embeddings"},
    {"{'hidden_size': 4, 'name': 7, 'layers': [{'parts': [{'type': 'mlp', 'intermediate_size': 8}]}]}",
     "name: must be a string, got 7"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'compressed_attention', 'num_heads': 2, 'head_dim': 3, "
     "'q_lora_rank': 5, 'window': 7, 'o_lora_rank': 6, 'o_groups': 4}]}]}",
     "layers[0].parts[0].o_groups: must divide num_heads x head_dim (6), got 4"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'compressed_attention', 'num_heads': 2, 'head_dim': 3, "
     "'q_lora_rank': 5, 'window': 7, 'o_lora_rank': 6, 'best_keys': 4}]}]}",
     "layers[0].parts[0].compress_ratio: must be at least 1 if compressed keys overlap or the best are chosen; it "
     "is "
     "missing, and its default is 0"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'gated_streams', 'streams': 2}]}]}",
     "layers[0].parts[0].rank: is missing; must be an integer from 1 to 16777216"},
    {"{'hidden_size': 4, 'layers': [{}]}",
     "layers[0].parts: must list at least one part, such as {\"type\": \"mlp\", \"intermediate_size\": 14336}"},
    {"{'hidden_size': 4, 'layers': [{'parts': []}]}",
     "layers[0].parts: must list at least one part, such as {\"type\": \"mlp\", \"intermediate_size\": 14336}"},
    {"{'hidden_size': 4, 'layers': [{'parts': 'mlp'}]}", R"(layers[0].parts: must be a list, got "mlp")"},
    {"{'hidden_size': 4, 'layers': [{'parts': ['mlp']}]}", R"(layers[0].parts[0]: must be a JSON object, got "mlp")"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{}]}]}",
     "layers[0].parts[0].type: is missing; known: attention, cross_attention, mla, lightning_indexer, "
     "compressed_attention, hyper_connections, stream_head, gated_streams, mlp, moe, mamba, "
     "mamba2, gated_delta_net, kda, lightning_attention, mlstm, rg_lru, short_convolution, rwkv_time_mix, "
     "rwkv_channel_mix, linear, state"},
    {"{'hidden_size': 4, 'layers': [{'repeat': 0, 'parts': [{'type': 'mlp', 'intermediate_size': 8}]}]}",
     "layers[0].repeat: must be an integer from 1 to 10000, got 0"},
    {"{'hidden_size': 4, 'layers': [{'repeat': 10001, 'parts': [{'type': 'mlp', 'intermediate_size': 8}]}]}",
     "layers[0].repeat: must be an integer from 1 to 10000, got 10001"},
    {"{'hidden_size': 4, 'layers': [{'repeat': 2, 'times': 3, 'parts': [{'type': 'mlp', 'intermediate_size': 8}]}]}",
     "layers[0].times: unknown key; known: repeat, parts"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'ffn'}]}]}",
     R"(layers[0].parts[0].type: unknown part "ffn"; known: attention, cross_attention, mla, lightning_indexer, compressed_attention, hyper_connections, stream_head, gated_streams, mlp, moe, mamba, mamba2, gated_delta_net, kda, lightning_attention, mlstm, rg_lru, short_convolution, rwkv_time_mix, rwkv_channel_mix, linear, state)"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 7}]}]}", "layers[0].parts[0].type: must be a string, got 7"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'attention', 'num_heads': 2}, {'type': 'mlp', "
     "'intermediate_size': '8'}]}]}",
     R"(layers[0].parts[1].intermediate_size: must be an integer from 1 to 16777216, got "8")"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'mlp', 'intermediate_size': 8}]}, {'parts': [{'type': "
     "'mlp'}]}]}",
     "layers[1].parts[0].intermediate_size: is missing; must be an integer from 1 to 16777216"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'mlp', 'intermediate_size': 8, 'gated': 'yes'}]}]}",
     R"(layers[0].parts[0].gated: must be true or false, got "yes")"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'mlp', 'intermediate_size': 8, 'bias': true}]}]}",
     "layers[0].parts[0].bias: unknown key; known: type, intermediate_size, gated"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'attention'}]}]}",
     "layers[0].parts[0].num_heads: is missing; must be an integer from 1 to 16777216"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'attention', 'num_heads': 3}]}]}",
     "layers[0].parts[0].head_dim: is missing, and num_heads (3) does not divide hidden_size (4)"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'attention', 'num_heads': 2, 'num_kv_heads': 4}]}]}",
     "layers[0].parts[0].num_kv_heads: must divide num_heads (2), got 4"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'attention', 'num_heads': 2, 'num_key_value_heads': 1}]}]}",
     "layers[0].parts[0].num_key_value_heads: unknown key; known: type, num_heads, num_kv_heads, head_dim, mask"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'attention', 'num_heads': 2, 'mask': 'full'}]}]}",
     R"~(layers[0].parts[0].mask: must be "causal", "bidirectional", the name of another mask, such as "sliding_window(4096)", or an object with one of the keys {masks}, got "full" (statistic: "full" is not a known statistic; write one such as "sliding_window(4096)"))~"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'attention', 'num_heads': 2, 'mask': null}]}]}",
     R"~(layers[0].parts[0].mask: must be "causal", "bidirectional", the name of another mask, such as "sliding_window(4096)", or an object with one of the keys {masks}, got null)~"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'attention', 'num_heads': 2, 'mask': {}}]}]}",
     R"~(layers[0].parts[0].mask: must be "causal", "bidirectional", the name of another mask, such as "sliding_window(4096)", or an object with one of the keys {masks}, got {})~"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'attention', 'num_heads': 2, 'mask': {'window': [1, 1], "
     "'top_k': 2}}]}]}",
     R"~(layers[0].parts[0].mask: must be "causal", "bidirectional", the name of another mask, such as "sliding_window(4096)", or an object with one of the keys {masks}, got an object of lists or objects)~"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'attention', 'num_heads': 2, 'mask': {'sliding': 4}}]}]}",
     "layers[0].parts[0].mask.sliding: unknown key; known: {masks}"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'attention', 'num_heads': 2, 'mask': {'best_blocks': "
     "[64]}}]}]}",
     "layers[0].parts[0].mask.best_blocks: must be [block_size, top_k], got [64]"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'attention', 'num_heads': 2, 'mask': {'best_blocks': [64, "
     "0]}}]}]}",
     "layers[0].parts[0].mask.best_blocks[1]: must be an integer from 1 to 2147483647, got 0"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'attention', 'num_heads': 2, 'mask': {'hstu': [1, 1, 0, "
     "5]}}]}]}",
     "layers[0].parts[0].mask.hstu: min_full_attn_seq_len: needs a max_attn_len above 0: set max_attn_len, or set "
     "min_full_attn_seq_len to 0"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'attention', 'num_heads': 2, 'mask': {'sliding_window': "
     "0}}]}]}",
     "layers[0].parts[0].mask.sliding_window: must be an integer from 1 to 2147483647, got 0"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'attention', 'num_heads': 2, 'mask': {'chunked': "
     "2147483648}}]}]}",
     "layers[0].parts[0].mask.chunked: must be an integer from 1 to 2147483647, got 2147483648"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'attention', 'num_heads': 2, 'mask': {'window': 4}}]}]}",
     "layers[0].parts[0].mask.window: must be a list, got 4"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'attention', 'num_heads': 2, 'mask': {'window': null}}]}]}",
     "layers[0].parts[0].mask.window: must be [left, right], got null"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'attention', 'num_heads': 2, 'mask': {'window': [1]}}]}]}",
     "layers[0].parts[0].mask.window: must be [left, right], got [1]"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'attention', 'num_heads': 2, 'mask': {'window': [1, -2]}}]}]}",
     "layers[0].parts[0].mask.window[1]: must be an integer from -1 to 2147483647, got -2"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'attention', 'num_heads': 2, 'mask': {'window': [-1.0, "
     "1]}}]}]}",
     "layers[0].parts[0].mask.window[0]: must be an integer from -1 to 2147483647, got -1.0"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'attention', 'num_heads': 2, 'mask': {'window': "
     "[18446744073709551615, 1]}}]}]}",
     "layers[0].parts[0].mask.window[0]: must be an integer from -1 to 2147483647, got 18446744073709551615"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'cross_attention', 'num_heads': 2, 'mask': 'causal'}]}]}",
     "layers[0].parts[0].mask: unknown key; known: type, num_heads, num_kv_heads, head_dim, context_size"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'cross_attention', 'num_heads': 2, 'context_size': 0}]}]}",
     "layers[0].parts[0].context_size: must be an integer from 1 to 16777216, got 0"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'moe', 'num_experts': 4, 'num_experts_per_tok': 5, "
     "'intermediate_size': 8}]}]}",
     "layers[0].parts[0].num_experts_per_tok: must be an integer from 1 to 4, got 5"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'moe', 'num_experts': 4, 'intermediate_size': 8}]}]}",
     "layers[0].parts[0].num_experts_per_tok: is missing; must be an integer from 1 to 16777216"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'moe', 'num_experts': 4, 'num_experts_per_tok': 2, "
     "'intermediate_size': 8, 'shared_expert_gate': true}]}]}",
     "layers[0].parts[0].shared_expert_gate: must be false without shared_intermediate_size, got true"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'linear', 'in_features': 4, 'out_features': 4}]}]}",
     "layers[0].parts[0].component: is missing; must be a string"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'linear', 'component': '', 'in_features': 4, 'out_features': "
     "4}]}]}",
     R"(layers[0].parts[0].component: must have 1 to 39 characters, got "")"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'linear', 'component': 'a name that has more than thirty-nine "
     "chars', 'in_features': 4, 'out_features': 4}]}]}",
     R"(layers[0].parts[0].component: must have 1 to 39 characters, got "a name that has more than thirty-nine chars")"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'linear', 'component': 'x', 'in_features': 4, 'out_features': "
     "4, 'rows': 'token'}]}]}",
     R"(layers[0].parts[0].rows: must be "tokens", "keys" or "count", got "token")"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'state', 'component': 'x', 'multiply_adds': 0}]}]}",
     "layers[0].parts[0].multiply_adds: must be an integer from 1 to 281474976710656, got 0"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'state', 'component': 'x', 'multiply_adds': "
     "281474976710657}]}]}",
     "layers[0].parts[0].multiply_adds: must be an integer from 1 to 281474976710656, got 281474976710657"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'rg_lru', 'lru_width': 10, 'num_blocks': 4, 'conv_kernel': "
     "3}]}]}",
     "layers[0].parts[0].num_blocks: must divide lru_width (10), got 4"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'mla', 'num_heads': 2, 'qk_nope_head_dim': 2, 'v_head_dim': "
     "2}]}]}",
     "layers[0].parts[0].kv_lora_rank: is missing; must be an integer from 1 to 16777216"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'mamba2', 'num_heads': 2, 'expand': 2}]}]}",
     "layers[0].parts[0].expand: unknown key; known: type, num_heads, head_dim, n_groups, state_size, conv_kernel"},
    {"{'hidden_size': 4, 'layers': [{'parts': [{'type': 'moe', 'num_experts': 2, 'zero_experts': 1, "
     "'num_experts_per_tok': 4, 'intermediate_size': 3}]}]}",
     "layers[0].parts[0].num_experts_per_tok: must be an integer from 1 to 3, got 4"},
    {"{'hidden_size': 4, 'encoder_layers': [], 'layers': [{'parts': [{'type': 'mlp', 'intermediate_size': 8}]}]}",
     "encoder_layers: must list at least one group of layers, such as {\"repeat\": 32, \"parts\": [...]}"},
    {"{'hidden_size': 4, 'encoder_layers': [{'parts': [{'type': 'attention', 'num_heads': 2}]}], "
     "'layers': [{'parts': [{'type': 'mlp', 'intermediate_size': 8}]}]}",
     "encoder_layers: every mask must be \"bidirectional\", got causal"},
    {"{'hidden_size': 4, 'encoder_layers': [{'parts': [{'type': 'cross_attention', 'num_heads': 2}]}], "
     "'layers': [{'parts': [{'type': 'mlp', 'intermediate_size': 8}]}]}",
     "encoder_layers: every mask must be \"bidirectional\", got cross_attention"},
    {"{'hidden_size': 4, 'vocab_size': 0, 'layers': [{'parts': [{'type': 'mlp', 'intermediate_size': 8}]}]}",
     "vocab_size: must be an integer from 1 to 268435456, got 0"},
    {"{'hidden_size': 4, 'padded_vocab_size': 8, 'layers': [{'parts': [{'type': 'mlp', 'intermediate_size': 8}]}]}",
     "padded_vocab_size: needs vocab_size: add it, or remove this key"},
    {"{'hidden_size': 4, 'tie_word_embeddings': true, 'layers': [{'parts': [{'type': 'mlp', 'intermediate_size': "
     "8}]}]}",
     "tie_word_embeddings: needs vocab_size: add it, or remove this key"},
    {"{'hidden_size': 4, 'vocab_size': 8, 'padded_vocab_size': 7, 'layers': [{'parts': [{'type': 'mlp', "
     "'intermediate_size': 8}]}]}",
     "padded_vocab_size: must be at least vocab_size (8), got 7"},
    {"{'hidden_size': 4, 'vocab_size': 8, 'tie_word_embeddings': 0, 'layers': [{'parts': [{'type': 'mlp', "
     "'intermediate_size': 8}]}]}",
     "tie_word_embeddings: must be true or false, got 0"},
};

/// The keys of masks in floptally's own format: the library's own list, so that a new mask is in no text here.
std::string with_masks(std::string text) {
    constexpr std::string_view sign = "{masks}";
    const std::size_t at = text.find(sign);
    if (at != std::string::npos) {
        std::string list = "sliding_window";
        for (const floptally::detail::statistic_table* table :
             floptally::detail::tables_in(floptally::library_masks{})) {
            if (table->of_sequence && table->text_parameters != 0 && !table->is_of_other_side) {
                list += ", " + std::string(table->name);
            }
        }
        text.replace(at, sign.size(), list);
    }
    return text;
}

std::string with_ways_out(std::string text) {
    if (text.ends_with('*')) {
        text.pop_back();
        text +=
            "\n  `floptally models` lists the known types; for another model write a spec or use floptally's own "
            "format\n"
            "  (docs/specs.md), or count its module with floptally.from_torch";
    }
    return text;
}

void check(std::string config, const malformed& expected) {
    std::replace(config.begin(), config.end(), '\'', '"');
    INFO(config);
    std::istringstream text(config);
    const std::string error = error_of([&] { return floptally::read_config(text); });
    CHECK(error == with_masks(with_ways_out(expected.error)));
    CHECK(std::count(error.begin(), error.end(), '\n') == (std::string_view(expected.error).ends_with('*') ? 2 : 0));
}

}  // namespace

TEST_CASE("a malformed Hugging Face config is an error that names the field, the value and what is valid") {
    std::size_t number = 0;
    for (const malformed& row : malformed_configs) {
        if (!skipped_when_sanitized(number++, 5)) {
            check(row.config, row);
        }
    }
    CHECK(std::size(malformed_configs) > 60);
    for (const malformed& row : malformed_llava_family) {
        check(row.config, row);
    }
}

TEST_CASE("a malformed config in floptally's own format is an error with the full path of the field") {
    const std::string type = "{'model_type': 'floptally'";
    for (const malformed& row : malformed_own) {
        const std::string_view fields = std::string_view(row.config).substr(1);
        check(type + (fields == "}" ? "" : ", ") + std::string(fields), row);
    }
}

TEST_CASE("a config that cannot be opened is an error") {
    CHECK(error_of([] { return floptally::load_config("/no/such.json"); }) ==
          "config: cannot read \"/no/such.json\": pass a readable file");
    CHECK(error_of([] { return floptally::load_config("/dev"); }) ==
          "config: cannot read \"/dev/config.json\": pass a readable file");
    CHECK(error_of([] { return floptally::load_config(""); }) == "config: cannot read \"\": pass a readable file");
    CHECK(error_of([] { return floptally::load_config("/dev/null/config.json"); }) ==
          "config: cannot read \"/dev/null/config.json\": pass a readable file");
}

TEST_CASE("deeply nested JSON values overflow neither the stack nor the error text") {
    constexpr std::size_t depth = is_sanitized ? 100'000 : 1'000'000;
    const std::string deep(depth, '[');
    std::istringstream open("{\"model_type\": " + deep);
    CHECK(error_of([&] { return floptally::read_config(open); }) ==
          "config: must be a JSON object, cannot be parsed at line 1, column " + std::to_string(depth + 16) +
              ", near the key \"model_type\"");
    std::istringstream closed("{\"model_type\": " + deep + std::string(depth, ']') + "}");
    CHECK(error_of([&] { return floptally::read_config(closed); }) ==
          "model_type: must be a string, got a list of lists or objects");
}

TEST_CASE("a config with Infinity or NaN is read, and is an error only if a spec reads that key") {
    const auto read = [](std::string text, const floptally::read_options& options = {}) {
        std::replace(text.begin(), text.end(), '\'', '"');
        std::istringstream stream(text);
        return floptally::read_config(stream, options);
    };
    const std::string sizes =
        "{'model_type': 'llama', 'architectures': ['LlamaForCausalLM'], 'intermediate_size': 8, 'vocab_size': 9,\n "
        "'num_hidden_layers': 2, 'num_attention_heads': 4, 'rms_norm_eps': 1e-6";
    const floptally::cost plain = read(sizes + ", 'hidden_size': 64}").cost;
    for (const char* const key : {"'time_step_limit': [0.0, Infinity]", "'time_step_limit': [-Infinity,NaN]",
                                  "'rope_theta': NaN", "'rope_scaling': {'factor': Infinity}",
                                  "'NaN': '-Infinity \\' NaN'", "'eps': [[Infinity], [-1, -Infinity]]"}) {
        INFO(key);
        CHECK(read(sizes + ", " + key + ", 'hidden_size': 64}").cost == plain);
    }
    CHECK(error_of([&] { return read(sizes + ", 'hidden_size': Infinity}"); }) ==
          "hidden_size: must be an integer from 1 to 16777216, got Infinity");
    CHECK(error_of([&] { return read(sizes + ", 'hidden_size': -Infinity}"); }) ==
          "hidden_size: must be an integer from 1 to 16777216, got -Infinity");
    const std::string spec = "spec mine : llama prefix Llama\nwith mlp_ratio 4.0\nf = floor(h * .mlp_ratio)\n";
    CHECK(error_of([&] {
              return read("{'model_type': 'mine', 'hidden_size': 64, 'mlp_ratio': NaN}", {.specs = {spec}});
          }).starts_with("mlp_ratio: must be "));
    const std::string any = "spec mine : llama prefix Llama\nwith mlp_ratio any?\n";
    const std::string infinite = "{'model_type': 'mine', 'hidden_size': 64, 'mlp_ratio': Infinity}";
    CHECK(error_of([&] { return read(infinite, {.specs = {any}}); }) == "no error");
    CHECK(error_of([&] { return read(infinite, {.specs = {any + "f = .mlp_ratio > 1 ? 8 : 9\n"}}); }) ==
          "mlp_ratio: must be a finite number, got Infinity");
    CHECK(error_of([&] {
              return read("{'model_type': 'mine', 'hidden_size': 64, 'mlp_ratio': [1, NaN]}",
                          {.specs = {any + "f = .mlp_ratio[1] > 1 ? 8 : 9\n"}});
          }) == "spec mine:3: the operand must be a finite number, got NaN");

    struct broken {
        const char* text;
        const char* place;
    };
    for (const broken& row :
         {broken{"{'a': 1,\n 'b': {'c': [1,\n  Infinite]}}", "line 3, column 3, near the key \"b.c\""},
          {"{'a': - Infinity}", "line 1, column 8, near the key \"a\""},
          {"{'a': NaNa}", "line 1, column 10, near the key \"a\""},
          {"{'a': nan}", "line 1, column 8, near the key \"a\""},
          {"{NaN: 1}", "line 1, column 4"},
          {"{'a': +Infinity}", "line 1, column 7, near the key \"a\""}}) {
        INFO(row.text);
        CHECK(error_of([&] { return read(row.text); }).find(std::string("cannot be parsed at ") + row.place) !=
              std::string::npos);
    }
    std::istringstream state("{\"version\": NaN}");  // only a config may have them
    CHECK(error_of([&] { return floptally::read_json(state, "state").size(); }) ==
          "state: must be a JSON object, cannot be parsed at line 1, column 13, near the key \"version\"");
}

TEST_CASE("error texts cut long values without splitting a UTF-8 character") {
    std::string umlauts;
    for (int i = 0; i < 60; ++i) {
        umlauts += "\u00e4";
    }
    const nlohmann::json config{{"model_type", "llama"}, {"hidden_size", umlauts}};
    const std::string error = error_of([&] { return floptally::read_config(config); });
    CHECK(error == "hidden_size: must be an integer from 1 to 16777216, got \"" + umlauts.substr(0, 56) + "...");
}

TEST_CASE("a config may have a different mask in every layer") {
    std::string groups;
    for (int window = 1; window <= 40; ++window) {
        groups += (window == 1 ? "" : ", ") +
                  ("{\"parts\": [{\"type\": \"attention\", \"num_heads\": 1, \"mask\": {\"sliding_window\": " +
                   std::to_string(window)) +
                  "}}]}";
    }
    std::istringstream text("{\"model_type\": \"floptally\", \"hidden_size\": 4, \"layers\": [" + groups + "]}");
    const floptally::model_config model = floptally::read_config(text);
    CHECK(model.cost.masks().size() == 40);
    const floptally::flop_counter counter(model.parts);
    floptally::tally batch{counter.masks()};
    batch.add(floptally::sequence{.length = 50});
    // Row r of a window of w sees min(r, w) keys; one head of 4 has two products of 2 x 4 FLOPs a pair.
    std::uint64_t pairs = 0;
    for (std::uint64_t window = 1; window <= 40; ++window) {
        for (std::uint64_t row = 1; row <= 50; ++row) {
            pairs += row < window ? row : window;
        }
    }
    CHECK(counter.evaluate(batch)["attention.core"].get(floptally::view::useful, floptally::phase::forward) ==
          floptally::flops{16 * pairs});
}

TEST_CASE("each model type that docs/limitations.md lists as unsupported is unsupported") {
    const std::string text = read_text(std::filesystem::path(FLOPTALLY_SOURCE_DIR) / "docs/limitations.md");
    std::istringstream section(text.substr(text.find("\n### ")));
    std::size_t listed = 0;
    const std::vector<std::string_view> known = floptally::known_model_types();
    for (std::string before, name; std::getline(section, before, '`') && std::getline(section, name, '`'); ++listed) {
        INFO(name);
        CHECK(std::find(known.begin(), known.end(), name) == known.end());
    }
    CHECK(listed > 60);
}

}  // namespace json_errors_test
