// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <floptally/detail/config_fields.hpp>
#include <floptally/detail/message.hpp>
#include <floptally/error.hpp>
#include <floptally/model/dealing.hpp>

/// @file
/// The key "split" of floptally's own format.

namespace floptally::detail {

/// How tensor parallelism deals what no part describes; without the key it is not said, and more than one rank is an
/// error. What is no matrix has neither columns nor rows.
[[nodiscard]] inline dealing read_split(const config_fields& part, bool is_matrix) {
    struct split_word {
        std::string_view word;
        tensor_split by;
    };
    static constexpr split_word known[] = {{"columns", tensor_split::columns},
                                           {"rows", tensor_split::rows},
                                           {"even", tensor_split::even},
                                           {"replicated", tensor_split::replicated},
                                           {"repeated", tensor_split::repeated}};
    if (!part.contains("split")) {
        return {};
    }
    const std::string said = part.text("split");
    std::string words;
    for (const split_word& one : std::span(known).subspan(is_matrix ? 0 : 2)) {
        if (said == one.word) {
            return {one.by};
        }
        append_item(words, one.word);
    }
    refuse(part.field("split"), {"must be one of ", words, ", got \"", said, "\""});
}

}  // namespace floptally::detail
