// SPDX-License-Identifier: Apache-2.0
// DML_BUFFER_TENSOR_DESC as a user writes it, and the rules that concern one tensor alone.
//
//   BUF-1   1 to 8 dimensions               BUF-10  TotalTensorSizeInBytes is a multiple of 4
//   BUF-3   no size is zero                 BUF-11  at most 2^32 - 1 elements, also from end to end
//   BUF-8   output elements do not overlap  BUF-12  alignment: 0, or a power of two of at least
//   BUF-9   TotalTensorSizeInBytes is               the element size
//           large enough                    BUF-13  Strides and DimensionCount go with Sizes
//   BUF-14  DataType is a type              BUF-15  flags are known; OWNED_BY_DML is for inputs
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/diagnostic.h"
#include "core/base/integers.h"
#include "core/tensor/data_type.h"
#include "core/tensor/layout.h"

namespace dmlop {

enum class TensorRole { kInput, kOutput };

inline constexpr size_t kMaxRank = 8;  // DML_TENSOR_DIMENSION_COUNT_MAX1

// An empty optional means that a field is left out. A complete desc has a data type and sizes.
struct TensorDesc {
  std::optional<DataType> data_type;
  bool owned_by_dml = false;  // DML_TENSOR_FLAG_OWNED_BY_DML
  std::optional<uint32_t> dimension_count;
  std::optional<std::vector<uint32_t>> sizes;
  std::optional<std::vector<uint32_t>> strides;
  uint64_t total_tensor_size_in_bytes = 0;        // 0 for as large as needed
  uint32_t guaranteed_base_offset_alignment = 0;  // in bytes

  bool complete() const { return data_type && sizes; }
  size_t rank() const { return sizes ? sizes->size() : 0; }
};

// Implements DMLCalcBufferTensorSize: the bytes that the tensor spans, rounded up to a multiple of
// 4; empty if the number does not fit into 64 bits. The desc is complete.
CheckedU64 ImpliedSizeInBytes(const TensorDesc& desc);

// Returns TotalTensorSizeInBytes, or the implied size if that is 0. The desc is valid.
uint64_t SizeInBytes(const TensorDesc& desc);

// Returns whether LayoutOf can locate the elements: BUF-1, BUF-11 and the lengths of BUF-13 hold.
// The desc has sizes.
bool HasLayout(const TensorDesc& desc);

// Returns the sizes and actual strides of a desc that has a layout.
Layout LayoutOf(const TensorDesc& desc);

// "; "Strides": [0, 1] repeat it", where a desc of larger sizes needs no more than that to have an
// array's elements. Empty for any other array.
std::string RepetitionHint(const Dims& array, const TensorDesc& desc);

// "{1, 3}"
std::string ToString(const std::vector<uint32_t>& values);

// A rule of an operator that replaces BUF-3 for a zero along one axis.
struct EmptyAxisRule {
  size_t axis;
  std::string_view code;
};

// Reports every rule of this header that a complete desc breaks. `path` leads to the desc, such as
// "InputTensors/1".
void ValidateTensorDesc(const TensorDesc& desc, TensorRole role, const std::string& path,
                        std::optional<EmptyAxisRule> empty_axis_rule, Diagnostics& diagnostics);

}  // namespace dmlop
