// SPDX-License-Identifier: Apache-2.0
//
// Causal attention within each sequence of a packed sequence, forward and backward. Row by row, over the attended keys
// only: a masked pair is never multiplied, so that exactly the counted FLOPs run.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "batches.hpp"
#include "matmul.hpp"

namespace training {

/// FLOPs of the matmuls over real tokens and over mock ones, apart.
struct flops_ran {
    pass_flops real{};
    pass_flops mock{};

    [[nodiscard]] std::uint64_t& count_of(bool is_real, pass during) {
        return (is_real ? real : mock)[static_cast<std::size_t>(during)];
    }
    [[nodiscard]] std::uint64_t all(pass during) const {
        return real[static_cast<std::size_t>(during)] + mock[static_cast<std::size_t>(during)];
    }
};

struct attention_heads {
    std::size_t query = 0;
    std::size_t key_value = 0;
    std::size_t dim = 0;

    [[nodiscard]] std::size_t query_width() const { return query * dim; }
    [[nodiscard]] std::size_t kv_width() const { return key_value * dim; }
    [[nodiscard]] float scale() const { return 1 / std::sqrt(static_cast<float>(dim)); }
};

/// The values that the backward needs of the forward: either every attended probability, or one number a row from which
/// they are made again, as fused kernels do.
struct attention_memory {
    std::vector<float> probabilities{};  ///< empty where attention is fused
    std::vector<float> log_sums{};       ///< log Σ exp of each row of scores
};

/// Rotates pairs of channels by an angle that grows with the position in the sequence (RoPE); `sign` −1 rotates back.
inline void rotate(matrix heads, const packed_batch& batch, std::size_t head_dim, float sign) {
    for (std::size_t column = 0; column + 1 < heads.columns; column += 2) {
        const float channel = static_cast<float>(column % head_dim) / static_cast<float>(head_dim);
        const float frequency = sign * std::pow(10000.0F, -channel);
        for (std::size_t s = 0; s < batch.sequences(); ++s) {
            for (std::size_t position = 0; position < batch.length(s); ++position) {
                const float angle = frequency * static_cast<float>(position);
                const float cosine = std::cos(angle);
                const float sine = std::sin(angle);
                float& x = heads(batch.first(s) + position, column);
                float& y = heads(batch.first(s) + position, column + 1);
                const float rotated = x * cosine - y * sine;
                y = x * sine + y * cosine;
                x = rotated;
            }
        }
    }
}

/// One head of one sequence: its rows and columns of the packed tensors.
struct head_view {
    std::size_t rows;
    std::size_t length;
    std::size_t query_column;
    std::size_t kv_column;
    bool is_real;

