// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <floptally/hardware/accelerator.hpp>
#include <floptally/hardware/detail/accelerator_table.hpp>
#include <floptally/text/edit_distance.hpp>
#include <floptally/text/error.hpp>
#include <floptally/text/names.hpp>

/// @file
/// The known accelerators, and a look-up by product name.

namespace floptally::inline v0_3 {

namespace detail {

/// The accelerators of `accelerator_table` as `accelerator` objects.
struct known_parts {
    known_parts() noexcept {
        for (std::size_t i = 0; i < count; ++i) {
            const accelerator_row& row = accelerator_table[i];
            accelerator& part = parts[i];
            part.name = row.name;
            part.vendor = row.vendor;
            part.form_factor = row.form_factor;
            part.source = {row.source.title, row.source.url};
            part.note = row.note;
            part.quality = row.quality;
            part.flops_per_clock = row.flops_per_clock;
            part.datasheet_mhz = row.datasheet_mhz;
            for (std::size_t n = 0; n < max_driver_names && row.driver_names[n] != nullptr; ++n) {
                part.driver_names[n] = row.driver_names[n];
            }
            for (std::size_t n = 0; n < precision_count; ++n) {
                part.dense_tflops[n] = row.dense_tflops[n];
            }
        }
    }
    [[nodiscard]] const accelerator* begin() const { return parts; }
    [[nodiscard]] const accelerator* end() const { return parts + count; }

