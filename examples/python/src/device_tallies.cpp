// SPDX-License-Identifier: Apache-2.0

#include <map>

#include <floptally/batch/length_refusals.hpp>
#include <floptally/batch/sample_checks.hpp>
#include <floptally/cuda/detail/attention_rows.hpp>
#include <floptally/cuda/detail/length_lists.hpp>
#include <floptally/cuda/detail/refusals.hpp>
#include <floptally/cuda/detail/snapshots.hpp>
#include <floptally/cuda/detail/word_schema.hpp>
#include <floptally/cuda/device_reading.hpp>
#include <floptally/rules/library_rules.hpp>

#include "classes.hpp"
#include "cuda_driver.hpp"
#include "device_kernels.hpp"

namespace floptally::detail::python {

namespace {

/// The words of a tally on a device, and what launches kernels on them: `device_tally` by the kernels that the package
/// has, through the driver. Nothing is allocated, loaded or waited for but in the constructor, `read` and at the end.
class device_state {
  public:
    /// `kernels` is what nvcc has made of examples/python/src/kernels.cu.
    device_state(const mask_set& masks, int device, std::uint32_t snapshots, const std::string& kernels)
        : empty_(known(masks)), schema_(masks) {
        require_positive(snapshots, "snapshots");
        context_.emplace(device);
        const driver_context::scope on(*context_);
        load(kernels);
        multiprocessors_ = context_->multiprocessors();

        const cuda_driver& driver = cuda_driver::get();
        const std::size_t bytes = (std::size_t{state_words()} + 1) * sizeof(std::uint64_t);
        owns_.words = allocate_on_device<std::uint64_t>(state_words() + 1);
        owns_.staging = allocate_pinned_words(state_words());
        owns_.ring = allocate_pinned_words(std::size_t{snapshots} * (std::size_t{1} + state_words()));
        cu_memory seen = 0;
        cuda_driver::require(driver.device_address(&seen, owns_.ring.get(), 0), "cuMemHostGetDevicePointer");
        slots_ = {reinterpret_cast<std::uint64_t*>(seen), owns_.words.get() + state_words(), snapshots, state_words()};
        reader_.emplace(snapshot_slots{owns_.ring.get(), nullptr, snapshots, state_words()});
        cuda_driver::require(driver.set_bytes_async(address_of(owns_.words.get()), 0, bytes, nullptr),
                             "cuMemsetD8Async");
        cuda_driver::require(driver.synchronize_context(), "cuCtxSynchronize");
    }
    device_state(const device_state&) = delete;
    device_state& operator=(const device_state&) = delete;
    ~device_state() {
        try {
            const driver_context::scope on(*context_);
            static_cast<void>(cuda_driver::get().synchronize_context());  // kernels may use what is given back
            owns_ = {};
        } catch (const error&) {  // the process ends, and so the driver
        }
    }

    /// One launch that adds a list.
    template <class List>
    void add(const List& list, cu_stream stream) {
        launch(device_kernel<List>::symbol, launch_of(list, schema_.columns(), multiprocessors_), stream, "add", list,
               schema_, owns_.words.get(), ++calls_);
    }

    /// Keeps what the stream has counted so far for `poll`; with `reset` it begins anew behind it. One launch.
    void snapshot(bool reset, cu_stream stream) {
        launch(snapshot_kernel, launch_of_snapshot, stream, "snapshot", owns_.words.get(), slots_, reset);
        calls_ = reset ? 0 : calls_;
    }

    /// Begins anew, error included.
    void reset(cu_stream stream) {
        const driver_context::scope on(*context_);
        cuda_driver::require(cuda_driver::get().set_bytes_async(address_of(owns_.words.get()), 0,
                                                                state_words() * sizeof(std::uint64_t), stream),
                             "cuMemsetD8Async");
        calls_ = 0;
    }

    /// The words of the next snapshot that is there, in order, or none: it reads memory, and asks nobody.
    std::optional<std::span<const std::uint64_t>> next() { return reader_->next(); }

    /// Words that the stream has counted so far. Waits until it has done all that is queued on it, without the GIL.
    std::span<const std::uint64_t> read(cu_stream stream) {
        const cuda_driver& driver = cuda_driver::get();
        const driver_context::scope on(*context_);
        int captures = 0;
        cuda_driver::require(driver.is_capturing(stream, &captures), "cuStreamIsCapturing");
        if (captures != 0) {
            throw error("read", "waits for the stream, which is being captured: take a snapshot, and poll");
        }
        cuda_driver::require(driver.copy_to_host_async(owns_.staging.get(), address_of(owns_.words.get()),
                                                       state_words() * sizeof(std::uint64_t), stream),
                             "cuMemcpyDtoHAsync");
        const py::gil_scoped_release released;
        cuda_driver::require(driver.synchronize_stream(stream), "cuStreamSynchronize");
        return {owns_.staging.get(), state_words()};
    }

    int device() const { return context_->ordinal(); }
    const mask_set& masks() const { return empty_.masks(); }

  private:
    /// Memory and code on the device, and the memory that it writes to.
    struct resources {
        loaded_module module{};
        driver_memory<std::uint64_t> words{};  // of both views, the record behind them, how many snapshots there were
        driver_pinned_words staging{};
        driver_pinned_words ring{};
    };

    static tally known(const mask_set& masks) {
        tally empty{masks};
        require_known(empty.masks(), library_rules{});
        return empty;
    }

