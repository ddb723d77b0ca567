// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// A tiny training step that computes nothing and writes down every matmul as an implementation would run it. It is
/// what the formulas of the library are tested against, so nothing of the library takes part in it: only `mismatches`,
/// below, knows both.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/batch/tally.hpp>
#include <floptally/count/breakdown.hpp>
#include <floptally/count/convention.hpp>
#include <floptally/count/training_plan.hpp>

namespace matmul_trace {

struct sequence {
    std::uint64_t length = 0;  ///< the queries: positions past … past + length − 1
    std::uint64_t past = 0;
    std::uint64_t keys = 0;  ///< on the other side of cross attention
};
using sequence_list = std::vector<sequence>;

// ---- which keys a query attends, each from its definition ----

/// How much of the product of one query with one key is computed, in halves: 2 is all of it, 0 is none.
using pair_statistic = std::function<std::uint64_t(const sequence&, std::uint64_t query, std::uint64_t key)>;

template <class Predicate>
pair_statistic attended_where(Predicate attends) {
    return [attends](const sequence&, std::uint64_t query, std::uint64_t key) -> std::uint64_t {
        return attends(query, key) ? 2U : 0U;
    };
}

inline pair_statistic bidirectional() {
    return attended_where([](auto, auto) { return true; });
}
inline pair_statistic causal() {
    return attended_where([](auto query, auto key) { return key <= query; });
}
inline pair_statistic sliding_window(std::uint64_t tokens) {
    return attended_where([=](auto query, auto key) { return key <= query && query - key < tokens; });
}
inline pair_statistic window(std::uint64_t left, std::uint64_t right) {
    return attended_where(
        [=](auto query, auto key) { return key <= query ? query - key <= left : key - query <= right; });
}
inline pair_statistic chunked(std::uint64_t tokens) {
    return attended_where([=](auto query, auto key) { return key <= query && query / tokens == key / tokens; });
}
/// The best of the keys so far, under scores that are made up and all different.
inline pair_statistic top_k(std::uint64_t keys) {
    return attended_where([=](std::uint64_t query, std::uint64_t key) {
        const auto score = [](std::uint64_t position) { return static_cast<std::uint32_t>(position * 2654435761U); };
        std::uint64_t better = 0;
        for (std::uint64_t other = 0; other <= query; ++other) {
            better += score(other) > score(key) ? 1U : 0U;
        }
        return key <= query && better < keys;
    });
}
/// A block of tokens is one key once its last token is there.
inline pair_statistic compressed_keys(std::uint64_t ratio) {
    return attended_where([=](auto query, auto key) { return key <= query && key % ratio == ratio - 1; });
}
/// The best of the whole blocks so far, under scores that are made up and all different; a block stands where it ends.
inline pair_statistic best_compressed_keys(std::uint64_t ratio, std::uint64_t keys) {
    return attended_where([=](std::uint64_t query, std::uint64_t key) {
        const auto score = [](std::uint64_t position) { return static_cast<std::uint32_t>(position * 2654435761U); };
        std::uint64_t better = 0;
        for (std::uint64_t other = ratio - 1; other <= query; other += ratio) {
            better += score(other) > score(key) ? 1U : 0U;
        }
        return key <= query && key % ratio == ratio - 1 && better < keys;
    });
}

// ---- the step ----

enum class pass : std::uint8_t { forward, backward_data, backward_weights, fused_backward };

enum class place : std::uint8_t { core, layer, after_layers };

/// [m,k] times [k,n]: a multiply and an add for each of m·n·k.
struct matmul {
    std::string_view component;
    pass during;
    place where;
    std::uint64_t m, n, k;
    std::uint64_t of = 1;  ///< 2: only half of it, where a convention says so

