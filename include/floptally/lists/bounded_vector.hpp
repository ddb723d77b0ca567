// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <initializer_list>
#include <type_traits>

#include <floptally/lists/array_view.hpp>
#include <floptally/text/error.hpp>

/// @file
/// A vector with its storage inside: trivially copyable, for constants and kernels.

namespace floptally::detail {

/// A vector with its storage inside: trivially copyable, so that a type with such a member can be a constant and be
/// passed to a kernel by value. Things of which a model can have any number are a `list`. Elements past `size()` are
/// unset at run time, where clearing them would cost more than the work.
template <class T, std::size_t Capacity>
class bounded_vector {
    static_assert(__is_trivially_copyable(T));

  public:
    constexpr bounded_vector() {
        if (std::is_constant_evaluated()) {
            *this = bounded_vector(cleared{});  // in one step, where a loop is a step for each element
        }
    }

    /// A vector of the values in this order; an error where they exceed the capacity.
    constexpr bounded_vector(std::initializer_list<T> values) : bounded_vector() {
        for (const T& value : values) {
            push_back(value, "list");
        }
    }

    /// Appends an element, which is unset at run time; an error of `field` where the capacity is exceeded.
    constexpr T& append(const char* field) {
        if (size_ == Capacity) {
            refuse(field, {"more than the ", Capacity, " that fit"});
        }
        return elements_[size_++];
    }

    constexpr T& push_back(const T& value, const char* field) {
        T& added = append(field);
        added = value;
        return added;
    }

    /// The index of the first element equal to `value`, or `size()`.
    [[nodiscard]] constexpr std::size_t find(const T& value) const { return all().find(value); }

    /// The index of `value`, which is appended where it is new.
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

}  // namespace floptally::detail