    template <class Float>
    [[nodiscard]] basic_matrix<Float> query_side(basic_matrix<Float> packed, std::size_t dim) const {
        return packed.rows_from(rows, length).columns_from(query_column, dim);
    }
    template <class Float>
    [[nodiscard]] basic_matrix<Float> kv_side(basic_matrix<Float> packed, std::size_t dim) const {
        return packed.rows_from(rows, length).columns_from(kv_column, dim);
    }
};

template <class Action>
void for_each_head(const packed_batch& batch, const attention_heads& heads, const Action& act) {
    for (std::size_t s = 0; s < batch.sequences(); ++s) {
        for (std::size_t head = 0; head < heads.query; ++head) {
            const std::size_t kv_head = head / (heads.query / heads.key_value);
            act(head_view{batch.first(s), batch.length(s), head * heads.dim, kv_head * heads.dim,
                          s < batch.num_real_seqs});
        }
    }
}

/// The first `size` values as a matrix of one row.
[[nodiscard]] inline matrix row_of(std::vector<float>& values, std::size_t size) {
    return {values.data(), 1, size, size};
}

/// attended = softmax(QKᵀ)·V. `during` is the forward, or its repetition in the backward.
inline void attention_forward(const packed_batch& batch, const attention_heads& heads, const_matrix q, const_matrix k,
                              const_matrix v, matrix attended, bool fused, attention_memory& memory, pass during,
                              flops_ran& ran) {
    memory = {};
    for_each_head(batch, heads, [&](const head_view& head) {
        const const_matrix queries = head.query_side(q, heads.dim);
        const const_matrix values = head.kv_side(v, heads.dim);
        const tensor keys = copy_of(head.kv_side(k, heads.dim).transposed());
        std::vector<float> row(head.length);
        for (std::size_t i = 0; i < head.length; ++i) {
            const std::size_t seen = i + 1;
            std::fill(row.begin(), row.end(), 0.0F);
            const matrix p = row_of(row, seen);
            std::uint64_t& count = ran.count_of(head.is_real, during);
            matmul(queries.rows_from(i, 1), keys.view().columns_from(0, seen), p, count);
            float most = -INFINITY;
            for (std::size_t j = 0; j < seen; ++j) {
                p(0, j) *= heads.scale();
                most = std::max(most, p(0, j));
            }
            float sum = 0;
            for (std::size_t j = 0; j < seen; ++j) {
                sum += std::exp(p(0, j) - most);
            }
            const float log_sum = most + std::log(sum);
            for (std::size_t j = 0; j < seen; ++j) {
                p(0, j) = std::exp(p(0, j) - log_sum);
            }
            memory.log_sums.push_back(log_sum);
            if (!fused) {
                memory.probabilities.insert(memory.probabilities.end(), p.data, p.data + seen);
            }
            matmul(p, values.rows_from(0, seen), head.query_side(attended, heads.dim).rows_from(i, 1), count);
        }
    });
}

/// Adds to the gradients of q, k and v. Four products per pair: dP, dV, dQ and dK; fused attention runs QKᵀ before
/// them.
inline void attention_backward(const packed_batch& batch, const attention_heads& heads, const_matrix q, const_matrix k,
                               const_matrix v, const_matrix d_attended, const attention_memory& memory, matrix d_q,
                               matrix d_k, matrix d_v, flops_ran& ran) {
    const bool fused = memory.probabilities.empty();
    std::size_t pair = 0;
    std::size_t row = 0;
    for_each_head(batch, heads, [&](const head_view& head) {
        const const_matrix queries = head.query_side(q, heads.dim);
        const const_matrix keys = head.kv_side(k, heads.dim);
        const tensor keys_transposed = copy_of(keys.transposed());
        const tensor values_transposed = copy_of(head.kv_side(v, heads.dim).transposed());
        const matrix d_keys = head.kv_side(d_k, heads.dim);
        const matrix d_values = head.kv_side(d_v, heads.dim);
        std::vector<float> p_row(head.length);
        std::vector<float> d_p_row(head.length);
        std::uint64_t& count = ran.count_of(head.is_real, pass::backward_data);
        for (std::size_t i = 0; i < head.length; ++i, ++row) {
            const std::size_t seen = i + 1;
            const const_matrix query = queries.rows_from(i, 1);
            const const_matrix d_output = head.query_side(d_attended, heads.dim).rows_from(i, 1);
            const matrix p = row_of(p_row, seen);
            std::fill(p_row.begin(), p_row.end(), 0.0F);
            if (fused) {
                matmul(query, keys_transposed.view().columns_from(0, seen), p,
                       ran.count_of(head.is_real, pass::scores_again));
                for (std::size_t j = 0; j < seen; ++j) {
                    p(0, j) = std::exp(p(0, j) * heads.scale() - memory.log_sums[row]);
                }
            } else {
                for (std::size_t j = 0; j < seen; ++j) {
                    p(0, j) = memory.probabilities[pair++];
                }
            }
            std::fill(d_p_row.begin(), d_p_row.end(), 0.0F);
            const matrix d_p = row_of(d_p_row, seen);
            matmul(d_output, values_transposed.view().columns_from(0, seen), d_p, count);
            matmul(p.transposed(), d_output, d_values.rows_from(0, seen), count);
            float mean = 0;
            for (std::size_t j = 0; j < seen; ++j) {
                mean += p(0, j) * d_p(0, j);
            }
            for (std::size_t j = 0; j < seen; ++j) {  // d_p becomes the gradient of QKᵀ.
                d_p(0, j) = p(0, j) * (d_p(0, j) - mean) * heads.scale();
            }
            matmul(d_p, keys.rows_from(0, seen), head.query_side(d_q, heads.dim).rows_from(i, 1), count);
            matmul(d_p.transposed(), query, d_keys.rows_from(0, seen), count);
        }
    });
}

}  // namespace training
