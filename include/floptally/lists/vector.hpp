// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <new>
#include <utility>

#include <floptally/lists/allocate.hpp>

/// @file
/// `vector` and `owner`: small replacements of `std::vector` and `std::unique_ptr` for the code that reads model specs.
/// The standard templates compile some fifty small functions for each of thirty types. With them a translation unit
/// that reads a config takes 11 % longer to compile (0.9 s). If `list` accepted types that are not trivially copyable,
/// such a translation unit and <floptally/floptally.hpp> would take 4 % longer.

namespace floptally::inline v0_3::detail::specs {

/// A vector of any movable type. Appending may move its elements.
template <class T>
class vector {
  public:
    vector() = default;
    vector(std::size_t count, const T& value) : vector() { resize(count, value); }
    vector(const T* first, const T* last) : vector() { append(first, last); }
    vector(const vector& other) : vector(other.begin(), other.end()) {}
    vector(vector&& other) noexcept : elements_(other.elements_), size_(other.size_), capacity_(other.capacity_) {
        other.elements_ = nullptr;
        other.size_ = other.capacity_ = 0;
    }
    vector& operator=(vector other) noexcept {
        std::swap(elements_, other.elements_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
        return *this;
    }
    ~vector() {
        clear();
        deallocate(elements_);
    }

    /// Appends `value`, which may be an element of this vector.
    T& push_back(T value) {
        if (size_ == capacity_) {
            grow(capacity_ == 0 ? 4 : 2 * capacity_);
        }
        T* const element = ::new (elements_ + size_) T(static_cast<T&&>(value));
        ++size_;
        return *element;
    }
    /// Appends copies of the elements from `first` up to `last`, which belong to another list.
    void append(const T* first, const T* last) {
        for (; first != last; ++first) {
            push_back(*first);
        }
    }
    /// Appends copies of `value` until the vector has `count` elements.
    void resize(std::size_t count, const T& value) {
        while (size_ < count) {
            push_back(value);
        }
    }
    void clear() {
        while (size_ != 0) {
            elements_[--size_].~T();
        }
    }

    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] bool empty() const { return size_ == 0; }
    [[nodiscard]] T& operator[](std::size_t index) { return elements_[index]; }
    [[nodiscard]] const T& operator[](std::size_t index) const { return elements_[index]; }
    [[nodiscard]] T& front() { return *elements_; }
    [[nodiscard]] const T& front() const { return *elements_; }
    [[nodiscard]] T& back() { return elements_[size_ - 1]; }
    [[nodiscard]] const T& back() const { return elements_[size_ - 1]; }
    [[nodiscard]] T* begin() { return elements_; }
    [[nodiscard]] T* end() { return elements_ + size_; }
    [[nodiscard]] const T* begin() const { return elements_; }
    [[nodiscard]] const T* end() const { return elements_ + size_; }

    [[nodiscard]] friend bool operator==(const vector& a, const vector& b) {
        bool equal = a.size_ == b.size_;
        for (std::size_t i = 0; equal && i < a.size_; ++i) {
            equal = a.elements_[i] == b.elements_[i];
        }
        return equal;
    }

  private:
    void grow(std::size_t capacity) {
        T* const larger = allocate<T>(capacity);
        for (std::size_t i = 0; i < size_; ++i) {
            ::new (larger + i) T(static_cast<T&&>(elements_[i]));
            elements_[i].~T();
        }
        deallocate(elements_);
        elements_ = larger;
        capacity_ = capacity;
    }

    T* elements_ = nullptr;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

/// Owns one object on the heap. The object keeps its address while the owner moves.
template <class T>
class owner {
  public:
    owner() = default;
    explicit owner(T* object) : owned_(object) {}
    owner(owner&& other) noexcept : owned_(other.owned_) { other.owned_ = nullptr; }
    owner(const owner&) = delete;
    owner& operator=(owner other) noexcept {
        std::swap(owned_, other.owned_);
        return *this;
    }
    ~owner() { delete owned_; }

    [[nodiscard]] T* get() const { return owned_; }
    [[nodiscard]] T& operator*() const { return *owned_; }
    [[nodiscard]] T* operator->() const { return owned_; }

  private:
    T* owned_ = nullptr;
};

}  // namespace floptally::detail::specs
