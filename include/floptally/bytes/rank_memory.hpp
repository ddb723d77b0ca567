// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/bytes/detail/batch_units.hpp>
#include <floptally/bytes/detail/element_entries.hpp>
#include <floptally/bytes/detail/moved_elements.hpp>
#include <floptally/bytes/detail/tensor_flow.hpp>
#include <floptally/bytes/step_bytes.hpp>
#include <floptally/count/logits.hpp>
#include <floptally/count/plan_walk.hpp>
#include <floptally/count/training_plan.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_entry.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/parallel/parallel_layout.hpp>
#include <floptally/parallel/pipeline_schedule.hpp>
#include <floptally/parallel/rank_work.hpp>
#include <floptally/step/memory.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Computes the memory of one rank in a step: weights, gradients, optimizer, activations, logits, cache.

namespace floptally::inline v0_3 {

/// A format that stores a tensor in fewer bits. Each element has `bits` bits, and each block of `block` elements has a
/// scale of `scale_bits` bits. With `block` 0 the whole tensor has one scale, which is not counted.
struct block_format {
    const char* name = "none";
    std::uint64_t bits = 0;  ///< 0: the tensor is stored in its usual bits
    std::uint64_t block = 0;
    std::uint64_t scale_bits = 0;

    /// Returns the bits of a tensor of `elements` elements. If `bits` is 0, each element has `usual` bits.
    [[nodiscard]] constexpr uint128 bits_of(std::uint64_t elements, std::uint64_t usual) const {
        const std::uint64_t blocks = block == 0 ? 0 : elements / block + (elements % block != 0 ? 1 : 0);
        return bits == 0 ? uint128{elements} * usual : uint128{elements} * bits + uint128{blocks} * scale_bits;
    }
    [[nodiscard]] friend constexpr bool operator==(const block_format& a, const block_format& b) {
        return a.bits == b.bits && a.block == b.block && a.scale_bits == b.scale_bits;
    }
};

/// Formats of tensors in 8 and 4 bits.
namespace block_formats {

inline constexpr block_format none{};
/// FP8 with one scale for each tensor: Transformer Engine's delayed and current scaling.
inline constexpr block_format fp8{.name = "fp8", .bits = 8};
/// FP8 with a 32-bit scale for each 128 elements (DeepSeek-V3, arXiv:2412.19437, section 3.3.2).
inline constexpr block_format fp8_blocks{.name = "fp8_blocks", .bits = 8, .block = 128, .scale_bits = 32};
/// MXFP8: an 8-bit scale for each 32 elements (OCP Microscaling Formats 1.0).
inline constexpr block_format mxfp8{.name = "mxfp8", .bits = 8, .block = 32, .scale_bits = 8};
/// NVFP4: an 8-bit scale for each 16 elements.
inline constexpr block_format nvfp4{.name = "nvfp4", .bits = 4, .block = 16, .scale_bits = 8};
/// NF4 with a 32-bit scale for each 64 elements (QLoRA, arXiv:2305.14314).
inline constexpr block_format nf4{.name = "nf4", .bits = 4, .block = 64, .scale_bits = 32};
/// NF4 with quantized scales: an 8-bit scale for each 64 elements, and a 32-bit scale for each 256 of these scales.
inline constexpr block_format nf4_double{.name = "nf4_double", .bits = 4, .block = 16'384, .scale_bits = 256 * 8 + 32};

/// All formats of the library.
inline constexpr block_format all[] = {none, fp8, fp8_blocks, mxfp8, nvfp4, nf4, nf4_double};

}  // namespace block_formats

/// Parts of a layer for which you can choose separately to recompute activations or to move them to the host. Names and
/// meanings are those of Megatron-Core's `recompute_modules` and `offload_modules`.
enum class layer_module : std::uint8_t {
    /// The attention core, from q, k and v to the input of the output projection. Offload moves q, k, v, the result and
    /// the values of the softmax to the host. Recompute drops only the values of the softmax: the recompute needs q, k
    /// and v, and the output projection needs the result.
    core_attn,
    attn_proj,       ///< the input of attention's output projection
    mla_up_proj,     ///< q, k and v as MLA expands them from latents
    layernorm,       ///< outputs of norms in front of attention and feed-forward
    mlp,             ///< everything inside a dense feed-forward
    shared_experts,  ///< everything inside shared experts
    moe_act,         ///< the input of the experts' last matrix: the result of their activation function
    expert_fc1,      ///< the input of the experts' first matrices
    moe              ///< everything inside a feed-forward with experts
};
/// The number of values of `layer_module`.
inline constexpr std::size_t layer_module_count = 9;
/// Names of the values of `layer_module`, in the same order.
inline constexpr const char* layer_module_names[layer_module_count] = {
    "core_attn", "attn_proj", "mla_up_proj", "layernorm", "mlp", "shared_experts", "moe_act", "expert_fc1", "moe"};

/// A set of modules of a layer.
class layer_modules {
  public:
    constexpr layer_modules() = default;
    constexpr layer_modules(std::initializer_list<layer_module> modules) {
        for (const layer_module which : modules) {
            add(which);
        }
    }
    constexpr void add(layer_module which) { bits_ |= bit(which); }
    [[nodiscard]] constexpr bool contains(layer_module which) const { return (bits_ & bit(which)) != 0; }
    [[nodiscard]] friend constexpr bool operator==(const layer_modules&, const layer_modules&) = default;

  private:
    [[nodiscard]] static constexpr std::uint32_t bit(layer_module which) { return 1U << static_cast<unsigned>(which); }

    std::uint32_t bits_ = 0;
};

/// Properties of a model's kernels that decide which activations a forward keeps.
struct activation_kernels {
    bool flash_attention = true;    ///< false: the forward keeps the attention probabilities of all pairs of a sequence
    bool fused_elementwise = true;  ///< false: norms also keep their scaled values, and gates keep their activation
    /// True: the forward keeps a dropout mask, one byte for each element of each addition to the hidden states.
    bool hidden_dropout = false;
    /// True: the forward keeps a dropout mask of the attention probabilities, and also the masked probabilities if it
    /// keeps probabilities.
    bool attention_dropout = false;
    /// True: experts multiply by the router's weights in their activation (Megatron-Core), so that their results need
    /// not be kept. False: the router's weights multiply the results of the experts (transformers).
    bool weights_inside_experts = false;
    /// With sequence parallelism, true: matrices that need the tokens of all tensor-parallel ranks keep them (PyTorch's
    /// DTensor). False: each rank keeps its own tokens, and the ranks gather them again for the backward
    /// (Megatron-Core).
    bool keeps_gathered_inputs = false;
    /// The format in which matrices of layers keep their inputs. The lm_head and routers keep their inputs in
    /// activation bits.
    block_format matrix_inputs{};
    layer_modules recomputed{};  ///< modules that the backward computes again: their values are not kept
    layer_modules offloaded{};   ///< modules whose kept values are moved to the host until the backward
};

}  // namespace floptally

namespace floptally::inline v0_3::detail {

// Finds the values that a forward keeps for its backward. They follow from the values that the entries of a part read
// and write.

/// Reasons why a forward keeps a value.
enum class kept_for : std::uint8_t {
    weight,       ///< kept to compute the gradient of a weight
    gradient,     ///< kept to compute any gradient of the backward
    core,         ///< an operand of a fused kernel, such as attention
    inside_core,  ///< a value inside a fused kernel
    layer_input   ///< the input of a layer, to recompute the layer
};

struct kept_value {
    kept_for reason = kept_for::weight;
    std::uint64_t bits = 16;
    bool is_of_adapters = false;
    block_format format{};  ///< the format of the value if it differs from the usual `bits`

