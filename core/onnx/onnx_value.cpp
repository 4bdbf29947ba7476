// SPDX-License-Identifier: Apache-2.0
// Sizes, known elements and layouts of a model's values.
#include <fmt/ranges.h>

#include <algorithm>

#include "core/base/integers.h"
#include "core/base/text.h"
#include "core/onnx/onnx_node.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

std::vector<uint32_t> ToUints(const OnnxSizes& numbers) {
  std::vector<uint32_t> uints;
  for (const int64_t number : numbers) uints.push_back(static_cast<uint32_t>(number));
  return uints;
}

template <typename T>
T At(const std::byte* elements, int64_t index) {
  return ElementOf<T>(elements + index * static_cast<int64_t>(sizeof(T)));
}

}  // namespace

// --- sizes ---------------------------------------------------------------------------------------

std::string ToString(const OnnxSizes& sizes) {
  return fmt::format("[{}]", fmt::join(sizes, ", "));
}

const OnnxSizes& RequireSizes(const OnnxSizes& sizes) {
  for (const int64_t size : sizes) {
    if (size >= 0 && size <= kMostSize) continue;
    throw Refusal("ONX-1", "size {} of {} is out of range [0, {}]", size, ToString(sizes),
                  kMostSize);
  }
  return sizes;
}

const OnnxType& RequireType(const OnnxType& type) {
  if (type.type != DataType::kUnknown) return type;
  throw Refusal("ONX-6", "DirectML has no type {}", NameOf(type));
}

std::string NameOf(const OnnxType& type) {
  return type.name.empty() ? fmt::format("{}", type.number) : std::string(type.name);
}

int64_t CountOf(const OnnxSizes& sizes) {
  if (std::ranges::find(sizes, 0) != sizes.end()) return 0;
  return SaturatedProduct(sizes);
}

OnnxSizes BehindOnes(OnnxSizes sizes, size_t rank) {
  if (sizes.size() < rank) sizes.insert(sizes.begin(), rank - sizes.size(), 1);
  return sizes;
}

OnnxSizes StridesOf(const OnnxSizes& sizes) {
  OnnxSizes strides(sizes.size(), 1);
  for (size_t d = sizes.size(); d-- > 1;) strides[d - 1] = SaturatedProduct({strides[d], sizes[d]});
  return strides;
}

OnnxSizes BroadcastSizes(const OnnxCall& call, const OnnxSizes& a, const OnnxSizes& b) {
  const size_t rank = std::max(a.size(), b.size());
  OnnxSizes sizes = BehindOnes(a, rank);
  const OnnxSizes other = BehindOnes(b, rank);
  for (size_t d = 0; d < rank; ++d) {
    if (sizes[d] == 1) sizes[d] = other[d];
    if (other[d] != 1 && other[d] != sizes[d]) {
      call.Refuse("ONX-4", "sizes {} and {} do not broadcast to each other", ToString(a),
                  ToString(b));
    }
  }
  return sizes;
}

// --- known elements ------------------------------------------------------------------------------

int64_t KnownElements::Integer(int64_t index) const {
  int64_t integer = 0;
  VisitDataType(AllTypes(), type, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) integer = static_cast<int64_t>(At<T>(data, index));
  });
  return integer;
}

double KnownElements::Number(int64_t index) const {
  double number = 0;
  VisitDataType(AllTypes(), type, [&]<typename T>() { number = AsDouble(At<T>(data, index)); });
  return number;
}

ElementBytes KnownElements::Bytes(int64_t index) const {
  ElementBytes bytes{};
  const auto width = static_cast<int64_t>(ByteWidth(type));
  std::copy_n(data + index * width, width, bytes.begin());
  return bytes;
}

Scalar ScalarOf(DataType type, double number) {
  Scalar scalar{type};
  VisitDataType(AllTypes(), type, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      scalar.bytes = BytesOf(static_cast<T>(number));
    } else {
      scalar.bytes = BytesOf(FromDouble<T>(number));
    }
  });
  return scalar;
}

// --- layouts -------------------------------------------------------------------------------------

OnnxOperand Packed(OnnxValue& value) {
  return Reshaped(value, value.sizes);
}

TensorDesc PackedDesc(DataType type, const OnnxSizes& sizes) {
  TensorDesc desc;
  desc.data_type = type;
  desc.sizes = sizes.empty() ? std::vector<uint32_t>{1} : ToUints(sizes);
  return desc;
}

OnnxOperand Reshaped(OnnxValue& value, const OnnxSizes& sizes) {
  return {&value, PackedDesc(value.type.type, sizes)};
}

OnnxOperand Strided(OnnxValue& value, const OnnxSizes& sizes, const OnnxSizes& strides) {
  OnnxOperand operand = Reshaped(value, sizes);
  operand.desc.strides = sizes.empty() ? std::vector<uint32_t>{1} : ToUints(strides);
  return operand;
}

OnnxOperand AtRank(OnnxValue& value, size_t rank) {
  return Reshaped(value, BehindOnes(value.sizes, rank));
}

OnnxOperand BroadcastTo(OnnxValue& value, const OnnxSizes& sizes) {
  return RepeatedTo(value, value.sizes, sizes);
}

OnnxOperand RepeatedTo(OnnxValue& value, const OnnxSizes& own, const OnnxSizes& sizes) {
  if (CountOf(own) == CountOf(sizes)) return Reshaped(value, sizes);
  const OnnxSizes all = BehindOnes(own, sizes.size());
  OnnxSizes strides = StridesOf(all);
  for (size_t d = 0; d < all.size(); ++d) {
    if (all.size() != sizes.size() || (all[d] != 1 && all[d] != sizes[d])) {
      throw Refusal("ONX-4", "'{}' of {} does not broadcast to {}", value.name, ToString(own),
                    ToString(sizes));
    }
    if (all[d] == 1) strides[d] = 0;
  }
  return Strided(value, sizes, strides);
}

OnnxOperand Along(OnnxValue& value, size_t axis, size_t rank) {
  if (axis >= rank) {
    throw Refusal("ONX-4", "'{}' is for axis {} of {}", value.name, axis,
                  Counted(rank, "dimension"));
  }
  OnnxSizes sizes(rank, 1);
  sizes[axis] = CountOf(value.sizes);
  return Reshaped(value, sizes);
}

}  // namespace dmlop
