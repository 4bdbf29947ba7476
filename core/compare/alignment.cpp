// SPDX-License-Identifier: Apache-2.0
#include "core/compare/alignment.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/compare/bfloat16.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

Dims WithoutUnits(const Dims& sizes) {
  Dims rest;
  for (const int64_t size : sizes) {
    if (size != 1) rest.push_back(size);
  }
  return rest;
}

// Views the same elements with other sizes, which may differ only by 1s.
ConstTensorView Reshaped(const ConstTensorView& tensor, const Dims& sizes) {
  ConstTensorView reshaped = tensor;
  reshaped.layout = PackedLayout(sizes);
  size_t from = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    while (tensor.layout.sizes[from] == 1) ++from;
    reshaped.layout.strides[d] = tensor.layout.strides[from++];
  }
  return reshaped;
}

// Converts the elements to Wide, in row-major order; returns null if one does not fit.
template <typename Wide, typename T>
std::shared_ptr<const Buffer> Widened(const ConstTensorView& tensor) {
  const auto buffer =
      std::make_shared<Buffer>(static_cast<size_t>(tensor.layout.element_count()) * sizeof(Wide));
  auto* to = reinterpret_cast<Wide*>(buffer->data());
  const T* from = tensor.elements<T>();
  Dims index = Dims::Filled(tensor.layout.rank(), 0);
  for (int64_t i = 0; i < tensor.layout.element_count(); ++i) {
    const T value = from[OffsetOf(tensor.layout, index)];
    if (!std::in_range<Wide>(value)) return nullptr;
    to[i] = static_cast<Wide>(value);
    Advance(tensor.layout.sizes, index);
  }
  return buffer;
}

template <typename Wide>
std::shared_ptr<const Buffer> Widened(const ConstTensorView& tensor) {
  std::shared_ptr<const Buffer> buffer;
  VisitDataType(AllTypes{}, tensor.type, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) buffer = Widened<Wide, T>(tensor);
  });
  return buffer;
}

// Returns false if an element does not fit.
template <typename Wide>
bool Widen(DataType type, AlignedTensors& aligned) {
  const auto actual = Widened<Wide>(aligned.actual.view);
  const auto expected = actual ? Widened<Wide>(aligned.expected.view) : nullptr;
  if (!expected) return false;
  const std::string_view name = Name(type);
  aligned.actual = {{actual->data(), type, PackedLayout(aligned.actual.view.layout.sizes)}, name};
  aligned.expected = {{expected->data(), type, PackedLayout(aligned.expected.view.layout.sizes)},
                      name};
  aligned.storage = {actual, expected};
  return true;
}

// Rounds what is compared with bfloat16: a FLOAT32 tensor or, if an expected one may be of any
// floats, that. The type of the actual elements is not changed otherwise.
void AlignBfloat16(const Leniency& leniency, AlignedTensors& aligned) {
  ComparedTensor& other = aligned.actual.is_bfloat16 ? aligned.expected : aligned.actual;
  const bool is_expected = &other == &aligned.expected;
  const bool is_any_float = is_expected && leniency.float_types && IsFloat(other.view.type);
  if (other.view.type != DataType::kFloat32 && !is_any_float) return;
  if (!other.is_bfloat16) {
    const auto rounded = RoundedToBfloat16(other.view);
    other.view = {rounded->data(), DataType::kFloat32, PackedLayout(other.view.layout.sizes)};
    aligned.storage.push_back(rounded);
  }
  aligned.in_bfloat16 = true;
  other.type_name = is_expected ? aligned.actual.type_name : aligned.expected.type_name;
}

void AlignTypes(const Leniency& leniency, AlignedTensors& aligned) {
  if (aligned.actual.is_bfloat16 || aligned.expected.is_bfloat16) AlignBfloat16(leniency, aligned);
  const DataType actual = aligned.actual.view.type;
  const DataType expected = aligned.expected.view.type;
  if (actual == expected) return;
  const bool are_integers = !IsFloat(actual) && !IsFloat(expected);
  const bool are_floats = IsFloat(actual) && IsFloat(expected);
  if (leniency.float_types && are_floats) return;
  if (leniency.integer_types && are_integers) {
    if (Widen<int64_t>(DataType::kInt64, aligned)) return;
    if (Widen<uint64_t>(DataType::kUint64, aligned)) return;
    aligned.mismatches.push_back(
        "values differ: some are negative, and others are 2^63 or more, which no type holds both");
    return;
  }
  aligned.mismatches.push_back(fmt::format("data types differ: actual {}, expected {}{}",
                                           aligned.actual.type_name, aligned.expected.type_name,
                                           are_integers ? "; --any-integers compares the values"
                                           : are_floats ? "; --any-floats compares the values"
                                                        : ""));
}

void AlignSizes(const Leniency& leniency, Side shape, AlignedTensors& aligned) {
  const Dims actual = aligned.actual.view.layout.sizes;
  const Dims expected = aligned.expected.view.layout.sizes;
  if (actual == expected) return;
  const bool only_units = WithoutUnits(actual) == WithoutUnits(expected);
  if (only_units && leniency.unit_sizes) {
    if (shape == Side::kExpected) {
      aligned.actual.view = Reshaped(aligned.actual.view, expected);
    } else {
      aligned.expected.view = Reshaped(aligned.expected.view, actual);
    }
    return;
  }
  const char* const way_on =
      only_units ? "; they differ by dimensions of size 1 only, which --squeeze lets pass"
      : Product(actual) == Product(expected)
          ? "; --reshape compares as many elements in their order"
          : "";
  aligned.mismatches.push_back(fmt::format("shapes differ: actual {}, expected {}{}",
                                           ToString(actual), ToString(expected), way_on));
}

}  // namespace

AlignedTensors Align(const ComparedTensor& actual, const ComparedTensor& expected,
                     const Leniency& leniency, Side shape) {
  AlignedTensors aligned{actual, expected, {}, {}};
  AlignTypes(leniency, aligned);
  AlignSizes(leniency, shape, aligned);
  return aligned;
}

}  // namespace dmlop
