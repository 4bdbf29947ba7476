// SPDX-License-Identifier: Apache-2.0
// Selects parts of tensors as NumPy's basic indexing does.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/tensor/tensor.h"

namespace dmlop {

// A slice that does not parse, or does not fit the tensor; of kind kUsage.
class SliceError : public Error {
 public:
  SliceError(size_t offset, const std::string& message)
      : Error(ErrorKind::kUsage, message), offset_(offset) {}

  // Returns the position in the slice's text, in bytes.
  size_t offset() const { return offset_; }

 private:
  size_t offset_;
};

// Returns the part of `view` that a text like "[0, :, -5:, ::-2]" or "[..., 3]" selects. An index
// drops its dimension; a range "start:stop:step" keeps it, and is clamped to it; "..." stands for
// all dimensions that are not written, which are taken whole. Negative numbers count from the end.
// The notation of places is read, too: "[2..5, *]" is "[2:6, :]".
ConstTensorView Select(const ConstTensorView& view, std::string_view text);

}  // namespace dmlop
