// SPDX-License-Identifier: Apache-2.0

#include "arrays.hpp"

#include <array>
#include <utility>

#include <floptally/text/error.hpp>

namespace floptally::python {

// DLPack's C ABI, versions 0 and 1. A capsule called "dltensor" points to a managed tensor.

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

namespace {

constexpr std::int32_t dl_cpu = 1;
constexpr std::int32_t dl_cuda = 2;
constexpr std::int32_t dl_cuda_host = 3;
constexpr std::int32_t dl_rocm = 10;

/// DLPack 1's table of functions. A type has it in a capsule called "dlpack_exchange_api". It describes a tensor
/// without a Python call; PyTorch's `__dlpack__` takes five microseconds.
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

/// `other_name`: the type's name if the letter does not tell.
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

[[noreturn]] void refuse_export(std::string_view field, const py::error_already_set& problem) {
    const auto text = py::str(problem.value()).cast<std::string>();  // PyTorch appends where the error was raised
    throw error(field,
                "cannot be read through DLPack: " + text.substr(0, text.find('\n')) + "; pass integers in host memory");
}

const dl_exchange_api* exchange_api_of(py::handle value) {
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

element_type type_of(const Py_buffer& buffer, std::string_view field) {
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

py::object exported(py::handle value, const char* method, const py::dict& args, std::string_view field) {
    try {
        return value.attr(method)(**args);
    } catch (const py::error_already_set& problem) {
        refuse_export(field, problem);
    }
}

bool says_its_place(py::handle value) {
    return py::hasattr(value, "__dlpack_device__") || py::hasattr(value, "__cuda_array_interface__");
}

}  // namespace

array_argument::array_argument(py::handle value, std::string_view field, const array_place& place)
    : array_argument(place) {  // an error then runs its destructor
    // Arrays of JAX and CuPy have a buffer, but lend it only if they are on a host.
    if (PyObject_CheckBuffer(value.ptr()) != 0 && (place_.is_host() || !says_its_place(value))) {
        require_place(dl_cpu, 0, field);
        read_buffer(value, field);
    } else if (PyList_CheckExact(value.ptr()) == 0) {
        is_array_ = read_tensor(value, field);
    }
    if (!is_array_ && !place.is_host()) {
        throw error(field, "must be an array or a tensor on CUDA device " + std::to_string(place.device) + ", got " +
                               shown(value));
    }
}
array_argument::~array_argument() {
    if (buffer_.obj != nullptr) {
        PyBuffer_Release(&buffer_);
    }
    if (managed_ != nullptr && managed_->deleter != nullptr) {
        managed_->deleter(managed_);
    }
}

std::string array_argument::shape_text() const {
    std::string text;
    for (const std::int64_t side : shape()) {
        append_item(text, std::to_string(side));
    }
    return "(" + text + (dimensions_ == 1 ? ",)" : ")");
}

void array_argument::read_buffer(py::handle value, std::string_view field) {
    if (PyObject_GetBuffer(value.ptr(), &buffer_, PyBUF_RECORDS_RO) != 0) {
        buffer_.obj = nullptr;
        const py::error_already_set problem;
        if (py::hasattr(value, "__dlpack_device__")) {
            require_own_place(value, field);
        }
        if (problem.matches(PyExc_ValueError)) {  // NumPy's dates and records have no buffer format
            throw error(field, "cannot be read as an array: " + py::str(problem.value()).cast<std::string>() +
                                   "; pass an array of integers");
        }
        throw problem;
    }
    is_array_ = true;
    data_ = buffer_.buf;
    sides_ = reinterpret_cast<const std::int64_t*>(buffer_.shape);
    dimensions_ = static_cast<std::size_t>(buffer_.ndim);
    type_ = type_of(buffer_, field);
    if (buffer_.strides != nullptr) {  // ctypes has no strides
        require_contiguous(reinterpret_cast<const std::int64_t*>(buffer_.strides), buffer_.itemsize, field);
    }
}

bool array_argument::read_tensor(py::handle value, std::string_view field) {
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
    // The device is asked first, since a device tensor would synchronise for its capsule.
    require_own_place(value, field);
    py::dict args;
    if (!place_.is_host()) {  // the owner's stream must finish before it; DLPack's 1 is the default stream
        args["stream"] = place_.stream == 0 ? 1 : place_.stream;
    }
    const py::capsule capsule(exported(value, "__dlpack__", args, field));
    managed_ = static_cast<dl_managed_tensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
    if (managed_ == nullptr) {
        throw py::error_already_set();
    }
    PyCapsule_SetName(capsule.ptr(), "used_dltensor");  // from here on we must call its deleter
    describe(managed_->tensor, field);
    return true;
}

void array_argument::describe(const dl_tensor& tensor, std::string_view field) {
    constexpr std::string_view letters = "iuf???b";
    const char letter = tensor.type_code < letters.size() ? letters[tensor.type_code] : '?';
    type_ = element_of(letter, tensor.type_bits / 8U, [&] {
        constexpr std::uint8_t bfloat = 4;
        return tensor.type_code == bfloat ? std::string("bfloat16")
                                          : "DLPack's type " + std::to_string(tensor.type_code);
    });
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

void array_argument::read_interface(py::handle value, std::string_view field) {
    const py::dict said(value.attr("__cuda_array_interface__"));
    const py::object stream = said.contains("stream") ? py::object(said["stream"]) : py::none();
    if (!stream.is_none() && stream.cast<std::uintptr_t>() != (place_.stream == 0 ? 1 : place_.stream)) {
        throw error(field, "was written on stream " + shown(stream) +
                               " and could be counted before the write ends: pass that stream as stream=");
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

void array_argument::require_own_place(py::handle value, std::string_view field) const {
    const auto device = exported(value, "__dlpack_device__", {}, field).cast<std::pair<std::int32_t, std::int32_t>>();
    require_place(device.first, device.second, field);
}

void array_argument::require_place(std::int32_t device, std::int32_t number, std::string_view field) const {
    if (!place_.is_host()) {
        if (device != dl_cuda || number != place_.device) {
            throw error(field, "must be on CUDA device " + std::to_string(place_.device) + ", got " +
                                   (device == dl_cuda ? "a tensor on CUDA device " + std::to_string(number)
                                                      : "an array that is not on a CUDA device"));
        }
        return;
    }
    if (device == dl_cuda || device == dl_rocm) {
        throw on_device(field, std::string("a tensor on ") + (device == dl_cuda ? "CUDA" : "ROCm") + " device " +
                                   std::to_string(number));
    }
    if (device != dl_cpu && device != dl_cuda_host) {
        throw error(field, "must be in host memory, got a tensor on DLPack's device type " + std::to_string(device) +
                               "; pass a copy on the CPU");
    }
}

void array_argument::require_contiguous(const std::int64_t* strides, std::int64_t unit, std::string_view field) const {
    if (size() == 0) {  // PyTorch's strides of an empty tensor are arbitrary
        return;
    }
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

void require_in_host_memory(py::handle value, std::string_view field) {
    if (PyLong_Check(value.ptr()) == 0 && PyList_CheckExact(value.ptr()) == 0 && PyTuple_CheckExact(value.ptr()) == 0) {
        static_cast<void>(array_argument(value, field));
    }
}

integer_view integers_in(const array_argument& array, std::string_view field, std::size_t columns) {
    const std::span<const std::int64_t> shape = array.shape();
    const bool is_number = shape.empty() && !array.place().is_host();
    if (shape.size() != 1 && !is_number && !(columns != 0 && shape.size() == 2 && std::cmp_equal(shape[1], columns))) {
        const std::string rows = columns == 0 ? "" : " or rows of " + std::to_string(columns);
        throw error(field, "must have one dimension" + rows + ", got shape " + array.shape_text());
    }
    const element_type& type = array.type();
    const bool is_signed = type.is == element_type::kind::signed_integer;
    if ((!is_signed && type.is != element_type::kind::unsigned_integer) || (type.bytes != 4 && type.bytes != 8)) {
        throw error(field, "must be int32, int64, uint32 or uint64, got " + type.name());
    }
    const auto as = [&]<class T>(T) -> integer_view {
        return std::span(static_cast<const T*>(array.data()), array.size());
    };
    return is_signed ? (type.bytes == 4 ? as(std::int32_t{}) : as(std::int64_t{}))
                     : (type.bytes == 4 ? as(std::uint32_t{}) : as(std::uint64_t{}));
}

integers::integers(py::handle value, std::string_view field, std::size_t columns, bool takes_bools)
    : array_(value, field), takes_bools_(takes_bools) {
    if (array_.is_array()) {
        view_ = integers_in(array_, field, columns);
    } else if (is_sequence(value)) {
        append_all(value, field, columns);
    } else {
        throw error(field, "must be a list, an array or a tensor of integers, got " + shown(value));
    }
}

void integers::append_all(py::handle list, std::string_view field, std::size_t columns) {
    if (PyList_CheckExact(list.ptr()) != 0 || PyTuple_CheckExact(list.ptr()) != 0) {
        // Reads the size each time, since an item's `__index__` may change the list.
        copied_.reserve(copied_.size() + static_cast<std::size_t>(PySequence_Fast_GET_SIZE(list.ptr())));
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.ptr()); ++i) {
            append(PySequence_Fast_GET_ITEM(list.ptr(), i), field, static_cast<std::size_t>(i), columns);
        }
        return;
    }
    std::size_t index = 0;
    for (const py::handle item : items_of(list, field, "a list of integers")) {
        append(item, field, index++, columns);
    }
}

void integers::append(py::handle item, std::string_view field, std::size_t index, std::size_t columns) {
    if (PyLong_CheckExact(item.ptr()) != 0) {
        int overflowed = 0;
        const std::int64_t value = PyLong_AsLongLongAndOverflow(item.ptr(), &overflowed);
        if (overflowed == 0) {
            copied_.push_back(value);
            return;
        }
    }
    const auto held = py::reinterpret_borrow<py::object>(item);
    if (columns == 0 || !is_sequence(item)) {
        copied_.push_back(to_integer(item, field, index));
        return;
    }
    const std::size_t before = copied_.size();
    append_all(item, indexed(field, index), 0);
    if (copied_.size() - before != columns) {
        throw error(indexed(field, index), "must have " + std::to_string(columns) + " numbers, got " +
                                               std::to_string(copied_.size() - before));
    }
}

std::int64_t integers::to_integer(py::handle item, std::string_view field, std::size_t index) const {
    if (takes_bools_ && PyBool_Check(item.ptr()) != 0) {
        return item.ptr() == Py_True ? 1 : 0;
    }
    const py::object number = index_of(item);
    if (number) {
        int overflowed = 0;
        const std::int64_t value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflowed);
        if (overflowed == 0) {
            return value;
        }
    }
    throw error(indexed(field, index), "must be a 64-bit integer, got " + shown(item));
}

std::pair<std::size_t, std::size_t> sides_of_mask(const array_argument& array, const char* field) {
    const std::span<const std::int64_t> shape = array.shape();
    if (shape.size() != 2) {
        throw error(field, "must have two dimensions, [batch, tokens], got shape " + array.shape_text());
    }
    return {static_cast<std::size_t>(shape[0]), static_cast<std::size_t>(shape[1])};
}

std::uint64_t sum_of(py::handle value, const std::string& field) {
    require_in_host_memory(value, field);
    if (index_of(value)) {
        return to_count(value, field);
    }
    checked sum(0, field);
    const array_argument array(value, field);
    if (array.is_array()) {
        visit_flags(array, field.c_str(), [&](const auto* numbers) {
            for (std::size_t i = 0; i < array.size(); ++i) {
                if (std::cmp_less(numbers[i], 0)) {
                    throw error(indexed(field, i), "must be at least 0, got " + std::to_string(numbers[i]));
                }
                sum += static_cast<std::uint64_t>(numbers[i]);
            }
        });
        return sum;
    }
    if (!is_sequence(value)) {
        throw error(field, "must be an integer, or a list, an array or a tensor of integers or flags to sum, got " +
                               shown(value));
    }
    std::size_t place = 0;
    for (const py::handle item : items_of(value, field)) {
        sum +=
            py::isinstance<py::bool_>(item) ? (item.ptr() == Py_True ? 1U : 0U) : sum_of(item, indexed(field, place));
        ++place;
    }
    return sum;
}

std::pair<std::vector<std::int64_t>, std::size_t> listed_flags(py::handle value, const char* field) {
    if (!is_sequence(value) || py::len(value) == 0) {
        throw error(field, "must be rows of 0 and 1: an array, a tensor or lists, got " + shown(value));
    }
    std::vector<std::int64_t> flags;
    std::size_t rows = 0;
    std::size_t columns = 0;
    for (const py::handle row : items_of(value, field, "rows of 0 and 1")) {
        const integers numbers(row, indexed(field, rows), 0, true);
        numbers.view().visit([&](const auto& own) {
            columns = rows == 0 ? own.size() : columns;
            if (own.size() != columns) {
                throw error(indexed(field, rows), "must have " + std::to_string(columns) +
                                                      " flags like the row before, got " + std::to_string(own.size()));
            }
            for (const auto flag : own) {
                flags.push_back(static_cast<std::int64_t>(flag));
            }
        });
        ++rows;
    }
    if (rows == 0) {
        throw error(field, "must have at least one row, got none");
    }
    return {flags, rows};
}

}  // namespace floptally::python
