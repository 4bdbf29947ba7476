// SPDX-License-Identifier: Apache-2.0
// The element types of DirectML tensors (DML_TENSOR_DATA_TYPE in DirectML.h).
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace dmlop {

enum class DataType : uint8_t {  // values as in DirectML.h
  kUnknown = 0,
  kFloat32 = 1,
  kFloat16 = 2,
  kUint32 = 3,
  kUint16 = 4,
  kUint8 = 5,
  kInt32 = 6,
  kInt16 = 7,
  kInt8 = 8,
  kFloat64 = 9,
  kUint64 = 10,
  kInt64 = 11,
  kUint4 = 12,
  kInt4 = 13,
};

inline constexpr std::string_view kDataTypePrefix = "DML_TENSOR_DATA_TYPE_";

// Returns every name, indexed by value: "UNKNOWN", "FLOAT32", ...
std::span<const std::string_view> DataTypeNames();
std::string_view Name(DataType type);

// Returns the bits of one element in a buffer or a raw file: 4, 8, 16, 32 or 64; 0 for UNKNOWN.
unsigned BitWidth(DataType type);

// Returns the bytes of one element in memory, where one of 4 bits has a byte of its own; 0 for
// UNKNOWN.
inline size_t ByteWidth(DataType type) {
  return (BitWidth(type) + 7) / 8;
}

// Returns whether two elements share a byte of a buffer; see core/tensor/nibbles.h.
inline bool HasNibbles(DataType type) {
  return BitWidth(type) == 4;
}

// Returns the type that elements have in memory: INT8 or UINT8 for 4 bits, otherwise the type
// itself.
DataType StoredAs(DataType type);

bool IsFloat(DataType type);
bool IsSigned(DataType type);

// Returns the signed integer type as wide as an unsigned one; otherwise the type itself.
DataType SignedLike(DataType type);

// A set of element types.
class DataTypeSet {
 public:
  constexpr DataTypeSet() = default;
  constexpr DataTypeSet(std::initializer_list<DataType> types) {
    for (const DataType type : types) bits_ = static_cast<uint16_t>(bits_ | Bit(type));
  }

  constexpr bool Contains(DataType type) const { return (bits_ & Bit(type)) != 0; }
  constexpr bool empty() const { return bits_ == 0; }
  constexpr DataTypeSet operator|(DataTypeSet other) const {
    DataTypeSet both;
    both.bits_ = static_cast<uint16_t>(bits_ | other.bits_);
    return both;
  }

 private:
  static constexpr uint16_t Bit(DataType type) {
    return static_cast<uint16_t>(1u << static_cast<unsigned>(type));
  }

  uint16_t bits_ = 0;
};

// "FLOAT32, FLOAT16": floats, signed, unsigned, 4-bit integers, each widest first, as in the docs.
std::string ToString(DataTypeSet set);

// --- feature levels ------------------------------------------------------------------------------

// DML_FEATURE_LEVEL: the version of DirectML by which a descriptor is judged.

struct FeatureLevel {
  uint16_t value;  // (major << 12) | (minor << 8), as in DirectML.h

  friend constexpr auto operator<=>(FeatureLevel, FeatureLevel) = default;
};

constexpr FeatureLevel Level(int major, int minor) {
  return {static_cast<uint16_t>((major << 12) | (minor << 8))};
}

// Every level that exists, oldest first.
std::span<const FeatureLevel> FeatureLevels();
inline constexpr FeatureLevel kHighestFeatureLevel = Level(6, 4);

std::string ToString(FeatureLevel level);  // "5_0"

// Parses "5_0", "5.0" or "DML_FEATURE_LEVEL_5_0"; empty for anything that is not a level.
std::optional<FeatureLevel> ParseFeatureLevel(std::string_view text);

}  // namespace dmlop
