// SPDX-License-Identifier: Apache-2.0
// Cases in which a setting has another value.
#pragma once

#include <optional>
#include <vector>

#include "core/fuzz/case_change.h"
#include "core/fuzz/setting.h"

namespace dmlop {

// Returns drafts with another value of the setting, the most natural first; any of them may turn
// out to be invalid.
std::vector<CaseDraft> DraftsWith(const CaseDraft& begun, const Setting& setting,
                                  const SettingValue& value);

// Returns the valid case of those in which the least else had to change.
std::optional<Computation> Varied(const CaseChanger& changer, const Setting& setting,
                                  const SettingValue& value, const ValueClasses& classes);

// Whether a variation of one setting leaves the other ones alone, apart from sizes and types, which
// may hang on it.
bool LeavesOthers(const std::vector<Setting>& settings, const Setting& varied,
                  const OperatorDesc& op);

}  // namespace dmlop
