// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <type_traits>
#include <utility>

#include <floptally/batch/length_refusals.hpp>
#include <floptally/batch/sample_checks.hpp>
#include <floptally/cuda/detail/device_state.hpp>
#include <floptally/cuda/device_reading.hpp>
#include <floptally/rules/library_rules.hpp>

#include "classes.hpp"
#include "cuda_driver.hpp"
#include "device_kernels.hpp"

namespace floptally::detail::python {

loaded_kernels::loaded_kernels(int number, const std::function<std::string()>& image) : ordinal(number) {
    const cuda_driver& driver = cuda_driver::get();
    int device = 0;
    cuda_driver::require(driver.get_device(&device, ordinal), "cuDeviceGet");
    int found = 0;
    cuda_driver::require(driver.get_device_attribute(&found, cuda_driver::multiprocessors, device),
                         "cuDeviceGetAttribute");
    multiprocessors = static_cast<std::uint32_t>(found);
    cuda_driver::require(driver.retain_context(&context, device), "cuDevicePrimaryCtxRetain");
    try {
        const driver_api::scope on(*this);
        cu_module module = nullptr;
        cuda_driver::require_loaded(driver.load_module(&module, image().data()));
        for (const char* const name : device_kernels) {
            cu_function function = nullptr;
            int registers = 0;
            cuda_driver::require(driver.get_function(&function, module, name), name);
            // Loads it: left alone, the driver may do so at the first launch, which must not be in a capture.
            cuda_driver::require(driver.get_function_attribute(&registers, cuda_driver::registers, function), name);
            functions[name] = function;
        }
    } catch (...) {
        driver.release_context(device);
        throw;
    }
}

namespace {

/// Python's `DeviceTally`: the arrays of its calls, over `device_state` by the driver.
class held_device_tally {
  public:
    /// `stream_of(stream or None)` is a stream's address: of what the caller gave, or where work goes otherwise.
    /// `image()` is what nvcc has made of examples/python/src/kernels.cu.
    held_device_tally(const mask_set& masks, int device, std::uint32_t snapshots, const py::object& image,
                      py::object stream_of)
        : state_(std::make_unique<state>(
              masks, snapshots, 0U, [&] { return driver_api(device, [&] { return image().cast<std::string>(); }); })),
          stream_of_(std::move(stream_of)) {}
    held_device_tally(held_device_tally&&) = default;
    ~held_device_tally() {
        const py::gil_scoped_release released;  // its end waits for its streams
        state_.reset();
    }

    /// Every call that adds: what it takes is told by the names that it has.
    void add(const arguments& given) {
        const py::handle cu_seqlens = given.some("cu_seqlens");
        const py::handle lengths = given.some("lengths") ? given.some("lengths") : given.some("new_tokens");
        const py::handle row_length = given.some("row_length");
        const py::handle attention_mask = given.some("attention_mask");
        const py::handle grids = given.some("grid_thw");
        const py::handle frames = given.some("audio_frames");
        const auto formats = {cu_seqlens, lengths, attention_mask, grids, frames};
        if (std::count_if(formats.begin(), formats.end(), [](py::handle one) { return static_cast<bool>(one); }) != 1) {
            throw error("cu_seqlens", "each call counts one of cu_seqlens, lengths and attention_mask");
        }
        for (const char* const with : {"cu_seqlens_padded", "num_real_seqs"}) {
            if (given.some(with) && !cu_seqlens) {
                throw error(with, "needs cu_seqlens");
            }
        }
        if (row_length && !lengths) {
            throw error("row_length", "needs lengths");
        }
        if (!grids && !frames) {
            require_modality(state_->masks(), modality::text, attention_mask ? "attention_mask" : "lengths");
        }
        call now{address_of_stream(given.some("stream")), {}};
        if (cu_seqlens) {
            add_boundaries(now, cu_seqlens, given.some("cu_seqlens_padded"), given.some("num_real_seqs"),
                           given.some("cu_seqlens_real"));
        } else if (attention_mask) {
            add_mask(now, attention_mask);
        } else if (grids) {
            add_grids(now, grids);
        } else if (frames) {
            const length_list list = list_of(now, frames, list_name::audio_frames);
            state_->add(sample_list<audio_clip>{list.real, list.count}, "audio_frames", now.stream, "add");
        } else if (given.has("past") || given.has("encoder_lengths") || given.has("contextual")) {
            add_parts(now, lengths, given);
        } else {
            add_lengths(now, lengths, row_length);
        }
        for (std::unique_ptr<array_argument>& array : now.arrays) {
            if (array->is_lent()) {
                lent_.emplace_back(snapshots_, std::move(array));
            }
        }
    }