    [[nodiscard]] friend bool operator==(const kept_value&, const kept_value&) = default;
};

/// Collects the values that a model's parts keep for the backward. Each value is stored as an entry that counts its
/// elements.
class kept_activations {
  public:
    kept_activations(const activation_kernels& kernels, std::uint64_t tp, std::uint64_t etp, bool sequence_parallel,
                     std::uint64_t bits, const weight_states& states, const batch_units& units,
                     element_entries<kept_value>& to)
        : kernels_(kernels),
          tp_(tp),
          etp_(etp),
          token_ranks_(sequence_parallel ? tp : 1),
          bits_(bits),
          states_(states),
          units_(units),
          to_(to) {}

    /// Adds the values that a part keeps. `has_norm` is true if a norm reads the part's input, `opens_layer` if the
    /// part is the first of its layer.
    void put(const model_part& part, std::size_t index, bool has_norm, bool opens_layer) {
        part_ = &part;
        index_ = index;
        has_norm_ = has_norm;
        const tensor_flow flow(part.cost);
        const moved_elements moved(part.cost, units_);
        const cost_entry* const reader = reader_of_stream(part.cost);
        if (reader != nullptr && !part.beside) {
            const std::uint64_t states = moved.read(*reader).value_or(0) / token_ranks_;
            if (has_norm) {
                keep(*reader, kept_for::gradient, states * (kernels_.fused_elementwise ? 1 : 2));
            }
            if (opens_layer) {
                keep(*reader, kept_for::layer_input, states);
            }
            if (kernels_.hidden_dropout && part.role != part_role::head) {
                keep(*reader, kept_for::gradient, states, 8);
            }
        }
        put_matrices(flow, moved);
        put_cores(flow, moved);
    }

    [[nodiscard]] static const cost_entry* reader_of_stream(const cost& part) {
        for (const cost_entry& entry : part.entries()) {
            const bool reads = moved_elements::is_matrix(entry) && entry.flow.reads == value::stream;
            if (reads && entry.per_rank.in != 0 && entry.padded != 0 && entry.sharding.by != sharding_kind::experts) {
                return &entry;
            }
        }
        return nullptr;
    }

    /// Names of components that keep values of unknown size.
    std::vector<std::string> unsaid{};

  private:
    [[nodiscard]] const cost& entries() const { return part_->cost; }

    void keep(const cost_entry& like, kept_for reason, std::uint64_t amount, std::uint64_t bits = 0,
              const block_format& format = {}) {
        to_.put(index_, entries(), like, {reason, bits == 0 ? bits_ : bits, false, format}, amount,
                reason == kept_for::weight ? amount : 0);
    }
    /// Returns true if a module keeps no activations on the device, because they are computed again or lie on the host.
    [[nodiscard]] bool is_dropped(layer_module which) const {
        return part_->role != part_role::head &&
               (kernels_.recomputed.contains(which) || kernels_.offloaded.contains(which));
    }
    /// Returns the name of an entry's component, without the prefix of an encoder.
    [[nodiscard]] std::string_view component_of(const cost_entry& entry) const {
        const std::string_view name = entries().components()[entry.component].view();
        return name.starts_with("encoder.") ? name.substr(8) : name;
    }
    /// Returns true if an entry is inside a module that keeps no activations on the device.
    [[nodiscard]] bool is_inside_dropped(const cost_entry& entry) const {
        const std::string_view name = component_of(entry);
        const bool of_moe = name.starts_with("moe.");
        return (name == "mlp" && is_dropped(layer_module::mlp)) ||
               (name == "moe.shared" && is_dropped(layer_module::shared_experts)) ||
               (of_moe && is_dropped(layer_module::moe));
    }
    /// Returns true if a matrix reads the output of a norm. In a layer with a norm this is every matrix that reads the
    /// hidden states.
    [[nodiscard]] bool reads_norm(const cost_entry& entry) const {
        return has_norm_ && entry.flow.reads == value::stream && part_->role != part_role::head;
    }
    [[nodiscard]] block_format format_of(const cost_entry& entry) const {
        const bool is_quantized = part_->role == part_role::layer || part_->role == part_role::encoder;
        return is_quantized && entry.kind != term::router ? kernels_.matrix_inputs : block_format{};
    }
    [[nodiscard]] std::uint64_t shares(const tensor_flow& flow, value::set values) const {
        return flow.is_sharded(values) ? tp_ : token_ranks_;
    }
    [[nodiscard]] bool trains(const cost_entry& entry) const { return states_.trains_anywhere(*part_, entry); }
    void note_unsaid(const cost_entry& entry) {
        const std::string name(entries().components()[entry.component].view());
        if (std::find(unsaid.begin(), unsaid.end(), name) == unsaid.end()) {
            unsaid.push_back(name);
        }
    }
    /// Returns true if only attention cores produce these values. The fused kernel of a core keeps these values itself.
    [[nodiscard]] bool is_of_core(value::set values) const {
        bool is_made = false;
        for (const cost_entry& entry : entries().entries()) {
            const bool makes = (entry.flow.writes & values) != 0;
            if (makes && entry.kind != term::values) {
                return false;
            }
            is_made = is_made || makes;
        }
        return is_made;
    }

