// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>

#include <floptally/lists/allocate.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/text/error.hpp>

/// @file
/// A vector of trivially copyable values that works in constant expressions.

namespace floptally::inline v0_3 {

/// A vector of trivially copyable values that works in constant expressions. It replaces `std::vector`. With
/// `std::vector`, <floptally/core.hpp> takes 43 % longer to compile, and a program that counts a step takes 32 to 40 %
/// longer. `std::vector` also clears elements before they are written.
///
/// A `list` has at most 2^32 − 1 elements, because the entries of a cost refer to elements of lists by indices of 32
/// bits.
template <class T>
class list {
    static_assert(__is_trivially_copyable(T));

  public:
    constexpr list() = default;

    // The next two constructors build the list in a function and then move it. For a constexpr variable, g++ 12 does
    // not allow a constructor to call functions that change the object.
    constexpr list(std::initializer_list<T> values) : list(copy_of(values.begin(), values.size())) {}
    constexpr list(const list& other) : list(copy_of(other.begin(), other.size())) {}
    constexpr list(list&& other) noexcept : elements_(other.elements_), size_(other.size_), capacity_(other.capacity_) {
        other.leave();
    }
    constexpr list& operator=(const list& other) {
        if (this != &other) {
            assign(other.begin(), other.size());
        }
        return *this;
    }
    constexpr list& operator=(list&& other) noexcept {
        if (this != &other) {
            release();
            elements_ = other.elements_;
            size_ = other.size_;
            capacity_ = other.capacity_;
            other.leave();
        }
        return *this;
    }
    constexpr ~list() { release(); }

    /// Allocates memory for `count` elements. Appends up to that size cannot fail afterwards.
    constexpr void reserve(std::size_t count, const char* field = "list") {
        if (count > capacity_) {
            grow(count, field);
        }
    }

    /// Makes room for one more element. Doubles the capacity if it is used up.
    constexpr void make_room(const char* field) {
        if (size_ >= capacity_) {
            grow(size_ < 4 ? 8 : std::size_t{2} * size_, field);
        }
    }

    /// Appends an element and returns a reference to it. The element is uninitialized at run time, because clearing it
    /// would take longer than using it.
    constexpr T& append(const char* field) {
        make_room(field);
        return elements_[size_++];
    }

    /// Appends a value. If the list gets too long, throws an `error` that names `field`.
    constexpr T& push_back(const T& value, const char* field) {
        const T copy = value;  // a copy, because `value` may be an element of this list
        T& element = append(field);
        element = copy;
        return element;
    }

    /// Returns the index of the first element equal to `value`, or `size()` if there is none.
    [[nodiscard]] constexpr std::size_t find(const T& value) const { return all().find(value); }

    /// Returns the index of `value`. Appends `value` if it is new.
    constexpr std::size_t find_or_add(const T& value, const char* field) {
        const std::size_t index = find(value);
        if (index == size_) {
            push_back(value, field);
        }
        return index;
    }

    /// Resizes to `count` elements and sets each to `value`.
    constexpr void fill(std::size_t count, const T& value) {
        resized(count);
        for (T& element : *this) {
            element = value;
        }
    }

    /// Resizes to `count` elements, uninitialized at run time. Returns a pointer to the first element.
    constexpr T* resized(std::size_t count) {
        reserve(count);
        size_ = static_cast<std::uint32_t>(count);
        return elements_;
    }

    /// Removes all elements and keeps their memory.
    constexpr void clear() { size_ = 0; }

    [[nodiscard]] constexpr std::size_t size() const { return size_; }
    [[nodiscard]] constexpr bool empty() const { return size_ == 0; }
    [[nodiscard]] constexpr T& operator[](std::size_t index) { return elements_[index]; }
    [[nodiscard]] constexpr const T& operator[](std::size_t index) const { return elements_[index]; }
    [[nodiscard]] constexpr T& back() { return elements_[size_ - 1]; }
    [[nodiscard]] constexpr const T& back() const { return elements_[size_ - 1]; }
    [[nodiscard]] constexpr T* begin() { return elements_; }
    [[nodiscard]] constexpr T* end() { return elements_ + size_; }
    [[nodiscard]] constexpr const T* begin() const { return elements_; }
    [[nodiscard]] constexpr const T* end() const { return elements_ + size_; }

    [[nodiscard]] friend constexpr bool operator==(const list& a, const list& b) { return a.all() == b.all(); }

  private:
    [[nodiscard]] constexpr array_view<T> all() const { return {elements_, size_}; }

    [[nodiscard]] static constexpr list copy_of(const T* values, std::size_t count) {
        list copied;
        copied.assign(values, count);
        return copied;
    }

    /// Replaces all elements by values from outside this list. Changes nothing if the allocation fails.
    constexpr void assign(const T* values, std::size_t count) {
        if (count > capacity_) {
            list larger;
            larger.grow(count, "list");
            *this = std::move(larger);
        }
        copy(values, count, elements_);
        size_ = static_cast<std::uint32_t>(count);
    }

    static constexpr void copy(const T* from, std::size_t count, T* to) {
#ifdef __clang__
        constexpr bool one_by_one = false;  // clang evaluates memcpy in a constant expression in one step, so no loop
                                            // is needed
#else
        const bool one_by_one = std::is_constant_evaluated();
#endif
        if (one_by_one) {
            for (std::size_t i = 0; i < count; ++i) {
                to[i] = from[i];
            }
        } else if (count != 0) {
            __builtin_memcpy(to, from, count * sizeof(T));  // NOLINT(bugprone-sizeof-expression): T may be a pointer
        }
    }

    constexpr void grow(std::size_t count, const char* field) {
        constexpr std::size_t most = UINT32_MAX;
        if (count > most && size_ < most) {
            count = most;
        }
        if (count > most) {
            detail::refuse(field,
                           {"has more than ", most, " elements, the most that a 32-bit index can number; use fewer"});
        }
        T* larger = nullptr;
        if (std::is_constant_evaluated()) {
            // If a constexpr variable keeps this memory, the compiler reports an error and shows the next line. The
            // comment on that line says what to do.
            larger = new T[count]{};  // use constant_cost for a constexpr cost
        } else {
            larger = detail::allocate<T>(count);
        }
        copy(elements_, size_, larger);
        release();
        elements_ = larger;
        capacity_ = static_cast<std::uint32_t>(count);
    }

    /// Makes the list empty without releasing its memory, after the memory was given to another list.
    constexpr void leave() {
        elements_ = nullptr;
        size_ = 0;
        capacity_ = 0;
    }

    constexpr void release() {
        if (capacity_ == 0) {
            return;
        }
        if (std::is_constant_evaluated()) {
            delete[] elements_;
        } else {
            detail::deallocate(elements_);
        }
    }

    T* elements_ = nullptr;
    std::uint32_t size_ = 0;
    std::uint32_t capacity_ = 0;
};

}  // namespace floptally