    void snapshot(bool reset, const py::object& stream) {
        state_->snapshot_async(reset, address_of_stream(stream), "snapshot");
        ++snapshots_;
    }
    void reset(const py::object& stream) { state_->reset_async(address_of_stream(stream)); }

    std::optional<tally> poll() {
        const auto words = state_->next();
        if (!words) {
            return std::nullopt;
        }
        ++polled_;
        while (!lent_.empty() && lent_.front().first < polled_) {
            lent_.pop_front();
        }
        return tally_of_device(state_->masks(), *words);
    }
    tally read(const py::object& stream) {
        const cu_stream on = address_of_stream(stream);
        const auto words = [&] {
            const py::gil_scoped_release released;
            return state_->read(on);
        }();
        lent_.clear();
        return tally_of_device(state_->masks(), words);
    }

    int device() const { return state_->api().number(); }

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
        const array_place place{state_->api().number(), reinterpret_cast<std::uintptr_t>(now.stream)};
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

    /// Integers of one dimension as a list.
    length_list list_of(call& now, py::handle value, list_name field) {
        const array_argument& array = array_of(now, value, name_of(field));
        require_one_dimension(array, name_of(field));
        length_list list;
        visit_integers(array, name_of(field),
                       [&](const auto* all) { list = listed_lengths(all, array.size(), field); });
        return list;
    }

    void add_boundaries(call& now, py::handle cu_seqlens, py::handle padded, py::handle num_real_seqs,
                        py::handle cu_seqlens_real) {
        if (cu_seqlens_real && (padded || num_real_seqs)) {
            throw error("cu_seqlens_real", "says which sequences are real: cu_seqlens are then all slots");
        }
        const array_argument& real = array_of(now, cu_seqlens_real ? cu_seqlens_real : cu_seqlens,
                                              cu_seqlens_real ? "cu_seqlens_real" : "cu_seqlens");
        const std::size_t count = boundaries_in(real, "cu_seqlens");
        const char* const slots_field = cu_seqlens_real ? "cu_seqlens" : "cu_seqlens_padded";
        visit_integers(real, "cu_seqlens", [&]<class T>(const T* boundaries) {
            if (!padded && !num_real_seqs && !cu_seqlens_real) {
                state_->add_lengths<sizeof(T), true>(listed_boundaries(boundaries, count), now.stream, "add");
                return;
            }
            const py::handle given = cu_seqlens_real ? cu_seqlens : padded;
            const array_argument& slots = given ? array_of(now, given, slots_field) : real;
            const std::size_t slot_count = boundaries_in(slots, slots_field);
            if (!cu_seqlens_real && slot_count != count) {
                refuse_boundary_count("cu_seqlens_padded", slots.size(), "cu_seqlens", count);
            }
            if (slots.type().name() != real.type().name()) {
                throw error(slots_field, "must be " + real.type().name() + " as " +
                                             (cu_seqlens_real ? "cu_seqlens_real" : "cu_seqlens") + ", got " +
                                             slots.type().name());
            }
            const auto add = [&](const length_list& pack) {
                state_->add_lengths<sizeof(T), true, slots_by::boundaries, sizeof(T)>(pack, now.stream, "add");
            };
            const auto* const all = static_cast<const T*>(slots.data());
            if (cu_seqlens_real) {
                add(real_pack_of(std::span(boundaries, count), std::span(all, slot_count)));
            } else if (!num_real_seqs || PyLong_Check(num_real_seqs.ptr()) != 0) {
                add(pack_of(std::span(boundaries, count), std::span(all, count),
                            num_real_seqs ? static_cast<std::size_t>(to_count(num_real_seqs, "num_real_seqs"))
                                          : all_sequences));
            } else {
                const array_argument& number = array_of(now, num_real_seqs, "num_real_seqs");
                if (number.size() != 1) {
                    throw error("num_real_seqs", "must be one number, got shape " + number.shape_text());
                }
                visit_integers(number, "num_real_seqs", [&](const auto* word) {
                    add(pack_of(std::span(boundaries, count), std::span(all, count), word));
                });
            }
        });
    }