    /// Adds the inputs of matrices, for the gradients of their weights. Each value is added once. Also adds the input
    /// of an element-wise product or a norm between two matrices.
    void put_matrices(const tensor_flow& flow, const moved_elements& moved) {
        std::vector<const cost_entry*> read;
        for (const cost_entry& entry : entries().entries()) {
            if (moved_elements::is_state(entry) && entry.padded != 0) {
                note_unsaid(entry);
            }
            if (!moved_elements::is_matrix(entry) || entry.padded == 0) {
                continue;
            }
            const elements in = moved.read(entry);
            const elements out = moved.written(entry);
            if (!in || entry.flow.reads == 0 || entry.per_rank.in == 0) {
                note_unsaid(entry);
                continue;
            }
            const bool of_experts = entry.sharding.by == sharding_kind::experts;
            // Keeps the result of an adapter's matrix A for the gradient of its matrix B.
            if (trains(entry) && entry.per_rank.in != 0 && !of_experts) {
                to_.put(index_, entries(), entry, {kept_for::weight, bits_, true}, 0,
                        units_.count(entries(), entry) / token_ranks_);
            }
            const bool inside = is_inside_dropped(entry);
            if (is_read_by_matrix(entry) && out && !inside) {
                keep(entry, kept_for::gradient, *out / (of_experts ? tp_ : shares(flow, entry.flow.writes)));
            }
            const bool is_known = std::any_of(read.begin(), read.end(), [&](const cost_entry* known) {
                return known->flow.reads == entry.flow.reads && known->what == entry.what && known->in == entry.in &&
                       (known->sharding.by == sharding_kind::experts) == of_experts;
            });
            if (is_known || (kernels_.flash_attention && is_of_core(entry.flow.reads))) {
                continue;
            }
            read.push_back(&entry);
            // Each of the tp ranks sends its share of the token copies. The etp ranks of an expert gather the copies
            // that they received, and each keeps all of them. Values inside an expert are split by width over etp.
            const bool ends = flow.makes_summands(entry);
            const bool gathered = of_experts && !ends;
            const std::uint64_t share = of_experts                              ? tp_
                                        : is_kept_whole(flow, entry.flow.reads) ? 1
                                                                                : shares(flow, entry.flow.reads);
            const std::uint64_t amount =
                gathered ? std::uint64_t{checked(*in, "activations") * etp_} / share : *in / share;
            const bool is_made_again = (reads_norm(entry) && !of_experts && is_dropped(layer_module::layernorm)) ||
                                       (of_experts && ends && is_dropped(layer_module::moe_act)) ||
                                       (gathered && is_dropped(layer_module::expert_fc1));
            if (!is_made_again && !(inside && (ends || of_experts))) {
                keep(trained_reader(entry), kept_for::weight, amount, 0, format_of(entry));
            }
            if (!kernels_.fused_elementwise && makers(entry.flow.reads) > 1 && !inside) {
                // Keeps the activation of a gate for the gradient of the element-wise product.
                keep(entry, kept_for::gradient, *in / share);
            }
            if (of_experts && ends && out && !kernels_.weights_inside_experts && !inside) {
                // Keeps the results of experts. The router's weights multiply them, so the gradient of these weights
                // needs them.
                keep(entry, kept_for::gradient, *out / token_ranks_);
            }
        }
    }

    /// Returns true if a matrix needs these values of all tokens, and keeps them.
    [[nodiscard]] bool is_kept_whole(const tensor_flow& flow, value::set values) const {
        return kernels_.keeps_gathered_inputs &&
               std::any_of(entries().entries().begin(), entries().entries().end(), [&](const cost_entry& entry) {
                   return moved_elements::is_matrix(entry) && entry.padded != 0 &&
                          entry.sharding.by != sharding_kind::experts && entry.flow.reads == values &&
                          flow.needed_whole(entry) != 0;
               });
    }
    /// Returns an entry with a trained weight that reads the same value as `entry`. Returns `entry` itself if its
    /// weight is trained, or if no such entry exists.
    [[nodiscard]] const cost_entry& trained_reader(const cost_entry& entry) const {
        for (const cost_entry& other : entries().entries()) {
            const bool alike =
                moved_elements::is_matrix(other) && other.flow.reads == entry.flow.reads && other.what == entry.what &&
                other.in == entry.in &&
                (other.sharding.by == sharding_kind::experts) == (entry.sharding.by == sharding_kind::experts);
            if (alike && !trains(entry) && trains(other)) {
                return other;
            }
        }
        return entry;
    }
    /// Returns true if another matrix of the part reads this entry's result.
    [[nodiscard]] bool is_read_by_matrix(const cost_entry& entry) const {
        return entry.flow.writes != 0 &&
               std::any_of(entries().entries().begin(), entries().entries().end(), [&](const cost_entry& next) {
                   return moved_elements::is_matrix(next) && (next.flow.reads & entry.flow.writes) != 0;
               });
    }
    [[nodiscard]] std::size_t makers(value::set values) const {
        return static_cast<std::size_t>(
            std::count_if(entries().entries().begin(), entries().entries().end(), [values](const cost_entry& entry) {
                return moved_elements::is_matrix(entry) && entry.flow.writes != 0 && entry.flow.writes == values;
            }));
    }

    void put_cores(const tensor_flow& flow, const moved_elements& moved) {
        std::vector<std::uint32_t> done;
        for (const cost_entry& entry : entries().entries()) {
            if (entry.kind == term::index_scores && entry.padded != 0) {
                note_unsaid(entry);
            }
            const bool is_new = std::find(done.begin(), done.end(), entry.component) == done.end();
            if (entry.kind != term::scores || entry.padded == 0 || !is_new) {
                continue;
            }
            done.push_back(entry.component);
            const moved_elements::core core = moved.core_of(entry.component);
            const elements operands = moved.core_operands(core);
            const elements result = moved.core_result(core);
            const std::uint64_t heads = heads_of(entry);
            if (!operands || !result || heads == 0 || core.over == nullptr) {
                note_unsaid(entry);
                continue;
            }
            // This copy of the entry stands for the whole attention kernel. The kernel's backward runs if any of its
            // operands needs a gradient.
            cost_entry kernel = entry;
            kernel.flow.fused_with = static_cast<value::set>(core.q | core.k | core.v);
            const std::uint64_t share = shares(flow, core.q);
            // If there are fewer key heads than ranks, ranks share key heads, and each holds a whole copy of its keys
            // and values.
            const std::uint64_t of_keys = share == tp_ ? shares_of_keys(entries(), entry, tp_) : share;
            const bool is_one_matrix = core.q != 0 && (core.k & core.q) == core.q;
            const std::uint64_t keys = is_one_matrix
                                           ? std::uint64_t{checked(moved.cached_per_key(entry), "activations") *
                                                           units_.count(entries(), cost_entry{.in = entry.in})}
                                           : moved.core_keys(core).value_or(0);
            const bool on_host = part_->role != part_role::head && kernels_.offloaded.contains(layer_module::core_attn);
            const bool is_latent = is_made_of_latents(core) && is_dropped(layer_module::mla_up_proj);
            if (!on_host && !is_latent) {  // to run the core again, a checkpoint keeps q, k and v
                keep(kernel, kept_for::core,
                     keys > *operands ? *operands / share : (*operands - keys) / share + keys / of_keys);
            }
            if (kernels_.flash_attention) {
                if (!on_host && !is_dropped(layer_module::attn_proj)) {  // the output projection reads this result
                    keep(kernel, kept_for::core, *result / share);
                }
            }
            if (is_dropped(layer_module::core_attn)) {
                continue;
            }
            if (kernels_.flash_attention) {
                const std::uint64_t queries = units_.count(entries(), cost_entry{.in = entry.in});
                keep(kernel, kept_for::inside_core, std::uint64_t{checked(heads, "memory") * queries} / share, 32);
                continue;
            }
            const std::uint64_t squares =
                units_.count(entries(), cost_entry{.what = accumulator::squares, .in = entry.in});
            const std::uint64_t pairs = std::uint64_t{checked(heads, "memory") * squares} / share;
            keep(kernel, kept_for::inside_core, pairs);
            if (kernels_.attention_dropout) {
                keep(kernel, kept_for::inside_core, pairs, 8);
                keep(kernel, kept_for::inside_core, pairs);
            }
        }
    }

