// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

/// @file
/// A view of the elements of any list: a pointer and a count.

namespace floptally::inline v0_3 {

/// A view of the elements of any list: a pointer and a count. `std::span` costs more compile time than `<stdexcept>`:
/// its constructors check the pointer against every iterator concept. So the library uses `array_view` inside and
/// returns `std::span` if a user asks for one.
template <class T>
class array_view {
  public:
    constexpr array_view() = default;
    constexpr array_view(const T* elements, std::size_t size) : elements_(elements), size_(size) {}
    template <std::size_t N>
    constexpr array_view(const T (&elements)[N])  // NOLINT(google-explicit-constructor): a view
        : elements_(elements), size_(N) {}
    template <class List>
    requires requires(const List& list, const T*& elements) { elements = list.data(), list.size(); }
    constexpr array_view(const List& list)  // NOLINT(google-explicit-constructor): a view
        : elements_(list.data()), size_(list.size()) {}

    [[nodiscard]] constexpr const T* data() const { return elements_; }
    [[nodiscard]] constexpr std::size_t size() const { return size_; }
    [[nodiscard]] constexpr bool empty() const { return size_ == 0; }
    [[nodiscard]] constexpr const T& operator[](std::size_t index) const { return elements_[index]; }
    [[nodiscard]] constexpr const T& front() const { return elements_[0]; }
    [[nodiscard]] constexpr const T* begin() const { return elements_; }
    [[nodiscard]] constexpr const T* end() const { return elements_ + size_; }

    /// Returns the index of the first element equal to `value`, or `size()` if there is none.
    [[nodiscard]] constexpr std::size_t find(const T& value) const {
        std::size_t index = 0;
        while (index < size_ && !(elements_[index] == value)) {
            ++index;
        }
        return index;
    }

    [[nodiscard]] friend constexpr bool operator==(const array_view& a, const array_view& b) {
        bool same = a.size_ == b.size_;
        for (std::size_t i = 0; same && i < a.size_; ++i) {
            same = a.elements_[i] == b.elements_[i];
        }
        return same;
    }

  private:
    const T* elements_ = nullptr;
    std::size_t size_ = 0;
};

}  // namespace floptally
