// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <floptally/cuda/device_reading.hpp>
#include <floptally/detail/cuda/attention_rows.hpp>
#include <floptally/detail/cuda/length_lists.hpp>
#include <floptally/detail/length_refusals.hpp>
#include <floptally/detail/modality_checks.hpp>
#include <floptally/detail/python/buffers.hpp>
#include <floptally/detail/python/call_arguments.hpp>
#include <floptally/detail/python/device_state.hpp>
#include <floptally/detail/python/errors.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/detail/python/tallies.hpp>
#include <floptally/error.hpp>
#include <floptally/tally.hpp>

namespace floptally::detail::python {

/// Python's `DeviceTally`: the arrays of its calls, over `device_state`.
class held_device_tally {
  public:
    /// `stream_of(stream or None)` is a stream's address: of what the caller gave, or where work goes otherwise.
    held_device_tally(const mask_set& masks, int device, std::uint32_t snapshots, const std::string& kernels,
                      py::object stream_of)
        : state_(masks, device, snapshots, kernels), stream_of_(std::move(stream_of)) {}

    /// One of cu_seqlens, lengths and attention_mask, which are on the device.
    void add(call_arguments& given) {
        const py::handle cu_seqlens = named(given, "cu_seqlens");
        const py::handle padded = named(given, "cu_seqlens_padded");
        const py::handle num_real_seqs = named(given, "num_real_seqs");
        const py::handle lengths = named(given, "lengths");
        const py::handle row_length = named(given, "row_length");
        const py::handle attention_mask = named(given, "attention_mask");
        const py::handle stream = named(given, "stream");
        given.require_no_other();
        if ((cu_seqlens ? 1 : 0) + (lengths ? 1 : 0) + (attention_mask ? 1 : 0) != 1) {
            throw error("cu_seqlens", "each call counts one of cu_seqlens, lengths and attention_mask");
        }
        if ((padded || num_real_seqs) && !cu_seqlens) {
            throw error(padded ? "cu_seqlens_padded" : "num_real_seqs", "needs cu_seqlens");
        }
        if (row_length && !lengths) {
            throw error("row_length", "needs lengths");
        }
        require_modality(state_.masks(), modality::text, attention_mask ? "attention_mask" : "lengths");
        call now{address_of_stream(stream), {}};
        if (cu_seqlens) {
            add_boundaries(now, cu_seqlens, padded, num_real_seqs);
        } else if (lengths) {
            add_lengths(now, lengths, row_length);
        } else {
            add_mask(now, attention_mask);
        }
        for (std::unique_ptr<array_argument>& array : now.arrays) {
            if (array->is_lent()) {
                lent_.emplace_back(snapshots_, std::move(array));
            }
        }
    }

    void snapshot(bool reset, const py::object& stream) {
        state_.snapshot(reset, address_of_stream(stream));
        ++snapshots_;
    }
    void reset(const py::object& stream) { state_.reset(address_of_stream(stream)); }

    [[nodiscard]] std::optional<tally> poll() {
        const auto words = state_.next();
        if (!words) {
            return std::nullopt;
        }
        ++polled_;
        while (!lent_.empty() && lent_.front().first < polled_) {
            lent_.pop_front();
        }
        return tally_of_device(state_.masks(), *words);
    }
    [[nodiscard]] tally read(const py::object& stream) {
        const auto words = state_.read(address_of_stream(stream));
        lent_.clear();
        return tally_of_device(state_.masks(), words);
    }

    [[nodiscard]] int device() const { return state_.device(); }

  private:
    /// A call that adds: its stream, and the arrays that it reads.
    struct call {
        cu_stream stream;
        std::vector<std::unique_ptr<array_argument>> arrays;
    };

    [[nodiscard]] static py::handle named(call_arguments& given, std::string_view name) {
        const py::handle value = given.keyword(name);
        return !value || value.is_none() ? py::handle() : value;
    }

    [[nodiscard]] cu_stream address_of_stream(py::handle given) const {
        const py::object address = stream_of_(given ? given : py::handle(py::none()));
        return reinterpret_cast<cu_stream>(static_cast<std::uintptr_t>(to_count(address, "stream")));
    }

