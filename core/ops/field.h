// SPDX-License-Identifier: Apache-2.0
// The fields of operators: names and kinds as in DirectML, allowed values, and the values that a
// descriptor gives them. Source: the structs of DirectML.h.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "core/tensor/data_type.h"
#include "core/tensor/element.h"
#include "core/tensor/scale_bias.h"
#include "core/tensor/tensor_desc.h"

namespace dmlop {

class OperatorDesc;

enum class FieldKind : uint8_t {
  kTensor,
  kTensors,
  kCount,  // entries in each of the following arrays, at least one, up to the next count
  kUint,
  kInt,
  kFloat,
  kBool,
  kEnum,
  kDataType,
  kUints,
  kInts,
  kFloats,
  kScaleBias,
  kSize2d,
  kScalar,
  kActivation,
  kActivations,
};

// Tensors and data types of one variable have equal types. The types that each variable may have at
// a feature level are in words/support.txt.
enum class TypeVariable : uint8_t { kT, kU, kV, kIndex, kW };
inline constexpr size_t kTypeVariables = 5;

// Tensors of one group may have the same ranks, which are there, too.
enum class RankGroup : uint8_t { kMain, kSide, kOther, kFurther };
inline constexpr size_t kRankGroups = 4;

// The values that a field may have regardless of other fields. A limit without a code in `rule` or
// `count_rule` is there for the schema only; the operator itself checks it.
struct FieldLimits {
  uint32_t min = 0;  // of each number
  uint32_t max = UINT32_MAX;
  std::string_view rule = {};
  uint32_t min_count = 0;  // entries of an array
  uint32_t max_count = UINT32_MAX;
  std::string_view count_rule = {};  // also: as many entries as in the count's first array
  bool per_dimension = false;        // one entry for each dimension of the first input
  bool distinct = false;             // no number occurs twice
  bool wraps = false;                // negative numbers may stand for unsigned ones, modulo 2^width
};

struct EnumNames {
  std::string_view prefix;
  std::span<const std::string_view> names;   // indexed by value
  std::span<const FeatureLevel> since = {};  // for each name; empty: as old as the operator
  std::string_view since_rule = "FL-1";
};

// Kinds of operators with a fused activation; each kind accepts different activations.
enum class ActivationHost : uint8_t { kElements, kMatrices, kConvolution, kNetwork };
inline constexpr size_t kActivationHosts = 4;

struct Field {
  std::string_view name;
  FieldKind kind;
  bool optional = false;  // absent if left out, while other fields get a value from elsewhere
  TensorRole role = TensorRole::kInput;
  TypeVariable type = TypeVariable::kT;
  TypeVariable other_entries = type;  // for the entries of an array after the first
  RankGroup ranks = RankGroup::kMain;
  // The rule that replaces BUF-3 for a tensor that is empty along the operator's Axis.
  std::string_view empty_axis_rule = {};
  FieldLimits limits = {};
  EnumNames names = {};
  ActivationHost host = ActivationHost::kElements;

