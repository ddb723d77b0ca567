// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <pybind11/pybind11.h>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/batch/add_input.hpp>
#include <floptally/batch/mask_set.hpp>
#include <floptally/batch/model_input.hpp>
#include <floptally/batch/split_tally.hpp>
#include <floptally/batch/tower_inputs.hpp>
#include <floptally/detail/python/attention_masks.hpp>
#include <floptally/detail/python/call_arguments.hpp>
#include <floptally/detail/python/gil.hpp>
#include <floptally/detail/python/input_keywords.hpp>
#include <floptally/detail/python/integers.hpp>
#include <floptally/detail/python/masks.hpp>
#include <floptally/detail/python/numbers.hpp>
#include <floptally/error.hpp>
#include <floptally/model/cost_row.hpp>
#include <floptally/model_config.hpp>
#include <floptally/sequence.hpp>
#include <floptally/statistic.hpp>
#include <floptally/tally.hpp>

namespace floptally::detail::python {

/// (c, h, t) or (c, h, t, g) of an HSTU sequence.
[[nodiscard]] inline sequence to_hstu_sequence(py::handle value, const std::string& field) {
    if (!is_sequence(value) || (py::len(value) != 3 && py::len(value) != 4)) {
        throw error(field,
                    "must be (c, h, t) or (c, h, t, g): contextual tokens, history, targets and their group, "
                    "got " +
                        shown(value));
    }
    const py::tuple numbers(py::reinterpret_borrow<py::object>(value));
    const std::uint64_t group =
        numbers.size() == 4 ? to_count(numbers[3], indexed(field, 3), 1, max_sequence_length) : 1;
    return hstu_sequence(to_length(numbers[0], indexed(field, 0)), to_length(numbers[1], indexed(field, 1)),
                         to_length(numbers[2], indexed(field, 2)), static_cast<std::uint32_t>(group), field);
}

/// (n, past)
[[nodiscard]] inline sequence to_new_tokens(py::handle value, const std::string& field) {
    if (!is_sequence(value) || py::len(value) != 2) {
        throw error(field, "must be (n, past): new tokens and those that are cached, got " + shown(value));
    }
    const py::tuple numbers(py::reinterpret_borrow<py::object>(value));
    const sequence s{.length = to_length(numbers[0], indexed(field, 0)),
                     .past = to_length(numbers[1], indexed(field, 1))};
    if (std::uint64_t{s.length} + s.past > max_sequence_length) {
        throw error(field, "n + past must be at most " + std::to_string(max_sequence_length) + ", got " + shown(value));
    }
    return s;
}

/// A list of sequences, each as `to_one` reads it.
template <class ToOne>
[[nodiscard]] std::vector<sequence> to_sequences(py::handle list, const char* field, ToOne to_one) {
    require_in_host_memory(list, field);
    if (!is_sequence(list)) {
        throw error(field, "must be a list of tuples, got " + shown(list));
    }
    std::vector<sequence> all;
    for (const py::handle one : py::reinterpret_borrow<py::object>(list)) {
        all.push_back(to_one(one, indexed(field, all.size())));
    }
    return all;
}

/// The keyword arguments that say what a batch is, and what they point to.
class input_arguments {
  public:
    /// `given`: of a call whose other keywords were asked for before. `positional`: how many of those may have no name.
    input_arguments(call_arguments& given, const mask_set& masks, std::size_t positional = 0) : given_(given) {
        read_lengths();
        read_boundaries();
        if (const auto list = take("sequences")) {
            input_.sequences = to_sequences(*list, "sequences", to_hstu_sequence);
        }
        if (const auto list = take("new_tokens")) {
            input_.new_tokens = to_sequences(*list, "new_tokens", to_new_tokens);
        }
        if (const auto grids = take("grid_thw")) {
            read_grids(*grids);
        }
        if (const auto images = take("images")) {
            constexpr std::uint64_t most = 100'000'000;
            input_.images = to_count(*images, "images", 1, most);
            integers_ += input_.images;
        }
        if (const auto frames = take("audio_frames")) {
            input_.audio_frames = keep(*frames, "audio_frames");
        }
        read_counted(masks);
        given_.require_no_other(positional);
        if (!input_.names_any() && input_.tallies.empty()) {
            throw error("lengths",
                        "no batch is given; use lengths, cu_seqlens, attention_mask, new_tokens, sequences, grid_thw, "
                        "images, audio_frames or tally");
        }
    }

