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
/// Arrays of Python where they stand: the buffer protocol (PEP 3118), DLPack, and the CUDA array interface (version 3).

namespace floptally::detail::python {

struct dl_tensor;
struct dl_managed_tensor;

/// An element type: "int64", "uint8", "bool", "float32".
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
    /// A value may be no array, which `is_array` then says; where it has to be on a device that is an error.
    array_argument(py::handle value, std::string_view field, const array_place& place = {});
    array_argument(const array_argument&) = delete;  // a buffer's shape may stand in the buffer
    array_argument& operator=(const array_argument&) = delete;
    ~array_argument();

    [[nodiscard]] bool is_array() const { return is_array_; }
    /// True where its owner may give the memory to others once this is gone, and knows no stream that reads it.
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
    /// False where the value is no tensor.
    bool read_tensor(py::handle value, std::string_view field);
    void describe(const dl_tensor& tensor, std::string_view field);
    /// Reads what has nothing but the CUDA array interface. It is written to on a stream that must be the one of the
    /// work.
    void read_interface(py::handle value, std::string_view field);
    /// Of what says by DLPack where it is.
    void require_own_place(py::handle value, std::string_view field) const;
    void require_place(std::int32_t device, std::int32_t number, std::string_view field) const;
    void require_contiguous(const std::int64_t* strides, std::int64_t unit, std::string_view field) const;

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
void require_in_host_memory(py::handle value, std::string_view field);

/// The integers of an array, which may have a second dimension of so many columns (0: it may not). A number that is on
/// a device is a list of one.
[[nodiscard]] integer_view integers_in(const array_argument& array, std::string_view field, std::size_t columns = 0);

/// The integers of an argument: those of an array or a tensor where they stand, those of a list copied.
class integers {
  public:
    /// `columns`: an array may have a second dimension of so many (0: it may not). `takes_bools`: of a list.
    integers(py::handle value, std::string_view field, std::size_t columns = 0, bool takes_bools = false);
    integers(const integers&) = delete;  // the view may be of own numbers
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

/// Calls with a pointer to the flags of an attention mask, whose bytes are 0 or 1 where they are bools.
template <class Visit>
void visit_flags(const array_argument& array, const char* field, Visit visit) {
    const element_type& type = array.type();
    if (type.is == element_type::kind::other) {
        throw error(field, "must be bool or integers, got " + type.name());
    }
    const void* const data = array.data();
    type.bytes == 1   ? visit(static_cast<const std::uint8_t*>(data))
    : type.bytes == 2 ? visit(static_cast<const std::uint16_t*>(data))
    : type.bytes == 4 ? visit(static_cast<const std::int32_t*>(data))
                      : visit(static_cast<const std::int64_t*>(data));
}

/// Rows and columns of a mask [batch, tokens].
[[nodiscard]] std::pair<std::size_t, std::size_t> sides_of_mask(const array_argument& array, const char* field);

/// The sum of a number, of numbers, or of an array of them or of flags. One below 0 is an error.
[[nodiscard]] std::uint64_t sum_of(py::handle value, const std::string& field);

/// The flags of nested lists, and how many rows they are.
[[nodiscard]] std::pair<std::vector<std::int64_t>, std::size_t> listed_flags(py::handle value, const char* field);

/// An attention mask [batch, tokens] of bools or of integers that are 0 or 1, of an array, a tensor or nested lists,
/// added to a tally, or to two (`split_tally`).
template <class Receiver>
void add_attention_mask(Receiver& sum, py::handle value) {
    constexpr const char* field = "attention_mask";
    const array_argument array(value, field);
    if (!array.is_array()) {
        const auto [flags, rows] = listed_flags(value, field);
        sum.add_attention_mask(flags, rows, flags.size() / rows);
        return;
    }
    const auto [rows, columns] = sides_of_mask(array, field);
    visit_flags(array, field, [&, rows = rows, columns = columns](const auto* flags) {
        const std::span all(flags, array.size());
        without_gil(all.size(), [&] { sum.add_attention_mask(all, rows, columns); });
    });
}

}  // namespace floptally::detail::python
