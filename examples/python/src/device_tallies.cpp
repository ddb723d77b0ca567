// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <deque>
#include <memory>
#include <utility>

#include <floptally/cuda/basic_device_tally.hpp>

#include "classes.hpp"
#include "cuda_driver.hpp"

namespace floptally::python {

driver_api::driver_api(int ordinal, const std::function<std::string()>& image) : number_(ordinal) {
    // accessed under the GIL, but `image` may hand it to another thread
    static std::map<int, loaded_device> of_process;
    if (const auto loaded = of_process.find(ordinal); loaded != of_process.end()) {
        loaded_ = &loaded->second;
        return;
    }
    loaded_device device_state;
    int device = 0;
    int found = 0;
    void* module = nullptr;
    call_driver<"cuInit">(0U);
    call_driver<"cuDeviceGet">(&device, ordinal);
    call_driver<"cuDeviceGetAttribute">(&device_state.multiprocessors, 16,
                                        device);  // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
    call_driver<"cuDevicePrimaryCtxRetain">(&device_state.context, device);
    const auto end = [device](cu_context) { status_of<"cuDevicePrimaryCtxRelease_v2">(device); };
    std::unique_ptr<cu_context_of_driver, decltype(end)> retained(device_state.context, end);  // until all is loaded
    loaded_ = &device_state;
    const scope on(*this);
    try {
        call_driver<"cuModuleLoadData">(&module, image().data());
    } catch (const error& problem) {
        call_driver<"cuDriverGetVersion">(&found);
        throw error(problem.field(), std::string(problem.problem()) + ": the driver is of CUDA " +
                                         std::to_string(found / 1000) + "." + std::to_string(found % 1000 / 10) +
                                         ", and the kernels need one of CUDA " FLOPTALLY_KERNELS_NEED
                                         " or later: update the driver, or build floptally with an older ptxas "
                                         "(FLOPTALLY_PTXAS)");
    }
    for (const char* const name : device_kernels) {
        call_driver<"cuModuleGetFunction">(&device_state.kernels[name], module, name);
        // Loads the kernel now. The driver may otherwise load it at the first launch, which must not be in a capture.
        call_driver<"cuFuncGetAttribute">(&found, 4, device_state.kernels[name]);  // CU_FUNC_ATTRIBUTE_NUM_REGS
    }
    loaded_ = &of_process.try_emplace(ordinal, std::move(device_state)).first->second;
    static_cast<void>(retained.release());
}

namespace {

/// The arrays of a call that adds. The stream may read them long after the call.
class device_arrays {
  public:
    device_arrays(const arguments& args, int device, cu_stream on)
        : given_(args), place_{device, reinterpret_cast<std::uintptr_t>(on)} {}

    [[nodiscard]] bool has(const char* field) const { return static_cast<bool>(given_.some(field)); }
    [[nodiscard]] const array_argument& array(const char* field) {
        return arrays_.emplace_back(given_[field], field, place_);
    }
    [[nodiscard]] integer_view numbers(const char* field) { return integers_in(array(field), field); }
    [[nodiscard]] device_integers list(const char* field) {
        return numbers(field).visit([](const auto& all) { return device_integers(all); });
    }
    /// A list of the same integer type as the first. No kernel of the package takes two widths.
    template <class T>
    [[nodiscard]] std::span<const T> list_like(std::span<const T> /*first*/, const char* field) {
        const integer_view found = numbers(field);
        const element_type& first = arrays_.front().type();
        if (arrays_.back().type().name() != first.name()) {
            throw error(field, "must be " + first.name() + " like cu_seqlens, got " + arrays_.back().type().name());
        }
        return found.visit(
            [](const auto& all) { return std::span(reinterpret_cast<const T*>(all.data()), all.size()); });
    }
    /// True if the owner of an array may reuse its memory, since nobody told it about the stream.
    [[nodiscard]] bool are_lent() const {
        return std::any_of(arrays_.begin(), arrays_.end(), [](const array_argument& array) { return array.is_lent(); });
    }

  private:
    const arguments& given_;  // lives as long as the call
    array_place place_;
    std::deque<array_argument> arrays_;
};

using tally_by_driver = basic_device_tally<library_statistics, driver_api>;

/// Python's `DeviceTally`.
struct held_device_tally {
    py::object stream_of;         ///< a function from a caller's stream, or None, to its address
    std::uint64_t snapshots = 0;  ///< by calls
    /// a graph takes snapshots too, so the numbers of snapshots do not show when arrays are free
    bool replays = false;
    /// Arrays of owners that do not know the stream, with the number of snapshots before them. Kept until a later
    /// snapshot arrives.
    std::deque<std::pair<std::uint64_t, std::unique_ptr<device_arrays>>> lent{};
    std::shared_ptr<tally_by_driver> counted{};  ///< destroyed first

