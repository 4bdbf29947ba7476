// SPDX-License-Identifier: Apache-2.0
// The value that a device has, or may have computed, in place of an element of the result.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/document/document_json.h"
#include "core/judge/sum_orders.h"
#include "core/tensor/element.h"

namespace dmlop {

// With explain --as.
struct VariedValue {
  std::vector<std::string> ids;
  std::string text;  // the ids, each with its meaning
  ElementBytes value{};
  ElementBytes exact{};  // DirectML's result
  // This is counted for each sum that is rounded.
  std::vector<std::vector<PartialSum>> sums;
};

// With explain --actual and --judge.
struct ActualValue {
  double value = 0;
  double error = 0;                // value - expected
  std::optional<uint64_t> ulp{};   // of numbers of the output's type
  std::optional<double> units{};   // none where equality is asked for
  std::optional<int64_t> terms{};  // how many units a sum in any order may be off
};

std::string VariedText(const VariedValue& varied, DataType type, bool full);
std::string ActualText(const ActualValue& actual, DataType type);

Json VariedJson(const VariedValue& varied, DataType type, bool full);
Json ActualJson(const ActualValue& actual);

}  // namespace dmlop