    void load(const std::string& kernels) {
        const cuda_driver& driver = cuda_driver::get();
        cu_module loaded = nullptr;
        cuda_driver::require(driver.load_module(&loaded, kernels.data()), "cuModuleLoadData");
        owns_.module = loaded_module(loaded);
        for (const char* const name : device_kernels) {
            cu_function function = nullptr;
            int registers = 0;
            cuda_driver::require(driver.get_function(&function, loaded, name), name);
            // Loads it: left alone, the driver may do so at the first launch, which must not be in a capture.
            cuda_driver::require(driver.get_function_attribute(&registers, cuda_driver::registers, function), name);
            functions_[name] = function;
        }
    }

    std::uint32_t state_words() const { return schema_.size() + refusal_words; }
    template <class... Arguments>
    void launch(const char* kernel, const launch_shape& shape, cu_stream stream, const char* name,
                const Arguments&... arguments) {
        void* pointers[] = {const_cast<void*>(static_cast<const void*>(&arguments))...};
        const driver_context::scope on(*context_);
        cuda_driver::require(
            cuda_driver::get().launch_kernel(functions_.at(kernel), shape.blocks, 1, 1, shape.threads, 1, 1,
                                             static_cast<unsigned>(shape.shared_words * sizeof(std::uint64_t)), stream,
                                             pointers, nullptr),
            name);
    }

    tally empty_;
    word_schema schema_;
    std::optional<driver_context> context_;
    resources owns_;
    std::map<std::string_view, cu_function> functions_;
    snapshot_slots slots_{};
    std::optional<snapshot_reader> reader_;
    std::uint32_t multiprocessors_ = 0;
    std::uint32_t calls_ = 0;  // since the last reset
};

/// Python's `DeviceTally`: the arrays of its calls, over `device_state`.
class held_device_tally {
  public:
    /// `stream_of(stream or None)` is a stream's address: of what the caller gave, or where work goes otherwise.
    held_device_tally(const mask_set& masks, int device, std::uint32_t snapshots, const std::string& kernels,
                      py::object stream_of)
        : state_(masks, device, snapshots, kernels), stream_of_(std::move(stream_of)) {}

    /// One of cu_seqlens, lengths and attention_mask, which are on the device.
    void add(const arguments& given) {
        const py::handle cu_seqlens = given.some("cu_seqlens");
        const py::handle padded = given.some("cu_seqlens_padded");
        const py::handle num_real_seqs = given.some("num_real_seqs");
        const py::handle lengths = given.some("lengths");
        const py::handle row_length = given.some("row_length");
        const py::handle attention_mask = given.some("attention_mask");
        const py::handle stream = given.some("stream");
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

    std::optional<tally> poll() {
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
    tally read(const py::object& stream) {
        const auto words = state_.read(address_of_stream(stream));
        lent_.clear();
        return tally_of_device(state_.masks(), words);
    }

    int device() const { return state_.device(); }

  private:
    /// A call that adds: its stream, and the arrays that it reads.
    struct call {
        cu_stream stream;
        std::vector<std::unique_ptr<array_argument>> arrays;
    };

    cu_stream address_of_stream(py::handle given) const {
        const py::object address = stream_of_(given ? given : py::handle(py::none()));
        return reinterpret_cast<cu_stream>(static_cast<std::uintptr_t>(to_count(address, "stream")));
    }

    const array_argument& array_of(call& now, py::handle value, const char* field) const {
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
    static std::size_t boundaries_in(const array_argument& array, const char* field) {
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
        const auto [rows, columns] = sides_of_mask(flags, field);
        require_row_length(columns);
        visit_flags(flags, field, [&, rows = rows, columns = columns]<class T>(const T* all) {
            state_.add(attention_rows<T>(all, rows, columns), now.stream);
        });
    }

    device_state state_;
    py::object stream_of_;
    std::uint64_t snapshots_ = 0;  // taken by calls, not by replays of a graph
    std::uint64_t polled_ = 0;
    /// Arrays whose owners do not know the stream, with the number of snapshots before them: until a reading that is
    /// behind them.
    std::deque<std::pair<std::uint64_t, std::unique_ptr<array_argument>>> lent_;
};

/// A reading as Python has it; where sequences were left out, LeftOut with all the others.
template <class Read>
py::object reading(Read read) {
    try {
        return py::cast(read());
    } catch (const left_out& what) {
        const py::object raised =
            errors().left_out(std::string(what.field()), std::string(what.problem()), what.sequences(), what.counted());
        PyErr_SetObject(errors().left_out.ptr(), raised.ptr());
        throw py::error_already_set();
    }
}

}  // namespace

void bind_device_tallies(py::module_& module) {
    const py::class_<held_device_tally> type = new_class<held_device_tally>(module, "DeviceTally");
    constructor(type, [](const arguments& given) {
        return held_device_tally(masks_for(given), given.as<int>("device"), given.as<std::uint32_t>("snapshots"),
                                 given.as<py::bytes>("kernels"), given["stream_of"]);
    });
    method(type, "add", [](held_device_tally& t, const arguments& given) { t.add(given); });
    method(type, "snapshot",
           [](held_device_tally& t, const arguments& given) { t.snapshot(given.flag("reset"), given["stream"]); });
    method(type, "reset", [](held_device_tally& t, const arguments& given) { t.reset(given["stream"]); });
    method(type, "poll", [](held_device_tally& t, const arguments&) { return reading([&] { return t.poll(); }); });
    method(type, "read", [](held_device_tally& t, const arguments& given) {
        return reading([&] { return t.read(given["stream"]); });
    });
    property(type, "device", [](const held_device_tally& t) { return t.device(); });
}

}  // namespace floptally::detail::python