    [[nodiscard]] cu_stream stream(const arguments& args) const {
        return reinterpret_cast<cu_stream>(static_cast<std::uintptr_t>(to_count(stream_of(args["stream"]), "stream")));
    }
};

/// Adds a packed sequence, by the boundaries that the call has in addition to cu_seqlens.
template <class T>
void add_boundaries(tally_by_driver& to, std::span<const T> cu_seqlens, device_arrays& arrays, py::handle num_real_seqs,
                    cu_stream on) {
    if (arrays.has("cu_seqlens_real")) {
        if (arrays.has("cu_seqlens_padded") || num_real_seqs) {
            throw error(
                "cu_seqlens_real",
                "cannot be passed with cu_seqlens_padded or num_real_seqs: leave both out, and pass the boundaries "
                "of the slots as cu_seqlens");
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
    arrays.numbers("num_real_seqs").visit([&](const auto& number) {
        if (number.size() != 1) {
            throw error("num_real_seqs", "must be one number, got " + std::to_string(number.size()));
        }
        to.add_cu_seqlens(cu_seqlens, slots, number.data(), on);
    });
}

/// Every method that adds. The names of its parameters say what it takes.
void add(held_device_tally& held, const arguments& args) {
    require_one_batch(args);
    tally_by_driver& to = *held.counted;
    const cu_stream on = held.stream(args);
    auto arrays = std::make_unique<device_arrays>(args, to.device(), on);
    if (arrays->has("cu_seqlens")) {
        arrays->numbers("cu_seqlens").visit([&](const auto& cu_seqlens) {
            add_boundaries(to, cu_seqlens, *arrays, args.some("num_real_seqs"), on);
        });
    } else if (arrays->has("attention_mask")) {
        const array_argument& mask = arrays->array("attention_mask");
        const auto [rows, columns] = sides_of_mask(mask, "attention_mask");
        visit_flags(mask, "attention_mask", [&, rows = rows, columns = columns](const auto* flags) {
            to.add_attention_mask(std::span(flags, mask.size()), {.rows = rows, .columns = columns}, on);
        });
    } else if (args.has("grid_thw")) {
        integers_in(arrays->array("grid_thw"), "grid_thw", 3).visit([&](const auto& thw) { to.add_grid_thw(thw, on); });
    } else if (args.has("audio_frames")) {
        to.add_audio_frames(arrays->list("audio_frames"), on);
    } else if (args.has("past")) {
        to.add_new_tokens(arrays->list("new_tokens"), arrays->list("past"), on);
    } else if (args.has("encoder_lengths")) {
        to.add_encoder_decoder(arrays->list("lengths"), arrays->list("encoder_lengths"), on);
    } else if (args.has("contextual")) {
        const auto part = [&](const char* field) {
            return arrays->has(field) ? arrays->list(field) : device_integers();
        };
        to.add_hstu(arrays->list("lengths"), part("contextual"), part("targets"),
                    args.as<std::uint32_t>("target_group"), on);
    } else {
        arrays->numbers("lengths").visit([&](const auto& lengths) {
            arrays->has("row_length") ? to.add_padded(lengths, args.count("row_length"), on)
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
    bound_class<held_device_tally> type = new_class<held_device_tally>(module, "DeviceTally");
    constructor(type, [](const arguments& args) {
        const device_tally_options options{.snapshots = args.as<std::uint32_t>("snapshots")};
        const std::function<std::string()> image = [&] { return args["kernels"]().cast<std::string>(); };
        held_device_tally holder{.stream_of = args["stream_of"]};
        holder.counted = {new tally_by_driver(masks_for(args), options, args.as<int>("device"), image),
                          [](tally_by_driver* ended) {
                              const py::gil_scoped_release released;  // waits for the device
                              delete ended;
                          }};
        return holder;
    });
    for (const char* const name : device_adders) {
        method(type, name, [](held_device_tally& held, const arguments& args) { add(held, args); });
    }
    method(type, "snapshot", [](held_device_tally& held, const arguments& args) {
        const cu_stream on = held.stream(args);
        if (const driver_api::scope here(held.counted->owner()); driver_api::is_capturing(on)) {
            held.replays = true;
        }
        args.flag("reset") ? held.counted->snapshot_and_reset_async(on) : held.counted->snapshot_async(on);
        ++held.snapshots;
    });
    method(type, "reset",
           [](held_device_tally& held, const arguments& args) { held.counted->reset_async(held.stream(args)); });
    method(type, "poll", [](held_device_tally& held, const arguments&) {
        std::optional<tally> next = held.counted->poll();
        std::erase_if(held.lent,
                      [&](const auto& lent) { return !held.replays && lent.first < held.counted->polled(); });
        return next;
    });
    method(type, "read", [](held_device_tally& held, const arguments& args) {
        const cu_stream on = held.stream(args);
        tally all = [&] {
            const py::gil_scoped_release released;
            return held.counted->read(on);
        }();
        held.lent.clear();
        return all;
    });
    property(type, "device", [](const held_device_tally& held) { return held.counted->device(); });
}

}  // namespace floptally::python