    /// Returns true if the keys or queries of a core are computed from values inside the layer (latents), as in MLA.
    [[nodiscard]] bool is_made_of_latents(const moved_elements::core& core) const {
        return std::any_of(entries().entries().begin(), entries().entries().end(), [&](const cost_entry& maker) {
            return moved_elements::is_matrix(maker) && (maker.flow.writes & (core.k | core.v)) != 0 &&
                   maker.flow.reads != value::stream && maker.flow.reads != 0;
        });
    }

    [[nodiscard]] std::uint64_t heads_of(const cost_entry& scores) const {
        for (const cost_entry& entry : entries().entries()) {
            if (entry.kind == term::softmax && entry.component == scores.component && entry.mask == scores.mask) {
                return entry.padded / 3;
            }
        }
        return scores.sharding.by == sharding_kind::heads ? scores.sharding.units : 0;
    }

    const activation_kernels& kernels_;
    std::uint64_t tp_;
    std::uint64_t etp_;
    std::uint64_t token_ranks_;  ///< number of ranks among which the tokens are divided, for values that are not
                                 ///< sharded by width
    std::uint64_t bits_;
    const weight_states& states_;
    const batch_units& units_;
    element_entries<kept_value>& to_;
    const model_part* part_ = nullptr;
    std::size_t index_ = 0;
    bool has_norm_ = false;
};

}  // namespace floptally::detail

namespace floptally::inline v0_3 {

// The state that an optimizer stores for each weight, and the bytes that one optimizer step moves.

/// The optimizer state for one element of a weight.
struct optimizer_state {
    const char* name = "adamw";
    /// Bits of an element of the weight's master copy; 0: there is no copy, and the optimizer updates the weight
    /// itself.
    std::uint64_t master_bits = 32;
    std::uint64_t moments = 2;  ///< number of moments stored for each element of a weight
    /// Number of moments for a weight matrix that is neither an embedding table nor the lm_head.
    std::uint64_t matrix_moments = 2;
    std::uint64_t moment_bits = 32;
    std::uint64_t block = 0;            ///< number of elements of a moment that share one 32-bit scale; 0: no scales
    std::uint64_t least_in_blocks = 0;  ///< tensors with fewer elements than this keep 32-bit moments

    /// Returns the number of bits of all moments of a tensor, scales included.
    [[nodiscard]] constexpr std::uint64_t moment_bits_of(std::uint64_t elements, bool is_matrix) const {
        const bool in_blocks = block != 0 && elements >= least_in_blocks;
        const std::uint64_t bits = block != 0 && !in_blocks ? 32 : moment_bits;
        const std::uint64_t scales = in_blocks ? elements / block + (elements % block != 0 ? 1 : 0) : 0;
        return (is_matrix ? matrix_moments : moments) * (checked(elements, "optimizer") * bits + 32 * scales);
    }
    /// Returns the bits of a tensor's whole optimizer state.
    [[nodiscard]] constexpr std::uint64_t bits_of(std::uint64_t elements, bool is_matrix) const {
        return checked(elements, "optimizer") * master_bits + moment_bits_of(elements, is_matrix);
    }
    /// Returns the bits that an optimizer step reads and writes. It reads the gradient, and reads and writes the state.
    /// It writes the weight; without a master copy it reads the weight too.
    [[nodiscard]] constexpr std::uint64_t moved_bits(std::uint64_t elements, bool is_matrix, std::uint64_t weight_bits,
                                                     std::uint64_t gradient_bits) const {
        const std::uint64_t moved_weight_bits = (master_bits == 0 ? 2 : 1) * weight_bits;
        return checked(elements, "optimizer") * (gradient_bits + moved_weight_bits) +
               2 * checked(bits_of(elements, is_matrix), "optimizer");
    }
};

/// The optimizers that the library knows by name.
namespace optimizer_states {

/// AdamW with a 32-bit copy of the weights (arXiv:1910.02054, section 3.1: 4 + 4 + 4 bytes).
inline constexpr optimizer_state adamw{};
/// AdamW that updates 32-bit weights in place, as PyTorch's does.
inline constexpr optimizer_state adamw_without_master{.name = "adamw_without_master", .master_bits = 0};
/// AdamW with 8-bit moments in blocks of 256, as in bitsandbytes (arXiv:2110.02861). Tensors of fewer than 4096
/// elements keep 32-bit moments. It updates the weights in place.
inline constexpr optimizer_state adamw_8bit{
    .name = "adamw_8bit", .master_bits = 0, .moment_bits = 8, .block = 256, .least_in_blocks = 4096};
/// AdamW with a 32-bit master copy and 16-bit moments (Megatron-Core's precision-aware optimizer, DeepSeek-V3).
inline constexpr optimizer_state adamw_16bit_moments{.name = "adamw_16bit_moments", .moment_bits = 16};
/// Muon (K. Jordan, 2024): one moment for matrices, AdamW's two for all other weights.
inline constexpr optimizer_state muon{.name = "muon", .matrix_moments = 1};
/// SGD without momentum.
inline constexpr optimizer_state sgd{.name = "sgd", .master_bits = 0, .moments = 0, .matrix_moments = 0};
/// SGD with momentum.
inline constexpr optimizer_state sgd_momentum{
    .name = "sgd_momentum", .master_bits = 0, .moments = 1, .matrix_moments = 1};

/// All optimizers of the library.
inline constexpr optimizer_state all[] = {adamw, adamw_without_master, adamw_8bit, adamw_16bit_moments, muon,
                                          sgd,   sgd_momentum};

}  // namespace optimizer_states

/// Returns the format with this name. If no format has it, throws `error` with `field` as its field.
[[nodiscard]] inline block_format block_format_named(std::string_view name, std::string_view field) {
    std::string names;
    for (const block_format& known : block_formats::all) {
        if (name == known.name) {
            return known;
        }
        append_item(names, known.name);
    }
    detail::refuse(field, {"must be one of ", names, ", got \"", detail::shortened(std::string(name)), "\""});
}

/// Returns the modules of a comma-separated list of names. Throws `error` at `field` for an unknown name.
[[nodiscard]] inline layer_modules layer_modules_named(std::string_view list, std::string_view field) {
    layer_modules modules;
    for (std::size_t first = 0; first < list.size();) {
        const std::size_t last = std::min(list.find(',', first), list.size());
        const std::string_view name = list.substr(first, last - first);
        std::string names;
        bool is_known = false;
        for (std::size_t i = 0; i < layer_module_count; ++i) {
            append_item(names, layer_module_names[i]);
            if (name == layer_module_names[i]) {
                modules.add(static_cast<layer_module>(i));
                is_known = true;
            }
        }
        if (!is_known) {
            detail::refuse(field,
                           {"must list some of ", names, ", got \"", detail::shortened(std::string(name)), "\""});
        }
        first = last + 1;
    }
    return modules;
}

/// Options that decide what a rank stores during a step.
struct memory_options {
    rank_options ranks{};  ///< how the model is split over ranks, including sequence parallelism
    zero_stage sharded = zero_stage::none;
    optimizer_state optimizer = optimizer_states::adamw;
    element_bits bits{};  ///< bits of an element; for gradients, the bits in which microbatches add them up
    activation_kernels kernels{};
    std::uint64_t logits_bits = 16;  ///< bits that the loss keeps for each logit, summed over all copies of the logits
    std::uint64_t microbatches = 1;  ///< microbatches that the rank runs in a step
    pipeline_schedule schedule = pipeline_schedule::one_f_one_b;
    /// Number of ranks that share the tally's tokens: cp if the tally has whole sequences, else 1.
    std::uint64_t token_ranks = 1;
    std::uint64_t cached_tokens = 0;  ///< number of tokens with cached keys and values, over all sequences
    /// The format of the weights of layers' matrices while kernels read them. With `stores_both_ways` each weight is
    /// stored twice: as it is for the forward, and transposed for the backward.
    block_format matrix_weights{};
    bool stores_both_ways = true;
    block_format frozen_weights{};  ///< the format of frozen matrices that have adapters, such as nf4
    double host_optimizer = 0;      ///< the fraction of the optimizer state that lies on the host, from 0 to 1
    /// Number of the rank's layers whose activations are moved to the host until the backward. The activations of two
    /// of these layers are on the device at any time.
    std::uint64_t offloaded_layers = 0;
    /// Bits of each weight that sharded ranks gather before they compute with it. FSDP2's `param_dtype` makes them 16
    /// for weights that are stored with 32. 0 means the bits of a stored weight.
    std::uint64_t gathered_bits = 0;
    /// Number of gradients that ranks copy into buckets to sum them, such as 2 x 500 000 000 with DeepSpeed. PyTorch's
    /// DDP copies all gradients, unless `gradient_as_bucket_view` is set. 0 means that no gradient is copied.
    std::uint64_t bucket_elements = 0;
    /// True: sharded ranks keep all gathered weights from the first forward of a step to its last backward, and add up
    /// whole gradients (FSDP2's `reshard_after_forward=False` without a reduction in each microbatch). False: they
    /// gather layer by layer.
    bool keeps_gathered = false;
    /// True: each stage of a pipeline holds, for all microbatches of a step, the states that it receives and sends and
    /// the gradients that come back; the last stage holds all logits. `torch.distributed.pipelining` of PyTorch 2.6
    /// does so. False: messages are freed as soon as they have been used.
    bool keeps_messages = false;

