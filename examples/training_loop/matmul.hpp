// SPDX-License-Identifier: Apache-2.0
//
// The only function of the training loop that multiplies matrices. It adds the FLOPs that it ran to a counter, and
// knows nothing of models.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace training {

/// A view of rows and columns of floats that another object owns.
template <class Float>
struct basic_matrix {
    Float* data = nullptr;
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::size_t row_stride = 0;
    std::size_t column_stride = 1;

    [[nodiscard]] Float& operator()(std::size_t row, std::size_t column) const {
        return data[row * row_stride + column * column_stride];
    }
    [[nodiscard]] basic_matrix rows_from(std::size_t first, std::size_t count) const {
        return {data + first * row_stride, count, columns, row_stride, column_stride};
    }
    [[nodiscard]] basic_matrix columns_from(std::size_t first, std::size_t count) const {
        return {data + first * column_stride, rows, count, row_stride, column_stride};
    }
    [[nodiscard]] basic_matrix transposed() const { return {data, columns, rows, column_stride, row_stride}; }

    operator basic_matrix<const Float>() const {  // NOLINT(google-explicit-constructor): as T* is a const T*
        return {data, rows, columns, row_stride, column_stride};
    }
};
using matrix = basic_matrix<float>;
using const_matrix = basic_matrix<const float>;

/// A matrix that owns its floats.
struct tensor {
    std::size_t rows = 0;
    std::size_t columns = 0;
    std::vector<float> values{};

    tensor() = default;
    tensor(std::size_t row_count, std::size_t column_count)
        : rows(row_count), columns(column_count), values(row_count * column_count) {}

    [[nodiscard]] matrix view() { return {values.data(), rows, columns, columns}; }
    [[nodiscard]] const_matrix view() const { return {values.data(), rows, columns, columns}; }
};

/// A copy whose rows are contiguous.
[[nodiscard]] inline tensor copy_of(const_matrix source) {
    tensor copy(source.rows, source.columns);
    for (std::size_t i = 0; i < source.rows; ++i) {
        for (std::size_t j = 0; j < source.columns; ++j) {
            copy.values[i * source.columns + j] = source(i, j);
        }
    }
    return copy;
}

/// The pass of a training step in which a matmul runs.
enum class pass : std::uint8_t {
    forward,
    backward_data,     ///< gradients of activations
    backward_weights,  ///< gradients of weights
    recompute,         ///< the forward of a layer once more, in the backward
    scores_again       ///< QKᵀ once more, in the backward of fused attention
};

/// FLOPs that matmuls ran, by pass.
using pass_flops = std::array<std::uint64_t, 5>;

/// c += Σ over `Terms` of a[k]·b[k], rows of n floats: the compiler makes vectors of it.
template <std::size_t Terms>
void add_rows(const std::array<float, Terms>& a, const_matrix b, float* c) {
    const float* first = b.data;
    for (std::size_t j = 0; j < b.columns; ++j) {
        float sum = c[j];
        for (std::size_t k = 0; k < Terms; ++k) {
            sum += a[k] * first[k * b.row_stride + j];
        }
        c[j] = sum;
    }
}

/// c += a·b, an [m, k] and a [k, n] matrix: m·n·k multiply-adds, 2·m·n·k FLOPs.
inline void matmul(const_matrix a, const_matrix b, matrix c, std::uint64_t& ran) {
    tensor packed;
    if (b.column_stride != 1) {
        packed = copy_of(b);
        b = packed.view();
    }
    for (std::size_t i = 0; i < c.rows; ++i) {
        std::size_t k = 0;
        for (; k + 4 <= a.columns; k += 4) {
            add_rows<4>({a(i, k), a(i, k + 1), a(i, k + 2), a(i, k + 3)}, b.rows_from(k, 4), &c(i, 0));
        }
        for (; k < a.columns; ++k) {
            add_rows<1>({a(i, k)}, b.rows_from(k, 1), &c(i, 0));
        }
    }
    ran += 2 * std::uint64_t{c.rows} * c.columns * a.columns;
}

}  // namespace training
