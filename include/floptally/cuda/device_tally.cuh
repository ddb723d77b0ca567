// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/cuda/basic_device_tally.hpp>
#include <floptally/cuda/detail/kernels.cuh>
#include <floptally/statistics/library_statistics.hpp>

/// @file
/// `device_tally`: a tally in device memory that adds arrays in device memory.

namespace floptally::inline v0_3 {

/// A device tally whose device calls go through the CUDA runtime, unless another `Api` is passed.
template <class Statistics, class Api = detail::cuda_api>
class basic_device_tally;

/// The device tally with the library's statistics. To use your own statistics, compile the kernels with them:
/// `basic_device_tally<library_statistics::with<dilated_window>>`.
using device_tally = basic_device_tally<library_statistics>;

}  // namespace floptally
