// SPDX-License-Identifier: Apache-2.0
#include "core/tensor/data_type.h"

#include <fmt/format.h>

#include <array>

#include "core/base/text.h"

namespace dmlop {
namespace {

constexpr std::array<std::string_view, 14> kNames = {
    "UNKNOWN", "FLOAT32", "FLOAT16", "UINT32", "UINT16", "UINT8", "INT32",
    "INT16",   "INT8",    "FLOAT64", "UINT64", "INT64",  "UINT4", "INT4"};
constexpr std::array<uint8_t, 14> kBits = {0, 32, 16, 32, 16, 8, 32, 16, 8, 64, 64, 64, 4, 4};

constexpr std::array kReferenceOrder = {DataType::kFloat64, DataType::kFloat32, DataType::kFloat16,
                                        DataType::kInt64,   DataType::kInt32,   DataType::kInt16,
                                        DataType::kInt8,    DataType::kUint64,  DataType::kUint32,
                                        DataType::kUint16,  DataType::kUint8,   DataType::kInt4,
                                        DataType::kUint4};

}  // namespace

std::span<const std::string_view> DataTypeNames() {
  return kNames;
}

std::string_view Name(DataType type) {
  return kNames[static_cast<size_t>(type)];
}

unsigned BitWidth(DataType type) {
  return kBits[static_cast<size_t>(type)];
}

bool IsFloat(DataType type) {
  return DataTypeSet{DataType::kFloat16, DataType::kFloat32, DataType::kFloat64}.Contains(type);
}

bool IsSigned(DataType type) {
  return IsFloat(type) || DataTypeSet{DataType::kInt8, DataType::kInt16, DataType::kInt32,
                                      DataType::kInt64, DataType::kInt4}
                              .Contains(type);
}

DataType StoredAs(DataType type) {
  if (!HasNibbles(type)) return type;
  return IsSigned(type) ? DataType::kInt8 : DataType::kUint8;
}

DataType SignedLike(DataType type) {
  switch (type) {
    case DataType::kUint64:
      return DataType::kInt64;
    case DataType::kUint32:
      return DataType::kInt32;
    case DataType::kUint16:
      return DataType::kInt16;
    case DataType::kUint8:
      return DataType::kInt8;
    default:
      return type;
  }
}

std::string ToString(DataTypeSet set) {
  std::string text;
  for (const DataType type : kReferenceOrder) {
    if (!set.Contains(type)) continue;
    if (!text.empty()) text += ", ";
    text += Name(type);
  }
  return text;
}

// --- feature levels ------------------------------------------------------------------------------

namespace {

constexpr std::array kLevels = {Level(1, 0), Level(2, 0), Level(2, 1), Level(3, 0), Level(3, 1),
                                Level(4, 0), Level(4, 1), Level(5, 0), Level(5, 1), Level(5, 2),
                                Level(6, 0), Level(6, 1), Level(6, 2), Level(6, 3), Level(6, 4)};

}  // namespace

std::span<const FeatureLevel> FeatureLevels() {
  return kLevels;
}

std::string ToString(FeatureLevel level) {
  return fmt::format("{}_{}", level.value >> 12, (level.value >> 8) & 0xF);
}

std::optional<FeatureLevel> ParseFeatureLevel(std::string_view text) {
  constexpr std::string_view kPrefix = "DML_FEATURE_LEVEL_";
  if (EqualIgnoringCase(text.substr(0, kPrefix.size()), kPrefix)) {
    text.remove_prefix(kPrefix.size());
  }
  for (const FeatureLevel level : kLevels) {
    const std::string name = ToString(level);
    if (text.size() == name.size() && text[0] == name[0] && text[2] == name[2] &&
        (text[1] == '_' || text[1] == '.')) {
      return level;
    }
  }
  return std::nullopt;
}

}  // namespace dmlop
