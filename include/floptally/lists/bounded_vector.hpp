// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <type_traits>

#include <floptally/lists/array_view.hpp>
#include <floptally/text/error.hpp>

/// @file
/// A vector of fixed capacity that stores its elements inside itself, for constants and kernels.

namespace floptally::inline v0_3 {

/// A vector of fixed capacity that stores its elements inside itself. It is trivially copyable: a type with such a
/// member can be a constant and be passed to a kernel by value. Use `list` if a model can have any number of elements.
/// Elements past `size()` are uninitialized at run time, because clearing them would take longer than using the vector.
template <class T, std::size_t Capacity>
class bounded_vector {
    static_assert(__is_trivially_copyable(T));

  public:
    constexpr bounded_vector() {
        if (std::is_constant_evaluated()) {
            *this = bounded_vector(cleared{});  // This assignment is one step of constant evaluation. A loop would take
                                                // one step for each element.
        }
    }

    /// Copies the values in their order. Throws `error` if there are more than the capacity.
    constexpr bounded_vector(std::initializer_list<T> values) : bounded_vector() {
        for (const T& value : values) {
            push_back(value, "list");
        }
    }

    /// Appends an element and returns a reference to it. The element is uninitialized at run time. Throws an `error`
    /// that names `field` if the vector is full.
    constexpr T& append(const char* field) {
        if (size_ == Capacity) {
            detail::refuse(field, {"has more than the ", Capacity, " elements that fit; use fewer"});
        }
        return elements_[size_++];
    }

    constexpr T& push_back(const T& value, const char* field) {
        T& element = append(field);
        element = value;
        return element;
    }

    /// Returns the index of the first element that equals `value`, or `size()` if there is none.
    [[nodiscard]] constexpr std::size_t find(const T& value) const { return all().find(value); }

    /// Returns the index of `value`. Appends `value` if it is new.
    constexpr std::size_t find_or_add(const T& value, const char* field) {
        const std::size_t index = find(value);
        if (index == size_) {
            push_back(value, field);
        }
        return index;
    }

    [[nodiscard]] constexpr std::size_t size() const { return size_; }
    [[nodiscard]] constexpr bool empty() const { return size_ == 0; }
    [[nodiscard]] constexpr T& operator[](std::size_t index) { return elements_[index]; }
    [[nodiscard]] constexpr const T& operator[](std::size_t index) const { return elements_[index]; }
    [[nodiscard]] constexpr T* begin() { return elements_; }
    [[nodiscard]] constexpr T* end() { return elements_ + size_; }
    [[nodiscard]] constexpr const T* begin() const { return elements_; }
    [[nodiscard]] constexpr const T* end() const { return elements_ + size_; }

    [[nodiscard]] friend constexpr bool operator==(const bounded_vector& a, const bounded_vector& b) {
        return a.all() == b.all();
    }

  private:
    [[nodiscard]] constexpr array_view<T> all() const { return {elements_, size_}; }

    struct cleared {};
    constexpr explicit bounded_vector(cleared) : elements_{} {}

    T elements_[Capacity];
    std::size_t size_ = 0;
};

}  // namespace floptally
