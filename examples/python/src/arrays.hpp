// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <pybind11/pybind11.h>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/batch/integer_view.hpp>
#include <floptally/text/error.hpp>

#include "values.hpp"

/// @file
/// Python arrays read in place, by the buffer protocol (PEP 3118), DLPack, or the CUDA array interface (version 3).

namespace floptally::python {

struct dl_tensor;
struct dl_managed_tensor;

/// An element type: "int64", "uint8", "bool", "float32".
struct element_type {
    enum class kind : std::uint8_t { signed_integer, unsigned_integer, boolean, other };

    kind is = kind::other;
    std::size_t bytes = 0;
    std::string other_name{};  ///< if the type is neither an integer nor a bool

    [[nodiscard]] std::string name() const {
        return is == kind::boolean ? "bool"
               : is == kind::other ? other_name
                                   : (is == kind::signed_integer ? "int" : "uint") + std::to_string(8 * bytes);
    }
};

/// An array on a GPU, where the host cannot read it. The caller copies it to the host first.
class on_device : public error {
  public:
    on_device(std::string_view field, const std::string& what)
        : error(field, "must be in host memory, got " + what +
                           ": pass it to Meter.add, which counts it a step later, or to a DeviceTally, which counts it "
                           "on the device; "
                           "or pass a copy on the CPU") {}
};

/// Where an array must be: in host memory, or on a CUDA device for work on one of its streams.
struct array_place {
    std::int32_t device = -1;  ///< -1: the host
    std::uintptr_t stream = 0;

    [[nodiscard]] bool is_host() const { return device < 0; }
};

/// An array or a tensor in place, C-contiguous and kept alive. Nothing is copied. Arrays of integers allocate nothing.
class array_argument {
    static_assert(sizeof(Py_ssize_t) == sizeof(std::int64_t), "sides of both protocols are read alike");

  public:
    /// The value may be no array; `is_array` says so. If it must be on a device, that is an error.
    array_argument(py::handle value, std::string_view field, const array_place& place = {});
    array_argument(const array_argument&) = delete;  // a buffer's shape may be inside the buffer
    array_argument& operator=(const array_argument&) = delete;
    ~array_argument();

    [[nodiscard]] bool is_array() const { return is_array_; }
    /// True if the owner may reuse the memory once this is gone, since it does not know the stream that reads it.
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
    [[nodiscard]] std::string shape_text() const;

    [[nodiscard]] const array_place& place() const { return place_; }

  private:
    explicit array_argument(const array_place& place) : place_(place) {}

    void read_buffer(py::handle value, std::string_view field);
    /// False if the value is no tensor.
    bool read_tensor(py::handle value, std::string_view field);
    void describe(const dl_tensor& tensor, std::string_view field);
    /// Reads a value that only has the CUDA array interface. The stream that writes it must be the work's stream.
    void read_interface(py::handle value, std::string_view field);
    /// Reads a value that says its device by DLPack.
    void require_own_place(py::handle value, std::string_view field) const;
    void require_place(std::int32_t device, std::int32_t number, std::string_view field) const;
    void require_contiguous(const std::int64_t* strides, std::int64_t unit, std::string_view field) const;

    array_place place_;
    bool is_array_ = false;
    const void* data_ = nullptr;
    const std::int64_t* sides_ = nullptr;  ///< of the buffer or the tensor
    std::size_t dimensions_ = 0;
    element_type type_{};
    Py_buffer buffer_{};                    ///< in use if its `obj` is set
    dl_managed_tensor* managed_ = nullptr;  ///< we must delete it, if it is set
    py::object owner_{};
    std::vector<std::int64_t> own_sides_{};
};

/// Throws if a number, or a list of numbers, is on a GPU. Reading it would wait for the GPU.
void require_in_host_memory(py::handle value, std::string_view field);

/// The integers of an array. With `columns`, it may have a second dimension of that size. A number on a device is a
/// list of one.
[[nodiscard]] integer_view integers_in(const array_argument& array, std::string_view field, std::size_t columns = 0);

/// The integers of an argument. Arrays and tensors are read in place; lists are copied.
class integers {
  public:
    /// columns: an array may have a second dimension of this size. takes_bools: for a list.
    integers(py::handle value, std::string_view field, std::size_t columns = 0, bool takes_bools = false);
    integers(const integers&) = delete;  // the view may point to `this`
    integers& operator=(const integers&) = delete;

    [[nodiscard]] integer_view view() const { return array_.is_array() ? view_ : integer_view(copied_); }
    [[nodiscard]] const void* address() const { return array_.is_array() ? array_.data() : copied_.data(); }

  private:
    void append_all(py::handle list, std::string_view field, std::size_t columns);
    void append(py::handle item, std::string_view field, std::size_t index, std::size_t columns);
    [[nodiscard]] std::int64_t to_integer(py::handle item, std::string_view field, std::size_t index) const;

    array_argument array_;
    bool takes_bools_ = false;
    integer_view view_;
    std::vector<std::int64_t> copied_;
};

/// Calls the function with a pointer to the flags of an attention mask. The bytes of bools are 0 or 1.
template <class Visit>
void visit_flags(const array_argument& array, const char* field, Visit visit) {
    const element_type& type = array.type();
    if (type.is == element_type::kind::other) {
        throw error(field, "must be bool or integers, got " + type.name() + "; pass a copy as bool or int64");
    }
    const void* const data = array.data();
    type.bytes == 1   ? visit(static_cast<const std::uint8_t*>(data))
    : type.bytes == 2 ? visit(static_cast<const std::uint16_t*>(data))
    : type.bytes == 4 ? visit(static_cast<const std::int32_t*>(data))
                      : visit(static_cast<const std::int64_t*>(data));
}

/// Rows and columns of a mask [batch, tokens].
[[nodiscard]] std::pair<std::size_t, std::size_t> sides_of_mask(const array_argument& array, const char* field);

/// The sum of a number, of numbers, or of an array of numbers or flags. Throws `error` for a number below 0.
[[nodiscard]] std::uint64_t sum_of(py::handle value, const std::string& field);

/// The flags of nested lists, and the number of rows.
[[nodiscard]] std::pair<std::vector<std::int64_t>, std::size_t> listed_flags(py::handle value, const char* field);

/// Adds an attention mask [batch, tokens] to a tally, or to two tallies (`split_tally`). The mask is an array, a tensor
/// or nested lists of bools, or of integers 0 and 1.
template <class Receiver>
void add_attention_mask(Receiver& sum, py::handle value) {
    constexpr const char* field = "attention_mask";
    const array_argument array(value, field);
    if (!array.is_array()) {
        const auto [flags, rows] = listed_flags(value, field);
        sum.add_attention_mask(flags, {.rows = rows, .columns = flags.size() / rows});
        return;
    }
    const auto [rows, columns] = sides_of_mask(array, field);
    visit_flags(array, field, [&, rows = rows, columns = columns](const auto* flags) {
        const std::span all(flags, array.size());
        without_gil(all.size(), [&] { sum.add_attention_mask(all, {.rows = rows, .columns = columns}); });
    });
}

}  // namespace floptally::python
