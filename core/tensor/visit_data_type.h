// SPDX-License-Identifier: Apache-2.0
// The only type switch: from a DataType, known at run time, to the C++ type of its elements.
#pragma once

#include <cassert>
#include <cstdint>
#include <type_traits>

#include "core/tensor/data_type.h"
#include "core/tensor/half.h"

namespace dmlop {

template <typename T>
extern const DataType kDataTypeOf;  // of elements of the C++ type
template <>
inline constexpr DataType kDataTypeOf<float> = DataType::kFloat32;
template <>
inline constexpr DataType kDataTypeOf<Half> = DataType::kFloat16;
template <>
inline constexpr DataType kDataTypeOf<double> = DataType::kFloat64;
template <>
inline constexpr DataType kDataTypeOf<uint64_t> = DataType::kUint64;
template <>
inline constexpr DataType kDataTypeOf<uint32_t> = DataType::kUint32;
template <>
inline constexpr DataType kDataTypeOf<uint16_t> = DataType::kUint16;
template <>
inline constexpr DataType kDataTypeOf<uint8_t> = DataType::kUint8;
template <>
inline constexpr DataType kDataTypeOf<int64_t> = DataType::kInt64;
template <>
inline constexpr DataType kDataTypeOf<int32_t> = DataType::kInt32;
template <>
inline constexpr DataType kDataTypeOf<int16_t> = DataType::kInt16;
template <>
inline constexpr DataType kDataTypeOf<int8_t> = DataType::kInt8;

// A list of element types. The same list serves a validator and drives a loop, so that the two
// cannot disagree.
template <typename... Ts>
struct TypeList {
  static constexpr DataTypeSet kSet = {kDataTypeOf<Ts>...};
};

template <typename... Lists>
struct JoinedLists;
template <typename... Ts>
struct JoinedLists<TypeList<Ts...>> {
  using Type = TypeList<Ts...>;
};
template <typename... As, typename... Bs, typename... Rest>
struct JoinedLists<TypeList<As...>, TypeList<Bs...>, Rest...> {
  using Type = typename JoinedLists<TypeList<As..., Bs...>, Rest...>::Type;
};
template <typename... Lists>
using Join = typename JoinedLists<Lists...>::Type;

using Floats = TypeList<float, Half>;
using Integers8 = TypeList<int8_t, uint8_t>;
using Integers16 = TypeList<int16_t, uint16_t>;
using Integers32 = TypeList<int32_t, uint32_t>;
using Integers64 = TypeList<int64_t, uint64_t>;
using AllTypes = Join<TypeList<double>, Floats, Integers64, Integers32, Integers16, Integers8>;

// Calls visit.operator()<T>() for the T of `types` in which elements of `type` are stored; it must
// be one of them.
template <typename... Ts, typename Visitor>
void VisitDataType(TypeList<Ts...>, DataType type, Visitor&& visit) {
  const DataType stored = StoredAs(type);
  [[maybe_unused]] const bool found =
      ((stored == kDataTypeOf<Ts> && (visit.template operator()<Ts>(), true)) || ...);
  assert(found);
}

// Does the same by width, for code that only moves bits: T is the unsigned integer of that width.
template <typename Visitor>
void VisitElementWidth(DataType type, Visitor&& visit) {
  switch (ByteWidth(type)) {
    case 1:
      return visit.template operator()<uint8_t>();
    case 2:
      return visit.template operator()<uint16_t>();
    case 4:
      return visit.template operator()<uint32_t>();
    case 8:
      return visit.template operator()<uint64_t>();
    default:
      assert(false);
  }
}

}  // namespace dmlop