    [[nodiscard]] std::uint64_t flops() const { return 2 * m * n * k / of; }
};

class step {
  public:
    /// Y = X·W, then dX = dY·Wᵀ and dW = Xᵀ·dY.
    void weight(std::string_view component, std::uint64_t rows, std::uint64_t in, std::uint64_t out,
                place where = place::layer) {
        run({component, pass::forward, where, rows, out, in});
        run({component, pass::backward_data, where, rows, in, out});
        run({component, pass::backward_weights, where, in, out, rows});
    }

    /// Y = X·W that no gradient flows back through.
    void detached(std::string_view component, std::uint64_t rows, std::uint64_t in, std::uint64_t out) {
        run({component, pass::forward, place::layer, rows, out, in});
    }

    /// S = k·vᵀ for each token, then dk = dS·v and dv = dSᵀ·k.
    void outer_product(std::string_view component, std::uint64_t tokens, std::uint64_t k_dim, std::uint64_t v_dim) {
        for (std::uint64_t token = 0; token < tokens; ++token) {
            run({component, pass::forward, place::layer, k_dim, v_dim, 1});
            run({component, pass::backward_data, place::layer, k_dim, 1, v_dim});
            run({component, pass::backward_data, place::layer, v_dim, 1, k_dim});
        }
    }

    /// y = xᵀ·S for each token, S [k_dim, v_dim]; then dx = dy·Sᵀ and dS = x·dyᵀ.
    void state_read(std::string_view component, std::uint64_t tokens, std::uint64_t k_dim, std::uint64_t v_dim) {
        for (std::uint64_t token = 0; token < tokens; ++token) {
            run({component, pass::forward, place::layer, 1, v_dim, k_dim});
            run({component, pass::backward_data, place::layer, 1, k_dim, v_dim});
            run({component, pass::backward_data, place::layer, k_dim, v_dim, 1});
        }
    }

    /// Scores of one query row of one head that choose keys: nothing flows back.
    void detached_row(std::string_view component, std::uint64_t keys, std::uint64_t qk_dim) {
        run({component, pass::forward, place::layer, 1, keys, qk_dim});
    }

    /// A row of scores that are trained.
    void scores_row(std::string_view component, std::uint64_t keys, std::uint64_t qk_dim) {
        run({component, pass::forward, place::core, 1, keys, qk_dim});
        run({component, pass::backward_data, place::core, 1, qk_dim, keys});
        run({component, pass::backward_data, place::core, keys, qk_dim, 1});
        run({component, pass::fused_backward, place::core, 1, keys, qk_dim});
    }

    /// P·V of one query row of one head alone.
    void values_row(std::string_view component, std::uint64_t keys, std::uint64_t v_dim) {
        run({component, pass::forward, place::core, 1, v_dim, keys});
        run({component, pass::backward_data, place::core, 1, keys, v_dim});
        run({component, pass::backward_data, place::core, keys, v_dim, 1});
    }

    /// One query row of one head against the `halves` / 2 keys that it attends.
    void core_row(std::string_view component, std::uint64_t halves, std::uint64_t qk_dim, std::uint64_t v_dim) {
        const std::uint64_t amount = halves % 2 == 0 ? 1 : 2;
        const std::uint64_t keys = amount == 1 ? halves / 2 : halves;
        const auto product = [&](pass during, std::uint64_t m, std::uint64_t n, std::uint64_t k) {
            run({component, during, place::core, m, n, k, amount});
        };
        product(pass::forward, 1, keys, qk_dim);         // S = Q·Kᵀ
        product(pass::forward, 1, v_dim, keys);          // O = P·V
        product(pass::backward_data, 1, keys, v_dim);    // dP = dO·Vᵀ
        product(pass::backward_data, keys, v_dim, 1);    // dV = Pᵀ·dO
        product(pass::backward_data, 1, qk_dim, keys);   // dQ = dS·K
        product(pass::backward_data, keys, qk_dim, 1);   // dK = dSᵀ·Q
        product(pass::fused_backward, 1, keys, qk_dim);  // S again: a fused kernel has not kept it
    }

