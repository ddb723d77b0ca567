// SPDX-License-Identifier: Apache-2.0
//
// A small Llama: embedding, layers of RMSNorm, grouped-query attention and a gated MLP, lm_head. Its backward is
// written out by hand; it knows nothing of floptally.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "attention.hpp"
#include "batches.hpp"
#include "matmul.hpp"
#include "parameter.hpp"

namespace training {

struct model_shape {
    std::size_t vocab_size = 256;  ///< bytes
    std::size_t hidden_size = 64;
    std::size_t num_layers = 2;
    attention_heads heads{.query = 4, .key_value = 2, .dim = 16};
    std::size_t intermediate_size = 192;
    bool fused_attention = false;   ///< keep no probabilities; the backward computes QKᵀ again
    bool recompute_layers = false;  ///< keep only the input of each layer; the backward runs its forward again
};

struct layer_parameters {
    parameter attention_norm, query, key, values, output, mlp_norm, gate, up, down;

    layer_parameters(const model_shape& shape, std::mt19937& random)
        : attention_norm(1, shape.hidden_size),
          query(linear(shape.hidden_size, shape.heads.query_width(), random)),
          key(linear(shape.hidden_size, shape.heads.kv_width(), random)),
          values(linear(shape.hidden_size, shape.heads.kv_width(), random)),
          output(linear(shape.heads.query_width(), shape.hidden_size, random)),
          mlp_norm(1, shape.hidden_size),
          gate(linear(shape.hidden_size, shape.intermediate_size, random)),
          up(linear(shape.hidden_size, shape.intermediate_size, random)),
          down(linear(shape.intermediate_size, shape.hidden_size, random)) {}

    [[nodiscard]] static parameter linear(std::size_t in, std::size_t out, std::mt19937& random) {
        return {in, out, 1 / std::sqrt(static_cast<float>(in)), random};
    }
};

/// The values that one layer keeps from its forward for its backward.
struct layer_memory {
    tensor attention_input, q, k, v, attended, middle, mlp_input, gate, up, product;
    attention_memory attention;
};

class model {
  public:
    model(const model_shape& shape, std::uint32_t seed)
        : shape_(shape),
          random_(seed),
          embedding_(shape.vocab_size, shape.hidden_size, 1.0F, random_),
          final_norm_(1, shape.hidden_size),
          lm_head_(layer_parameters::linear(shape.hidden_size, shape.vocab_size, random_)) {
        for (std::size_t index = 0; index < shape.num_layers; ++index) {
            layers_.emplace_back(shape, random_);
        }
    }

    [[nodiscard]] const model_shape& shape() const { return shape_; }
    [[nodiscard]] const flops_ran& ran() const { return ran_; }
    void forget_flops() { ran_ = {}; }

    [[nodiscard]] std::vector<parameter*> parameters() {
        std::vector<parameter*> all{&embedding_, &final_norm_, &lm_head_};
        for (layer_parameters& layer : layers_) {
            for (parameter* weights : {&layer.attention_norm, &layer.query, &layer.key, &layer.values, &layer.output,
                                       &layer.mlp_norm, &layer.gate, &layer.up, &layer.down}) {
                all.push_back(weights);
            }
        }
        return all;
    }

