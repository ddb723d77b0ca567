// SPDX-License-Identifier: Apache-2.0

#include <floptally/batch/formats.hpp>
#include <floptally/batch/split_tally.hpp>

#include "classes.hpp"

template void floptally::detail::input_adder::add_to(floptally::tally&) const;  // program.cpp calls it too

namespace floptally::python {

namespace {

/// (c, h, t) or (c, h, t, g) of an HSTU sequence.
sequence to_hstu_sequence(py::handle value, const std::string& field) {
    const py::tuple numbers =
        items_of(value, field, "(c, h, t) or (c, h, t, g): contextual tokens, history, targets and their group", 3, 4);
    const std::uint64_t group =
        numbers.size() == 4 ? to_count(numbers[3], indexed(field, 3), 1, max_sequence_length) : 1;
    return hstu_sequence(to_length(numbers[0], indexed(field, 0)), to_length(numbers[1], indexed(field, 1)),
                         to_length(numbers[2], indexed(field, 2)), static_cast<std::uint32_t>(group), field);
}

/// (n, past)
sequence to_cached_sequence(py::handle value, const std::string& field) {
    const py::tuple numbers = items_of(value, field, "(n, past): new tokens and those that are cached", 2, 2);
    const sequence s{.length = to_length(numbers[0], indexed(field, 0)),
                     .past = to_length(numbers[1], indexed(field, 1))};
    if (std::uint64_t{s.length} + s.past > max_sequence_length) {
        throw error(field,
                    "length + past must be at most " + std::to_string(max_sequence_length) + ", got " + shown(value));
    }
    return s;
}

/// A list of sequences, each read by `to_one`.
template <class ToOne>
std::vector<sequence> to_sequences(py::handle list, const char* field, ToOne to_one) {
    require_in_host_memory(list, field);
    std::vector<sequence> all;
    for (const py::handle item : items_of(list, field, "a list of tuples", 0, any_number)) {
        all.push_back(to_one(item, indexed(field, all.size())));
    }
    return all;
}

/// A number that may be on a GPU.
std::uint64_t number_in(py::handle value, std::string_view field) {
    require_in_host_memory(value, field);
    return to_count(value, field);
}

/// {name: useful} or {name: (useful, padded)} for accumulators that the masks have.
tally measured_accumulators(py::handle accumulators, const mask_set& masks) {
    if (!py::isinstance<py::dict>(accumulators)) {
        throw error("measured",
                    "must be a dict of names to integers or to pairs (useful, padded), got " + shown(accumulators));
    }
    tally sum{masks};
    for (const auto& [key, value] : py::reinterpret_borrow<py::dict>(accumulators)) {
        if (!py::isinstance<py::str>(key)) {
            throw error("measured", "must have names as keys, got " + shown(key));
        }
        const auto name = key.cast<std::string>();
        require_in_host_memory(value, name);
        if (!is_sequence(value) || index_of(value)) {  // a tensor of one number is both a number and a sequence
            const std::uint64_t useful = to_count(value, name);
            sum.add_measured(name, {.useful = useful});
            continue;
        }
        const py::tuple both = items_of(value, name, "an integer or (useful, padded)", 2, 2);
        sum.add_measured(name, {.useful = number_in(both[0], name), .padded = number_in(both[1], name)});
    }
    return sum;
}

std::string names_of(const mask_set& masks) {
    std::string names;
    for (const statistic& m : masks) {
        append_item(names, m.name());
    }
    return names.empty() ? "no pairs" : "the pairs of " + names;
}

}  // namespace

void require_one_batch(const arguments& args) {
    constexpr const char* of_text[] = {"lengths", "cu_seqlens", "attention_mask"};
    const char* first = nullptr;
    for (const char* const name : of_text) {
        if (!args.some(name)) {
            continue;
        }
        if (first != nullptr) {
            throw error(name, std::string("cannot be passed with ") + first +
                                  ", since both would be counted: pass one of them; if they are two batches, add both "
                                  "to one tally by add_" +
                                  first + "() and add_" + name + "()");
        }
        first = name;
    }
    constexpr std::pair<const char*, const char*> parts[] = {{"row_length", "lengths"},
                                                             {"encoder_row_length", "encoder_lengths"},
                                                             {"cu_seqlens_padded", "cu_seqlens"},
                                                             {"cu_seqlens_real", "cu_seqlens"},
                                                             {"num_real_seqs", "cu_seqlens"}};
    for (const auto& [part, whole] : parts) {
        if (args.some(part) && !args.some(whole)) {
            throw error(part, std::string("needs ") + whole);
        }
    }
}

std::vector<request> to_requests(py::handle list) {
    require_in_host_memory(list, "requests");
    std::vector<request> all;
    for (const py::handle item : items_of(list, "requests", "a list of tuples", 0, any_number)) {
        const std::string field = indexed("requests", all.size());
        const py::tuple numbers = items_of(item, field, "(prompt, generated) or (prompt, generated, cached)", 2, 3);
        all.push_back({to_length(numbers[0], indexed(field, 0)), to_length(numbers[1], indexed(field, 1)),
                       numbers.size() == 3 ? to_length(numbers[2], indexed(field, 2)) : 0});
    }
    return all;
}

std::uint32_t to_prefill_chunk(py::handle tokens) {
    return tokens && !tokens.is_none()
               ? static_cast<std::uint32_t>(to_count(tokens, "prefill_chunk", 1, max_sequence_length))
               : whole_prompt;
}

input_arguments::input_arguments(const arguments& args, const mask_set& masks, input_for receiver) : given_(args) {
    require_one_batch(args);
    read_lengths();
    read_boundaries();
    if (const py::handle list = given_.some("sequences")) {
        input_.sequences = to_sequences(list, "sequences", to_hstu_sequence);
    }
    if (const py::handle list = given_.some("new_tokens")) {
        input_.new_tokens = to_sequences(list, "new_tokens", to_cached_sequence);
    }
    if (const py::handle list = given_.some("requests")) {
        input_.requests = to_requests(list);
        input_.prefill_chunk = to_prefill_chunk(given_.some("prefill_chunk"));
    } else if (given_.some("prefill_chunk")) {
        throw error("prefill_chunk", "works only with requests: pass requests=, or leave it out");
    }
    if (const py::handle grids = given_.some("grid_thw")) {
        read_grids(grids, "grid_thw", input_.grids);
    }
    if (const py::handle pixels = given_.some("pixels")) {
        read_grids(pixels, "pixels", input_.pixels);
    }
    if (const py::handle slots = given_.some("grid_thw_padded")) {
        read_grids(slots, "grid_thw_padded", input_.grids_padded);
    }
    if (const py::handle conditions = given_.some("condition_grid_thw")) {
        read_grids(conditions, "condition_grid_thw", input_.condition_grids);
    }
    if (const py::handle images = given_.some("images")) {
        constexpr std::uint64_t most = 100'000'000;
        input_.images = to_count(images, "images", 0, most);
        integers_ += input_.images;
    }
    if (const py::handle frames = given_.some("audio_frames")) {
        input_.audio_frames = keep(frames, "audio_frames");
    }
    read_counted(masks);
    if (receiver == input_for::tally) {
        return;
    }
    add_pass(given_.some("measured"), masks);
    constexpr const char* batches[] = {"lengths",   "cu_seqlens", "attention_mask", "new_tokens", "requests",
                                       "sequences", "grid_thw",   "pixels",         "images",     "audio_frames"};
    const bool is_empty_batch =
        std::any_of(std::begin(batches), std::end(batches), [&](const char* name) { return bool(given_.some(name)); });
    if (!input_.names_any() && input_.tallies.empty() && !is_empty_batch) {
        throw error("lengths",
                    "no batch was passed: use lengths, cu_seqlens, attention_mask, new_tokens, requests, sequences, "
                    "grid_thw, pixels, images, audio_frames or tally");
    }
}

std::optional<std::vector<sequence>> input_arguments::cached() const {
    if (gives_tally_ || !input_.requests.empty()) {  // which do not list their passes
        return {};
    }
    std::vector<sequence> all;
    std::copy_if(input_.new_tokens.begin(), input_.new_tokens.end(), std::back_inserter(all),
                 [](const sequence& sample) { return sample.past != 0; });
    return all;
}

tally input_arguments::counted(const model_config& model, const mask_set& masks) const {
    if (gives_routed_ && std::none_of(model.cost.entries().begin(), model.cost.entries().end(),
                                      [](const cost_entry& row) { return row.what == accumulator::routed; })) {
        throw error("routed", model.model_type +
                                  " needs no measured expert visits, since it has no experts, or sends each token to a "
                                  "fixed number of experts: leave routed= out");
    }
    tally sum{masks};
    without_gil(integers_, [&] { detail::fill_with_input(input_, model, sum); });
    return sum;
}

void input_arguments::add_to(tally& to) const {
    tally sum{to.masks()};
    without_gil(integers_, [&] {
        for (const model_input::list& list : input_.lengths) {
            if (input_.encoder_lengths) {
                floptally::detail::visit_both(
                    list.lengths, *input_.encoder_lengths, [&](const auto& lengths, const auto& other) {
                        if (list.row_length || input_.encoder_row_length) {
                            sum.add_encoder_decoder(lengths, other, {list.row_length, input_.encoder_row_length});
                        } else {
                            sum.add_encoder_decoder(lengths, other);
                        }
                    });
            } else {
                list.lengths.visit([&](const auto& lengths) {
                    list.row_length ? sum.add_padded(lengths, *list.row_length) : sum.add_lengths(lengths);
                });
            }
        }
        if (input_.boundaries) {
            input_.boundaries->add_to(sum);
        }
        for (const model_input::counted_rows& rows : input_.rows) {
            (sum += rows.real) += rows.mock;
        }
        sum.add(listed_samples(input_.sequences));
        sum.add(listed_samples(input_.new_tokens));
        sum.add(listed_samples(input_.grids));
        if (input_.audio_frames) {
            input_.audio_frames->visit([&](const auto& frames) { sum.add_audio_frames(frames); });
        }
    });
    to += sum;
}

integer_view input_arguments::keep(py::handle value, const char* field, std::size_t columns) {
    const integer_view view = kept_.at(kept_count_++).emplace(value, field, columns).view();
    integers_ += view.size();
    return view;
}

void input_arguments::read_lengths() {
    const py::handle lengths = given_.some("lengths");
    const py::handle row_length = given_.some("row_length");
    if (lengths) {
        input_.lengths.push_back({"lengths", keep(lengths, "lengths")});
        if (row_length) {
            input_.lengths.back().row_length = to_count(row_length, "row_length");
        }
    }
    if (const py::handle others = given_.some("encoder_lengths")) {
        input_.encoder_lengths = keep(others, "encoder_lengths");
    }
    if (const py::handle row = given_.some("encoder_row_length")) {
        input_.encoder_row_length = to_count(row, "encoder_row_length");
    }
    if (const py::handle slots = given_.some("encoder_lengths_padded")) {
        input_.encoder_lengths_padded = keep(slots, "encoder_lengths_padded");
    }
}

void input_arguments::read_boundaries() {
    const py::handle cu_seqlens = given_.some("cu_seqlens");
    const py::handle padded = given_.some("cu_seqlens_padded");
    const py::handle num_real_seqs = given_.some("num_real_seqs");
    const py::handle real_alone = given_.some("cu_seqlens_real");
    if (!cu_seqlens) {
        return;
    }
    const integer_view real = keep(cu_seqlens, "cu_seqlens");
    input_.boundaries = {real, padded ? std::optional(keep(padded, "cu_seqlens_padded")) : std::nullopt,
                         num_real_seqs ? number_in(num_real_seqs, "num_real_seqs") : all_sequences,
                         real_alone ? std::optional(keep(real_alone, "cu_seqlens_real")) : std::nullopt};
}

void input_arguments::read_grids(py::handle grid_thw, const char* field, std::vector<grid>& to) {
    const integer_view numbers = keep(grid_thw, field, 3);
    numbers.visit([&](const auto& thw) {
        detail::with_renamed_field("grid_thw", field, [&] {
            listed_grids(thw).each([&](const grid& patches, const grid&) { to.push_back(patches); });
        });
    });
}

void input_arguments::read_counted(const mask_set& masks) {
    if (const py::handle flags = given_.some("attention_mask")) {
        split_tally rows{masks};
        add_attention_mask(rows, flags);
        input_.rows.push_back({"attention_mask", rows.real(), rows.mock()});
    }
    if (const py::handle routed = given_.some("routed")) {
        const py::tuple visits = items_of(routed, "routed", "(useful, padded) visits to experts", 2, 2);
        tally sum{masks};
        sum.add_routed({.useful = number_in(visits[0], "routed[0]"), .padded = number_in(visits[1], "routed[1]")});
        input_.tallies.push_back(sum);
        gives_routed_ = true;
    }
    if (const py::handle accumulators = given_.some("measured")) {
        input_.tallies.push_back(measured_accumulators(accumulators, masks));
    }
    if (const py::handle logits = given_.some("logits"); logits && !py::isinstance<py::str>(logits)) {
        const std::uint64_t tokens = sum_of(logits, std::string(logits_accumulator));
        if (masks.find(floptally::measured(logits_accumulator)) == masks.size()) {
            throw error("logits",
                        "must be \"all\" or \"last\" under this plan: pass plan=Plan(logits=\"measured\") to count a "
                        "number of tokens");
        }
        tally sum{masks};
        sum.add_measured(logits_accumulator, {.useful = tokens});
        input_.tallies.push_back(sum);
    }
    if (const py::handle counted = given_.some("tally")) {
        if (!py::isinstance<tally>(counted)) {
            throw error("tally", "must be a floptally.Tally, got " + shown(counted));
        }
        const auto& sum = value_of<tally>(counted);
        if (!(sum.masks() == tally{masks}.masks())) {
            throw error("tally", "counts " + names_of(sum.masks()) + " but must count " +
                                     names_of(tally{masks}.masks()) +
                                     ": create it by Tally(cost, convention=…, plan=…) or Meter.new_tally()");
        }
        input_.tallies.push_back(sum);
        gives_tally_ = true;
    }
}

void input_arguments::add_pass(py::handle accumulators, const mask_set& masks) {
    const py::str name(passes_accumulator.data(), passes_accumulator.size());
    const bool said = accumulators && accumulators.contains(name);
    const bool needs_passes =
        std::any_of(masks.begin(), masks.end(), [](const statistic& which) { return counts_passes(which); });
    if (needs_passes && !said && input_.names_any()) {
        tally sum{masks};
        sum.add_measured(passes_accumulator, {.useful = 1});
        input_.tallies.push_back(sum);
    }
}

}  // namespace floptally::python