    /// Three FLOPs of one query row of one head for each pair, and twice that backward: in place of a matmul, a quarter
    /// of [3, 1]·[1, halves].
    void softmax_row(std::string_view component, std::uint64_t halves) {
        run({component, pass::forward, place::core, 3, halves, 1, 4});
        run({component, pass::backward_data, place::core, 3, halves, 1, 4});
        run({component, pass::backward_data, place::core, 3, halves, 1, 4});
    }

    /// Appends the matmuls of another trace that a convention counts.
    template <class Predicate>
    void append(const step& other, Predicate counted) {
        for (const matmul& product : other.matmuls_) {
            if (counted(product)) {
                run(product);
            }
        }
    }

    /// Another trace under one name.
    void append_as(std::string_view component, const step& other) {
        for (matmul product : other.matmuls_) {
            product.component = component;
            run(product);
        }
    }

    /// The forward of another trace, through which no gradient flows.
    void append_forward(const step& other) {
        for (matmul product : other.matmuls_) {
            if (product.during == pass::forward) {
                product.where = product.where == place::core ? place::layer : product.where;
                run(product);
            }
        }
    }

    [[nodiscard]] const std::vector<matmul>& matmuls() const { return matmuls_; }

  private:
    void run(const matmul& product) { matmuls_.push_back(product); }

