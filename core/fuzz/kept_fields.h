// SPDX-License-Identifier: Apache-2.0
// Fields of drawn descriptors that have the values which a user asked for.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/fuzz/field_value.h"
#include "core/judge/descriptor_change.h"
#include "core/ops/operator.h"

namespace dmlop {

class KeptFields {
 public:
  // The changes say what is kept: pointers and values.
  KeptFields(const OperatorInfo& info, const std::vector<DescriptorChange>& changes);

  bool is_empty() const { return names_.empty() && parts_.empty(); }

  // Returns whether the operator may have such values, whatever its other fields are.
  bool exist() const { return fault_.empty(); }
  // Says which of them it may not have, and why.
  const std::string& fault() const { return fault_; }

  // Returns a descriptor that has them as far as they can be set before the rest is drawn.
  const OperatorDesc& begun() const { return begun_; }

  // Sets them in a drawn descriptor without layouts, and completes it. What contradicts them is
  // changed, too, where that leads to a valid descriptor. Returns false if no layouts make it one.
  bool Settle(OperatorDesc& op, FeatureLevel level) const;

  // Returns the whole descriptor with all of them; nothing if it is not valid.
  std::optional<OperatorDesc> In(OperatorDesc op, FeatureLevel level) const;

  // Returns whether a valid descriptor has them.
  bool AreIn(const OperatorDesc& op, FeatureLevel level) const;

 private:
  struct Part {
    DescriptorChange change;
    std::string path;
    std::optional<SettingValue> value;  // none for an array and the like
  };

  void Read(const OperatorInfo& info, const std::vector<DescriptorChange>& changes);
  void Refuse(const std::string& pointer, const std::string& fault);
  std::vector<DescriptorChange> SetAllIn(OperatorDesc& op) const;
  std::map<std::string, int64_t> NumbersKept(const OperatorDesc& before,
                                             const OperatorDesc& now) const;

  OperatorDesc begun_;
  std::string fault_;
  std::vector<std::string> names_;  // of fields, and of tensors of which a member is kept
  std::vector<Part> parts_;
};

}  // namespace dmlop
