// SPDX-License-Identifier: Apache-2.0
// The settings of a case that can be varied alone: symbols of sizes, the rank, numbers of tensors
// and of axes, numbers and enumerators of fields, optional tensors, types and layouts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/fuzz/case_change.h"
#include "core/fuzz/field_value.h"
#include "core/fuzz/values.h"
#include "core/ops/operator.h"

namespace dmlop {

enum class SettingKind : uint8_t {
  kPresence,
  kCount,         // of tensors in an array
  kNumberOfAxes,  // in an array, which is told of the field that counts them
  kRank,
  kSize,
  kInteger,
  kScalar,
  kEnum,
  kBool,
  kType,
  kLayout,
  kValues,  // the class of values of an input
};

struct Setting {
  std::string of;  // see Condition
  SettingKind kind;
  SettingValue value;
  std::string path{};               // of the tensor or the plain value that is set
  const Field* field = nullptr;     // null for the rank and for sizes
  std::vector<std::string> ties{};  // the paths of a symbol's sizes; the first has its value
};

inline constexpr std::string_view kTypeMember = "/Type";  // of a tensor or an activation
inline constexpr std::string_view kRankSetting = "rank";
inline constexpr std::string_view kValuesPrefix = "values:";
inline constexpr std::string_view kPresent = "present";
inline constexpr std::string_view kAbsent = "absent";

// Lists the settings of a case, but not the classes of values.
std::vector<Setting> SettingsOf(const CaseChanger& changer);

// The paths of the sizes of all tensors, or of those with a role.
std::vector<std::string> SizePathsOf(const OperatorDesc& op,
                                     std::optional<TensorRole> role = std::nullopt);

// Only the symbols of its sizes: sizes that change together are one. Sizes that cannot change are
// none.
std::vector<Setting> SymbolsOf(const CaseChanger& changer);
// Sizes of outputs that follow from the rest, each as a symbol of its own.
std::vector<Setting> DerivedSizesOf(const CaseChanger& changer);
std::vector<Setting> SettingsButSizesOf(const CaseChanger& changer);

// The value of a field that is at its default: the first enumerator, 0 or false; 1 for what
// multiplies, divides or counts.
SettingValue DefaultOf(const PlainValue& plain);

// The values that a setting is tried with, its own included. `many`: further numbers, once one has
// passed, which tell residues and bounds apart.
std::vector<SettingValue> ValuesToTry(const Setting& setting, const OperatorDesc& op, bool many);

// The types that tensors of a field may have.
std::vector<DataType> TypesFor(const OperatorDesc& op, const Field& field);

// The value that a descriptor has for a setting: none if it has no such thing. If its rank is not
// that of the case that has the setting, the values of all axes.
std::vector<SettingValue> ValuesIn(const OperatorDesc& op, const std::string& of,
                                   const std::vector<std::string>& sizes, bool same_rank);

// The value that a descriptor has for a setting of a case, if it is another one.
std::optional<SettingValue> OtherValueIn(const OperatorDesc& op, const Setting& setting);

// --- cases with other values ---------------------------------------------------------------------

// Returns drafts with another value of the setting, the most natural first; any of them may turn
// out to be invalid.
std::vector<CaseDraft> DraftsWith(const CaseDraft& begun, const Setting& setting,
                                  const SettingValue& value);

// Returns the valid case of those in which the least else had to change.
std::optional<Computation> Varied(const CaseChanger& changer, const Setting& setting,
                                  const SettingValue& value, const ValueClasses& classes);

// Returns whether a variation of one setting leaves the other ones alone, apart from sizes and
// types, which may hang on it.
bool LeavesOthers(const std::vector<Setting>& settings, const Setting& varied,
                  const OperatorDesc& op);

// --- pairs of settings ---------------------------------------------------------------------------

// Lists settings of a case, such as "Mode CONVOLUTION" or "BiasTensor absent": types, enumerators,
// booleans, activations, tensors that are there with their layouts, and the classes of sizes,
// integers and values. No two of a case are of the same field, tensor or size.
std::vector<std::string> SettingsOf(const OperatorDesc& op, const ValueClasses& classes);

class SettingPairs {
 public:
  using Ids = std::vector<uint16_t>;  // ascending

  // Numbers settings in the order in which they come up.
  Ids IdsOf(const std::vector<std::string>& settings);

  const std::string& name(uint16_t id) const { return names_[id]; }

  // Calls visit(pair) for each pair of a case.
  template <typename Visit>
  static void ForEach(const Ids& ids, Visit&& visit) {
    for (size_t b = 1; b < ids.size(); ++b) {
      const size_t first = size_t{ids[b]} * (ids[b] - 1u) / 2;
      for (size_t a = 0; a < b; ++a) visit(first + ids[a]);
    }
  }
  // The two settings of a pair.
  static std::pair<uint16_t, uint16_t> SettingsOfPair(size_t pair);

 private:
  std::unordered_map<std::string, uint16_t> ids_;
  std::vector<std::string> names_;
};

// A set of pairs.
class PairSet {
 public:
  // Returns how many of them were not in the set.
  int64_t Add(const SettingPairs::Ids& ids);
  int64_t CountNew(const SettingPairs::Ids& ids) const;
  bool Contains(size_t pair) const { return pair < is_in_.size() && is_in_[pair] != 0; }
  int64_t count() const { return count_; }
  size_t end() const { return is_in_.size(); }

 private:
  std::vector<uint8_t> is_in_;  // for each pair, 1 or 0
  int64_t count_ = 0;
};

}  // namespace dmlop