    std::vector<matmul> matmuls_;
};

// ---- parts of a model ----

inline std::uint64_t tokens_of(const sequence_list& sequences) {
    std::uint64_t tokens = 0;
    for (const sequence& s : sequences) {
        tokens += s.length;
    }
    return tokens;
}

inline void attention_core(step& trace, std::string_view component, const sequence_list& sequences, std::uint64_t heads,
                           std::uint64_t qk_dim, std::uint64_t v_dim, const pair_statistic& pairs) {
    for (const sequence& s : sequences) {
        for (std::uint64_t query = s.past; query < s.past + s.length; ++query) {
            std::uint64_t halves = 0;
            for (std::uint64_t key = 0; key < s.past + s.length; ++key) {
                halves += pairs(s, query, key);
            }
            for (std::uint64_t head = 0; head < heads; ++head) {
                trace.core_row(component, halves, qk_dim, v_dim);
            }
        }
    }
}

inline void softmax(step& trace, std::string_view component, const sequence_list& sequences, std::uint64_t heads,
                    const pair_statistic& pairs) {
    for (const sequence& s : sequences) {
        for (std::uint64_t query = s.past; query < s.past + s.length; ++query) {
            std::uint64_t halves = 0;
            for (std::uint64_t key = 0; key < s.past + s.length; ++key) {
                halves += pairs(s, query, key);
            }
            for (std::uint64_t head = 0; head < heads; ++head) {
                trace.softmax_row(component, halves);
            }
        }
    }
}

inline void attention(step& trace, const sequence_list& sequences, std::uint64_t hidden_size, std::uint64_t heads,
                      std::uint64_t kv_heads, std::uint64_t head_dim, const pair_statistic& pairs) {
    const std::uint64_t tokens = tokens_of(sequences);
    for (std::uint64_t head = 0; head < heads; ++head) {
        trace.weight("attention.qkv", tokens, hidden_size, head_dim);
    }
    for (std::uint64_t head = 0; head < kv_heads; ++head) {
        trace.weight("attention.qkv", tokens, hidden_size, head_dim);
        trace.weight("attention.qkv", tokens, hidden_size, head_dim);
    }
    attention_core(trace, "attention.core", sequences, heads, head_dim, head_dim, pairs);
    trace.weight("attention.output", tokens, heads * head_dim, hidden_size);
}

inline void cross_attention(step& trace, const sequence_list& sequences, std::uint64_t hidden_size,
                            std::uint64_t context_size, std::uint64_t heads, std::uint64_t kv_heads,
                            std::uint64_t head_dim) {
    const std::uint64_t tokens = tokens_of(sequences);
    trace.weight("cross_attention.qkv", tokens, hidden_size, heads * head_dim);
    for (const sequence& s : sequences) {
        trace.weight("cross_attention.qkv", s.keys, context_size, kv_heads * head_dim);
        trace.weight("cross_attention.qkv", s.keys, context_size, kv_heads * head_dim);
        for (std::uint64_t row = 0; row < s.length * heads; ++row) {
            trace.core_row("cross_attention.core", 2 * s.keys, head_dim, head_dim);
        }
    }
    trace.weight("cross_attention.output", tokens, heads * head_dim, hidden_size);
}

inline void mlp(step& trace, std::string_view component, std::uint64_t rows, std::uint64_t hidden_size,
                std::uint64_t intermediate_size, bool gated) {
    trace.weight(component, rows, hidden_size, intermediate_size);
    if (gated) {
        trace.weight(component, rows, hidden_size, intermediate_size);
    }
    trace.weight(component, rows, intermediate_size, hidden_size);
}

/// Dropless: every token reaches `top_k` different experts, some experts more often than others.
inline void experts(step& trace, std::uint64_t tokens, std::uint64_t hidden_size, std::uint64_t num_experts,
                    std::uint64_t top_k, std::uint64_t intermediate_size, bool gated) {
    trace.weight("moe.router", tokens, hidden_size, num_experts);
    std::vector<std::uint64_t> routed(num_experts);
    for (std::uint64_t token = 0; token < tokens; ++token) {
        for (std::uint64_t choice = 0; choice < top_k; ++choice) {
            ++routed[(token * token + choice) % num_experts];
        }
    }
    for (const std::uint64_t rows : routed) {
        if (rows != 0) {
            mlp(trace, "moe.experts", rows, hidden_size, intermediate_size, gated);
        }
    }
}

/// One tap of one channel after another: [tokens, kernel] windows of each channel times its own kernel.
inline void depthwise_convolution(step& trace, std::uint64_t tokens, std::uint64_t kernel, std::uint64_t channels) {
    for (std::uint64_t channel = 0; channel < channels; ++channel) {
        trace.weight("mixer.convolution", tokens, kernel, 1);
    }
}

inline void lm_head(step& trace, std::uint64_t tokens, std::uint64_t hidden_size, std::uint64_t vocabulary) {
    trace.weight("lm_head", tokens, hidden_size, vocabulary, place::after_layers);
}

// ---- batches ----

/// Sequence by sequence: what is real, and the slot that a kernel processes.
struct padded_batch {
    sequence_list real;
    sequence_list slots;
};

/// Mixed, single, even, odd, empty, padded, mock and cached sequences.
inline const std::vector<padded_batch>& mixed_batches() {
    static const sequence_list ragged{{1, 0, 5}, {1, 0, 1}, {7, 0, 3}, {12, 0, 8}, {0, 0, 0}, {19, 0, 2}};
    static const std::vector<padded_batch> all{
        {{{1, 0, 1}}, {{1, 0, 1}}},
        {{{14, 0, 9}}, {{14, 0, 9}}},
        {ragged, ragged},
        {{{13, 0, 6}, {5, 0, 2}, {0, 0, 0}}, {{16, 0, 8}, {8, 0, 2}, {4, 0, 1}}},
        {{{1, 11, 4}, {6, 3, 7}, {9, 0, 5}}, {{2, 11, 4}, {6, 5, 7}, {11, 0, 9}}},
    };
    return all;
}

inline floptally::tally tally_of(const floptally::mask_set& masks, const padded_batch& sequences) {
    const auto record = [](const sequence& s) {
        return floptally::sequence{static_cast<std::uint32_t>(s.length), static_cast<std::uint32_t>(s.past),
                                   static_cast<std::uint32_t>(s.keys)};
    };
    floptally::tally sum{masks};
    for (std::size_t i = 0; i < sequences.real.size(); ++i) {
        sum.add(record(sequences.real[i]), record(sequences.slots[i]));
    }
    return sum;
}

// ---- comparison ----

/// FLOPs by component: forward, backward to data, backward to weights, recompute.
using sums = std::map<std::string_view, std::array<std::uint64_t, 4>>;

/// Adds up what one view of a plan runs. `counted_as_flash`: the convention counts a fused backward in every view.
inline sums add_up(const step& trace, const floptally::training_plan& plan, floptally::view seen,
                   bool counted_as_flash = false) {
    using floptally::counted_passes;
    using floptally::recompute;
    const bool executed = seen == floptally::view::executed;
    sums total;
    for (const matmul& product : trace.matmuls()) {
        auto& phase = total[product.component];
        if (product.during == pass::forward) {
            phase[0] += plan.counted != counted_passes::backward ? product.flops() : 0;
            const bool again = (plan.recomputed == recompute::full && product.where != place::after_layers) ||
                               (plan.recomputed == recompute::attention && product.where == place::core);
            phase[3] += executed && again && plan.counted != counted_passes::forward ? product.flops() : 0;
        } else if (plan.counted != counted_passes::forward) {
            const bool fused = product.during == pass::fused_backward;
            const bool runs = !fused || counted_as_flash || (executed && plan.flash_attention);
            phase[product.during == pass::backward_weights ? 2 : 1] += runs ? product.flops() : 0;
        }
    }
    return total;
}

/// Component by component, phase by phase and view by view; empty where everything is equal. `real` walked the real
/// tokens, `slots` what the kernels process.
inline std::string mismatches(const floptally::breakdown& counted, const step& real, const step& slots,
                              const floptally::training_plan& plan = {}, bool counted_as_flash = false) {
    using floptally::flops;
    using floptally::view;
    constexpr std::array<std::string_view, 3> views{"useful", "padded", "executed"};
    constexpr std::array<std::string_view, 4> phases{"forward", "backward_data", "backward_weights", "recompute"};
    std::string text;
    const auto compare = [&](std::string_view component, view seen, std::size_t phase, flops library, flops traced) {
        if (library != traced) {
            text.append(component).append(" ").append(views[static_cast<std::size_t>(seen)]).append(" ");
            text.append(phase < 4 ? phases[phase] : "total").append(": counted ").append(to_string(library));
            text.append(", traced ").append(to_string(traced)).append("\n");
        }
    };
    for (const view seen : {view::useful, view::padded, view::executed}) {
        const sums traced = add_up(seen == view::useful ? real : slots, plan, seen, counted_as_flash);
        std::array<std::uint64_t, 4> all{};
        for (const auto& component : counted.components()) {
            const auto found = traced.find(component.name.view());
            std::uint64_t total = 0;
            for (std::size_t phase = 0; phase < 4; ++phase) {
                const std::uint64_t expected = found == traced.end() ? 0 : found->second[phase];
                compare(component.name.view(), seen, phase, component.get(seen, static_cast<floptally::phase>(phase)),
                        flops{expected});
                all[phase] += expected;
                total += expected;
            }
            compare(component.name.view(), seen, 4, component.total(seen), flops{total});
        }
        for (const auto& [name, phase] : traced) {
            bool known = false;
            for (const auto& component : counted.components()) {
                known = known || component.name.view() == name;
            }
            if (!known) {
                text.append(name).append(" is not counted\n");
            }
        }
        for (std::size_t phase = 0; phase < 4; ++phase) {
            compare("all", seen, phase, counted.get(seen, static_cast<floptally::phase>(phase)), flops{all[phase]});
        }
        compare("all", seen, 4, counted.total(seen), flops{all[0] + all[1] + all[2] + all[3]});
        compare("all, backward", seen, 4, counted.backward(seen), flops{all[1] + all[2]});
    }
    return text;
}

}  // namespace matmul_trace
