// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/tensor_desc.h"

#include "core/base/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <bit>

namespace dmlop {
namespace {

constexpr uint64_t kMaxElements = 0xFFFFFFFF;

CheckedU64 ElementCount(const std::vector<uint32_t>& sizes) {
  CheckedU64 count = 1;
  for (const uint32_t size : sizes) count = CheckedMul(count, size);
  return count;
}

// Returns the number of elements from the first to the last addressed one, by sizes and strides.
CheckedU64 ExtentInElements(const TensorDesc& desc) {
  if (!desc.strides) return ElementCount(*desc.sizes);
  CheckedU64 extent = 1;
  for (size_t d = 0; d < desc.rank(); ++d) {
    const uint64_t steps = (*desc.sizes)[d] == 0 ? 0 : (*desc.sizes)[d] - 1;
    extent = CheckedAdd(extent, CheckedMul(steps, (*desc.strides)[d]));
  }
  return extent;
}

bool Fits(CheckedU64 elements) {
  return elements && *elements <= kMaxElements;
}

bool RanksAgree(const TensorDesc& desc) {
  const size_t rank = desc.rank();
  return 1 <= rank && rank <= kMaxRank && (!desc.strides || desc.strides->size() == rank);
}

class TensorValidator {
 public:
  TensorValidator(const TensorDesc& desc, TensorRole role, const std::string& path,
                  std::optional<EmptyAxisRule> empty_axis_rule, Diagnostics& diagnostics)
      : desc_(desc),
        role_(role),
        path_(path),
        empty_axis_rule_(empty_axis_rule),
        diagnostics_(diagnostics) {}

  void Run() {
    CheckDataType();
    CheckFlags();
    CheckAlignment();
    const bool ranks_agree = CheckRank();
    const bool no_zero = CheckNoZeroSize();
    if (ranks_agree && no_zero && CheckElementCount()) {
      CheckOverlap();
      CheckTotalSize();
    }
    const uint64_t total = desc_.total_tensor_size_in_bytes;
    if (total % 4 != 0) {
      Error("BUF-10", "TotalTensorSizeInBytes", fmt::format("{} is not a multiple of 4", total));
    }
  }

 private:
  void Error(std::string_view code, std::string_view field, std::string message) {
    diagnostics_.Error(code, fmt::format("{}/{}", path_, field), std::move(message));
  }

  bool type_is_known() const { return *desc_.data_type != DataType::kUnknown; }

  void CheckDataType() {
    if (!type_is_known()) Error("BUF-14", "DataType", "UNKNOWN is not a type of tensor elements");
  }

  void CheckFlags() {
    if (desc_.owned_by_dml && role_ == TensorRole::kOutput) {
      Error("BUF-15", "Flags", "DML_TENSOR_FLAG_OWNED_BY_DML is for inputs only");
    }
  }

  void CheckAlignment() {
    const uint32_t alignment = desc_.guaranteed_base_offset_alignment;
    if (alignment == 0) return;
    if (!std::has_single_bit(alignment)) {
      Error("BUF-12", "GuaranteedBaseOffsetAlignment",
            fmt::format("{} is not a power of two", alignment));
    } else if (alignment * 8ull < BitWidth(*desc_.data_type)) {
      Error("BUF-12", "GuaranteedBaseOffsetAlignment",
            fmt::format("{} is less than the {} of a {} element", alignment,
                        Counted(ByteWidth(*desc_.data_type), "byte"), Name(*desc_.data_type)));
    }
  }

  bool CheckRank() {
    const size_t rank = desc_.rank();
    if (rank < 1 || rank > kMaxRank) {
      Error("BUF-1", "Sizes",
            fmt::format("{} dimensions are out of range [1, {}]", rank, kMaxRank));
    }
    if (desc_.dimension_count && *desc_.dimension_count != rank) {
      Error("BUF-13", "DimensionCount",
            fmt::format("{} does not match the {} of Sizes", *desc_.dimension_count,
                        Counted(rank, "entry")));
    }
    if (desc_.strides && desc_.strides->size() != rank) {
      Error("BUF-13", "Strides",
            fmt::format("{} {} not match the {} of Sizes", Counted(desc_.strides->size(), "entry"),
                        ForCount(desc_.strides->size(), "does", "do"), Counted(rank, "entry")));
    }
    return RanksAgree(desc_);
  }

