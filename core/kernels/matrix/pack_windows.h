// Elements of windows as FLOAT64 in a panel.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/tensor/data_type.h"

namespace dmlop {

// One tap of neighbouring windows in each channel: element [c, i] is at
// `data` + c * channel_stride + i * stride, in elements, and goes to to[c * width + before + i].
// `before` and `after` those are 0.
struct WindowTapCall {
  const std::byte* data;
  int64_t channels;
  int64_t channel_stride;
  int64_t before, count, after;
  int64_t stride;
  int64_t width;
  double* to;
};
using PackTapFunction = void(const WindowTapCall& call);

// Of FLOAT32 or FLOAT16.
PackTapFunction* PackTapFunctionFor(DataType type);

}  // namespace dmlop
