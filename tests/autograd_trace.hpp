// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// A tiny autograd that computes nothing: it records the products of a forward pass on a tape, walks the tape back from
/// the loss and writes down which products a backward pass runs. Nothing of the library takes part in it.

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "matmul_trace.hpp"

namespace autograd_trace {

using matmul_trace::sequence;
using matmul_trace::sequence_list;

enum class state : std::uint8_t { trainable, frozen, lora };

struct weight_rule {
    state is = state::trainable;
    std::uint64_t rank = 0;
};

/// The training rule of a weight, by its component ("mlp"), its name ("up_proj"; empty: norms and tables) and its
/// layer, −1 outside the layers.
using rule_of = std::function<weight_rule(const std::string& component, const std::string& weight, int layer)>;

struct tensor {
    std::size_t id = 0;
};

class tape {
  public:
    explicit tape(rule_of rules) : rules_(std::move(rules)) {}

    /// Everything until the next call belongs to this layer, or with −1 stands outside the layers.
    void enter_layer(int index, bool recomputable = true) {
        layer_ = index;
        ++region_;
        in_layer_ = recomputable;
    }

    tensor input() { return add(false); }
    /// A look-up table.
    tensor table(const std::string& component) { return add(rules_(component, "", layer_).is == state::trainable); }

    /// Element-wise over its inputs, with weights of its own where `component` says so.
    tensor mix(const std::vector<tensor>& inputs, const std::string& component = {}) {
        bool requires_grad = !component.empty() && rules_(component, "", layer_).is == state::trainable;
        for (const tensor& entry : inputs) {
            requires_grad = requires_grad || values_[entry.id];
        }
        const tensor out = add(requires_grad);
        for (const tensor& entry : inputs) {
            products_.push_back({"", 0, {entry.id, entry.id}, out.id, region_, layer_, in_layer_, 0});
        }
        return out;
    }

    tensor linear(const std::string& component, const std::string& weight, std::uint64_t rows, std::uint64_t in,
                  std::uint64_t out, tensor x, bool adaptable = true) {
        const weight_rule rule = rules_(component, weight, layer_);
        tensor y = product(component, 2 * rows * in * out, x, parameter(rule.is == state::trainable));
        if (rule.is == state::lora && adaptable) {
            const tensor u = product(component, 2 * rows * in * rule.rank, x, parameter(true));
            y = mix({y, product(component, 2 * rows * rule.rank * out, u, parameter(true))});
        }
        return y;
    }

    /// QKᵀ and PV over `pairs`, all heads.
    tensor core(const std::string& component, std::uint64_t pairs, std::uint64_t heads, std::uint64_t qk_dim,
                std::uint64_t v_dim, tensor q, tensor k, tensor v) {
        ++core_;
        const tensor scores = product(component, 2 * pairs * heads * qk_dim, q, k, core_, true);
        return product(component, 2 * pairs * heads * v_dim, scores, v, core_);
    }

    /// Keys, which are the values too, and how many pairs the queries have with them.
    struct kind_of_keys {
        tensor keys;
        std::uint64_t pairs;
    };
    /// An attention core over several kinds of keys, under one softmax and in one kernel.
    tensor joint_core(const std::string& component, std::uint64_t heads, std::uint64_t dim, tensor q,
                      const std::vector<kind_of_keys>& kinds) {
        ++core_;
        std::vector<tensor> scores;
        std::vector<tensor> outputs;
        for (const kind_of_keys& kind : kinds) {
            scores.push_back(product(component, 2 * kind.pairs * heads * dim, q, kind.keys, core_, true));
        }
        const tensor probabilities = mix(scores);
        for (const kind_of_keys& kind : kinds) {
            outputs.push_back(product(component, 2 * kind.pairs * heads * dim, probabilities, kind.keys, core_));
        }
        return mix(outputs);
    }

    tensor activations(const std::string& component, std::uint64_t flops, tensor a, tensor b) {
        return product(component, flops, a, b);
    }

    void loss(tensor source) { has_gradient_.insert(source.id); }

    struct sums {
        std::array<std::uint64_t, 4> phase{};  ///< forward, to data, to weights, recompute
        std::uint64_t fused = 0;               ///< what a fused attention backward runs besides
    };
    struct plan {
        bool forward = true;
        bool backward = true;
        bool recompute_layers = false;
        bool recompute_cores = false;
        std::set<std::string> recomputed;
        int every = 1;
    };

    [[nodiscard]] std::map<std::string, sums> run(const plan& how) {
        std::map<std::string, sums> total;
        std::set<std::size_t> regions;
        std::set<std::pair<std::size_t, std::string>> components;
        std::map<std::size_t, std::uint64_t> cores;
        std::set<std::size_t> gradients;
        for (const std::size_t id : has_gradient_) {
            if (values_[id]) {
                gradients.insert(id);
            }
        }
        for (std::size_t i = products_.size(); i-- > 0;) {
            record& item = products_[i];
            item.run = 0;
            if (gradients.count(item.out) == 0) {
                continue;
            }
            regions.insert(item.region);
            components.emplace(item.region, item.component);
            cores[item.core] += 1;
            for (std::size_t operand = 0; operand < 2; ++operand) {
                const std::size_t id = item.operands[operand];
                if (!values_[id] || (operand == 1 && item.component.empty())) {
                    continue;
                }
                gradients.insert(id);
                item.run += 1;
                if (how.backward) {
                    total[item.component].phase[parameters_.count(id) != 0 ? 2 : 1] += item.flops;
                }
            }
        }
        for (const record& entry : products_) {
            sums& sum = total[entry.component];
            sum.phase[0] += how.forward ? entry.flops : 0;
            if (!how.backward) {
                continue;
            }
            const bool is_core = entry.core != 0 && cores.count(entry.core) != 0;
            if (is_core) {
                sum.fused += entry.flops * (2 - entry.run + (entry.scores ? 1U : 0U));
            }
            const bool due = entry.layer < 0 || (entry.layer + 1) % how.every == 0;
            const bool again =
                (how.recompute_layers && entry.in_layer && regions.count(entry.region) != 0) ||
                (how.recompute_cores && is_core) ||
                (how.recomputed.count(entry.component) != 0 && components.count({entry.region, entry.component}) != 0);
            sum.phase[3] += due && again ? entry.flops : 0;
        }
        total.erase("");
        return total;
    }

  private:
    struct record {
        std::string component;
        std::uint64_t flops;
        std::array<std::size_t, 2> operands;
        std::size_t out;
        std::size_t region;
        int layer;
        bool in_layer;
        std::size_t core;
        bool scores = false;  ///< QKᵀ, which a fused kernel computes once more
        std::uint64_t run = 0;
    };

    tensor add(bool requires_grad) {
        values_.push_back(requires_grad);
        return {values_.size() - 1};
    }
    tensor parameter(bool trains) {
        const tensor value = add(trains);
        parameters_.insert(value.id);
        return value;
    }
    tensor product(const std::string& component, std::uint64_t flops, tensor a, tensor b, std::size_t core = 0,
                   bool scores = false) {
        const tensor out = add(values_[a.id] || values_[b.id]);
        products_.push_back({component, flops, {a.id, b.id}, out.id, region_, layer_, in_layer_, core, scores});
        return out;
    }

    rule_of rules_;
    std::vector<bool> values_;
    std::set<std::size_t> parameters_;
    std::set<std::size_t> has_gradient_;
    std::vector<record> products_;
    std::size_t region_ = 0;
    std::size_t core_ = 0;
    int layer_ = -1;
    bool in_layer_ = false;
};

}  // namespace autograd_trace
