// Which data types and ranks an operator takes at which feature level: the tables of the reference
// pages as data, shared by the validator, the listings and the tests.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/tensor/data_type.h"
#include "core/tensor/feature_level.h"

namespace dmlop {

// What a descriptor must not break; `code` is the rule's stable id.
struct Rule {
  std::string_view code;
  std::string_view text;
};

// What a field may hold whatever the others say; where there is nothing to say, there is no entry.
struct FieldLimits {
  std::string_view field;
  uint32_t min_count = 0;  // entries of an array
  uint32_t max_count = UINT32_MAX;
  uint32_t min = 0;  // of each number
  uint32_t max = UINT32_MAX;
  bool distinct = false;  // no number stands twice
};

// The entry of a field, or one without limits.
FieldLimits LimitsOf(std::string_view field, std::span<const FieldLimits> limits);

// Holds from its level until the next row of the same table.
struct SupportRow {
  FeatureLevel since;
  size_t min_rank;
  size_t max_rank;
  DataTypeSet input;
  DataTypeSet output;  // empty: the output has the input's type
};

struct SupportTable {
  std::string_view applies_to;  // "" for the whole operator, else the functions, "ARGMIN, ARGMAX"
  std::span<const SupportRow> rows;  // oldest first
};

// The row in force at `level`, or null where the operator does not exist yet.
const SupportRow* RowAt(const SupportTable& table, FeatureLevel level);

namespace types {
inline constexpr DataTypeSet kFloats = {DataType::kFloat32, DataType::kFloat16};
inline constexpr DataTypeSet kInt8s = {DataType::kInt8, DataType::kUint8};
inline constexpr DataTypeSet kInt16s = {DataType::kInt16, DataType::kUint16};
inline constexpr DataTypeSet kInt32s = {DataType::kInt32, DataType::kUint32};
inline constexpr DataTypeSet kInt64s = {DataType::kInt64, DataType::kUint64};
inline constexpr DataTypeSet kUpTo32 = kFloats | kInt32s | kInt16s | kInt8s;
inline constexpr DataTypeSet kAll = kUpTo32 | kInt64s | DataTypeSet{DataType::kFloat64};
}  // namespace types

}  // namespace dmlop
