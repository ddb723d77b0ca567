// SPDX-License-Identifier: Apache-2.0
//
// Trained matrices, and the operations that are no matmul: RMSNorm and AdamW.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "matmul.hpp"

namespace training {

/// A trained matrix (or, of one row, a norm's weights), its gradient, and the two averages that AdamW keeps.
struct parameter {
    tensor value;
    tensor gradient;
    tensor average;
    tensor average_of_squares;

    parameter(std::size_t rows, std::size_t columns)
        : value(rows, columns), gradient(rows, columns), average(rows, columns), average_of_squares(rows, columns) {
        std::fill(value.values.begin(), value.values.end(), 1.0F);
    }

    parameter(std::size_t rows, std::size_t columns, float deviation, std::mt19937& random) : parameter(rows, columns) {
        std::normal_distribution<float> normal(0, deviation);
        std::generate(value.values.begin(), value.values.end(), [&] { return normal(random); });
    }
};

/// RMSNorm (arXiv:1910.07467): element-wise, no matmul, so no FLOP is counted.
[[nodiscard]] inline float inverse_rms(const_matrix row) {
    constexpr float epsilon = 1e-5F;
    float squares = 0;
    for (std::size_t j = 0; j < row.columns; ++j) {
        squares += row(0, j) * row(0, j);
    }
    return 1 / std::sqrt(squares / static_cast<float>(row.columns) + epsilon);
}

[[nodiscard]] inline tensor normalize(const tensor& x, const parameter& weights) {
    tensor y(x.rows, x.columns);
    for (std::size_t i = 0; i < x.rows; ++i) {
        const float scale = inverse_rms(x.view().rows_from(i, 1));
        for (std::size_t j = 0; j < x.columns; ++j) {
            y.view()(i, j) = x.view()(i, j) * scale * weights.value.values[j];
        }
    }
    return y;
}

/// Adds to the gradients of the weights and of x.
inline void back_through_norm(const tensor& x, parameter& weights, const tensor& d_y, tensor& d_x) {
    for (std::size_t i = 0; i < x.rows; ++i) {
        const float scale = inverse_rms(x.view().rows_from(i, 1));
        float mean = 0;
        for (std::size_t j = 0; j < x.columns; ++j) {
            const float d_weighted = d_y.view()(i, j) * x.view()(i, j) * scale;
            weights.gradient.values[j] += d_weighted;
            mean += d_weighted * weights.value.values[j] / static_cast<float>(x.columns);
        }
        for (std::size_t j = 0; j < x.columns; ++j) {
            d_x.view()(i, j) += scale * (d_y.view()(i, j) * weights.value.values[j] - x.view()(i, j) * scale * mean);
        }
    }
}

/// AdamW, with decoupled weight decay (arXiv:1711.05101); `step` counts from 1. Clears the gradients.
struct adamw {
    float learning_rate = 3e-3F;
    float beta1 = 0.9F;
    float beta2 = 0.95F;
    float weight_decay = 0.01F;

    void update(const std::vector<parameter*>& parameters, std::uint64_t step) const {
        const float correction1 = 1 - std::pow(beta1, static_cast<float>(step));
        const float correction2 = 1 - std::pow(beta2, static_cast<float>(step));
        for (parameter* p : parameters) {
            const float decay = p->value.rows > 1 ? learning_rate * weight_decay : 0;  // not of norms
            for (std::size_t i = 0; i < p->value.values.size(); ++i) {
                const float gradient = p->gradient.values[i];
                float& m = p->average.values[i];
                float& v = p->average_of_squares.values[i];
                m += (1 - beta1) * (gradient - m);
                v += (1 - beta2) * (gradient * gradient - v);
                p->value.values[i] -= decay * p->value.values[i] +
                                      learning_rate * (m / correction1) / (std::sqrt(v / correction2) + 1e-8F);
            }
            std::fill(p->gradient.values.begin(), p->gradient.values.end(), 0.0F);
        }
    }
};

}  // namespace training
