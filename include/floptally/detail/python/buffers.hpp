// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <pybind11/pybind11.h>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <floptally/detail/python/numbers.hpp>
#include <floptally/error.hpp>

/// @file
/// Arrays of Python where they stand: the buffer protocol (PEP 3118) and DLPack (its C ABI, versions 0 and 1).

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

/// An array or a tensor in host memory, C-contiguous, kept alive. Nothing is copied, and of an array of integers
/// nothing allocated.
class array_argument {
    static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t), "sides of both protocols are read alike");

  public:
    /// Of a value that may be no array, which `is_array` then says.
    array_argument(py::handle value, std::string_view field) : array_argument() {  // whose end an error then runs
        if (PyObject_CheckBuffer(value.ptr()) != 0) {
            read_buffer(value, field);
        } else if (PyList_CheckExact(value.ptr()) == 0) {
            is_array_ = read_tensor(value, field);
        }
    }
    array_argument(const array_argument&) = delete;  // a buffer's shape may stand in the buffer
    array_argument& operator=(const array_argument&) = delete;
    ~array_argument() {
        if (buffer_.obj != nullptr) {
            PyBuffer_Release(&buffer_);
        }
        if (managed_ != nullptr && managed_->deleter != nullptr) {
            managed_->deleter(managed_);
        }
    }

    [[nodiscard]] bool is_array() const { return is_array_; }
    [[nodiscard]] const void* data() const { return data_; }
    [[nodiscard]] const element_type& type() const { return type_; }
    [[nodiscard]] std::span<const std::int64_t> shape() const { return {sides_, dimensions_}; }
    [[nodiscard]] std::size_t size() const {
        std::size_t product = 1;
        for (const std::int64_t side : shape()) {
            product *= static_cast<std::size_t>(side);
        }
        return product;
    }

    /// "(2, 3)"
    [[nodiscard]] std::string shape_text() const {
        std::string text;
        for (const std::int64_t side : shape()) {
            append_item(text, std::to_string(side));
        }
        return "(" + text + (dimensions_ == 1 ? ",)" : ")");
    }

  private:
    array_argument() = default;

    void read_buffer(py::handle value, std::string_view field) {
        if (PyObject_GetBuffer(value.ptr(), &buffer_, PyBUF_RECORDS_RO) != 0) {
            buffer_.obj = nullptr;
            throw py::error_already_set();
        }
        is_array_ = true;
        data_ = buffer_.buf;
        sides_ = reinterpret_cast<const std::int64_t*>(buffer_.shape);
        dimensions_ = static_cast<std::size_t>(buffer_.ndim);
        type_ = type_of(buffer_, field);
        if (buffer_.strides != nullptr) {  // ctypes has none
            require_contiguous(reinterpret_cast<const std::int64_t*>(buffer_.strides), buffer_.itemsize, field);
        }
    }

    /// False where the value is no tensor.
    bool read_tensor(py::handle value, std::string_view field) {
        if (const dl_exchange_api* api = exchange_api_of(value)) {
            dl_tensor tensor;
            if (api->tensor_from_object(value.ptr(), &tensor) != 0) {
                refuse_export(field, py::error_already_set());
            }
            owner_ = py::reinterpret_borrow<py::object>(value);  // the tensor is borrowed
            require_host(tensor.device_type, tensor.device_id, field);
            describe(tensor, field);
            return true;
        }
        if (py::hasattr(value, "__cuda_array_interface__")) {
            refuse_device(field, "a CUDA array");
        }
        if (!py::hasattr(value, "__dlpack__") || !py::hasattr(value, "__dlpack_device__")) {
            return false;
        }
        // Asked first: a tensor of a device would synchronise for its capsule.
        const auto device = exported(value, "__dlpack_device__", field).cast<std::pair<std::int32_t, std::int32_t>>();
        require_host(device.first, device.second, field);
        const py::capsule capsule(exported(value, "__dlpack__", field));
        managed_ = static_cast<dl_managed_tensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
        if (managed_ == nullptr) {
            throw py::error_already_set();
        }
        PyCapsule_SetName(capsule.ptr(), "used_dltensor");  // from here on its deleter is ours to call
        describe(managed_->tensor, field);
        return true;
    }

    /// That of the value's own type: a subclass may stand for a tensor without memory, as fake ones do.
    [[nodiscard]] static const dl_exchange_api* exchange_api_of(py::handle value) {
        static PyObject* const name = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
        PyObject* const members = Py_TYPE(value.ptr())->tp_dict;
        PyObject* const capsule = members == nullptr ? nullptr : PyDict_GetItemWithError(members, name);
        if (capsule == nullptr || PyCapsule_IsValid(capsule, "dlpack_exchange_api") == 0) {
            return nullptr;
        }
        const auto* api = static_cast<const dl_exchange_api*>(PyCapsule_GetPointer(capsule, "dlpack_exchange_api"));
        while (api != nullptr && api->major > 1) {
            api = api->older;
        }
        return api != nullptr && api->major == 1 && api->tensor_from_object != nullptr ? api : nullptr;
    }

    void describe(const dl_tensor& tensor, std::string_view field) {
        constexpr std::string_view letters = "iuf???b";
        const char letter = tensor.type_code < letters.size() ? letters[tensor.type_code] : '?';
        type_ = element_of(letter, tensor.type_bits / 8U,
                           [&] { return "DLPack's type " + std::to_string(tensor.type_code); });
        if (tensor.type_lanes != 1) {
            type_ = {element_type::kind::other, 0, "vectors of " + type_.name()};
        }
        sides_ = tensor.shape;
        dimensions_ = static_cast<std::size_t>(tensor.ndim);
        if (tensor.strides != nullptr) {
            require_contiguous(tensor.strides, 1, field);
        }
        data_ = static_cast<const char*>(tensor.data) + tensor.byte_offset;
    }

    [[nodiscard]] static py::object exported(py::handle value, const char* method, std::string_view field) {
        try {
            return value.attr(method)();
        } catch (const py::error_already_set& problem) {
            refuse_export(field, problem);
        }
    }

    [[noreturn]] static void refuse_export(std::string_view field, const py::error_already_set& problem) {
        throw error(field, "cannot be read through DLPack: " + py::str(problem.value()).cast<std::string>());
    }

    static void require_host(std::int32_t device, std::int32_t number, std::string_view field) {
        if (device == dl_cuda) {
            refuse_device(field, "a tensor on CUDA device " + std::to_string(number));
        }
        if (device != dl_cpu && device != dl_cuda_host) {
            throw error(field, "must be in host memory, got a tensor on DLPack's device type " +
                                   std::to_string(device) + "; pass a copy on the CPU");
        }
    }

    [[noreturn]] static void refuse_device(std::string_view field, const std::string& what) {
        throw error(field, "must be in host memory, got " + what +
                               ": this floptally was built without CUDA; pass a copy on the CPU");
    }

    /// PEP 3118: the letter of the struct module, after a byte order.
    [[nodiscard]] static element_type type_of(const Py_buffer& buffer, std::string_view field) {
        std::string_view format = buffer.format == nullptr ? "B" : buffer.format;
        const bool swapped = !format.empty() && (format.front() == '>' || format.front() == '!');
        if (!format.empty() && std::string_view("@=<>!").find(format.front()) != std::string_view::npos) {
            format.remove_prefix(1);
        }
        constexpr std::string_view letters = "bhilqnBHILQNefdg?";
        constexpr std::string_view kinds = "iiiiiiuuuuuuffffb";
        const std::size_t known = format.size() == 1 ? letters.find(format.front()) : std::string_view::npos;
        const char kind = known == std::string_view::npos ? '?' : kinds[known];
        element_type type = element_of(kind, static_cast<std::size_t>(buffer.itemsize),
                                       [&] { return std::string("format \"").append(format).append("\""); });
        if (swapped && type.bytes > 1) {
            throw error(field, "must be in the byte order of this machine, got big-endian " + type.name());
        }
        return type;
    }

    void require_contiguous(const std::int64_t* strides, std::int64_t unit, std::string_view field) const {
        std::int64_t expected = unit;
        for (std::size_t axis = dimensions_; axis-- > 0;) {
            if (sides_[axis] > 1 && strides[axis] != expected) {
                throw error(field, "must be C-contiguous, got shape " + shape_text() + " with a stride of " +
                                       std::to_string(strides[axis] / unit) + " in dimension " + std::to_string(axis) +
                                       "; pass a contiguous copy");
            }
            expected *= sides_[axis];
        }
    }

    bool is_array_ = false;
    const void* data_ = nullptr;
    const std::int64_t* sides_ = nullptr;  ///< of the buffer or the tensor
    std::size_t dimensions_ = 0;
    element_type type_{};
    Py_buffer buffer_{};                    ///< held where its `obj` is set
    dl_managed_tensor* managed_ = nullptr;  ///< ours to delete where it is set
    py::object owner_{};
};

}  // namespace floptally::detail::python
