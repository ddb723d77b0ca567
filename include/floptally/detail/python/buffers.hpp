// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <pybind11/pybind11.h>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/detail/python/numbers.hpp>
#include <floptally/error.hpp>

/// @file
/// Arrays of Python where they stand: the buffer protocol (PEP 3118) and DLPack (its C ABI, version 0).

namespace floptally::detail::python {

// ---- DLPack: the structures that a capsule called "dltensor" points to ----

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

/// What an array holds: "int64", "uint8", "bool", "float32".
struct element_type {
    enum class kind : std::uint8_t { signed_integer, unsigned_integer, boolean, other };

    kind is = kind::other;
    std::size_t bytes = 0;
    std::string name{};
};

[[nodiscard]] inline element_type element_of(char kind, std::size_t bytes, const std::string& otherwise) {
    const std::string bits = std::to_string(8 * bytes);
    switch (kind) {
        case 'i':
            return {element_type::kind::signed_integer, bytes, "int" + bits};
        case 'u':
            return {element_type::kind::unsigned_integer, bytes, "uint" + bits};
        case 'f':
            return {element_type::kind::other, bytes, "float" + bits};
        case 'b':
            return {element_type::kind::boolean, bytes, "bool"};
        default:
            return {element_type::kind::other, bytes, otherwise};
    }
}

/// An array or a tensor in host memory, C-contiguous, kept alive. Nothing is copied.
class array_argument {
  public:
    /// Nothing where the value is no array.
    [[nodiscard]] static std::optional<array_argument> of(py::handle value, std::string_view field) {
        if (py::hasattr(value, "__cuda_array_interface__")) {
            refuse_device(field, "a CUDA array");
        }
        if (PyObject_CheckBuffer(value.ptr()) != 0) {
            return array_argument(py::reinterpret_borrow<py::buffer>(value).request(), field);
        }
        if (py::hasattr(value, "__dlpack__") && py::hasattr(value, "__dlpack_device__")) {
            return from_dlpack(value, field);
        }
        return std::nullopt;
    }

    [[nodiscard]] const void* data() const { return data_; }
    [[nodiscard]] const element_type& type() const { return type_; }
    [[nodiscard]] const std::vector<std::size_t>& shape() const { return shape_; }
    [[nodiscard]] std::size_t size() const {
        std::size_t product = 1;
        for (const std::size_t side : shape_) {
            product *= side;
        }
        return product;
    }

    /// "(2, 3)"
    [[nodiscard]] std::string shape_text() const {
        std::string text;
        for (const std::size_t side : shape_) {
            append_item(text, std::to_string(side));
        }
        return "(" + text + (shape_.size() == 1 ? ",)" : ")");
    }

  private:
    array_argument(py::buffer_info&& info, std::string_view field)
        : data_(info.ptr), type_(type_of(info, field)), shape_(info.shape.begin(), info.shape.end()) {
        require_contiguous(info.strides, static_cast<std::int64_t>(info.itemsize), field);
        owner_ = std::make_shared<py::buffer_info>(std::move(info));
    }

    array_argument(dl_managed_tensor* managed, std::string_view field) : owner_(managed, &release) {
        const dl_tensor& tensor = managed->tensor;
        constexpr std::string_view kinds = "iuf???b";
        const char kind = tensor.type_code < kinds.size() ? kinds[tensor.type_code] : '?';
        type_ = element_of(kind, tensor.type_bits / 8U, "DLPack's type " + std::to_string(tensor.type_code));
        if (tensor.type_lanes != 1) {
            type_ = {element_type::kind::other, 0, "vectors of " + type_.name};
        }
        shape_.assign(tensor.shape, tensor.shape + tensor.ndim);
        if (tensor.strides != nullptr) {
            require_contiguous(std::vector<std::int64_t>(tensor.strides, tensor.strides + tensor.ndim), 1, field);
        }
        data_ = static_cast<const char*>(tensor.data) + tensor.byte_offset;
    }

    static void release(dl_managed_tensor* managed) {
        if (managed->deleter != nullptr) {
            managed->deleter(managed);
        }
    }

    [[nodiscard]] static array_argument from_dlpack(py::handle value, std::string_view field) {
        // Asked first: a tensor of a device would synchronise for its capsule.
        const auto device = exported(value, "__dlpack_device__", field).cast<std::pair<std::int32_t, std::int32_t>>();
        if (device.first == dl_cuda) {
            refuse_device(field, "a tensor on CUDA device " + std::to_string(device.second));
        }
        if (device.first != dl_cpu && device.first != dl_cuda_host) {
            throw error(field, "must be in host memory, got a tensor on DLPack's device type " +
                                   std::to_string(device.first) + "; pass a copy on the CPU");
        }
        const py::capsule capsule(exported(value, "__dlpack__", field));
        auto* managed = static_cast<dl_managed_tensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
        if (managed == nullptr) {
            throw py::error_already_set();
        }
        PyCapsule_SetName(capsule.ptr(), "used_dltensor");  // from here on its deleter is ours to call
        return {managed, field};
    }

    [[nodiscard]] static py::object exported(py::handle value, const char* method, std::string_view field) {
        try {
            return value.attr(method)();
        } catch (const py::error_already_set& problem) {
            throw error(field, "cannot be read through DLPack: " + py::str(problem.value()).cast<std::string>());
        }
    }

    [[noreturn]] static void refuse_device(std::string_view field, const std::string& what) {
        throw error(field, "must be in host memory, got " + what +
                               ": this floptally was built without CUDA; pass a copy on the CPU");
    }

    /// PEP 3118: the letter of the struct module, after a byte order.
    [[nodiscard]] static element_type type_of(const py::buffer_info& info, std::string_view field) {
        std::string format = info.format;
        const bool swapped = !format.empty() && (format.front() == '>' || format.front() == '!');
        if (!format.empty() && std::string_view("@=<>!").find(format.front()) != std::string_view::npos) {
            format.erase(0, 1);
        }
        constexpr std::string_view letters = "bhilqnBHILQNefdg?";
        constexpr std::string_view kinds = "iiiiiiuuuuuuffffb";
        const std::size_t known = format.size() == 1 ? letters.find(format.front()) : std::string_view::npos;
        const char kind = known == std::string_view::npos ? '?' : kinds[known];
        const element_type type =
            element_of(kind, static_cast<std::size_t>(info.itemsize), "format \"" + format + "\"");
        if (swapped && type.bytes > 1) {
            throw error(field, "must be in the byte order of this machine, got big-endian " + type.name);
        }
        return type;
    }

    template <class Strides>
    void require_contiguous(const Strides& strides, std::int64_t unit, std::string_view field) const {
        std::int64_t expected = unit;
        for (std::size_t axis = shape_.size(); axis-- > 0;) {
            if (shape_[axis] > 1 && strides[axis] != expected) {
                throw error(field, "must be C-contiguous, got shape " + shape_text() + " with a stride of " +
                                       std::to_string(strides[axis] / unit) + " in dimension " + std::to_string(axis) +
                                       "; pass a contiguous copy");
            }
            expected *= static_cast<std::int64_t>(shape_[axis]);
        }
    }

    const void* data_ = nullptr;
    element_type type_{};
    std::vector<std::size_t> shape_{};
    std::shared_ptr<void> owner_{};
};

}  // namespace floptally::detail::python
