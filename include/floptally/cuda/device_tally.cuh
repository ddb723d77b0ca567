// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <floptally/cuda/basic_device_tally.hpp>
#include <floptally/cuda/detail/kernels.cuh>
#include <floptally/rules/library_rules.hpp>

/// @file
/// A tally in the memory of a device, which adds arrays that are there.

namespace floptally {

/// A device tally is launched by the runtime where no other launcher is named.
template <class Rules, class Api = detail::cuda_api>
class basic_device_tally;

/// The device tally with the library's rules. A tally with a caller's own rules has kernels that are compiled with
/// them: `basic_device_tally<library_rules::with<dilated_window>>`.
using device_tally = basic_device_tally<library_rules>;

}  // namespace floptally
