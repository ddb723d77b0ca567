// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include <floptally/count/detail/gradient_flow.hpp>
#include <floptally/count/detail/weight_states.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_row.hpp>
#include <floptally/descriptors/model_part.hpp>
#include <floptally/lists/array_view.hpp>
#include <floptally/rules/modality.hpp>

/// @file
/// Values that a model's parts hand on, and whether each requires a gradient.

namespace floptally::detail {

/// Values that the parts walked so far have left to the next: the hidden states, the other side or a second stream, and
/// what is known of a sample as a whole. A model whose parts before the layers make none of the latter two has what
/// they make in its place.
class handed_on {
  public:
    constexpr handed_on(const weight_states& states, array_view<model_part> parts)
        : hidden_(states.input_trains("embedding") && !has_role(parts, part_role::input)),
          has_towers_(has_role(parts, part_role::tower)),
          says_context_(makes(parts, part_role::input, value::context)),
          says_time_(makes(parts, part_role::input, value::time)),
          layers_make_context_(makes(parts, part_role::layer, value::context)) {
        context_ = has_role(parts, part_role::encoder) ? hidden_ : !has_towers_ && states.input_trains("context");
        time_ = context_;
    }

    /// Values that enter parts in a place.
    [[nodiscard]] constexpr gradient_flow::carried to(part_role role, modality in) const {
        const bool stream = role == part_role::encoder ? context_
                            : role == part_role::tower ? towers_[static_cast<std::size_t>(in)]
                                                       : hidden_;
        return {.stream = stream, .context = context_, .time = time_, .unnamed = stream};
    }

    /// Takes over what parts in a place left; those whose place is not known may stand before everything.
    constexpr void take(part_role role, modality in, const gradient_flow::carried& left, bool anywhere_trains) {
        switch (role) {
            case part_role::layer:  // streams that layers make meet in them
                hidden_ = left.stream || (layers_make_context_ && left.context);
                context_ = left.context || (layers_make_context_ && left.stream);
                time_ = left.time;
                break;
            case part_role::input:
                hidden_ = says_context_ ? left.unnamed : left.stream;
                if (!has_towers_) {
                    context_ = left.context || (!says_context_ && left.stream);
                    time_ = left.time || (!says_time_ && (context_ || left.stream));
                }
                break;
            case part_role::tower:  // its output stands in the text, or is attended by it
                towers_[static_cast<std::size_t>(in)] = left.stream;
                hidden_ = hidden_ || left.stream;
                context_ = time_ = context_ || left.stream;
                break;
            case part_role::encoder:
                context_ = time_ = context_ || left.stream;
                break;
            case part_role::anywhere:
                hidden_ = hidden_ || anywhere_trains;
                context_ = context_ || anywhere_trains;
                time_ = time_ || anywhere_trains;
                break;
            case part_role::head:
                break;
        }
    }

  private:
    [[nodiscard]] static constexpr bool has_role(array_view<model_part> parts, part_role role) {
        for (const model_part& part : parts) {
            if (part.role == role) {
                return true;
            }
        }
        return false;
    }
    /// True where a row of a part in this place makes such a value.
    [[nodiscard]] static constexpr bool makes(array_view<model_part> parts, part_role role, value::set values) {
        for (const model_part& part : parts) {
            for (const cost_row& row : part.cost.rows()) {
                if (part.role == role && (row.flow.writes & values) != 0) {
                    return true;
                }
            }
        }
        return false;
    }

    bool hidden_ = false;   ///< whether the hidden states require a gradient
    bool context_ = false;  ///< likewise those of the other side, or of a second stream
    bool time_ = false;     ///< and what is known of a sample as a whole
    bool has_towers_ = false;
    bool says_context_ = false;
    bool says_time_ = false;
    bool layers_make_context_ = false;
    bool towers_[modality_count] = {};  ///< and the hidden states inside each tower
};

}  // namespace floptally::detail
