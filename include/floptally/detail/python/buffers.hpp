// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/detail/python/dlpack.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/error.hpp>

/// @file
/// Arrays of Python where they stand: the buffer protocol (PEP 3118), DLPack, and the CUDA array interface (version 3).

namespace floptally::detail::python {

/// An array that is on a GPU, where the host cannot read it: what copies it first counts it.
class on_device : public error {
  public:
    on_device(std::string_view field, const std::string& what)
        : error(field, "must be in host memory, got " + what +
                           ": Meter.add counts it a step later and a DeviceTally on the device, neither with a wait; "
                           "or pass a copy on the CPU") {}
};

/// Where an array has to be: in the memory of the host, or of a CUDA device, for work on a stream of it.
struct array_place {
    std::int32_t device = -1;  ///< -1: the host
    std::uintptr_t stream = 0;

    [[nodiscard]] bool is_host() const { return device < 0; }
};

/// An array or a tensor in its place, C-contiguous, kept alive. Nothing is copied, and of an array of integers
/// nothing allocated.
class array_argument {
    static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t), "sides of both protocols are read alike");

  public:
    /// Of a value that may be no array, which `is_array` then says.
    array_argument(py::handle value, std::string_view field, const array_place& place = {})
        : array_argument(place) {  // whose end an error then runs
        if (PyObject_CheckBuffer(value.ptr()) != 0) {
            require_place(dl_cpu, 0, field);
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
    /// Whether its owner may give the memory to others once this is gone, and knows no stream that reads it.
    [[nodiscard]] bool is_lent() const { return managed_ != nullptr; }
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
    explicit array_argument(const array_place& place) : place_(place) {}

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
            require_place(tensor.device_type, tensor.device_id, field);
            describe(tensor, field);
            return true;
        }
        const bool has_interface = py::hasattr(value, "__cuda_array_interface__");
        if (has_interface && place_.is_host()) {
            throw on_device(field, "a CUDA array");
        }
        if (!py::hasattr(value, "__dlpack__") || !py::hasattr(value, "__dlpack_device__")) {
            if (has_interface) {
                read_interface(value, field);
            }
            return has_interface;
        }
        // Asked first: a tensor of a device would synchronise for its capsule.
        const auto device =
            exported(value, "__dlpack_device__", {}, field).cast<std::pair<std::int32_t, std::int32_t>>();
        require_place(device.first, device.second, field);
        py::dict given;
        if (!place_.is_host()) {  // which the owner's own stream comes before; 1 is DLPack's word for the default one
            given["stream"] = place_.stream == 0 ? 1 : place_.stream;
        }
        const py::capsule capsule(exported(value, "__dlpack__", given, field));
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

    /// What has nothing but the CUDA array interface. It is written to on a stream that must be the one of the work.
    void read_interface(py::handle value, std::string_view field) {
        const py::dict said(value.attr("__cuda_array_interface__"));
        const py::object stream = said.contains("stream") ? py::object(said["stream"]) : py::none();
        if (!stream.is_none() && stream.cast<std::uintptr_t>() != (place_.stream == 0 ? 1 : place_.stream)) {
            throw error(field, "is written on stream " + shown(stream) +
                                   ", which nothing orders before the one that counts it: give stream=, the same");
        }
        owner_ = py::reinterpret_borrow<py::object>(value);
        const auto letters = said["typestr"].cast<std::string>();  // "<i4"
        type_ = letters.size() < 3 ? element_type{element_type::kind::other, 0, letters}
                                   : element_of(letters[1], static_cast<std::size_t>(std::stoul(letters.substr(2))),
                                                [&] { return letters; });
        for (const py::handle side : said["shape"]) {
            own_sides_.push_back(side.cast<std::int64_t>());
        }
        sides_ = own_sides_.data();
        dimensions_ = own_sides_.size();
        if (said.contains("strides") && !said["strides"].is_none()) {
            const auto strides = said["strides"].cast<std::vector<std::int64_t>>();
            require_contiguous(strides.data(), static_cast<std::int64_t>(type_.bytes), field);
        }
        data_ = reinterpret_cast<const void*>(py::tuple(said["data"])[0].cast<std::uintptr_t>());
    }

    [[nodiscard]] static py::object exported(py::handle value, const char* method, const py::dict& given,
                                             std::string_view field) {
        try {
            return value.attr(method)(**given);
        } catch (const py::error_already_set& problem) {
            refuse_export(field, problem);
        }
    }

    [[noreturn]] static void refuse_export(std::string_view field, const py::error_already_set& problem) {
        throw error(field, "cannot be read through DLPack: " + py::str(problem.value()).cast<std::string>());
    }

    void require_place(std::int32_t device, std::int32_t number, std::string_view field) const {
        if (!place_.is_host()) {
            if (device != dl_cuda || number != place_.device) {
                throw error(field, "must be on CUDA device " + std::to_string(place_.device) + ", got " +
                                       (device == dl_cuda ? "a tensor on CUDA device " + std::to_string(number)
                                                          : "an array that is not on a CUDA device"));
            }
            return;
        }
        if (device == dl_cuda) {
            throw on_device(field, "a tensor on CUDA device " + std::to_string(number));
        }
        if (device != dl_cpu && device != dl_cuda_host) {
            throw error(field, "must be in host memory, got a tensor on DLPack's device type " +
                                   std::to_string(device) + "; pass a copy on the CPU");
        }
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

    array_place place_;
    bool is_array_ = false;
    const void* data_ = nullptr;
    const std::int64_t* sides_ = nullptr;  ///< of the buffer or the tensor
    std::size_t dimensions_ = 0;
    element_type type_{};
    Py_buffer buffer_{};                    ///< held where its `obj` is set
    dl_managed_tensor* managed_ = nullptr;  ///< ours to delete where it is set
    py::object owner_{};
    std::vector<std::int64_t> own_sides_{};
};

/// Throws where a number, or a list of them, is on a GPU: asking for it would wait for the GPU.
inline void require_in_host_memory(py::handle value, std::string_view field) {
    if (PyLong_Check(value.ptr()) == 0 && PyList_CheckExact(value.ptr()) == 0 && PyTuple_CheckExact(value.ptr()) == 0) {
        static_cast<void>(array_argument(value, field));
    }
}

}  // namespace floptally::detail::python
