// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_row.hpp>
#include <floptally/descriptors/layer.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/lists/bounded_vector.hpp>
#include <floptally/rules/clip_rules.hpp>
#include <floptally/rules/mask.hpp>
#include <floptally/rules/rule.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Parts of audio towers besides the layers of a transformer: convolutions along time, and the frames that they leave.

namespace floptally {

/// A convolution along time. Where each frame has bins too (of a spectrogram), they are its second axis.
struct convolution {
    std::uint64_t out_channels = 0;
    std::int64_t kernel_size = 1;
    std::int64_t stride = 1;
    std::int64_t padding = 0;   ///< on both sides
    std::int64_t dilation = 1;  ///< frames from one tap of the kernel to the next
    std::uint64_t groups = 1;
    bool bias = false;
    bool gated = false;            ///< half of its channels gate the others, so that half of them leave
    std::uint64_t bins = 1;        ///< positions on the second axis that it leaves
    std::uint64_t bin_kernel = 1;  ///< its kernel on that axis
};

/// The frames that convolutions, one after the other, leave of a clip: they are one convolution of this field and this
/// stride (`unit::strided_frames`). {1, 1} are the frames that enter.
struct frame_rate {
    std::int64_t field = 1;   ///< of the kernel, less the padding on both sides
    std::int64_t stride = 1;  ///< frames that enter, for each that leaves
    std::int64_t chunk = 0;   ///< frames of the chunks that a clip is cut into before; 0: it is not

    /// The frames after one more convolution.
    [[nodiscard]] constexpr frame_rate after(const convolution& next) const {
        return {field + ((next.kernel_size - 1) * next.dilation - 2 * next.padding) * stride, stride * next.stride,
                chunk};
    }
    /// The frames after each `frames` of them became one; a rest is dropped.
    [[nodiscard]] constexpr frame_rate pooled(std::int64_t frames) const {
        return after({.kernel_size = frames, .stride = frames});
    }

    /// The rule that counts these frames.
    [[nodiscard]] constexpr rule frames() const { return unit::strided_frames(field, stride, chunk); }
    /// The mask under which each of them sees every other, or those of its window of so many.
    [[nodiscard]] constexpr mask squares(std::int64_t window = 0) const {
        return mask::strided_squares(field, stride, chunk, window);
    }

    [[nodiscard]] friend constexpr bool operator==(const frame_rate&, const frame_rate&) = default;
};

/// Convolutions one after the other: the front of most audio towers (arXiv:2006.11477, section 2; arXiv:2212.04356,
/// section 2.2). Forward 2·kernel·in·out/groups for each frame that a convolution leaves. The first has half of a
/// linear's backward: sound needs no gradient.
struct convolution_stem {
    std::uint64_t in_channels = 0;
    detail::bounded_vector<convolution, 16> convolutions{};
    frame_rate before{};   ///< of what enters
    bool at_input = true;  ///< what enters is the sound itself

    /// The frames after all of them.
    [[nodiscard]] constexpr frame_rate after() const {
        frame_rate rate = before;
        for (const convolution& next : convolutions) {
            rate = rate.after(next);
        }
        return rate;
    }

    [[nodiscard]] constexpr floptally::cost cost(const component_name& component = "stem") const {
        require_positive(in_channels, "in_channels");
        floptally::cost sum;
        frame_rate rate = before;
        std::uint64_t channels = in_channels;
        bool first = at_input;
        for (const convolution& next : convolutions) {
            if (next.kernel_size < 1 || next.stride < 1 || next.dilation < 1) {
                throw error("conv_kernel", "kernel_size, stride and dilation must be at least 1");
            }
            if (next.groups == 0 || channels % next.groups != 0 || next.out_channels % next.groups != 0) {
                detail::refuse("groups", {"must divide the channels (", channels, " to ", next.out_channels, "), got ",
                                          next.groups});
            }
            rate = rate.after(next);
            const checked kernel(static_cast<std::uint64_t>(next.kernel_size), component.view());
            sum.add(component,
                    linear{.in_features = kernel * next.bin_kernel * (channels / next.groups),
                           .out_features = next.out_channels,
                           .applied = next.bins,
                           .stored = 1,
                           .kind = first ? term::input_linear : term::linear,
                           .adaptable = false,
                           .dealt = dealing::repeated()},
                    rate.frames());
            sum.add_parameters("bias", term::bias, next.bias ? next.out_channels : 0);
            channels = next.gated ? next.out_channels / 2 : next.out_channels;
            first = false;
        }
        return sum;
    }
};

}  // namespace floptally
