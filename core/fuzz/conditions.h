// SPDX-License-Identifier: Apache-2.0
// Finds what a failure hangs on: each setting of the smallest case is varied alone, and what was
// seen is told as the simplest condition that fits all of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/document/document_json.h"
#include "core/fuzz/setting.h"
#include "core/fuzz/shrink.h"
#include "core/fuzz/values.h"

namespace dmlop {

enum class ConditionKind : uint8_t {
  kAny,
  kOnly,     // `values` is the one with which it fails
  kAtLeast,  // `values` is the bound
  kAtMost,
  kResidue,  // `values` are the modulus and the residue
  kOneOf,
  kNoneOf,
  kRelation,  // of the first to the second
  kUnclear,   // `values` are those with which it fails
};

struct Condition {
  // Pointers of a document; symbols of sizes; "rank"; "values:InputTensor". The pointer of a tensor
  // stands for whether it is there, that of its Strides for its layout, of its DataType for types.
  std::vector<std::string> of;
  ConditionKind kind = ConditionKind::kAny;
  std::vector<SettingValue> values{};
  std::string relation{};              // "=", "!=", "<", ">", "multiple"
  std::vector<SettingValue> passed{};  // if it is unclear
};

struct Conditions {
  std::vector<Condition> list;
  // The pointers that each symbol of a size stands for; the first has the value of the symbol.
  std::map<std::string, std::vector<std::string>> sizes;
  std::string text;  // "fails with EndPadding[0] != StartPadding[0]; any other field, any size"
  int64_t runs = 0;
};

// `classes` are those of the values of the case that was shrunk.
Conditions FindConditions(const Computation& smallest, const ValueClasses& classes,
                          const TryAll& run, int64_t most_runs, const CaseBounds& bounds);

// Returns whether another case of the operator meets the conditions found for `smallest`: at any of
// its axes, if the ranks differ. Classes of values are not compared.
bool Holds(const Conditions& conditions, const OperatorDesc& smallest, const OperatorDesc& other);

// Writes and reads the members "conditions", "sizes" and "text" of a finding.
void SetConditions(const Conditions& conditions, Json& finding);
Conditions ConditionsOf(const Json& finding);

// --- the simplest condition ----------------------------------------------------------------------

// The values that a setting was tried with, and whether the case failed.
using SeenValues = std::map<SettingValue, bool>;

// `value` is that of the smallest case, which fails, and is among those seen.
Condition SimplestCondition(SettingKind kind, const std::string& of, const SettingValue& value,
                            const SeenValues& seen);

// The values of two settings, and whether the case failed.
struct SeenPair {
  int64_t first;
  int64_t second;
  bool fails;
};

// Returns the relation of the first to the second with which exactly those failed that did; empty
// if there is none.
std::string RelationOf(const std::vector<SeenPair>& seen);
bool IsRelated(int64_t first, const std::string& relation, int64_t second);

// --- words ---------------------------------------------------------------------------------------

// The value of values:InputTensor in the smallest case.
inline constexpr std::string_view kAsInCase = "as in the case";

// The value of an axis that is the last one, whatever the rank.
inline constexpr std::string_view kLast = "last";

// The types of the first tensor with which a case fails.
struct FailingTypes {
  std::vector<std::string> names;
  std::string of;           // the setting
  bool has_others = false;  // other tensors have types of their own: conditions name the tensor
};

// "fails with W mod 16 = 15; any field, any other size, FLOAT32". If some settings were not varied,
// it names them, and does not say "any".
std::string TextOf(const Conditions& conditions, const FailingTypes& types,
                   const std::vector<std::string>& not_varied);

// "; with Direction and Strides[0] kept", or nothing.
std::string KeptText(const std::vector<DescriptorChange>& kept);

}  // namespace dmlop