    [[nodiscard]] const array_argument& array_of(call& now, py::handle value, const char* field) const {
        const array_place place{state_.device(), reinterpret_cast<std::uintptr_t>(now.stream)};
        const auto& array = *now.arrays.emplace_back(std::make_unique<array_argument>(value, field, place));
        if (!array.is_array()) {
            throw error(field, "must be an array or a tensor on CUDA device " + std::to_string(place.device) +
                                   ", got " + shown(value));
        }
        return array;
    }

    /// Calls with a pointer to the integers of an array.
    template <class Visit>
    static void visit_integers(const array_argument& array, const char* field, Visit visit) {
        const element_type& type = array.type();
        if (type.is != element_type::kind::signed_integer || (type.bytes != 4 && type.bytes != 8)) {
            throw error(field, "must be int32 or int64 on a device, got " + type.name());
        }
        type.bytes == 4 ? visit(static_cast<const std::int32_t*>(array.data()))
                        : visit(static_cast<const std::int64_t*>(array.data()));
    }
    static void require_one_dimension(const array_argument& array, const char* field) {
        if (array.shape().size() != 1) {
            throw error(field, "must have one dimension, got shape " + array.shape_text());
        }
    }
    [[nodiscard]] static std::size_t boundaries_in(const array_argument& array, const char* field) {
        require_one_dimension(array, field);
        if (array.size() == 0) {
            throw error(field, "needs at least one boundary");
        }
        return array.size();
    }

    void add_boundaries(call& now, py::handle cu_seqlens, py::handle padded, py::handle num_real_seqs) {
        const array_argument& real = array_of(now, cu_seqlens, "cu_seqlens");
        const std::size_t count = boundaries_in(real, "cu_seqlens");
        visit_integers(real, "cu_seqlens", [&]<class T>(const T* boundaries) {
            if (!padded && !num_real_seqs) {
                state_.add(listed_boundaries<T>(boundaries, count), now.stream);
                return;
            }
            const array_argument& slots = padded ? array_of(now, padded, "cu_seqlens_padded") : real;
            if (boundaries_in(slots, "cu_seqlens_padded") != count) {
                refuse_boundary_count("cu_seqlens_padded", slots.size(), "cu_seqlens", count);
            }
            if (slots.type().name() != real.type().name()) {
                throw error("cu_seqlens_padded",
                            "must be " + real.type().name() + " as cu_seqlens, got " + slots.type().name());
            }
            const auto add = [&](auto number) {
                state_.add(pack_of(boundaries, static_cast<const T*>(slots.data()), count, number), now.stream);
            };
            if (!num_real_seqs) {
                add(all_sequences);
            } else if (PyLong_Check(num_real_seqs.ptr()) != 0) {
                add(static_cast<std::size_t>(to_count(num_real_seqs, "num_real_seqs")));
            } else {
                const array_argument& number = array_of(now, num_real_seqs, "num_real_seqs");
                if (number.size() != 1) {
                    throw error("num_real_seqs", "must be one number, got shape " + number.shape_text());
                }
                visit_integers(number, "num_real_seqs", add);
            }
        });
    }

    void add_lengths(call& now, py::handle lengths, py::handle row_length) {
        const array_argument& list = array_of(now, lengths, "lengths");
        require_one_dimension(list, "lengths");
        const std::uint64_t row = row_length ? to_count(row_length, "row_length") : 0;
        if (row_length) {
            require_row_length(row);
        }
        visit_integers(list, "lengths", [&]<class T>(const T* all) {
            if (row_length) {
                state_.add(padded_rows<T>({all, list.size()}, {list.size(), static_cast<std::uint32_t>(row)}),
                           now.stream);
            } else {
                state_.add(listed_lengths<T>(all, list.size()), now.stream);
            }
        });
    }