    static constexpr std::size_t count = sizeof accelerator_table / sizeof accelerator_table[0];
    accelerator parts[count];
};
/// Returns the known accelerators. The first call creates them.
[[nodiscard]] inline const known_parts& all_parts() noexcept {
    static const known_parts all;
    return all;
}

}  // namespace detail

/// Returns every known accelerator in the order of `accelerator_table`. `Part` is a template parameter only to save
/// compile time: programs that do not call this function do not compile `std::span`.
template <class Part = accelerator>
[[nodiscard]] std::span<const Part> accelerators() noexcept {
    const detail::known_parts& all = detail::all_parts();
    return {all.begin(), all.end()};
}

namespace detail {

/// Removes the next run of letters and digits from the front of `text` and returns it. Returns an empty text if none is
/// left.
[[nodiscard]] constexpr std::string_view take_word(std::string_view& text) {
    constexpr auto in_word = [](char c) { return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z'); };
    std::size_t begin = 0;
    while (begin < text.size() && !in_word(text[begin])) {
        ++begin;
    }
    std::size_t end = begin;
    while (end < text.size() && in_word(text[end])) {
        ++end;
    }
    const std::string_view word = text.substr(begin, end - begin);
    text.remove_prefix(end);
    return word;
}

/// Returns true if `text` begins with the words of `words`, as whole words.
[[nodiscard]] constexpr bool starts_with_words(std::string_view text, std::string_view words) {
    for (;;) {
        const std::string_view word = take_word(words);
        if (word.empty()) {
            return true;
        }
        if (!same_name(take_word(text), word)) {
            return false;
        }
    }
}

/// Returns true if `text` contains `words` as adjacent whole words: "A100" is in "A100-SXM4-80GB" and not in "RTX
/// A1000".
[[nodiscard]] constexpr bool contains_words(std::string_view text, std::string_view words) {
    std::string_view probe = words;
    if (take_word(probe).empty()) {
        return false;
    }
    do {
        if (starts_with_words(text, words)) {
            return true;
        }
    } while (!take_word(text).empty());
    return false;
}

/// Returns the word for the model in an accelerator's name ("H100", "v5p"): the first word with a digit and at least
/// one more character. Empty if the name has no such word.
[[nodiscard]] constexpr std::string_view model_word(const accelerator& part) {
    std::string_view rest = part.name;
    for (std::string_view word = take_word(rest); !word.empty(); word = take_word(rest)) {
        if (word.size() > 1 && word.find_first_of("0123456789") != std::string_view::npos) {
            return word;
        }
    }
    return {};
}

/// Returns true if the accelerator's name or one of its driver names satisfies the predicate.
template <class Predicate>
[[nodiscard]] constexpr bool any_name(const accelerator& part, Predicate predicate) {
    if (predicate(part.name)) {
        return true;
    }
    for (const std::string_view driver_name : part.driver_names) {
        if (!driver_name.empty() && predicate(driver_name)) {
            return true;
        }
    }
    return false;
}

/// Returns true if `wanted` is the known name, in any letter case. A known name that ends with `*` matches every text
/// that begins with the part before the `*`.
[[nodiscard]] constexpr bool fits_name(std::string_view known, std::string_view wanted) {
    if (known.ends_with('*')) {
        known.remove_suffix(1);
        wanted = wanted.substr(0, known.size());
    }
    return same_name(known, wanted);
}

/// Returns the names of the accelerators that satisfy the predicate, separated by commas.
template <class Predicate>
[[nodiscard]] std::string list_parts(Predicate predicate) {
    std::string parts;
    for (const accelerator& part : detail::all_parts()) {
        if (predicate(part)) {
            append_item(parts, part.name);
        }
    }
    return parts;
}

/// Returns only the letters and digits of a name, in lower case: "h100sxm" for "H100 SXM".
[[nodiscard]] inline std::string squeezed(std::string_view text) {
    std::string letters;
    for (std::string_view word = take_word(text); !word.empty(); word = take_word(text)) {
        for (const char c : word) {
            letters += lower(c);
        }
    }
    return letters;
}

/// Returns the edit distance between `wanted` and the accelerator: the smallest distance to one of its names or to its
/// `model_word`, but at most `most` + 1. Example: 1 for "h10o" and "H100".
[[nodiscard]] inline std::size_t letters_from(const accelerator& part, std::string_view wanted, std::size_t most) {
    const std::string model = squeezed(model_word(part));
    std::size_t least = model.empty() ? most + 1 : edit_distance(wanted, model, most);
    static_cast<void>(any_name(part, [&](std::string_view name) {
        least = lesser(least, edit_distance(wanted, squeezed(name), most));
        return least == 0;
    }));
    return least;
}

/// Returns the names of the accelerators with the smallest edit distance to `wanted`, for an error. Empty if more than
/// a third of the letters of `wanted` differ.
[[nodiscard]] inline std::string nearest_parts(std::string_view wanted) {
    const std::string letters = squeezed(wanted);
    const std::size_t most = letters.size() / 3;
    if (letters.empty()) {
        return {};
    }
    std::size_t least = most + 1;
    for (const accelerator& part : all_parts()) {
        least = lesser(least, letters_from(part, letters, most));
    }
    return least > most
               ? std::string()
               : list_parts([&](const accelerator& part) { return letters_from(part, letters, most) == least; });
}

}  // namespace detail

/// Returns the accelerator with the name or driver name `product`. Letter case and surrounding blanks do not matter.
///
/// The whole name must match, because accelerators with similar names may have very different rates (RTX A1000 and
/// A100, H100 PCIe and SXM). Throws an `error` if no accelerator or more than one matches. The error lists accelerators
/// that may be meant.
[[nodiscard]] inline const accelerator& accelerator_named(std::string_view product) {
    const std::string_view wanted = detail::trimmed(product);
    if (wanted.empty()) {
        throw error("accelerator", "the name is empty; `floptally accelerators` lists the known names");
    }
    const auto is_called = [wanted](const accelerator& part) {
        return detail::any_name(part, [wanted](std::string_view name) { return detail::same_name(name, wanted); });
    };
    const accelerator* found = nullptr;
    const accelerator* fits = nullptr;
    bool several = false;
    for (const accelerator& part : detail::all_parts()) {
        if (is_called(part)) {
            several = found != nullptr;
            found = &part;
        } else if (detail::any_name(part,
                                    [wanted](std::string_view name) { return detail::fits_name(name, wanted); })) {
            fits = &part;
        }
    }
    found = found != nullptr ? found : fits;
    const std::string quoted = detail::text_of({"\"", wanted, "\""});
    if (several) {
        detail::refuse(
            "accelerator",
            {quoted, " is the driver's name for several GPUs; pass the name of one: ", detail::list_parts(is_called)});
    }
    if (found != nullptr) {
        return *found;
    }
    const std::string partial = detail::list_parts([wanted](const accelerator& part) {
        return detail::any_name(part, [wanted](std::string_view name) { return detail::contains_words(name, wanted); });
    });
    if (!partial.empty()) {
        detail::refuse("accelerator", {quoted, " is only part of a name; pass a whole name, one of: ", partial});
    }
    std::string near = detail::list_parts(
        [wanted](const accelerator& part) { return detail::contains_words(wanted, detail::model_word(part)); });
    const bool has_model = !near.empty();
    near = has_model ? near : detail::nearest_parts(wanted);
    detail::refuse("accelerator", {"no known accelerator is called ", quoted,
                                   near.empty() ? ""
                                   : has_model  ? "; near it: "
                                                : "; nearest: ",
                                   near, "; `floptally accelerators` lists the known names. For another accelerator",
                                   detail::measure_instead.substr(1)});
}

}  // namespace floptally
