// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <floptally/config/detail/config_fields.hpp>
#include <floptally/config/detail/function_call.hpp>
#include <floptally/config/detail/value.hpp>
#include <floptally/lists/vector.hpp>
#include <floptally/statistics/clip_statistics.hpp>
#include <floptally/statistics/grid_masks.hpp>
#include <floptally/statistics/grid_units.hpp>
#include <floptally/statistics/hstu_statistics.hpp>
#include <floptally/statistics/library_statistics.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/statistics/measured.hpp>
#include <floptally/statistics/modality.hpp>
#include <floptally/statistics/other_side_masks.hpp>
#include <floptally/statistics/sequence_masks.hpp>
#include <floptally/statistics/sparse_masks.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/statistics/statistic_table.hpp>
#include <floptally/statistics/statistic_text.hpp>
#include <floptally/statistics/statistic_type.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Functions of specs that return a mask, or a number of patches or frames.

namespace floptally::inline v0_3::detail {

// Reads the masks that are written in floptally's own config format.

/// A key that the object `"mask": {KEY: number or list}` may have.
struct mask_key {
    std::string_view name;
    const statistic_parameter* parameters = nullptr;
    std::size_t count = 0;
    const statistic_table* table = nullptr;  ///< null for the key `sliding_window`, another name of a band mask
};

/// Returns one key for each mask of the library that counts pairs within a text sequence and has numeric parameters,
/// such as the size of a window.
[[nodiscard]] inline std::vector<mask_key> mask_keys() {
    std::vector<mask_key> keys{{"sliding_window", mask_statistics::band::sliding, 1}};
    for (const statistic_table* table : tables_in(library_masks{})) {
        if (table->of_sequence && table->text_parameters != 0 && !table->is_of_other_side) {
            keys.push_back({table->name, table->parameters, table->text_parameters, table});
        }
    }
    return keys;
}
[[nodiscard]] inline std::vector<std::string_view> names_of(const std::vector<mask_key>& keys) {
    std::vector<std::string_view> names;
    names.reserve(keys.size());
    for (const mask_key& key : keys) {
        names.push_back(key.name);
    }
    return names;
}

/// Returns the names of a mask's numeric parameters for an error: "[left, right]".
[[nodiscard]] inline std::string shown_numbers(const mask_key& key) {
    std::string list;
    for (std::size_t i = 0; i < key.count; ++i) {
        const std::string_view name = key.parameters[i].name;
        append_item(list, name.substr(name.find('.') + 1));
    }
    return text_of({"[", list, "]"});
}

/// Returns the mask that a key describes. The value of the key is one number, or a list of the mask's numeric
/// parameters. Trailing parameters that have a default may be missing.
[[nodiscard]] inline mask read_keyed_mask(const config_fields& kind, const mask_key& key) {
    std::int64_t numbers[most_text_parameters]{};
    const std::string field = kind.field(key.name);
    if (key.count == 1 && key.parameters[0].least >= 0) {
        numbers[0] = static_cast<std::int64_t>(kind.integer({key.name}, required,
                                                            static_cast<std::uint64_t>(key.parameters[0].least),
                                                            static_cast<std::uint64_t>(key.parameters[0].most)));
    } else {
        const config_node* node = kind.array(key.name);
        const std::size_t count = node == nullptr ? 0 : node->count;
        const bool lacks = count < key.count && key.parameters[count].fallback == statistic_parameter::none;
        if (count == 0 || count > key.count || lacks) {
            refuse(field, {"must be ", shown_numbers(key), ", got ", kind.shown(*kind.find(key.name))});
        }
        for (std::size_t i = 0; i < key.count; ++i) {
            const statistic_parameter& parameter = key.parameters[i];
            if (i >= count) {
                numbers[i] = parameter.fallback;
                continue;
            }
            const config_node& number = kind.tree().child(*node, i);
            if (number.type != config_node::kind::integer || number.beyond || number.number < parameter.least ||
                number.number > parameter.most) {
                refuse(indexed(field, i), {"must be an integer from ", parameter.least, " to ", parameter.most,
                                           ", got ", kind.shown(number)});
            }
            numbers[i] = number.number;
        }
    }
    if (key.table == nullptr) {
        return mask::sliding_window(numbers[0]);
    }
    try {
        return statistic(*key.table, parameters_from(*key.table, numbers));
    } catch (const error& e) {  // The mask's constructor throws if the numbers contradict each other.
        refuse(field, {e.what()});
    }
}

[[noreturn]] inline void refuse_mask(const config_fields& part, const std::string& got) {
    std::string keys;
    for (const std::string_view name : names_of(mask_keys())) {
        append_item(keys, name);
    }
    refuse(part.field("mask"),
           {"must be \"causal\", \"bidirectional\", the name of another mask, such as \"sliding_window(4096)\", or an "
            "object with one of the keys ",
            keys, ", got ", got});
}

/// Returns the mask that a text describes. The text is the name that reports show: "sliding_window(4096)".
[[nodiscard]] inline mask mask_of_text(const config_fields& part, const std::string& text) {
    statistic named;
    try {
        named = statistic_named(text);
    } catch (const error& e) {
        refuse_mask(part, text_of({"\"", text, "\" (", e.what(), ")"}));
    }
    if (named.in() != modality::text || named.is_measured()) {
        refuse(part.field("mask"), {"must be a mask over sequences, such as \"causal\", got ", named.name()});
    }
    return named;
}

/// Returns the mask of a part of the model: the value of its key "mask", or a causal mask if the key is absent.
[[nodiscard]] inline mask read_mask(const config_fields& part) {
    const config_node* node = part.find("mask");
    if (node == nullptr) {
        return mask::causal();
    }
    if (node->type == config_node::kind::text) {
        return mask_of_text(part, node->text);
    }
    if (node->type != config_node::kind::object || node->count != 1) {
        refuse_mask(part, part.shown(*node));
    }
    const config_fields kind(part.tree(), *node, part.field("mask"));
    const std::vector<mask_key> keys = mask_keys();
    kind.allow_only(names_of(keys));
    std::size_t found = 0;
    while (!kind.contains(keys[found].name)) {
        ++found;
    }
    return read_keyed_mask(kind, keys[found]);
}

}  // namespace floptally::detail