    [[nodiscard]] const model_input& input() const { return input_; }

    /// Its sequences that have a past; none where what was counted before may have some.
    [[nodiscard]] std::optional<std::vector<sequence>> cached() const {
        if (gives_tally_) {
            return {};
        }
        std::vector<sequence> all;
        std::copy_if(input_.new_tokens.begin(), input_.new_tokens.end(), std::back_inserter(all),
                     [](const sequence& one) { return one.past != 0; });
        return all;
    }

    /// The batch as a tally of `masks`, counted without the GIL where it is long.
    [[nodiscard]] tally counted(const model_config& model, const mask_set& masks) const {
        if (gives_routed_ && std::none_of(model.cost.rows().begin(), model.cost.rows().end(),
                                          [](const cost_row& row) { return row.what == statistic::routed; })) {
            throw error("routed", model.model_type +
                                      " counts no visits to experts: it has none, or its tokens visit as "
                                      "many as its config says");
        }
        tally sum{masks};
        without_gil(integers_, [&] { add_input(input_, model, sum); });
        return sum;
    }

  private:
    [[nodiscard]] std::optional<py::object> take(const char* name) {
        const py::handle value = given_.keyword(name);
        return !value || value.is_none() ? std::nullopt : std::optional(py::reinterpret_borrow<py::object>(value));
    }

    /// A number that a GPU may have counted.
    [[nodiscard]] static std::uint64_t number_in(py::handle value, std::string_view field) {
        require_in_host_memory(value, field);
        return to_count(value, field);
    }

    integer_view keep(py::handle value, const char* field, std::size_t columns = 0) {
        const integer_view view = kept_.at(kept_count_++).emplace(value, field, columns).view();
        integers_ += view.size();
        return view;
    }

    void read_lengths() {
        const auto lengths = take("lengths");
        const auto row_length = take("row_length");
        if (row_length && !lengths) {
            throw error("row_length", "needs lengths");
        }
        if (lengths) {
            input_.lengths.push_back({"lengths", keep(*lengths, "lengths")});
            if (row_length) {
                input_.lengths.back().row_length = to_count(*row_length, "row_length");
            }
        }
        if (const auto others = take("encoder_lengths")) {
            input_.encoder_lengths = keep(*others, "encoder_lengths");
        }
    }

    void read_boundaries() {
        const auto cu_seqlens = take("cu_seqlens");
        const auto padded = take("cu_seqlens_padded");
        const auto num_real_seqs = take("num_real_seqs");
        const auto real_alone = take("cu_seqlens_real");
        if (!cu_seqlens) {
            if (padded || real_alone || num_real_seqs) {
                throw error(padded       ? "cu_seqlens_padded"
                            : real_alone ? "cu_seqlens_real"
                                         : "num_real_seqs",
                            "needs cu_seqlens");
            }
            return;
        }
        const integer_view real = keep(*cu_seqlens, "cu_seqlens");
        input_.boundaries = {real, padded ? std::optional(keep(*padded, "cu_seqlens_padded")) : std::nullopt,
                             num_real_seqs ? number_in(*num_real_seqs, "num_real_seqs") : all_sequences,
                             real_alone ? std::optional(keep(*real_alone, "cu_seqlens_real")) : std::nullopt};
    }

    void read_grids(py::handle grid_thw) {
        const integer_view numbers = keep(grid_thw, "grid_thw", 3);
        numbers.visit([&](const auto& thw) {
            listed_grids(thw).each([&](const grid& patches, const grid&) { input_.grids.push_back(patches); });
        });
    }

