#include "core/ops/unfold.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/checked_math.h"
#include "core/ops/checks.h"

namespace dmlop {
namespace {

constexpr SupportRow kRows[] = {{Level(6, 4), 3, 8, types::kAll, {}}};
constexpr SupportTable kTables[] = {{"", kRows}};

// --- geometry of a desc that may still be wrong --------------------------------------------------

bool ArraysAgree(const UnfoldDesc& desc) {
  for (const auto* array : {&desc.window_sizes, &desc.strides, &desc.dilations, &desc.start_padding,
                            &desc.end_padding}) {
    if (!*array || (*array)->size() != desc.window_sizes->size()) return false;
  }
  return true;
}

bool RankIsInRange(const UnfoldDesc& desc) {
  return desc.window_sizes->size() >= 1 && desc.window_sizes->size() <= kMaxSpatialRank;
}

bool InputRankFits(const UnfoldDesc& desc) {
  return desc.input_tensor.sizes && ArraysAgree(desc) &&
         desc.input_tensor.rank() == desc.window_sizes->size() + 2;
}

int64_t PaddedSize(const UnfoldDesc& desc, size_t d) {
  return int64_t{(*desc.input_tensor.sizes)[d + 2]} + (*desc.start_padding)[d] +
         (*desc.end_padding)[d];
}

// What a window covers, dilation included; saturates, since a product of two 32-bit numbers and a
// little more does not fit in 64 signed bits.
int64_t WindowExtent(const UnfoldDesc& desc, size_t d) {
  const CheckedU64 reach = CheckedMul((*desc.dilations)[d], uint64_t{(*desc.window_sizes)[d]} - 1);
  constexpr uint64_t kFar = uint64_t{1} << 62;
  return static_cast<int64_t>(std::min(reach.value_or(kFar), kFar)) + 1;
}

bool HoldsWindow(const UnfoldDesc& desc, size_t d) {
  return (*desc.window_sizes)[d] != 0 && (*desc.strides)[d] != 0 && (*desc.dilations)[d] != 0 &&
         PaddedSize(desc, d) >= WindowExtent(desc, d);
}

int64_t Blocks(const UnfoldDesc& desc, size_t d) {
  return (PaddedSize(desc, d) - WindowExtent(desc, d)) / (*desc.strides)[d] + 1;
}

bool WindowsAreSound(const UnfoldDesc& desc) {
  if (!InputRankFits(desc)) return false;
  for (size_t d = 0; d < desc.window_sizes->size(); ++d) {
    if (!HoldsWindow(desc, d)) return false;
  }
  return true;
}

// {N, C * prod(WindowSizes), BlockCount}; empty where the fields do not give it, or a size does not
// fit in 32 bits.
std::optional<std::vector<uint32_t>> ImpliedSizes(const UnfoldDesc& desc) {
  if (!WindowsAreSound(desc)) return std::nullopt;
  CheckedU64 rows = (*desc.input_tensor.sizes)[1];
  CheckedU64 columns = 1;
  for (size_t d = 0; d < desc.window_sizes->size(); ++d) {
    rows = CheckedMul(rows, (*desc.window_sizes)[d]);
    columns = CheckedMul(columns, static_cast<uint64_t>(Blocks(desc, d)));
  }
  if (!rows || !columns || *rows > UINT32_MAX || *columns > UINT32_MAX) return std::nullopt;
  return std::vector<uint32_t>{(*desc.input_tensor.sizes)[0], static_cast<uint32_t>(*rows),
                               static_cast<uint32_t>(*columns)};
}

// --- validation ----------------------------------------------------------------------------------

struct NamedArray {
  const char* name;
  const std::optional<std::vector<uint32_t>>& values;
};

void CheckArrays(const UnfoldDesc& desc, Diagnostics& diagnostics) {
  if (!desc.window_sizes) return;
  const size_t count = desc.window_sizes->size();
  if (!RankIsInRange(desc)) {
    diagnostics.Error(
        "UNF-1", "WindowSizes",
        fmt::format("{} spatial dimensions are out of range [1, {}]", count, kMaxSpatialRank));
  }
  for (const NamedArray& array :
       {NamedArray{"Strides", desc.strides}, NamedArray{"Dilations", desc.dilations},
        NamedArray{"StartPadding", desc.start_padding},
        NamedArray{"EndPadding", desc.end_padding}}) {
    if (!array.values || array.values->size() == count) continue;
    diagnostics.Error("UNF-1", array.name,
                      fmt::format("{} entries do not match the {} entries of WindowSizes",
                                  array.values->size(), count));
  }
}

void CheckNoZeros(const UnfoldDesc& desc, Diagnostics& diagnostics) {
  for (const NamedArray& array :
       {NamedArray{"WindowSizes", desc.window_sizes}, NamedArray{"Strides", desc.strides},
        NamedArray{"Dilations", desc.dilations}}) {
    if (!array.values) continue;
    for (size_t d = 0; d < array.values->size(); ++d) {
      if ((*array.values)[d] >= LimitsOf(array.name, UnfoldDesc::kLimits).min) continue;
      diagnostics.Error("UNF-11", fmt::format("{}/{}", array.name, d), "0 is not allowed");
    }
  }
}

void CheckWindowsFit(const UnfoldDesc& desc, Diagnostics& diagnostics) {
  for (size_t d = 0; d < desc.window_sizes->size(); ++d) {
    if ((*desc.window_sizes)[d] == 0 || PaddedSize(desc, d) >= WindowExtent(desc, d)) continue;
    diagnostics.Error(
        "UNF-10", fmt::format("WindowSizes/{}", d),
        fmt::format("a window of {} with a dilation of {} does not fit into the padded size {}",
                    (*desc.window_sizes)[d], (*desc.dilations)[d], PaddedSize(desc, d)));
  }
}

void CheckOutputSizes(const UnfoldDesc& desc, Diagnostics& diagnostics) {
  if (!WindowsAreSound(desc)) return;
  std::optional<std::vector<uint32_t>> expected = ImpliedSizes(desc);
  if (!expected) {
    diagnostics.Error("BUF-11", "OutputTensor/Sizes",
                      "the windows have more elements than a tensor may have");
    return;
  }
  if (!desc.output_tensor.sizes) return;
  const size_t rank = desc.output_tensor.rank();
  if (rank != 3 && rank == desc.input_tensor.rank()) {
    expected->insert(expected->begin(), rank - 3, 1);
  }
  CheckSizes("UNF-4", {"OutputTensor", desc.output_tensor}, *expected, diagnostics);
}

}  // namespace

std::span<const SupportTable> SupportTables(const UnfoldDesc&) {
  return kTables;
}

const SupportTable* SupportFor(const UnfoldDesc&) {
  return &kTables[0];
}

void Complete(UnfoldDesc& desc) {
  FillIn(desc.output_tensor, desc.input_tensor.data_type, ImpliedSizes(desc));
}

void Validate(const UnfoldDesc& desc, Diagnostics& diagnostics) {
  const NamedTensor input{"InputTensor", desc.input_tensor};
  const NamedTensor output{"OutputTensor", desc.output_tensor};
  CheckArrays(desc, diagnostics);
  if (input.desc.sizes && ArraysAgree(desc) && RankIsInRange(desc) && !InputRankFits(desc)) {
    diagnostics.Error("UNF-2", "InputTensor/Sizes",
                      fmt::format("{} dimensions; expected {}, two more than WindowSizes has",
                                  input.desc.rank(), desc.window_sizes->size() + 2));
  }
  CheckSameDataType("UNF-5", output, input, diagnostics);
  CheckNoZeros(desc, diagnostics);
  if (InputRankFits(desc)) CheckWindowsFit(desc, diagnostics);
  CheckOutputSizes(desc, diagnostics);
}

std::vector<UnfoldDim> UnfoldDims(const UnfoldDesc& desc, const ConstTensorView& input) {
  std::vector<UnfoldDim> dims;
  for (size_t d = 0; d < desc.window_sizes->size(); ++d) {
    const int64_t size = input.layout.sizes[d + 2];
    const int64_t blocks = Blocks(desc, d);
    // Steps that are never taken may be too long for an offset.
    dims.push_back({size, (*desc.window_sizes)[d], blocks, blocks == 1 ? 1 : (*desc.strides)[d],
                    (*desc.dilations)[d], (*desc.start_padding)[d],
                    size == 1 ? 0 : input.layout.strides[d + 2]});
  }
  return dims;
}

void Run(const UnfoldDesc& desc, std::span<const ConstTensorView> inputs,
         std::span<const TensorView> outputs) {
  UnfoldWindows(UnfoldDims(desc, inputs[0]), inputs[0], outputs[0]);
}

}  // namespace dmlop