    /// Lengths, and for each another part of its sample.
    void add_parts(call& now, py::handle lengths, const arguments& given) {
        sample_list<sequence> list{.lengths = list_of(now, lengths, list_name::lengths)};
        if (given.has("target_group")) {
            list.target_group = given.as<std::uint32_t>("target_group");
        }
        constexpr list_name parts[] = {list_name::past, list_name::encoder_lengths, list_name::contextual,
                                       list_name::targets};
        for (std::size_t i = 0; i < std::size(parts); ++i) {
            if (const py::handle part = given.some(name_of(parts[i]))) {
                const length_list numbers = list_of(now, part, parts[i]);
                require_as_many(list.lengths.count, given.has("new_tokens") ? "new_tokens" : "lengths", numbers.count,
                                name_of(parts[i]));
                list.parts[i] = numbers.real;
            }
        }
        state_->add(list, "lengths", now.stream, "add");
    }

    void add_grids(call& now, py::handle grids) {
        const array_argument& array = array_of(now, grids, "grid_thw");
        if (array.shape().size() != 2 || array.shape()[1] != 3) {
            throw error("grid_thw", "must have shape [n, 3], got " + array.shape_text());
        }
        visit_integers(array, "grid_thw", [&](const auto* all) {
            state_->add(grid_samples(all, array.size() / 3), "grid_thw", now.stream, "add");
        });
    }

    void add_lengths(call& now, py::handle lengths, py::handle row_length) {
        length_list list = list_of(now, lengths, list_name::lengths);
        const std::uint64_t row = row_length ? to_count(row_length, "row_length") : 0;
        const auto add = [&]<std::uint32_t Bytes>(std::integral_constant<std::uint32_t, Bytes>) {
            if (row_length) {
                state_->add_lengths<Bytes, false, slots_by::row>(in_rows(list, row), now.stream, "add");
            } else {
                state_->add_lengths<Bytes, false>(list, now.stream, "add");
            }
        };
        list.real.bytes == 4 ? add(std::integral_constant<std::uint32_t, 4>{})
                             : add(std::integral_constant<std::uint32_t, 8>{});
    }

    void add_mask(call& now, py::handle attention_mask) {
        constexpr const char* field = "attention_mask";
        const array_argument& flags = array_of(now, attention_mask, field);
        const auto [rows, columns] = sides_of_mask(flags, field);
        require_row_length(columns);
        visit_flags(flags, field, [&, rows = rows, columns = columns]<class T>(const T* all) {
            state_->add<flag_of<sizeof(T)>>(flag_rows(all, rows, columns), now.stream, "add");
        });
    }

    using state = device_state<library_rules, driver_api>;
    std::unique_ptr<state> state_;
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

constexpr const char* device_adders[] = {"add",        "add_cu_seqlens",     "add_packed",          "add_lengths",
                                         "add_padded", "add_attention_mask", "add_encoder_decoder", "add_new_tokens",
                                         "add_hstu",   "add_grid_thw",       "add_audio_frames"};
template <std::size_t... Adder>
void bind_device_adders(const py::class_<held_device_tally>& type, std::index_sequence<Adder...> /*all*/) {
    (method(type, device_adders[Adder], [](held_device_tally& t, const arguments& given) { t.add(given); }), ...);
}

}  // namespace

void bind_device_tallies(py::module_& module) {
    const py::class_<held_device_tally> type = new_class<held_device_tally>(module, "DeviceTally");
    constructor(type, [](const arguments& given) {
        return held_device_tally(masks_for(given), given.as<int>("device"), given.as<std::uint32_t>("snapshots"),
                                 given["kernels"], given["stream_of"]);
    });
    bind_device_adders(type, std::make_index_sequence<std::size(device_adders)>());
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