    [[nodiscard]] std::uint64_t bits_of_gathered() const { return gathered_bits == 0 ? bits.weights : gathered_bits; }
};

/// The memory of one rank, in bytes unless said otherwise.
struct rank_memory {
    std::uint64_t parameters = 0;  ///< number of parameters that the rank computes with
    std::uint64_t trainable = 0;   ///< number of trainable parameters among `parameters`
    std::uint64_t weights = 0;
    std::uint64_t gradients = 0;
    std::uint64_t optimizer = 0;
    std::uint64_t activations = 0;  ///< bytes kept for the backward, for all microbatches in flight
    std::uint64_t logits = 0;       ///< bytes of the logits of one microbatch
    std::uint64_t cache = 0;
    /// Bytes of temporary buffers: with sharded weights the gathered weights of two layers and the gradients of one;
    /// the copies of tokens that experts' ranks exchange for a layer; the activations of the layer that is computed
    /// again; buckets of gradients; and messages between stages with `keeps_messages`.
    std::uint64_t buffers = 0;
    std::uint64_t host = 0;             ///< bytes of optimizer state that lie on the host; not part of `total()`
    std::uint64_t optimizer_moved = 0;  ///< bytes that an optimizer step reads and writes
    /// Bytes of gradients that the backward of all microbatches writes. From the second microbatch on, gradients are
    /// added to the stored ones. If the rank has whole gradients, the matrix product adds them. If it has a shard, it
    /// adds them after each reduce-scatter.
    std::uint64_t gradients_moved = 0;
    std::vector<std::string> unsaid{};  ///< components whose activations have unknown size and are not counted

    /// Returns the bytes of weights, gradients, optimizer, activations, logits, cache and buffers. Throws `overflow`
    /// above 64 bits.
    [[nodiscard]] std::uint64_t total() const {
        return checked(weights, "memory") + gradients + optimizer + activations + logits + cache + buffers;
    }
};

namespace detail {

/// Returns a model's parts for one pipeline chunk. The parts of other chunks are marked as `elsewhere`.
[[nodiscard]] inline std::vector<model_part> parts_of_chunk(std::span<const model_part> model,
                                                            const parallel_layout& layout, const rank_options& options,
                                                            std::uint64_t chunk) {
    const parallel_sizes& sizes = layout.sizes();
    return split_of(model, sizes, options).by_chunk().parts_of(tensor_parts(model, 1, 0, 1, options.tensor), chunk);
}

/// Sums over the parts that a pipeline chunk runs, for one microbatch. The sums are not yet rounded to bytes. The sums
/// of layers add up to those of a chunk.
struct chunk_sums {
    uint128 kept_bits = 0;     ///< bits of activations that the forward keeps
    std::uint64_t logits = 0;  ///< number of logits that the rank holds
    std::uint64_t cached = 0;  ///< number of elements of one cached token's keys and values