    /// The sum of the real tokens' losses, in nats.
    double forward(const packed_batch& batch) {
        inputs_.assign(1, tensor(batch.slots(), shape_.hidden_size));
        for (std::size_t i = 0; i < batch.slots(); ++i) {
            const float* row = &embedding_.value.view()(batch.tokens[i], 0);
            std::copy(row, row + shape_.hidden_size, &inputs_[0].view()(i, 0));
        }
        memories_.assign(shape_.num_layers, {});
        for (std::size_t index = 0; index < shape_.num_layers; ++index) {
            inputs_.push_back(forward_layer(batch, layers_[index], inputs_[index], memories_[index], pass::forward));
            if (shape_.recompute_layers) {
                memories_[index] = {};
            }
        }
        normed_ = normalize(inputs_.back(), final_norm_);
        probabilities_ = multiply(batch, normed_, lm_head_, pass::forward);
        double loss = 0;
        for (std::size_t i = 0; i < batch.slots(); ++i) {
            const matrix row = probabilities_.view().rows_from(i, 1);
            const float most = *std::max_element(row.data, row.data + row.columns);
            double sum = 0;
            for (std::size_t j = 0; j < row.columns; ++j) {
                sum += std::exp(static_cast<double>(row(0, j) - most));
            }
            if (i < batch.real_tokens()) {
                loss += std::log(sum) - static_cast<double>(row(0, batch.targets[i]) - most);
            }
            for (std::size_t j = 0; j < row.columns; ++j) {
                row(0, j) = static_cast<float>(std::exp(static_cast<double>(row(0, j) - most)) / sum);
            }
        }
        return loss;
    }

    /// Adds the gradients of `scale` times the loss of the last forward. Its batch must be the same.
    void backward(const packed_batch& batch, float scale) {
        tensor d_logits = probabilities_;
        for (std::size_t i = 0; i < batch.slots(); ++i) {
            d_logits.view()(i, batch.targets[i]) -= 1;
            const float weight = i < batch.real_tokens() ? scale : 0;  // Nobody learns from a mock sequence.
            for (std::size_t j = 0; j < d_logits.columns; ++j) {
                d_logits.view()(i, j) *= weight;
            }
        }
        tensor d_hidden(batch.slots(), shape_.hidden_size);
        back_through(batch, normed_, lm_head_, d_logits, d_hidden);
        tensor d_stream(batch.slots(), shape_.hidden_size);
        back_through_norm(inputs_.back(), final_norm_, d_hidden, d_stream);
        for (std::size_t index = shape_.num_layers; index-- > 0;) {
            if (shape_.recompute_layers) {
                forward_layer(batch, layers_[index], inputs_[index], memories_[index], pass::recompute);
            }
            backward_layer(batch, layers_[index], inputs_[index], memories_[index], d_stream);
            memories_[index] = {};
        }
        for (std::size_t i = 0; i < batch.slots(); ++i) {
            for (std::size_t j = 0; j < shape_.hidden_size; ++j) {
                embedding_.gradient.view()(batch.tokens[i], j) += d_stream.view()(i, j);
            }
        }
    }

  private:
    // A linear layer runs real rows and mock rows in separate matmuls, so that each is counted in its place.

    template <class Action>
    static void for_each_part(const packed_batch& batch, const Action& act) {
        const std::size_t real = batch.real_tokens();
        act(std::size_t{0}, real, true);
        act(real, batch.slots() - real, false);
    }

    [[nodiscard]] tensor multiply(const packed_batch& batch, const tensor& x, const parameter& w, pass during) {
        tensor y(x.rows, w.value.columns);
        for_each_part(batch, [&](std::size_t first, std::size_t count, bool real) {
            matmul(x.view().rows_from(first, count), w.value.view(), y.view().rows_from(first, count),
                   ran_.count_of(real, during));
        });
        return y;
    }

    /// d_x += d_y·wᵀ and w.gradient += xᵀ·d_y.
    void back_through(const packed_batch& batch, const tensor& x, parameter& w, const tensor& d_y, tensor& d_x) {
        for_each_part(batch, [&](std::size_t first, std::size_t count, bool real) {
            const const_matrix d_rows = d_y.view().rows_from(first, count);
            matmul(d_rows, w.value.view().transposed(), d_x.view().rows_from(first, count),
                   ran_.count_of(real, pass::backward_data));
            matmul(x.view().rows_from(first, count).transposed(), d_rows, w.gradient.view(),
                   ran_.count_of(real, pass::backward_weights));
        });
    }