namespace floptally::inline v0_3::detail::specs {

/// A function that specs call to get a statistic, if its name in specs differs from the name of the statistic's C++
/// struct. Its arguments are the numeric parameters of the statistic. Arguments with a default may be omitted.
struct statistic_function {
    std::string_view name;
    const statistic_table* table;
};
inline constexpr statistic_function statistic_functions[] = {
    {"around", &detail::table_of<mask_statistics::band>},
    {"chunk", &detail::table_of<mask_statistics::chunked>},
    {"top", &detail::table_of<mask_statistics::top_k>},
    {"compressed", &detail::table_of<mask_statistics::compressed_keys>},
    {"best_compressed", &detail::table_of<mask_statistics::best_compressed_keys>},
    {"across", &detail::table_of<mask_statistics::cross_attention>},
    {"grid", &detail::table_of<mask_statistics::grid_windows>},
    {"merged", &detail::table_of<unit_statistics::merged_patches>},
    {"pooled", &detail::table_of<unit_statistics::pooled_patches>},
    {"cells", &detail::table_of<unit_statistics::strided_cells>},
    {"lines", &detail::table_of<mask_statistics::window_lines>},
    {"kept", &detail::table_of<unit_statistics::kept_patches>},
    {"frames", &detail::table_of<unit_statistics::strided_frames>},
    {"frame_squares", &detail::table_of<mask_statistics::strided_squares>},
    {"frame_band", &detail::table_of<mask_statistics::strided_band>},
    {"hstu", &detail::table_of<mask_statistics::hstu>},
};

/// Returns the statistic that a spec calls by this name, or null. The name is one of `statistic_functions`, otherwise
/// the name of a statistic's C++ struct.
[[nodiscard]] inline const statistic_table* statistic_called(std::string_view name) {
    for (const statistic_function& known : statistic_functions) {
        if (known.name == name) {
            return known.table;
        }
    }
    for (const statistic_table* table : tables_in(library_statistics{})) {
        if (table->name == name && !table->read) {
            return table;
        }
    }
    return nullptr;
}

/// Returns the statistic that a call of a function in a spec describes, such as `sliding_window(window)`. The call has
/// one argument for each parameter of the statistic.
[[nodiscard]] inline value statistic_of_call(const function_call& c, const statistic_table& table) {
    const statistic_parameter* const end = table.parameters + table.text_parameters;
    c.takes(static_cast<std::size_t>(std::count_if(
                table.parameters, end,
                [](const statistic_parameter& parameter) { return parameter.fallback == statistic_parameter::none; })),
            table.text_parameters);
    std::int64_t numbers[most_text_parameters]{};
    for (std::size_t i = 0; i < table.text_parameters; ++i) {
        const std::int64_t fallback = table.parameters[i].fallback;
        numbers[i] = fallback == statistic_parameter::none ? c.number(i) : c.number_or(i, fallback);
    }
    return mask_value_of(statistic(table, parameters_from(table, numbers)));
}

inline value evaluate_window(const function_call& c) { return mask_value_of(mask::sliding_window(c.number(0))); }
/// later_image_tokens(side, window): the mask in which each query in an image attends to the image's tokens after the
/// query. One token stands for `side` x `side` patches. With a window, the mask also has the earlier tokens of the
/// image that are outside the window. The window is a number or the mask of a layer.
inline value evaluate_later(const function_call& c) {
    if (c.has(1) && c.arguments[1].type == value::kind::mask) {
        const statistic& own = c.arguments[1].attends;
        const std::int64_t left = own.is<mask_statistics::band>() ? own.as<mask_statistics::band>().left : -1;
        return mask_value_of(mask::later_image_tokens(c.number(0), left >= 0 ? left + 1 : -1));
    }
    return mask_value_of(mask::later_image_tokens(c.number(0), c.number_or(1, -1)));
}
inline value evaluate_reduced(const function_call& c) {
    return mask_value_of(mask::reduced_pairs(c.number(0), c.number(1), c.number(2), c.number(3)));
}
/// cross_pairs(side, frames, multiple): the mask in which each token of a latent grid attends to every token of the
/// text. One grid token covers `side` x `side` latents of `frames` frames. Both numbers of tokens are rounded up to a
/// multiple of `multiple`.
inline value evaluate_cross_pairs(const function_call& c) {
    const latent_patches patches{c.number(0), c.number_or(1, 1), c.number_or(2, 1)};
    return mask_value_of(mask::joint_pairs(patches, token_stream::grid, token_stream::text));
}
/// text_pairs(multiple): the mask in which the text tokens of a diffusion sample attend to each other. The number of
/// text tokens is rounded up to a multiple of `multiple`.
inline value evaluate_text_pairs(const function_call& c) {
    return mask_value_of(mask::joint_pairs({.multiple = c.number_or(0, 1)}, token_stream::text, token_stream::text));
}
/// text_tokens(multiple): the number of text tokens of a diffusion sample, rounded up to a multiple of `multiple`.
inline value evaluate_text_tokens(const function_call& c) {
    return mask_value_of(statistic(unit::joint_tokens({.multiple = c.number_or(0, 1)}, token_stream::text)));
}
/// listed(entries): the number of tokens that a frame becomes, looked up by its number of patches. `entries` has one or
/// two pairs of numbers: patches, tokens.
template <statistic_type Statistic>
value listed_by(const function_call& c) {
    const vector<std::int64_t> all = c.numbers(0);
    if (all.size() != 2 && all.size() != 4) {
        c.fail({"the list must have one or two pairs of numbers, got ", all.size(), " numbers"});
    }
    const std::size_t other = all.size() - 2;
    return mask_value_of(make_statistic<Statistic>(all[0], all[1], all[other], all[other + 1]));
}
/// written_mask(): the mask that the key "mask" describes, in floptally's own config format.
inline value evaluate_written_mask(const function_call& c) {
    return mask_value_of(read_mask({c.in.config().tree(), c.in.config().object(), c.in.config().path()}));
}
/// measured("text_visits"): an amount that the caller measures and passes to `tally::add_measured` under this name.
inline value evaluate_measured(const function_call& c) {
    if (c.arguments[0].type != value::kind::text) {
        c.fail({"the argument must be a name in quotes, such as \"text_visits\""});
    }
    return mask_value_of(measured(c.arguments[0].text));
}
/// field(kernels, strides, paddings, dilations): the receptive field of a stack of convolutions, in input frames for
/// one output frame, less the padding on both sides. Each argument is a list, or one number for all convolutions.
inline value evaluate_field(const function_call& c) {
    std::size_t size = 1;
    for (const value& item : c.arguments) {
        size = item.type == value::kind::list ? item.size() : size;
    }
    const vector<std::int64_t> kernels = c.numbers(0, size);
    const vector<std::int64_t> strides = c.numbers(1, kernels.size());
    const vector<std::int64_t> paddings =
        c.has(2) ? c.numbers(2, kernels.size()) : vector<std::int64_t>(kernels.size(), 0);
    const vector<std::int64_t> dilations =
        c.has(3) ? c.numbers(3, kernels.size()) : vector<std::int64_t>(kernels.size(), 1);
    if (strides.size() != kernels.size() || paddings.size() != kernels.size() || dilations.size() != kernels.size()) {
        c.fail({"the lists must have equal sizes: write one number for each convolution"});
    }
    std::int64_t field = 1;
    std::int64_t stride = 1;
    for (std::size_t k = 0; k < kernels.size(); ++k) {
        for (const std::int64_t number : {kernels[k], strides[k], paddings[k], dilations[k]}) {
            if (number < 0 || number > 0xFFFF) {
                c.fail({"each number must be from 0 to 65535, got ", number});
            }
        }
        field += ((kernels[k] - 1) * dilations[k] - 2 * paddings[k]) * stride;
        stride *= strides[k];
        if (stride > 0x7FFF'FFFF) {
            c.fail({"the product of the strides must be below 2^31: use smaller strides"});
        }
    }
    return number_value(field);
}

}  // namespace floptally::detail::specs