    void add(const chunk_sums& other, std::uint64_t times) {
        kept_bits += other.kept_bits * times;
        logits = checked(logits, "logits") + checked(other.logits, "logits") * times;
        cached = checked(cached, "cache") + checked(other.cached, "cache") * times;
    }
    [[nodiscard]] std::uint64_t kept_bytes() const {
        const uint128 bytes = kept_bits / 8 + (kept_bits % 8 != 0 ? 1 : 0);
        if ((bytes >> 64) != 0) {
            throw overflow("activations", "the number of bytes does not fit 64 bits: pass smaller microbatches");
        }
        return static_cast<std::uint64_t>(bytes);
    }
};

/// Adds the activations that a chunk keeps for one microbatch.
inline void put_kept(std::span<const model_part> parts, const batch_units& units, const training_plan& plan,
                     const memory_options& options, const parallel_sizes& sizes, std::vector<std::string>& unsaid,
                     chunk_sums& into) {
    const weight_states states(plan);
    element_entries<kept_value> entries(parts);
    kept_activations stored(options.kernels, sizes.tp, sizes.expert_tp(), options.ranks.tensor.sequence_parallel,
                            options.bits.activations, states, units, entries);
    bool has_norms = false;
    for (const model_part& part : parts) {
        for (const cost_entry& entry : part.cost.entries()) {
            has_norms = has_norms || entry.kind == term::norm;
        }
    }
    bool opens = true;
    for (std::size_t i = 0; i < parts.size(); ++i) {
        opens = opens || (i != 0 && !parts[i].same_layers(parts[i - 1]));
        if (parts[i].elsewhere) {
            continue;
        }
        const bool reads = kept_activations::reader_of_stream(parts[i].cost) != nullptr;
        stored.put(parts[i], i, has_norms, opens && reads && parts[i].first_layer != no_layer);
        opens = opens && !reads;
    }
    entries.for_each(plan, [&](const kept_value& kind, const component_name&, std::uint64_t amount, const passes& run) {
        const bool again = run.recomputed_forward != 0;
        const bool whole = again && plan.recomputed == recompute::full;
        const bool data = run.backward_data != 0;
        const bool any = data || run.backward_weights != 0;
        const bool is_kept = kind.reason == kept_for::weight        ? run.backward_weights != 0 && !again
                             : kind.reason == kept_for::gradient    ? any && !again
                             : kind.reason == kept_for::core        ? data && !whole
                             : kind.reason == kept_for::inside_core ? data && !again
                                                                    : whole;
        into.kept_bits += is_kept ? kind.format.bits_of(amount, kind.bits) : uint128{0};
    });
    for (const std::string& name : stored.unsaid) {
        if (std::find(unsaid.begin(), unsaid.end(), name) == unsaid.end()) {
            unsaid.push_back(name);
        }
    }
}

/// Adds the logits of a chunk, and its keys and values of one cached token.
inline void put_outputs(std::span<const model_part> parts, const batch_units& units, std::uint64_t tp,
                        chunk_sums& into) {
    for (const model_part& part : parts) {
        const moved_elements moved(part.cost, units);
        for (const cost_entry& entry : part.cost.entries()) {
            if (part.elsewhere) {
                break;
            }
            if (entry.kind == term::lm_head && entry.per_rank.padded_out != 0) {
                const checked all = checked(entry.per_rank.padded_out / 2, "logits") * units.count(part.cost, entry);
                into.logits = checked(into.logits, "logits") + std::uint64_t{all} / tp * part.repeat;
            }
            if (entry.kind == term::scores && entry.what == accumulator::pairs && entry.in == modality::text) {
                into.cached = checked(into.cached, "cache") +
                              std::uint64_t{checked(moved.cached_per_key(entry), "cache") * part.repeat} /
                                  shares_of_keys(part.cost, entry, tp, true);
            }
        }
    }
}

/// Sums over the weights that a rank stores. The sums are not yet rounded to bytes. The sums of layers add up to those
/// of a rank.
struct state_sums {
    std::uint64_t parameters = 0;
    std::uint64_t trainable = 0;
    std::uint64_t gradients = 0;  ///< number of gradients that the rank stores
    uint128 weight_bits = 0;
    uint128 optimizer_bits = 0;
    uint128 moved_bits = 0;  ///< bits that an optimizer step moves

    void add(const state_sums& other, std::uint64_t times) {
        parameters = checked(parameters, "parameters") + checked(other.parameters, "parameters") * times;
        trainable = checked(trainable, "parameters") + checked(other.trainable, "parameters") * times;
        gradients = checked(gradients, "parameters") + checked(other.gradients, "parameters") * times;
        weight_bits += other.weight_bits * times;
        optimizer_bits += other.optimizer_bits * times;
        moved_bits += other.moved_bits * times;
    }
    void put_into(rank_memory& held, const memory_options& options) const {
        const auto bytes = [](uint128 bits) { return static_cast<std::uint64_t>(bits / 8 + (bits % 8 != 0 ? 1 : 0)); };
        held.parameters = parameters;
        held.trainable = trainable;
        held.weights = bytes(weight_bits);
        held.gradients = bytes(uint128{gradients} * options.bits.gradients);
        held.optimizer = bytes(optimizer_bits);
        held.optimizer_moved = bytes(moved_bits);
        const uint128 added = options.sharded >= zero_stage::gradients ? uint128{gradients} * 2 : uint128{trainable};
        held.gradients_moved = bytes((uint128{trainable} * options.microbatches + added * (options.microbatches - 1)) *
                                     options.bits.gradients);
    }
};

/// Adds the weights, gradients and optimizer state of a rank. Each tensor is sharded over the ranks that share its
/// states (ZeRO).
inline void put_states(std::span<const model_part> parts, const parallel_layout& layout, const training_plan& plan,
                       const memory_options& options, state_sums& into) {
    const weight_states states(plan);
    state_sums one;  // sums of one tensor in one layer
    const auto put = [&](std::uint64_t amount, std::uint64_t ranks, bool trains, bool is_matrix,
                         const block_format& format = {}, bool both_ways = false) {
        const auto share = [&](zero_stage from) {
            return options.sharded >= from ? amount / ranks + (amount % ranks != 0 ? 1 : 0) : amount;
        };
        one.parameters = checked(one.parameters, "parameters") + amount;
        one.weight_bits += (both_ways ? 2 : 1) * format.bits_of(share(zero_stage::weights), options.bits.weights);
        if (trains) {
            const std::uint64_t stepped = share(zero_stage::optimizer);
            one.trainable = checked(one.trainable, "parameters") + amount;
            one.gradients = checked(one.gradients, "parameters") + share(zero_stage::gradients);
            one.optimizer_bits += options.optimizer.bits_of(stepped, is_matrix);
            one.moved_bits +=
                options.optimizer.moved_bits(stepped, is_matrix, options.bits.weights, options.bits.gradients);
        }
    };
    const bool has_head = std::any_of(parts.begin(), parts.end(), [](const model_part& part) {
        return part.role == part_role::head && !part.elsewhere;
    });
    states.for_each(
        array_view<model_part>(parts.data(), parts.size()),
        [&](const model_part& part, std::uint64_t layer, const cost_entry& entry, std::uint64_t layers) {
            const bool is_table = meaning_of(entry.kind).operands == term_operands::table;
            // If the tied lm_head is on another stage, this table is a separate copy.
            const bool is_copy = entry.kind == term::tied_embedding && !has_head;
            const std::uint64_t stored = is_copy ? entry.padded / 2 : entry.parameters;
            if (part.elsewhere || (stored == 0 && entry.per_rank.parameters == 0)) {
                return;
            }
            const std::uint64_t ranks = layout.sharding_group(entry.sharding.by == sharding_kind::experts).size();
            const weight_states::decision decided = states.state_of(part, layer, entry);
            const bool is_matrix =
                meaning_of(entry.kind).operands == term_operands::matrix && entry.kind != term::lm_head && !is_table;
            const bool is_quantized = is_matrix && options.matrix_weights.bits != 0 && entry.kind != term::router &&
                                      (part.role == part_role::layer || part.role == part_role::encoder);
            const bool is_base = decided.adapts(entry) && is_matrix && options.frozen_weights.bits != 0;
            put(stored, ranks, decided.state == weight_state::trainable && !is_detached(entry.kind), is_matrix,
                is_base        ? options.frozen_weights
                : is_quantized ? options.matrix_weights
                               : block_format{},
                is_quantized && !is_base && options.stores_both_ways);
            if (decided.adapts(entry)) {
                put(checked(decided.rank, "parameters") * entry.per_rank.parameters, ranks, true, true);
            }
            into.add(one, layers);
            one = {};
        });
}

/// Sizes of the largest layer of a rank. They decide the size of the rank's buffers.
struct buffer_sums {
    std::uint64_t layer = 0;   ///< elements of the largest layer's weights
    std::uint64_t copies = 0;  ///< elements of the copies of tokens that a layer's experts exchange
    std::uint64_t states = 0;  ///< elements that a stage receives from the stage before it, for one microbatch
    uint128 again_bits = 0;    ///< bits of the activations of one layer that the backward computes again

