// SPDX-License-Identifier: Apache-2.0
#include "core/ops/hardware_tolerance.h"

#include <algorithm>

#include "core/ops/fused.h"
#include "core/ops/words.h"

namespace dmlop {
namespace {

// Operators of WebNN of which its suite says nothing.
constexpr std::string_view kUntested[] = {"constant", "isInfinite", "isNaN", "roundEven"};

// WebNN has only one of the norms by which windows are pooled.
bool IsOtherNorm(const OperatorDesc& op) {
  const auto power = std::ranges::find(op.fields(), "P", &Field::name);
  if (power == op.fields().end()) return false;
  return std::get<uint32_t>(op.values()[static_cast<size_t>(power - op.fields().begin())]) != 2;
}

}  // namespace

bool IsInWebnn(const OperatorDesc& op) {
  const std::vector<std::string_view> names = OtherNamesOf(op.info()).webnn;
  if (names.empty() || IsOtherNorm(op)) return false;
  if (std::ranges::find(kUntested, names.front()) != std::end(kUntested)) return false;
  const auto activation = FusedAlone(op);
  return !activation || IsInWebnn(*activation);
}

bool HasFloats(const OperatorDesc& op) {
  const std::vector<TensorSlot> slots = TensorSlots(op);
  const auto output = std::find_if(slots.begin(), slots.end(), [](const TensorSlot& slot) {
    return slot.role() == TensorRole::kOutput;
  });
  return IsFloat(*slots.front().desc->data_type) ||
         (output != slots.end() && IsFloat(*output->desc->data_type));
}

// An operator that follows another one in a test adds its own tolerance.
Tolerance WebnnTolerance(const OperatorDesc& op) {
  if (!IsInWebnn(op)) return {};
  const auto granted = op.info().hardware_tolerance;
  Tolerance tolerance = granted == nullptr ? Tolerance{} : granted(op);
  if (const auto activation = FusedAlone(op)) {
    const Tolerance more = WebnnTolerance(*activation);
    tolerance.absolute += more.absolute;
    tolerance.ulp += std::min(more.ulp, std::numeric_limits<uint64_t>::max() - tolerance.ulp);
  }
  return tolerance;
}

}  // namespace dmlop
