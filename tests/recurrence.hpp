// SPDX-License-Identifier: Apache-2.0
#pragma once

/// @file
/// Recurrences written as loops that count their own multiply-adds: what the state of a mixer is tested against.

#include <cstddef>
#include <cstdint>
#include <vector>

namespace recurrence {

using vector = std::vector<double>;

/// Element-wise: a multiplication that adds nothing up.
inline void decay(vector& state, double factor) {
    for (double& element : state) {
        element *= factor;
    }
}

class counted {
  public:
    /// sum += x · y
    void multiply_add(double& sum, double x, double y) {
        sum += x * y;
        ++multiply_adds_;
    }

    /// state += scale · direction
    void add_scaled(vector& state, double scale, const vector& direction) {
        for (std::size_t i = 0; i < state.size(); ++i) {
            multiply_add(state[i], scale, direction[i]);
        }
    }

    [[nodiscard]] double dot(const vector& a, const vector& b) {
        double sum = 0;
        for (std::size_t i = 0; i < a.size(); ++i) {
            multiply_add(sum, a[i], b[i]);
        }
        return sum;
    }

    [[nodiscard]] std::uint64_t multiply_adds() const { return multiply_adds_; }

  private:
    std::uint64_t multiply_adds_ = 0;
};

/// A memory of key_dim rows and value_dim columns.
class matrix_state {
  public:
    matrix_state(std::size_t key_dim, std::size_t value_dim) : rows_(key_dim, vector(value_dim, 0)) {}

    void forget(double factor) {
        for (vector& row : rows_) {
            decay(row, factor);
        }
    }

    /// S += k · vᵀ
    void store(counted& by, const vector& key, const vector& value) {
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            by.add_scaled(rows_[i], key[i], value);
        }
    }

    /// xᵀ · S
    [[nodiscard]] vector read(counted& by, const vector& x) const {
        vector out(rows_.front().size(), 0);
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            by.add_scaled(out, x[i], rows_[i]);
        }
        return out;
    }

  private:
    std::vector<vector> rows_;
};

}  // namespace recurrence
