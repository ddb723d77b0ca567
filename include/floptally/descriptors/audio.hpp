// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <floptally/descriptors/component_name.hpp>
#include <floptally/descriptors/cost.hpp>
#include <floptally/descriptors/cost_entry.hpp>
#include <floptally/descriptors/layer.hpp>
#include <floptally/descriptors/term.hpp>
#include <floptally/integer/checked.hpp>
#include <floptally/lists/bounded_vector.hpp>
#include <floptally/statistics/clip_statistics.hpp>
#include <floptally/statistics/mask.hpp>
#include <floptally/statistics/statistic.hpp>
#include <floptally/text/error.hpp>

/// @file
/// Parts of audio towers other than transformer layers: convolutions along time, and the frames that they output.

namespace floptally::inline v0_3 {

/// A convolution along time. For spectrograms it has a second axis: the bins of each frame.
struct convolution {
    std::uint64_t out_channels = 0;
    std::int64_t kernel_size = 1;
    std::int64_t stride = 1;
    std::int64_t padding = 0;   ///< frames of padding at each end
    std::int64_t dilation = 1;  ///< frames between two taps of the kernel
    std::uint64_t groups = 1;
    bool bias = false;
    /// True: half of the output channels gate the other half, so only half of them leave the convolution.
    bool gated = false;
    std::uint64_t bins = 1;        ///< output positions on the second axis (spectrogram bins)
    std::uint64_t bin_kernel = 1;  ///< kernel size on the second axis
};

/// The rate at which a chain of convolutions turns input frames into output frames. The number of output frames is that
/// of a single convolution with this receptive field and stride (`unit::strided_frames`). With a field of 1 and a
/// stride of 1 it is the number of input frames.
struct frame_rate {
    std::int64_t field = 1;   ///< receptive field in input frames, minus the padding on both sides
    std::int64_t stride = 1;  ///< input frames per output frame
    std::int64_t chunk = 0;   ///< length in input frames of the chunks into which a clip is cut first; 0: no chunks

    /// Returns the frame rate after one more convolution.
    [[nodiscard]] constexpr frame_rate after(const convolution& next) const {
        return {field + ((next.kernel_size - 1) * next.dilation - 2 * next.padding) * stride, stride * next.stride,
                chunk};
    }

    /// Returns the statistic that counts the output frames.
    [[nodiscard]] constexpr statistic frames() const { return unit::strided_frames(field, stride, chunk); }
    /// Returns the mask in which every output frame attends to every other. With a `window` above 0, a frame attends
    /// only to the frames in the same window of `window` frames.
    [[nodiscard]] constexpr mask squares(std::int64_t window = 0) const {
        return mask::strided_squares(field, stride, chunk, window);
    }

    [[nodiscard]] friend constexpr bool operator==(const frame_rate&, const frame_rate&) = default;
};

/// A chain of convolutions, as at the start of most audio towers (arXiv:2006.11477, section 2; arXiv:2212.04356,
/// section 2.2). The forward takes 2·kernel·in·out/groups FLOPs for each output frame. The backward of the first
/// convolution is half as large as for other weights, because the input needs no gradient.
struct convolution_stem {
    std::uint64_t in_channels = 0;
    bounded_vector<convolution, 16> convolutions{};
    frame_rate before{};   ///< frame rate of the stem's input
    bool at_input = true;  ///< true if the input is the sound itself, so that no gradient of the input is needed

    /// Returns the frame rate after all convolutions of the stem.
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
                detail::refuse("conv_kernel", {"kernel_size, stride and dilation must be at least 1, got ",
                                               next.kernel_size, ", ", next.stride, " and ", next.dilation});
            }
            if (next.groups == 0 || channels % next.groups != 0 || next.out_channels % next.groups != 0) {
                detail::refuse("groups", {"must divide the input and output channels (", channels, " and ",
                                          next.out_channels, "), got ", next.groups});
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
                           .sharding = tensor_sharding::repeated()},
                    rate.frames());
            sum.add_parameters("bias", term::bias, next.bias ? next.out_channels : 0);
            channels = next.gated ? next.out_channels / 2 : next.out_channels;
            first = false;
        }
        return sum;
    }
};

}  // namespace floptally
