// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <new>

/// @file
/// Memory of the library's own containers.

namespace floptally::inline v0_3::detail {

/// Returns uninitialized memory for `count` elements. `deallocate` with the same type releases it.
///
/// On a 32-bit target `new` may align to 8 bytes where `__int128` needs 16, and a size in bytes may overflow.
template <class T>
[[nodiscard]] T* allocate(std::size_t count) {
    if constexpr (sizeof(std::size_t) < sizeof(long long)) {
        if (count > static_cast<std::size_t>(-1) / sizeof(T)) {
            throw std::bad_alloc();
        }
    }
    const std::size_t bytes = count * sizeof(T);  // NOLINT(bugprone-sizeof-expression): T may be a pointer
    if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
        return static_cast<T*>(::operator new (bytes, std::align_val_t{alignof(T)}));
    } else {
        return static_cast<T*>(::operator new(bytes));
    }
}

template <class T>
void deallocate(T* elements) noexcept {
    if constexpr (alignof(T) > __STDCPP_DEFAULT_NEW_ALIGNMENT__) {
        ::operator delete (elements, std::align_val_t{alignof(T)});
    } else {
        ::operator delete(elements);
    }
}

}  // namespace floptally::detail
