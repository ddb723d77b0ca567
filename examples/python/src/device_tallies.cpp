// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include <floptally/cuda/basic_device_tally.hpp>

#include "classes.hpp"
#include "cuda_driver.hpp"

namespace floptally::detail::python {

driver_api::driver_api(int ordinal, const std::function<std::string()>& image) : number_(ordinal) {
    static std::map<int, loaded_device> of_process;  // under the GIL, which `image` may hand to another thread
    if (const auto loaded = of_process.find(ordinal); loaded != of_process.end()) {
        loaded_ = &loaded->second;
        return;
    }
    loaded_device made;
    int device = 0;
    int found = 0;
    void* module = nullptr;
    call_driver<"cuInit">(0U);
    call_driver<"cuDeviceGet">(&device, ordinal);
    call_driver<"cuDeviceGetAttribute">(&made.multiprocessors, 16, device);  // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
    call_driver<"cuDevicePrimaryCtxRetain">(&made.context, device);
    const auto end = [device](cu_context) { status_of<"cuDevicePrimaryCtxRelease_v2">(device); };
    std::unique_ptr<cu_context_of_driver, decltype(end)> retained(made.context, end);  // unless all is loaded
    loaded_ = &made;
    const scope on(*this);
    try {
        call_driver<"cuModuleLoadData">(&module, image().data());
    } catch (const error& problem) {
        call_driver<"cuDriverGetVersion">(&found);
        throw error(problem.field(), std::string(problem.problem()) + ": the driver is of CUDA " +
                                         std::to_string(found / 1000) + "." + std::to_string(found % 1000 / 10) +
                                         ", and the kernels need one of CUDA " FLOPTALLY_KERNELS_NEED
                                         " or later: update it, or build floptally with an older ptxas "
                                         "(FLOPTALLY_PTXAS)");
    }
    for (const char* const name : device_kernels) {
        call_driver<"cuModuleGetFunction">(&made.kernels[name], module, name);
        // Loads it: left alone, the driver may do so at the first launch, which must not be in a capture.
        call_driver<"cuFuncGetAttribute">(&found, 4, made.kernels[name]);  // CU_FUNC_ATTRIBUTE_NUM_REGS
    }
    loaded_ = &of_process.try_emplace(ordinal, std::move(made)).first->second;
    static_cast<void>(retained.release());
}

namespace {

/// The arrays of a call that adds, which the stream may read until long after it.
class device_arrays {
  public:
    device_arrays(const arguments& given, int device, cu_stream on)
        : given_(given), place_{device, reinterpret_cast<std::uintptr_t>(on)} {}

    [[nodiscard]] bool has(const char* field) const { return static_cast<bool>(given_.some(field)); }
    [[nodiscard]] const array_argument& array(const char* field) {
        return arrays_.emplace_back(given_[field], field, place_);
    }
    [[nodiscard]] integer_view numbers(const char* field) { return integers_in(array(field), field); }
    [[nodiscard]] any_list list(const char* field) {
        return numbers(field).visit([](const auto& all) { return any_list(all); });
    }
    /// A list of the integers that the first one has: no kernel of the package takes two widths.
    template <class T>
    [[nodiscard]] std::span<const T> list_like(std::span<const T> /*first*/, const char* field) {
        const integer_view found = numbers(field);
        const element_type& first = arrays_.front().type();
        if (arrays_.back().type().name() != first.name()) {
            throw error(field, "must be " + first.name() + " as cu_seqlens, got " + arrays_.back().type().name());
        }
        return found.visit(
            [](const auto& all) { return std::span(reinterpret_cast<const T*>(all.data()), all.size()); });
    }
    /// True where one of them may go to others once it is given back: nobody tells its owner of the stream.
    [[nodiscard]] bool are_lent() const {
        return std::any_of(arrays_.begin(), arrays_.end(), [](const array_argument& one) { return one.is_lent(); });
    }

  private:
    const arguments& given_;  // as long as the call
    array_place place_;
    std::deque<array_argument> arrays_;
};

using tally_by_driver = basic_device_tally<library_rules, driver_api>;

/// Python's `DeviceTally`.
struct held_device_tally {
    py::object stream_of;         ///< the address of a stream, of what a caller gave or None
    std::uint64_t snapshots = 0;  ///< taken by calls
    bool replays = false;         ///< a graph takes snapshots too, so that their numbers say nothing of arrays
    /// Arrays of owners that know no stream, with the number of snapshots before them: until a reading behind them.
    std::deque<std::pair<std::uint64_t, std::unique_ptr<device_arrays>>> lent{};
    std::shared_ptr<tally_by_driver> counted{};  ///< ends first