  constexpr bool is_tensor() const {
    return kind == FieldKind::kTensor || kind == FieldKind::kTensors;
  }
  constexpr TypeVariable TypeOfEntry(size_t entry) const {
    return entry == 0 ? type : other_entries;
  }
};

// DML_SIZE_2D
struct Size2d {
  uint32_t width;
  uint32_t height;
};

// DML_SCALAR_UNION: the first bytes hold a number of the type. The type is UNKNOWN until it follows
// from other fields or from a file.
struct Scalar {
  DataType type = DataType::kUnknown;
  ElementBytes bytes{};
};

// An empty value is left out. An activation is an operator without tensors.
using FieldValue =
    std::variant<std::monostate, TensorDesc, std::vector<TensorDesc>, uint32_t, int32_t, float,
                 bool, DataType, std::vector<uint32_t>, std::vector<int32_t>, std::vector<float>,
                 ScaleBias, Size2d, Scalar, std::vector<OperatorDesc>>;

// The length of an array; empty for any other value.
std::optional<size_t> LengthOf(const FieldValue& value);

// A field whose values have type T; it is the key to a descriptor's value.
template <typename T>
struct FieldOf : Field {};

// The fields of an operator, in DirectML's order.
template <typename... T>
constexpr std::array<const Field*, sizeof...(T)> Fields(const T&... fields) {
  return {&fields...};
}

namespace field {

constexpr FieldOf<TensorDesc> Input(std::string_view name, TypeVariable type = TypeVariable::kT,
                                    RankGroup ranks = RankGroup::kMain) {
  return {{.name = name, .kind = FieldKind::kTensor, .type = type, .ranks = ranks}};
}
constexpr FieldOf<TensorDesc> Output(std::string_view name, TypeVariable type = TypeVariable::kT,
                                     RankGroup ranks = RankGroup::kMain) {
  return {{.name = name,
           .kind = FieldKind::kTensor,
           .role = TensorRole::kOutput,
           .type = type,
           .ranks = ranks}};
}
// At least one tensor.
constexpr FieldOf<std::vector<TensorDesc>> Tensors(std::string_view name, TensorRole role,
                                                   std::string_view count_rule,
                                                   std::string_view empty_axis_rule = {}) {
  return {{.name = name,
           .kind = FieldKind::kTensors,
           .role = role,
           .empty_axis_rule = empty_axis_rule,
           .limits = {.min_count = 1, .count_rule = count_rule}}};
}
constexpr FieldOf<uint32_t> Count(std::string_view name) {
  return {{.name = name, .kind = FieldKind::kCount}};
}
constexpr FieldOf<uint32_t> Uint(std::string_view name, FieldLimits limits = {}) {
  return {{.name = name, .kind = FieldKind::kUint, .limits = limits}};
}
constexpr FieldOf<int32_t> Int(std::string_view name) {
  return {{.name = name, .kind = FieldKind::kInt}};
}
constexpr FieldOf<float> Float(std::string_view name) {
  return {{.name = name, .kind = FieldKind::kFloat}};
}
constexpr FieldOf<bool> Bool(std::string_view name) {
  return {{.name = name, .kind = FieldKind::kBool}};
}
constexpr FieldOf<uint32_t> Enum(std::string_view name, EnumNames names) {
  return {{.name = name, .kind = FieldKind::kEnum, .names = names}};
}
// The DataType of tensors.
constexpr FieldOf<DataType> TypeOf(std::string_view name, std::string_view rule = "ELW-4") {
  return {{.name = name, .kind = FieldKind::kDataType, .limits = {.rule = rule}}};
}
constexpr FieldOf<std::vector<uint32_t>> Uints(std::string_view name, FieldLimits limits = {}) {
  return {{.name = name, .kind = FieldKind::kUints, .limits = limits}};
}
constexpr FieldOf<std::vector<int32_t>> Ints(std::string_view name, FieldLimits limits = {}) {
  return {{.name = name, .kind = FieldKind::kInts, .limits = limits}};
}
constexpr FieldOf<std::vector<float>> Floats(std::string_view name, FieldLimits limits = {}) {
  return {{.name = name, .kind = FieldKind::kFloats, .limits = limits}};
}
constexpr FieldOf<Size2d> TwoSizes(std::string_view name, FieldLimits limits = {}) {
  return {{.name = name, .kind = FieldKind::kSize2d, .limits = limits}};
}
constexpr FieldOf<Scalar> ScalarOf(std::string_view name, TypeVariable type = TypeVariable::kT) {
  return {{.name = name, .kind = FieldKind::kScalar, .type = type}};
}
constexpr FieldOf<Scalar> Wrapping(FieldOf<Scalar> field) {
  field.limits.wraps = true;
  return field;
}
// The activations of a network's gates.
constexpr FieldOf<std::vector<OperatorDesc>> Activations(std::string_view name) {
  return {{.name = name, .kind = FieldKind::kActivations, .host = ActivationHost::kNetwork}};
}

// An activation of the operator's rounded result.
constexpr FieldOf<std::vector<OperatorDesc>> FusedActivation(ActivationHost host) {
  return {
      {.name = "FusedActivation", .kind = FieldKind::kActivation, .optional = true, .host = host}};
}

template <typename T>
constexpr FieldOf<T> Optional(FieldOf<T> field) {
  field.optional = true;
  return field;
}

}  // namespace field

// Fields that several operators have.
inline constexpr auto kInputTensor = field::Input("InputTensor");
inline constexpr auto kOutputTensor = field::Output("OutputTensor");
inline constexpr auto kATensor = field::Input("ATensor");
inline constexpr auto kBTensor = field::Input("BTensor");
inline constexpr FieldOf<ScaleBias> kScaleBias = {
    {.name = "ScaleBias", .kind = FieldKind::kScaleBias, .optional = true}};
inline constexpr auto kFusedActivation = field::FusedActivation(ActivationHost::kElements);
inline constexpr auto kDimensionCount = field::Count("DimensionCount");
inline constexpr auto kAxis = field::Uint("Axis", {.max = kMaxRank - 1});
inline constexpr std::string_view kAxisDirections[] = {"INCREASING", "DECREASING"};
inline constexpr auto kAxisDirection =
    field::Enum("AxisDirection", {.prefix = "DML_AXIS_DIRECTION_", .names = kAxisDirections});
inline constexpr auto kInputGradient = field::Input("InputGradientTensor");
inline constexpr auto kOutputGradient = field::Output("OutputGradientTensor");
inline constexpr auto kBiasTensor = field::Optional(field::Input("BiasTensor"));
inline constexpr auto kAlpha = field::Float("Alpha");
inline constexpr auto kBeta = field::Float("Beta");
inline constexpr auto kEpsilon = field::Float("Epsilon");
inline constexpr auto kCrossChannel = field::Bool("CrossChannel");
inline constexpr auto kValueDataType = field::TypeOf("ValueDataType");
inline constexpr auto kGroupCount = field::Uint("GroupCount", {.min = 1, .rule = "CTR-5"});
inline constexpr auto kAxisCount = field::Count("AxisCount");
inline constexpr auto kAxes =
    field::Uints("Axes", {.max = kMaxRank - 1, .max_count = kMaxRank, .distinct = true});

}  // namespace dmlop
