#include "core/compare/alignment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

std::string Braces(const Dims& sizes) {
  return fmt::format("{{{}}}", fmt::join(sizes, ", "));
}

Dims WithoutUnits(const Dims& sizes) {
  Dims rest;
  for (const int64_t size : sizes) {
    if (size != 1) rest.push_back(size);
  }
  return rest;
}

// The same elements as a tensor of other sizes, which differ by 1s alone.
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

// The elements as INT64, in row-major order; empty where one does not fit.
template <typename T>
std::shared_ptr<const Buffer> Widened(const ConstTensorView& tensor) {
  const auto buffer =
      std::make_shared<Buffer>(static_cast<size_t>(tensor.layout.element_count()) * 8);
  auto* to = reinterpret_cast<int64_t*>(buffer->data());
  const T* from = tensor.elements<T>();
  Dims index = Dims::Filled(tensor.layout.rank(), 0);
  for (int64_t i = 0; i < tensor.layout.element_count(); ++i) {
    const T value = from[OffsetOf(tensor.layout, index)];
    if (!std::in_range<int64_t>(value)) return nullptr;
    to[i] = static_cast<int64_t>(value);
    Advance(tensor.layout.sizes, index);
  }
  return buffer;
}

bool Widen(ComparedTensor& compared, AlignedTensors& aligned) {
  ConstTensorView& tensor = compared.view;
  std::shared_ptr<const Buffer> buffer;
  VisitDataType(AllTypes{}, tensor.type, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) buffer = Widened<T>(tensor);
  });
  if (!buffer) return false;
  tensor = {buffer->data(), DataType::kInt64, PackedLayout(tensor.layout.sizes)};
  compared.type_name = Name(tensor.type);
  aligned.storage.push_back(buffer);
  return true;
}

void AlignTypes(const Leniency& leniency, AlignedTensors& aligned) {
  const DataType actual = aligned.actual.view.type;
  const DataType expected = aligned.expected.view.type;
  if (actual == expected) return;
  const bool are_integers = !IsFloat(actual) && !IsFloat(expected);
  if (leniency.integer_types && are_integers && Widen(aligned.actual, aligned) &&
      Widen(aligned.expected, aligned)) {
    return;
  }
  aligned.mismatches.push_back(fmt::format(
      "data types differ: actual {}, expected {}{}", aligned.actual.type_name,
      aligned.expected.type_name,
      are_integers && !leniency.integer_types ? "; --any-integers compares the values" : ""));
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
  aligned.mismatches.push_back(fmt::format(
      "shapes differ: actual {}, expected {}{}", Braces(actual), Braces(expected),
      only_units ? "; they differ by dimensions of size 1 only, which --squeeze lets pass" : ""));
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
