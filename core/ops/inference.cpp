// SPDX-License-Identifier: Apache-2.0
#include "core/ops/inference.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/text.h"

namespace dmlop {
namespace {

// Returns the sizes to which NumPy broadcasts both; empty if they are not compatible.
std::optional<Sizes> Broadcast(const Sizes& a, const Sizes& b) {
  const size_t rank = std::max(a.size(), b.size());
  Sizes sizes = BehindOnes(rank, a);
  const Sizes others = BehindOnes(rank, b);
  for (size_t d = 0; d < rank; ++d) {
    if (sizes[d] != others[d] && sizes[d] != 1 && others[d] != 1) return std::nullopt;
    sizes[d] = std::max(sizes[d], others[d]);
  }
  return sizes;
}

// "; "Sizes": [3, 4], "Strides": [0, 1] repeat BTensor"
std::string RepetitionOf(const TensorSlot& slot, const Sizes& to) {
  const auto strides = BroadcastStrides(LayoutOf(*slot.desc), Dims(to.begin(), to.end()));
  return fmt::format("; \"Sizes\": [{}], \"Strides\": [{}] repeat {}", fmt::join(to, ", "),
                     fmt::join(*strides, ", "), DisplayName(slot.path));
}

// Says how NumPy would repeat the tensor to the expected sizes, or, if these have to be repeated
// instead, how the first input is repeated if it has them. Empty if nothing can be repeated.
std::string Repetitions(const OperatorDesc& op, const TensorAt& tensor, const Sizes& expected) {
  if (!AreKnown(tensor.sizes()) || !AreKnown(expected)) return "";
  const std::optional<Sizes> common = Broadcast(tensor.sizes(), expected);
  const std::vector<TensorSlot> inputs = TensorSlots(op, TensorRole::kInput);
  const auto own = std::find_if(inputs.begin(), inputs.end(),
                                [&](const TensorSlot& slot) { return slot.desc == &tensor.desc; });
  if (!common || own == inputs.end()) return "";
  const std::string repeated = tensor.sizes() == *common ? "" : RepetitionOf(*own, *common);
  if (expected == *common) return repeated;
  const TensorSlot& first = inputs.front();
  const bool is_first = first.type == own->type && first.desc->sizes == expected;
  return is_first ? repeated + RepetitionOf(first, *common) : "";
}

}  // namespace

bool AreKnown(const Sizes& sizes) {
  return std::none_of(sizes.begin(), sizes.end(), IsUnknown);
}

std::string Told(const Sizes& sizes) {
  std::vector<std::string> told;
  for (const uint32_t size : sizes) told.push_back(IsUnknown(size) ? "?" : std::to_string(size));
  return fmt::format("{{{}}}", fmt::join(told, ", "));
}

std::string Place::path() const {
  std::string path(field);
  if (entry) path += fmt::format("/{}", *entry);
  if (!member.empty()) path += fmt::format("/{}", member);
  if (dimension) path += fmt::format("/{}", *dimension);
  return path;
}

std::string TensorAt::name() const {
  return entry ? fmt::format("{}[{}]", field, *entry) : std::string(field);
}

void Inference::Report(std::string_view code, const Place& place, std::string message) {
  diagnostics_.Error(code, place.path(), std::move(message));
}

bool Inference::RequireAxis(std::string_view code, const Place& place, uint32_t axis,
                            const TensorAt& tensor) {
  const size_t rank = tensor.desc.rank();
  return axis < rank || Require(false, code, place, "axis {} is out of range for {} with {}", axis,
                                tensor.name(), Counted(rank, "dimension"));
}

bool Inference::RequireSameRank(std::string_view code, const TensorAt& tensor,
                                const TensorAt& like) {
  const size_t rank = like.desc.rank();
  return tensor.desc.rank() == rank ||
         Require(false, code, SizesOf(tensor),
                 "Sizes are {}; expected {}, as many as {} has with {}", Told(tensor.sizes()),
                 Counted(rank, "dimension"), like.name(), Told(like.sizes()));
}

bool Inference::RequireSizes(std::string_view code, const TensorAt& tensor, Sizes expected) {
  for (size_t d = 0; d < std::min(expected.size(), tensor.sizes().size()); ++d) {
    if (IsUnknown(expected[d])) expected[d] = tensor.sizes()[d];
  }
  return std::ranges::equal(tensor.sizes(), expected, Agree) ||
         Require(false, code, SizesOf(tensor), "Sizes are {}; expected {}{}", Told(tensor.sizes()),
                 Told(expected), Repetitions(op_, tensor, expected));
}

void Inference::Output(std::string_view code, const FieldOf<TensorDesc>& field,
                       const Sizes& sizes) {
  TensorDesc& output = op_.at(field);
  if (!output.sizes && AreKnown(sizes)) output.sizes = sizes;
  if (output.sizes) RequireSizes(code, tensor(field), sizes);
}

void Inference::Output(std::string_view code, const FieldOf<TensorDesc>& field,
                       const std::vector<uint64_t>& sizes) {
  const auto too_large =
      std::find_if(sizes.begin(), sizes.end(), [](uint64_t size) { return size > UINT32_MAX; });
  if (too_large == sizes.end()) return Output(code, field, Sizes(sizes.begin(), sizes.end()));
  Fail("BUF-11", {field.name, std::nullopt, "Sizes"},
       "a size would be {}, more elements than a tensor may have", *too_large);
}

void Inference::Output(std::string_view code, const FieldOf<std::vector<TensorDesc>>& field,
                       size_t entry, const Sizes& sizes) {
  TensorDesc& output = op_.at(field)[entry];
  if (!output.sizes && AreKnown(sizes)) output.sizes = sizes;
  if (output.sizes) RequireSizes(code, tensor(field, entry), sizes);
}

void Inference::OutputType(const FieldOf<TensorDesc>& field, DataType type) {
  TensorDesc& output = op_.at(field);
  if (!output.data_type) output.data_type = type;
}

Sizes BehindOnes(size_t rank, Sizes last) {
  if (last.size() < rank) last.insert(last.begin(), rank - last.size(), 1);
  return last;
}

void InferSameSizes(std::string_view code, const OperatorDesc& op, const FieldOf<TensorDesc>& input,
                    Inference& infer) {
  infer.Output(code, kOutputTensor, op.sizes(input));
}

bool CheckAxes(std::string_view range_code, std::string_view twice_code,
               const FieldOf<std::vector<uint32_t>>& field, const OperatorDesc& op,
               const TensorAt& tensor, Inference& infer) {
  const std::vector<uint32_t>& axes = op[field];
  bool all_exist = true;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (!infer.RequireAxis(range_code, At(field, i), axes[i], tensor)) {
      all_exist = false;
      continue;
    }
    const auto here = axes.begin() + static_cast<ptrdiff_t>(i);
    infer.Require(std::find(axes.begin(), here, axes[i]) == here, twice_code, At(field, i),
                  "axis {} is listed twice", axes[i]);
  }
  return all_exist;
}

}  // namespace dmlop
