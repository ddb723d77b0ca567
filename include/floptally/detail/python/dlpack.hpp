// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

/// @file
/// What a capsule called "dltensor" points to (DLPack's C ABI, versions 0 and 1), and what an array holds.

namespace floptally::detail::python {

struct dl_tensor {
    void* data;
    std::int32_t device_type;
    std::int32_t device_id;
    std::int32_t ndim;
    std::uint8_t type_code;
    std::uint8_t type_bits;
    std::uint16_t type_lanes;
    std::int64_t* shape;
    std::int64_t* strides;  ///< in elements; null: C order
    std::uint64_t byte_offset;
};

struct dl_managed_tensor {
    dl_tensor tensor;
    void* manager;
    void (*deleter)(dl_managed_tensor*);
};

inline constexpr std::int32_t dl_cpu = 1;
inline constexpr std::int32_t dl_cuda = 2;
inline constexpr std::int32_t dl_cuda_host = 3;

/// DLPack 1's table of functions, which a type has in a capsule called "dlpack_exchange_api": what a tensor is, without
/// a call of Python. `__dlpack__` of PyTorch takes five microseconds.
struct dl_exchange_api {
    std::uint32_t major;
    std::uint32_t minor;
    dl_exchange_api* older;
    void* allocate;
    void* managed_from_object;
    void* managed_to_object;
    int (*tensor_from_object)(void* object, dl_tensor* tensor);  ///< borrowed; may be null
    void* current_stream;
};

/// What an array holds: "int64", "uint8", "bool", "float32".
struct element_type {
    enum class kind : std::uint8_t { signed_integer, unsigned_integer, boolean, other };

    kind is = kind::other;
    std::size_t bytes = 0;
    std::string other_name{};  ///< of what is no integer and no bool

    [[nodiscard]] std::string name() const {
        return is == kind::boolean ? "bool"
               : is == kind::other ? other_name
                                   : (is == kind::signed_integer ? "int" : "uint") + std::to_string(8 * bytes);
    }
};

/// `other_name` says what it is where the letter does not.
template <class OtherName>
[[nodiscard]] element_type element_of(char letter, std::size_t bytes, OtherName other_name) {
    switch (letter) {
        case 'i':
            return {element_type::kind::signed_integer, bytes};
        case 'u':
            return {element_type::kind::unsigned_integer, bytes};
        case 'f':
            return {element_type::kind::other, bytes, "float" + std::to_string(8 * bytes)};
        case 'b':
            return {element_type::kind::boolean, bytes};
        default:
            return {element_type::kind::other, bytes, other_name()};
    }
}

}  // namespace floptally::detail::python