    [[nodiscard]] cu_stream stream(const arguments& given) const {
        return reinterpret_cast<cu_stream>(static_cast<std::uintptr_t>(to_count(stream_of(given["stream"]), "stream")));
    }
};

/// Adds a packed row, by the boundaries that the call has beside cu_seqlens.
template <class T>
void add_boundaries(tally_by_driver& to, std::span<const T> cu_seqlens, device_arrays& arrays, py::handle num_real_seqs,
                    cu_stream on) {
    if (arrays.has("cu_seqlens_real")) {
        if (arrays.has("cu_seqlens_padded") || num_real_seqs) {
            throw error("cu_seqlens_real", "says which sequences are real: cu_seqlens are then all slots");
        }
        return to.add_packed(arrays.list_like(cu_seqlens, "cu_seqlens_real"), cu_seqlens, on);
    }
    if (!arrays.has("cu_seqlens_padded") && !num_real_seqs) {
        return to.add_cu_seqlens(cu_seqlens, on);
    }
    const std::span<const T> slots =
        arrays.has("cu_seqlens_padded") ? arrays.list_like(cu_seqlens, "cu_seqlens_padded") : cu_seqlens;
    if (!num_real_seqs || PyLong_Check(num_real_seqs.ptr()) != 0) {
        const std::size_t real = num_real_seqs ? to_count(num_real_seqs, "num_real_seqs") : all_sequences;
        return to.add_cu_seqlens(cu_seqlens, slots, real, on);
    }
    arrays.numbers("num_real_seqs").visit([&](const auto& one) {
        if (one.size() != 1) {
            throw error("num_real_seqs", "must be one number, got " + std::to_string(one.size()));
        }
        to.add_cu_seqlens(cu_seqlens, slots, one.data(), on);
    });
}

/// Every call that adds: what it takes is told by the names that it has.
void add(held_device_tally& held, const arguments& given) {
    require_one_batch(given);
    tally_by_driver& to = *held.counted;
    const cu_stream on = held.stream(given);
    auto arrays = std::make_unique<device_arrays>(given, to.device(), on);
    if (arrays->has("cu_seqlens")) {
        arrays->numbers("cu_seqlens").visit([&](const auto& cu_seqlens) {
            add_boundaries(to, cu_seqlens, *arrays, given.some("num_real_seqs"), on);
        });
    } else if (arrays->has("attention_mask")) {
        const array_argument& mask = arrays->array("attention_mask");
        const auto [rows, columns] = sides_of_mask(mask, "attention_mask");
        visit_flags(mask, "attention_mask", [&, rows = rows, columns = columns](const auto* flags) {
            to.add_attention_mask(std::span(flags, mask.size()), rows, columns, on);
        });
    } else if (given.has("grid_thw")) {
        integers_in(arrays->array("grid_thw"), "grid_thw", 3).visit([&](const auto& thw) { to.add_grid_thw(thw, on); });
    } else if (given.has("audio_frames")) {
        to.add_audio_frames(arrays->list("audio_frames"), on);
    } else if (given.has("past")) {
        to.add_new_tokens(arrays->list("new_tokens"), arrays->list("past"), on);
    } else if (given.has("encoder_lengths")) {
        to.add_encoder_decoder(arrays->list("lengths"), arrays->list("encoder_lengths"), on);
    } else if (given.has("contextual")) {
        const auto part = [&](const char* field) { return arrays->has(field) ? arrays->list(field) : any_list(); };
        to.add_hstu(arrays->list("lengths"), part("contextual"), part("targets"),
                    given.as<std::uint32_t>("target_group"), on);
    } else {
        arrays->numbers("lengths").visit([&](const auto& lengths) {
            arrays->has("row_length") ? to.add_padded(lengths, given.count("row_length"), on)
                                      : to.add_lengths(lengths, on);
        });
    }
    if (arrays->are_lent()) {
        held.lent.emplace_back(held.snapshots, std::move(arrays));
    }
}

constexpr const char* device_adders[] = {"add",        "add_cu_seqlens",     "add_packed",          "add_lengths",
                                         "add_padded", "add_attention_mask", "add_encoder_decoder", "add_new_tokens",
                                         "add_hstu",   "add_grid_thw",       "add_audio_frames"};

}  // namespace

void bind_device_tallies(py::module_& module) {
    const py::class_<held_device_tally> type = new_class<held_device_tally>(module, "DeviceTally");
    constructor(type, [](const arguments& given) {
        const device_tally_options options{.snapshots = given.as<std::uint32_t>("snapshots")};
        const std::function<std::string()> image = [&] { return given["kernels"]().cast<std::string>(); };
        held_device_tally made{.stream_of = given["stream_of"]};
        made.counted = {new tally_by_driver(masks_for(given), options, given.as<int>("device"), image),
                        [](tally_by_driver* ended) {
                            const py::gil_scoped_release released;  // it waits for the device
                            delete ended;
                        }};
        return made;
    });
    methods(type, device_adders, [](held_device_tally& held, const arguments& given) { add(held, given); });
    method(type, "snapshot", [](held_device_tally& held, const arguments& given) {
        const cu_stream on = held.stream(given);
        if (const driver_api::scope here(held.counted->owner()); driver_api::is_capturing(on)) {
            held.replays = true;
        }
        given.flag("reset") ? held.counted->snapshot_and_reset_async(on) : held.counted->snapshot_async(on);
        ++held.snapshots;
    });
    method(type, "reset",
           [](held_device_tally& held, const arguments& given) { held.counted->reset_async(held.stream(given)); });
    method(type, "poll", [](held_device_tally& held, const arguments&) {
        std::optional<tally> next = held.counted->poll();
        std::erase_if(held.lent, [&](const auto& one) { return !held.replays && one.first < held.counted->polled(); });
        return next;
    });
    method(type, "read", [](held_device_tally& held, const arguments& given) {
        const cu_stream on = held.stream(given);
        tally all = [&] {
            const py::gil_scoped_release released;
            return held.counted->read(on);
        }();
        held.lent.clear();
        return all;
    });
    property(type, "device", [](const held_device_tally& held) { return held.counted->device(); });
}

}  // namespace floptally::detail::python