    void add_mask(call& now, py::handle attention_mask) {
        constexpr const char* field = "attention_mask";
        const array_argument& flags = array_of(now, attention_mask, field);
        const auto shape = flags.shape();
        if (shape.size() != 2) {
            throw error(field, "must have two dimensions, [batch, tokens], got shape " + flags.shape_text());
        }
        const element_type& type = flags.type();
        if (type.is == element_type::kind::other) {
            throw error(field, "must be bool or integers, got " + type.name());
        }
        const auto rows = static_cast<std::size_t>(shape[0]);
        const auto columns = static_cast<std::size_t>(shape[1]);
        require_row_length(columns);
        const auto add = [&]<class T>(const T* all) { state_.add(attention_rows<T>(all, rows, columns), now.stream); };
        const void* const data = flags.data();
        type.bytes == 1   ? add(static_cast<const std::uint8_t*>(data))
        : type.bytes == 2 ? add(static_cast<const std::uint16_t*>(data))
        : type.bytes == 4 ? add(static_cast<const std::int32_t*>(data))
                          : add(static_cast<const std::int64_t*>(data));
    }

    device_state state_;
    py::object stream_of_;
    std::uint64_t snapshots_ = 0;  // taken by calls, not by replays of a graph
    std::uint64_t polled_ = 0;
    /// Arrays whose owners do not know the stream, with the number of snapshots before them: until a reading that is
    /// behind them.
    std::deque<std::pair<std::uint64_t, std::unique_ptr<array_argument>>> lent_;
};

/// `DeviceTally.add`
[[nodiscard]] inline py::object device_tally_add(py::handle self, call_arguments& given) {
    self.cast<held_device_tally&>().add(given);
    return py::none();
}

/// What a reading gives; where sequences were left out, LeftOut with all the others.
template <class Read>
[[nodiscard]] py::object reading(const py::object& left_out_class, Read read) {
    try {
        return py::cast(read());
    } catch (const left_out& what) {
        const py::object raised =
            left_out_class(std::string(what.field()), std::string(what.problem()), what.sequences(), what.counted());
        PyErr_SetObject(left_out_class.ptr(), raised.ptr());
        throw py::error_already_set();
    }
}

inline void bind_device_tallies(py::module_& module) {
    const py::object left_out_class = module.attr("LeftOut");
    py::class_<held_device_tally> type(module, "DeviceTally", "What floptally.DeviceTally is made of.");
    type.def(py::init([](const py::object& of, int device, std::uint32_t snapshots, const py::bytes& kernels,
                         const py::object& stream_of, const py::object& how, const py::object& plan) {
                 return std::make_unique<held_device_tally>(masks_for(of, how, plan), device, snapshots,
                                                            std::string(kernels), stream_of);
             }),
             py::arg("cost_or_masks"), py::kw_only(), py::arg("device"), py::arg("snapshots"), py::arg("kernels"),
             py::arg("stream_of"), py::arg("convention") = "exact", py::arg("plan") = py::none())
        .def(
            "snapshot", [](held_device_tally& t, bool reset, const py::object& stream) { t.snapshot(reset, stream); },
            py::kw_only(), py::arg("reset") = false, py::arg("stream") = py::none(),
            "Keeps what the stream has counted so far for poll(); with reset it begins anew behind it. One launch.")
        .def(
            "reset", [](held_device_tally& t, const py::object& stream) { t.reset(stream); }, py::kw_only(),
            py::arg("stream") = py::none(), "Begins anew, error included.")
        .def(
            "poll",
            [left_out_class](held_device_tally& t) { return reading(left_out_class, [&] { return t.poll(); }); },
            "The next snapshot that is there, in order, or None. Asks nobody and never waits.")
        .def(
            "read",
            [left_out_class](held_device_tally& t, const py::object& stream) {
                return reading(left_out_class, [&] { return t.read(stream); });
            },
            py::kw_only(), py::arg("stream") = py::none(),
            "What the stream has counted so far. Waits until it has done all that is queued on it.")
        .def_property_readonly("device", &held_device_tally::device, "The number of the device.");
    add_fast_method<device_tally_add>(
        type, "add",
        "($self, /, *, cu_seqlens=None, cu_seqlens_padded=None, num_real_seqs=None, lengths=None, row_length=None, "
        "attention_mask=None, stream=None)",
        "Adds arrays that are on the device, in one launch, without a wait: cu_seqlens, lengths or an attention mask.");
}

}  // namespace floptally::detail::python
