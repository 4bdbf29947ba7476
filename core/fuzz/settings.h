// SPDX-License-Identifier: Apache-2.0
// Settings of a case, such as "Mode CONVOLUTION" or "BiasTensor absent", and which pairs of them
// have come up.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/fuzz/values.h"
#include "core/ops/operator.h"

namespace dmlop {

// Types, enumerators, booleans, activations, tensors that are there with their layouts, and the
// classes of sizes, integers and values. No two of a case are of the same field, tensor or size.
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