    /// What makes a tally of its own.
    void read_counted(const mask_set& masks) {
        if (const auto flags = take("attention_mask")) {
            split_tally rows{masks};
            add_attention_mask(rows, *flags);
            input_.rows.push_back({"attention_mask", rows.real(), rows.mock()});
        }
        if (const auto routed = take("routed")) {
            if (!is_sequence(*routed) || py::len(*routed) != 2) {
                throw error("routed", "must be (useful, padded) visits to experts, got " + shown(*routed));
            }
            const py::tuple visits(*routed);
            tally sum{masks};
            sum.add_routed(number_in(visits[0], "routed[0]"), number_in(visits[1], "routed[1]"));
            input_.tallies.push_back(sum);
            gives_routed_ = true;
        }
        const auto words = take("measured");
        if (words) {
            input_.tallies.push_back(measured_words(*words, masks));
        }
        add_pass(words, masks);
        if (const auto counted = take("tally")) {
            if (!py::isinstance<tally>(*counted)) {
                throw error("tally", "must be a floptally.Tally, got " + shown(*counted));
            }
            const auto& sum = counted->cast<const tally&>();
            if (!(sum.masks() == tally{masks}.masks())) {
                throw error("tally", "keeps " + names_of(sum.masks()) + " and must keep " +
                                         names_of(tally{masks}.masks()) +
                                         ": make it with Tally(cost, convention=…, plan=…) or Meter.new_tally()");
            }
            input_.tallies.push_back(sum);
            gives_tally_ = true;
        }
    }

    /// What is given as samples is one pass of the model, unless `measured` says how many there were; a tally has its
    /// own.
    void add_pass(const std::optional<py::object>& words, const mask_set& masks) {
        const py::str name(passes_word.data(), passes_word.size());
        const bool said = words && words->contains(name);
        const bool kept = std::any_of(masks.begin(), masks.end(), [](const rule& one) { return counts_passes(one); });
        if (kept && !said && input_.names_any()) {
            tally sum{masks};
            sum.add_measured(passes_word, 1, 1);
            input_.tallies.push_back(sum);
        }
    }

    /// {name: useful}, or {name: (useful, padded)}, of words that the masks have.
    [[nodiscard]] static tally measured_words(py::handle words, const mask_set& masks) {
        if (!py::isinstance<py::dict>(words)) {
            throw error("measured", "must be a dict of names to integers or (useful, padded), got " + shown(words));
        }
        tally sum{masks};
        for (const auto& [key, value] : py::reinterpret_borrow<py::dict>(words)) {
            if (!py::isinstance<py::str>(key)) {
                throw error("measured", "must have names as keys, got " + shown(key));
            }
            const auto name = key.cast<std::string>();
            require_in_host_memory(value, name);
            if (!is_sequence(value) || index_of(value)) {  // a tensor of one number is both
                const std::uint64_t useful = to_count(value, name);
                sum.add_measured(name, useful, useful);
                continue;
            }
            if (py::len(value) != 2) {
                throw error(name, "must be an integer or (useful, padded), got " + shown(value));
            }
            const auto both = py::tuple(py::reinterpret_borrow<py::object>(value));
            sum.add_measured(name, number_in(both[0], name), number_in(both[1], name));
        }
        return sum;
    }

    [[nodiscard]] static std::string names_of(const mask_set& masks) {
        std::string names;
        for (const rule& m : masks) {
            append_item(names, m.name());
        }
        return names.empty() ? "no pairs" : "the pairs of " + names;
    }

    call_arguments& given_;
    model_input input_;
    std::array<std::optional<integers>, 8> kept_;
    std::size_t kept_count_ = 0;
    std::size_t integers_ = 0;
    bool gives_routed_ = false;
    bool gives_tally_ = false;
};

}  // namespace floptally::detail::python