    tensor forward_layer(const packed_batch& batch, const layer_parameters& layer, const tensor& x,
                         layer_memory& memory, pass during) {
        memory.attention_input = normalize(x, layer.attention_norm);
        memory.q = multiply(batch, memory.attention_input, layer.query, during);
        memory.k = multiply(batch, memory.attention_input, layer.key, during);
        memory.v = multiply(batch, memory.attention_input, layer.values, during);
        rotate(memory.q.view(), batch, shape_.heads.dim, 1);
        rotate(memory.k.view(), batch, shape_.heads.dim, 1);
        memory.attended = tensor(batch.slots(), shape_.heads.query_width());
        attention_forward(batch, shape_.heads, memory.q.view(), memory.k.view(), memory.v.view(),
                          memory.attended.view(), shape_.fused_attention, memory.attention, during, ran_);
        memory.middle = multiply(batch, memory.attended, layer.output, during);
        add(x, memory.middle);
        memory.mlp_input = normalize(memory.middle, layer.mlp_norm);
        memory.gate = multiply(batch, memory.mlp_input, layer.gate, during);
        memory.up = multiply(batch, memory.mlp_input, layer.up, during);
        memory.product = memory.up;
        for (std::size_t i = 0; i < memory.product.values.size(); ++i) {
            memory.product.values[i] *= memory.gate.values[i] * sigmoid(memory.gate.values[i]);
        }
        tensor y = multiply(batch, memory.product, layer.down, during);
        add(memory.middle, y);
        return y;
    }

    /// `d_stream` is the gradient of the layer's output and becomes that of its input.
    void backward_layer(const packed_batch& batch, layer_parameters& layer, const tensor& x, const layer_memory& memory,
                        tensor& d_stream) {
        tensor d_product(batch.slots(), shape_.intermediate_size);
        back_through(batch, memory.product, layer.down, d_stream, d_product);
        tensor d_gate = d_product;
        tensor d_up = d_product;
        for (std::size_t i = 0; i < d_product.values.size(); ++i) {
            const float gate = memory.gate.values[i];
            const float on = sigmoid(gate);
            d_up.values[i] *= gate * on;
            d_gate.values[i] *= memory.up.values[i] * on * (1 + gate * (1 - on));
        }
        tensor d_mlp_input(batch.slots(), shape_.hidden_size);
        back_through(batch, memory.mlp_input, layer.gate, d_gate, d_mlp_input);
        back_through(batch, memory.mlp_input, layer.up, d_up, d_mlp_input);
        back_through_norm(memory.middle, layer.mlp_norm, d_mlp_input, d_stream);

        tensor d_attended(batch.slots(), shape_.heads.query_width());
        back_through(batch, memory.attended, layer.output, d_stream, d_attended);
        tensor d_q(batch.slots(), shape_.heads.query_width());
        tensor d_k(batch.slots(), shape_.heads.kv_width());
        tensor d_v = d_k;
        attention_backward(batch, shape_.heads, memory.q.view(), memory.k.view(), memory.v.view(), d_attended.view(),
                           memory.attention, d_q.view(), d_k.view(), d_v.view(), ran_);
        rotate(d_q.view(), batch, shape_.heads.dim, -1);
        rotate(d_k.view(), batch, shape_.heads.dim, -1);
        tensor d_attention_input(batch.slots(), shape_.hidden_size);
        back_through(batch, memory.attention_input, layer.query, d_q, d_attention_input);
        back_through(batch, memory.attention_input, layer.key, d_k, d_attention_input);
        back_through(batch, memory.attention_input, layer.values, d_v, d_attention_input);
        back_through_norm(x, layer.attention_norm, d_attention_input, d_stream);
    }

    [[nodiscard]] static float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

    static void add(const tensor& x, tensor& sum) {
        for (std::size_t i = 0; i < x.values.size(); ++i) {
            sum.values[i] += x.values[i];
        }
    }

    model_shape shape_;
    std::mt19937 random_;
    parameter embedding_;
    parameter final_norm_;
    parameter lm_head_;
    std::vector<layer_parameters> layers_;
    flops_ran ran_;
    // Values of the last forward: the input of each layer and of the final norm, those that layers kept, and the ends.
    std::vector<tensor> inputs_;
    std::vector<layer_memory> memories_;
    tensor normed_;
    tensor probabilities_;
};

}  // namespace training
