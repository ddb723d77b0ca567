// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

/// Ends the run where a property does not hold: libFuzzer keeps the input.
inline void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

/// The bytes of an input, taken as numbers; past the end they are 0.
class reader {
  public:
    reader(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

    template <class T>
    T take() {
        T value{};
        const std::size_t n = std::min(left_, sizeof value);
        std::memcpy(&value, data_, n);
        data_ += n;
        left_ -= n;
        return value;
    }
    [[nodiscard]] bool empty() const { return left_ == 0; }
    [[nodiscard]] std::string rest() const { return {reinterpret_cast<const char*>(data_), left_}; }

  private:
    const std::uint8_t* data_;
    std::size_t left_;
};