    void add(const buffer_sums& other) {
        layer = std::max(layer, other.layer);
        copies = std::max(copies, other.copies);
        states = std::max(states, other.states);
        again_bits = std::max(again_bits, other.again_bits);
    }
    /// Returns the bytes of a rank's buffers. Of the rank's `parameters` weights, `trainable` have gradients.
    [[nodiscard]] std::uint64_t bytes(const parallel_layout& layout, const memory_options& options, bool trains,
                                      std::uint64_t parameters, std::uint64_t trainable) const {
        const std::uint64_t gathered = options.bits_of_gathered();
        checked bits(0, "buffers");
        if (options.sharded == zero_stage::weights && layout.sharding_group(false).size() > 1) {
            // A gradient in the bits of gathered weights is copied to the bits in which ranks add it up.
            const std::uint64_t of_gradient =
                options.bits.gradients + (gathered == options.bits.weights ? 0 : gathered);
            bits += options.keeps_gathered ? checked(parameters, "buffers") * gathered +
                                                 checked(trains ? trainable : 0, "buffers") * options.bits.gradients
                                           : checked(layer, "buffers") * (2 * gathered + (trains ? of_gradient : 0));
        }
        bits += checked(copies, "buffers") * 2 * options.bits.activations;
        if (trains) {
            bits += checked(std::min(options.bucket_elements, trainable), "buffers") * options.bits.gradients;
            bits += static_cast<std::uint64_t>(again_bits);
        }
        return std::uint64_t{bits} / 8;
    }
    /// Returns the bytes that a stage holds with `keeps_messages`, from the sums of its chunks.
    [[nodiscard]] std::uint64_t bytes_of_messages(const parallel_sizes& sizes, std::uint64_t stage,
                                                  std::span<const chunk_sums> chunks,
                                                  const memory_options& options) const {
        const std::uint64_t last = sizes.pp * sizes.vpp - 1;
        checked amount(0, "buffers");
        for (std::size_t i = 0; i < chunks.size() && options.keeps_messages && last != 0; ++i) {
            const std::uint64_t chunk = stage + i * sizes.pp;
            // A stage receives states, sends states, and receives their gradients.
            const std::uint64_t messages = (chunk != 0 ? 1U : 0U) + (chunk != last ? 2U : 0U);
            amount += checked(states, "buffers") * messages;
            amount += chunk == last ? chunks[i].logits : 0;
        }
        return std::uint64_t{amount * options.microbatches * options.bits.activations} / 8;
    }
};

/// Raises `into.again_bits` to the most bits of activations that the backward computes again for one of these layers:
/// the bits that the layer keeps without recompute, minus the bits that it keeps with recompute.
inline void put_recomputed(std::span<const model_part> parts, const batch_units& units, const training_plan& plan,
                           const memory_options& options, const parallel_sizes& sizes, buffer_sums& into) {
    if (plan.recomputed == recompute::none && options.kernels.recomputed == layer_modules{}) {
        return;
    }
    training_plan all_kept = plan;
    all_kept.recomputed = recompute::none;
    memory_options without = options;
    without.kernels.recomputed = {};
    for_each_run(parts, [&](std::span<const model_part> layer) {
        if (layer.front().elsewhere || layer.front().first_layer == no_layer) {
            return;
        }
        std::vector<model_part> one(layer.begin(), layer.end());
        for (model_part& part : one) {
            part.repeat = 1;
        }
        std::vector<std::string> unsaid;
        chunk_sums all;
        chunk_sums kept;
        put_kept(one, units, all_kept, without, sizes, unsaid, all);
        put_kept(one, units, plan, options, sizes, unsaid, kept);
        into.again_bits =
            std::max(into.again_bits, all.kept_bits > kept.kept_bits ? all.kept_bits - kept.kept_bits : uint128{0});
    });
}

/// Raises the sizes in `into` to those of the largest layer of a rank: the weights of a layer, the copies of tokens
/// that its experts exchange, and the states that it reads.
inline void put_buffers(std::span<const model_part> parts, const parallel_sizes& sizes, const batch_units& units,
                        bool sequence_parallel, buffer_sums& into) {
    for_each_run(parts, [&](std::span<const model_part> run) {
        buffer_sums own;
        for (const model_part& part : run) {
            const moved_elements moved(part.cost, units);
            if (!part.elsewhere && part.first_layer != no_layer && part.role == part_role::layer) {
                const hidden_states states = states_read_by(part.cost, units);
                own.states = std::max(own.states, states.of_rank(sequence_parallel ? sizes.tp : 1));
            }
            for (const cost_entry& entry : part.cost.entries()) {
                own.layer = checked(own.layer, "buffers") + (part.elsewhere ? 0 : entry.parameters);
                const bool leaves = sizes.ep > 1 || sizes.expert_tp() > 1;
                if (!part.elsewhere && leaves && entry.sharding.by == sharding_kind::experts &&
                    moved_elements::is_matrix(entry)) {
                    // An entry that tensor parallelism splits reads only its part of the width. The copies of the
                    // rank's tokens have the full width.
                    own.copies = std::max(own.copies, std::uint64_t{moved.read(entry).value_or(0)});
                }
            }
        }
        into.add(own);
    });
}

/// Throws `error` for options that memory counts do not support.
inline void require_memory_options(const training_plan& plan, const memory_options& options) {
    require_positive(options.microbatches, "microbatches");
    if (!plan.recomputed_components.empty()) {
        throw error(
            "recomputed_components",
            "are not supported by memory counts: pass recompute_modules instead (in C++ `kernels.recomputed`), or "
            "recompute whole layers");
    }
    if (!(options.host_optimizer >= 0) || options.host_optimizer > 1) {
        throw error("optimizer_offload",
                    "must be from 0 to 1: the fraction of the optimizer state that is kept on the host");
    }
    if (options.schedule == pipeline_schedule::zb_v) {
        throw error("schedule", "zb_v places layers on other ranks than the layout does: choose another schedule");
    }
}

/// Returns the schedule in which a rank of a layout runs its passes.
[[nodiscard]] inline pipeline_schedule schedule_of(const memory_options& options, std::uint64_t vpp) {
    return options.schedule == pipeline_schedule::one_f_one_b && vpp > 1 ? pipeline_schedule::interleaved
                                                                         : options.schedule;
}

/// Returns a number of microbatches after which each rank of a pipeline has held its most activations. After the
/// warm-up, a rank's passes repeat every pp microbatches, so that four such rounds are enough.
[[nodiscard]] inline std::uint64_t microbatches_until_full(pipeline_schedule schedule, std::uint64_t pp,
                                                           std::uint64_t microbatches) {
    const bool repeats = schedule != pipeline_schedule::gpipe && pp != 0 && microbatches % pp == 0;
    return repeats ? std::min(microbatches, 4 * pp) : microbatches;
}

/// Returns the memory of a rank from its sums. `states` and `buffers` are sums over the rank, and `chunks` has the sums
/// of each of its pipeline chunks. `layers` is the number of its layers. `most_held` is the largest number of bytes of
/// activations that its schedule holds at once. `stage` is the rank's stage; `layout` may be that of another stage.
[[nodiscard]] inline rank_memory memory_from(const state_sums& states, std::span<const chunk_sums> chunks,
                                             const buffer_sums& buffers, std::uint64_t most_held, std::uint64_t layers,
                                             std::uint64_t stage, const parallel_layout& layout,
                                             const training_plan& plan, const memory_options& options) {
    rank_memory held;
    states.put_into(held, options);
    const bool trains = plan.counted != counted_passes::forward;
    if (!trains) {
        held.gradients = held.optimizer = held.optimizer_moved = held.gradients_moved = 0;
    }
    held.host = static_cast<std::uint64_t>(options.host_optimizer * static_cast<double>(held.optimizer));
    held.optimizer -= held.host;
    const auto put_bits = [](std::uint64_t& into, const checked& bits) {
        into = checked(into, "memory") + std::uint64_t{bits + std::uint64_t{7}} / 8;
    };
    for (const chunk_sums& chunk : chunks) {
        put_bits(held.logits, checked(chunk.logits, "logits") * options.logits_bits);
        put_bits(held.cache, checked(chunk.cached, "cache") * options.cached_tokens * options.bits.cache);
    }
    if (trains) {
        held.activations = most_held;
        if (options.offloaded_layers != 0) {
            const std::uint64_t pp = layout.sizes().pp;
            if (pp > 1 || options.offloaded_layers >= layers) {
                refuse("offload_layers",
                       {"must be below the ", layers, " layers of the rank, and works only with pp 1; got ",
                        options.offloaded_layers, " with pp ", pp});
            }
            // Offloaded layers keep activations on the host, except for two layers: the one in transfer and the next
            // one.
            const std::uint64_t away = options.offloaded_layers > 2 ? options.offloaded_layers - 2 : 0;
            held.activations -= held.activations / layers * away;
        }
    }
    held.buffers = buffers.bytes(layout, options, trains, held.parameters, held.trainable);
    if (trains) {
        held.buffers =
            checked(held.buffers, "memory") + buffers.bytes_of_messages(layout.sizes(), stage, chunks, options);
    }
    return held;
}

}  // namespace detail

/// Returns the largest memory of the layout's rank during a step. docs/plans.md describes what a forward keeps.
///
/// A forward keeps, once, each value that a matrix with a trained weight reads. It also keeps the inputs of norms and
/// of activations between matrices. Attention keeps q, k, v, the output, and one number for each head and token;
/// without flash attention it keeps the probabilities instead of this number. Full recompute keeps only the input of
/// each layer, and then the activations of the layer that it computes again. The result leaves out NCCL's communication
/// buffers, and memory that the allocator cannot use.
///
/// `microbatch` is the tally of the rank's own tokens of one microbatch. With context parallelism it has the rank's
/// share, or all tokens if `token_ranks` says how many ranks share them. Throws `error` for
/// `plan.recomputed_components`, for the schedule zb_v and for 0 microbatches.
[[nodiscard]] inline rank_memory memory_of(std::span<const model_part> parts, const tally& microbatch,
                                           const parallel_layout& layout, const training_plan& plan = {},
                                           const memory_options& options = {}) {
    detail::require_memory_options(plan, options);
    const parallel_sizes& sizes = layout.sizes();
    const listed_parts with_head = with_logits(parts, plan.logits);
    const std::span<const model_part> model(with_head.begin(), with_head.size());
    const std::vector<model_part> shared = rank_parts(model, layout, options.ranks);
    detail::state_sums states;
    detail::put_states(shared, layout, plan, options, states);
    const bool trains = plan.counted != counted_passes::forward;
    const std::uint64_t pp = sizes.pp;
    std::vector<std::string> unsaid;
    std::vector<std::uint64_t> kept(pp * sizes.vpp, 0);
    std::vector<detail::chunk_sums> chunks;
    detail::buffer_sums buffers;
    const detail::batch_units units(microbatch, options.token_ranks);
    for (std::uint64_t chunk = layout.coordinates().pp; chunk < kept.size(); chunk += pp) {
        const std::vector<model_part> chunk_parts = detail::parts_of_chunk(model, layout, options.ranks, chunk);
        detail::chunk_sums& own = chunks.emplace_back();
        if (trains) {
            detail::put_kept(chunk_parts, units, plan, options, sizes, unsaid, own);
            kept[chunk] = own.kept_bytes();
            detail::put_recomputed(chunk_parts, units, plan, options, sizes, buffers);
        }
        detail::put_outputs(chunk_parts, units, sizes.tp, own);
    }
    std::uint64_t most_held = 0;
    if (trains) {
        const pipeline_schedule schedule = detail::schedule_of(options, sizes.vpp);
        const std::uint64_t microbatches = detail::microbatches_until_full(schedule, pp, options.microbatches);
        const pipeline_order order(schedule, pp, sizes.vpp, microbatches);
        most_held = order.most_held(kept)[layout.coordinates().pp];
    }
    detail::put_buffers(shared, sizes, units, options.ranks.tensor.sequence_parallel, buffers);
    rank_memory held = detail::memory_from(states, chunks, buffers, most_held, num_layers(shared, true),
                                           layout.coordinates().pp, layout, plan, options);
    held.unsaid = std::move(unsaid);
    return held;
}

}  // namespace floptally
