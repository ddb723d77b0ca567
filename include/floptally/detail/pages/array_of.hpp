// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <new>
#include <utility>

/// @file
/// What the reader of pages keeps its things in. `std::vector`, `std::deque` and `std::unique_ptr` are some fifty small
/// functions for each type, and there are fifty types: with them a unit that reads a config would compile for a third
/// longer.

namespace floptally::detail::pages {

/// A list that grows at its end.
template <class T>
class array_of {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);

  public:
    array_of() = default;
    array_of(std::size_t count, const T& one) : array_of() { resize(count, one); }
    array_of(const T* first, const T* last) : array_of() { append(first, last); }
    array_of(const array_of& other) : array_of(other.begin(), other.end()) {}
    array_of(array_of&& other) noexcept : elements_(other.elements_), size_(other.size_), capacity_(other.capacity_) {
        other.elements_ = nullptr;
        other.size_ = other.capacity_ = 0;
    }
    array_of& operator=(array_of other) noexcept {
        std::swap(elements_, other.elements_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
        return *this;
    }
    ~array_of() {
        clear();
        ::operator delete(elements_);
    }

    /// `one` may stand in this list.
    T& push_back(T one) {
        if (size_ == capacity_) {
            grow(capacity_ == 0 ? 4 : 2 * capacity_);
        }
        T* const added = ::new (elements_ + size_) T(static_cast<T&&>(one));
        ++size_;
        return *added;
    }
    /// These, which are not of this list.
    void append(const T* first, const T* last) {
        for (; first != last; ++first) {
            push_back(*first);
        }
    }
    /// Longer, by elements like `one`.
    void resize(std::size_t count, const T& one) {
        while (size_ < count) {
            push_back(one);
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

    [[nodiscard]] friend bool operator==(const array_of& a, const array_of& b) {
        bool equal = a.size_ == b.size_;
        for (std::size_t i = 0; equal && i < a.size_; ++i) {
            equal = a.elements_[i] == b.elements_[i];
        }
        return equal;
    }

  private:
    void grow(std::size_t capacity) {
        const std::size_t bytes = capacity * sizeof(T);  // NOLINT(bugprone-sizeof-expression): T may be a pointer
        T* const larger = static_cast<T*>(::operator new(bytes));
        for (std::size_t i = 0; i < size_; ++i) {
            ::new (larger + i) T(static_cast<T&&>(elements_[i]));
            elements_[i].~T();
        }
        ::operator delete(elements_);
        elements_ = larger;
        capacity_ = capacity;
    }

    T* elements_ = nullptr;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

/// A list whose elements stay where they are while more are added.
template <class T>
class kept {
  public:
    kept() = default;
    kept(kept&&) noexcept = default;
    kept(const kept&) = delete;
    kept& operator=(const kept&) = delete;
    ~kept() {
        for (T* one : elements_) {
            delete one;
        }
    }

    /// One more, made of these.
    template <class... From>
    T& make(From&&... from) {
        elements_.push_back(nullptr);
        elements_.back() = new T(static_cast<From&&>(from)...);
        return *elements_.back();
    }
    T& add(T one) { return make(static_cast<T&&>(one)); }

    [[nodiscard]] std::size_t size() const { return elements_.size(); }
    [[nodiscard]] const T& operator[](std::size_t index) const { return *elements_[index]; }
    [[nodiscard]] T* const* begin() const { return elements_.begin(); }
    [[nodiscard]] T* const* end() const { return elements_.end(); }

  private:
    array_of<T*> elements_;
};

}  // namespace floptally::detail::pages
