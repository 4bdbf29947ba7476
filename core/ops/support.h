// SPDX-License-Identifier: Apache-2.0
// Data types and ranks that an operator accepts at each feature level, as words/support.txt has
// them from the reference pages: shared by the checks, the listings and the tests.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/ops/field.h"
#include "core/tensor/data_type.h"

namespace dmlop {

// Holds from its level until the next row of the same table.
struct SupportRow {
  FeatureLevel since;
  size_t min_rank;
  size_t max_rank;
  std::array<DataTypeSet, kTypeVariables> types = {};  // by type variable
  struct Ranks {
    size_t min = 0, max = 0;
  };
  std::array<Ranks, kRankGroups - 1> other_ranks = {};  // max of 0: the same as the main ranks

  Ranks RanksOf(RankGroup group) const {
    const Ranks main{min_rank, max_rank};
    if (group == RankGroup::kMain) return main;
    const Ranks& own = other_ranks[static_cast<size_t>(group) - 1];
    return own.max == 0 ? main : own;
  }
  DataTypeSet TypesOf(TypeVariable variable) const { return types[static_cast<size_t>(variable)]; }
  // The types of a tensor, or of any entry of an array.
  DataTypeSet TypesOf(const Field& field) const {
    return TypesOf(field.type) | TypesOf(field.other_entries);
  }
};

// The rows for an operator, or for some enumerators of one of its fields.
struct SupportTable {
  std::vector<SupportRow> rows = {};      // oldest first
  const FieldOf<uint32_t>* of = nullptr;  // null: for the whole operator
  uint32_t enumerators = 0;               // one bit for each value

  bool Holds(uint32_t value) const { return (enumerators >> value & 1) != 0; }
};

// The row in force at `level`; null if the operator does not exist yet.
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
