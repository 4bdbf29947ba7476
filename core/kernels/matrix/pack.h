// SPDX-License-Identifier: Apache-2.0
// Packs the elements of lines into a panel as FLOAT64.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/tensor/data_type.h"

namespace dmlop {

// Element k of line i is at `data` + lines[i] + inner[k], in elements, and goes to
// to[k * width + i]. Lines from `line_count` to `width` become 0. If `inner` is null, the elements
// of a line are neighbours: element k is k behind lines[i].
struct PackCall {
  const std::byte* data;
  const int64_t* lines;
  int64_t line_count;
  const int64_t* inner;
  int64_t depth;
  int64_t width;
  double* to;
};
using PackFunction = void(const PackCall& call);

// Returns the function for FLOAT32 or FLOAT16.
PackFunction* PackFunctionFor(DataType type);

// --- windows -------------------------------------------------------------------------------------

// Packs the elements of windows as FLOAT64 or, if they are bytes, as 16-bit integers.

// One tap of adjacent windows in each channel: element [c, i] is at `data` + c * channel_stride + i
// * stride, in elements, and goes to to[c * row + before + i]. The `before` and `after` places
// around those become `padding`.
struct WindowTapCall {
  const std::byte* data;
  int64_t channels;
  int64_t channel_stride;
  int64_t before, count, after;
  int64_t stride;
  int64_t row;
  int16_t padding;
  void* to;
};
using PackTapFunction = void(const WindowTapCall& call);

// Returns the function for FLOAT32, FLOAT16, INT8 or UINT8.
PackTapFunction* PackTapFunctionFor(DataType type);

}  // namespace dmlop
