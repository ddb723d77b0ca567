// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace floptally::models {

inline constexpr char swinv2[] = R"page(
page swinv2 : swin prefix Swinv2
with pretrained_window_sizes any?
cells_left = rows / power(2, l)
windows = level_windows(min(cells_left, win), l, shifts and cells_left > win, no)   # fixed for the image of the config
bias   = .qkv_bias * 2*w + w                     # keys have none
mixer:
  gqa heads nheads, dim w / nheads, width w, sees windows, norm 4*w, bias bias, over merged
  positions count 3*512 + 512*nheads + nheads, over merged                          # two small matrices, and a scale
more:  linear in 4*w, out 2*w, as merger reduction, from x, norm 2 * 2*w, over cells(1, power(2, l + 1))  if ends
)page";

}  // namespace floptally::models
