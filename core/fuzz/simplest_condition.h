// SPDX-License-Identifier: Apache-2.0
// The simplest condition that fits what was seen of a setting.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/fuzz/conditions.h"

namespace dmlop {

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

}  // namespace dmlop