  bool CheckNoZeroSize() {
    bool none = true;
    for (size_t d = 0; d < desc_.rank(); ++d) {
      if ((*desc_.sizes)[d] != 0) continue;
      const bool own_rule = empty_axis_rule_ && empty_axis_rule_->axis == d;
      Error(own_rule ? empty_axis_rule_->code : "BUF-3", fmt::format("Sizes/{}", d),
            own_rule ? "a tensor that is empty along Axis is not allowed"
                     : "a size of 0 is not allowed; sizes start at 1");
      none = false;
    }
    return none;
  }

  bool CheckElementCount() {
    const CheckedU64 count = ElementCount(*desc_.sizes);
    if (!Fits(count)) {
      Error(
          "BUF-11", "Sizes",
          fmt::format("Sizes {} have more than {} elements", ToString(*desc_.sizes), kMaxElements));
      return false;
    }
    if (!Fits(ExtentInElements(desc_))) {
      Error("BUF-11", "Strides",
            fmt::format("Strides {} spread Sizes {} over more than {} elements",
                        ToString(*desc_.strides), ToString(*desc_.sizes), kMaxElements));
      return false;
    }
    return true;
  }

  void CheckOverlap() {
    if (role_ == TensorRole::kInput || !desc_.strides || !HasOverlap(LayoutOf(desc_))) return;
    Error("BUF-8", "Strides",
          fmt::format("Strides {} let two elements of Sizes {} share a place in an output",
                      ToString(*desc_.strides), ToString(*desc_.sizes)));
  }

  void CheckTotalSize() {
    const uint64_t total = desc_.total_tensor_size_in_bytes;
    if (total == 0 || !type_is_known()) return;
    const uint64_t needed = *ImpliedSizeInBytes(desc_);
    if (total < needed) {
      Error("BUF-9", "TotalTensorSizeInBytes",
            fmt::format("{} is too small for the tensor; expected at least {}", total, needed));
    }
  }

  const TensorDesc& desc_;
  TensorRole role_;
  const std::string& path_;
  std::optional<EmptyAxisRule> empty_axis_rule_;
  Diagnostics& diagnostics_;
};

}  // namespace

CheckedU64 ImpliedSizeInBytes(const TensorDesc& desc) {
  const CheckedU64 bits = CheckedMul(ExtentInElements(desc), BitWidth(*desc.data_type));
  const CheckedU64 padded = CheckedAdd(bits, 31);
  return padded ? CheckedU64(*padded / 32 * 4) : std::nullopt;
}

uint64_t SizeInBytes(const TensorDesc& desc) {
  return desc.total_tensor_size_in_bytes != 0 ? desc.total_tensor_size_in_bytes
                                              : *ImpliedSizeInBytes(desc);
}

Layout LayoutOf(const TensorDesc& desc) {
  const Dims sizes(desc.sizes->begin(), desc.sizes->end());
  if (!desc.strides) return PackedLayout(sizes);
  return {sizes, Dims(desc.strides->begin(), desc.strides->end())};
}

std::string RepetitionHint(const Dims& array, const TensorDesc& desc) {
  const Dims sizes(desc.sizes->begin(), desc.sizes->end());
  const auto strides = BroadcastStrides(PackedLayout(array), sizes);
  if (desc.strides || !strides || array == sizes) return "";
  return fmt::format("; \"Strides\": [{}] repeat it", fmt::join(*strides, ", "));
}

std::string ToString(const std::vector<uint32_t>& values) {
  return fmt::format("{{{}}}", fmt::join(values, ", "));
}

bool HasLayout(const TensorDesc& desc) {
  return RanksAgree(desc) && Fits(ElementCount(*desc.sizes)) && Fits(ExtentInElements(desc));
}

void ValidateTensorDesc(const TensorDesc& desc, TensorRole role, const std::string& path,
                        std::optional<EmptyAxisRule> empty_axis_rule, Diagnostics& diagnostics) {
  TensorValidator(desc, role, path, empty_axis_rule, diagnostics).Run();
}

}  // namespace dmlop
