// SPDX-License-Identifier: Apache-2.0
#include "core/ops/operator.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/ops/fused.h"
#include "core/ops/inference.h"
#include "core/ops/support.h"

namespace dmlop {
namespace {

// Returns the first row, at any level, for which `takes` is true.
template <typename Takes>
const SupportRow* FirstRow(const SupportTable& table, Takes&& takes) {
  for (const SupportRow& row : table.rows) {
    if (takes(row)) return &row;
  }
  return nullptr;
}

// Returns whether another rule ties an output's type to those of inputs.
bool TypeFollowsInputs(const OperatorDesc& op, const SupportRow& row, const TensorSlot& slot) {
  if (slot.role() == TensorRole::kInput) return false;
  if (row.TypesOf(slot.type).empty()) return true;
  const std::vector<TensorSlot> inputs = TensorSlots(op, TensorRole::kInput);
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const TensorSlot& input) { return input.type == slot.type; });
}

bool TakesType(const SupportRow& row, const TensorSlot& slot) {
  const DataTypeSet types = row.TypesOf(slot.type);
  return types.empty() || types.Contains(*slot.desc->data_type);
}

bool TakesRank(const SupportRow& row, const TensorSlot& slot) {
  const SupportRow::Ranks ranks = row.RanksOf(slot.field->ranks);
  return ranks.min <= slot.desc->rank() && slot.desc->rank() <= ranks.max;
}

// Calls visit(field, value) for each enumerator whose name has levels of its own.
template <typename Visit>
void ForEachLateEnumerator(const OperatorDesc& op, Visit&& visit) {
  for (size_t i = 0; i < op.fields().size(); ++i) {
    const Field& field = *op.fields()[i];
    if (field.names.since.empty()) continue;
    if (const auto* value = std::get_if<uint32_t>(&op.values()[i])) visit(field, *value);
  }
}

// Returns whether a descriptor that is valid at some level keeps the operator's rules at this one.
bool TakesFields(const OperatorDesc& op, FeatureLevel level) {
  OperatorDesc copy = op;
  Diagnostics diagnostics;
  Inference inference(copy, level, diagnostics);
  op.info().infer(copy, inference);
  return !diagnostics.has_errors();
}

class SupportChecker {
 public:
  SupportChecker(const OperatorDesc& op, const SupportTable& table, FeatureLevel level,
                 Diagnostics& diagnostics)
      : op_(op), table_(table), level_(level), diagnostics_(diagnostics), operator_(op.name()) {
    if (table.of == nullptr) return;
    operator_ += fmt::format(" {}", table.of->names.names[op[*table.of]]);
  }

  void Check(const SupportRow& row) const {
    for (const TensorSlot& slot : TensorSlots(op_)) {
      if (slot.desc->complete()) CheckSlot(row, slot);
    }
    ForEachLateEnumerator(op_, [&](const Field& field, uint32_t value) {
      const FeatureLevel since = field.names.since[value];
      if (since <= level_) return;
      Report(field.names.since_rule, std::string(field.name),
             fmt::format("{} is", field.names.names[value]), "it needs " + ToString(since));
    });
  }

 private:
  void CheckSlot(const SupportRow& row, const TensorSlot& slot) const {
    if (*slot.desc->data_type != DataType::kUnknown && !TakesType(row, slot) &&
        !TypeFollowsInputs(op_, row, slot)) {
      ReportType(row, slot);
    }
    const size_t rank = slot.desc->rank();
    if (rank >= 1 && rank <= kMaxRank && !TakesRank(row, slot)) ReportRank(row, slot);
  }

  void Report(std::string_view code, const std::string& pointer, const std::string& subject,
              const std::string& expected) const {
    diagnostics_.Error(code, pointer,
                       fmt::format("{} not supported by {} at feature level {}; {}", subject,
                                   operator_, ToString(level_), expected));
  }

  void ReportType(const SupportRow& row, const TensorSlot& slot) const {
    const std::string pointer = slot.path + "/DataType";
    const SupportRow* later = FirstLater([&](const SupportRow& r) { return TakesType(r, slot); });
    if (later == nullptr && IsReported(pointer)) return;  // by a rule of the operator
    Report("FL-1", pointer, fmt::format("{} is", Name(*slot.desc->data_type)),
           later != nullptr ? "it needs " + ToString(later->since)
                            : "expected one of " + ToString(row.TypesOf(slot.type)));
  }

  void ReportRank(const SupportRow& row, const TensorSlot& slot) const {
    const SupportRow* later = FirstLater([&](const SupportRow& r) { return TakesRank(r, slot); });
    const SupportRow::Ranks ranks = row.RanksOf(slot.field->ranks);
    const std::string taken = ranks.min == ranks.max
                                  ? fmt::format("{}", ranks.min)
                                  : fmt::format("{} to {}", ranks.min, ranks.max);
    Report("FL-1", slot.path + "/Sizes",
           fmt::format("{} {}", Counted(slot.desc->rank(), "dimension"),
                       ForCount(slot.desc->rank(), "is", "are")),
           later != nullptr
               ? fmt::format("{} {}", ForCount(slot.desc->rank(), "it needs", "they need"),
                             ToString(later->since))
               : "expected " + taken);
  }

  // Only later rows count: an earlier one may list types that later ones leave to another rule.
  template <typename Takes>
  const SupportRow* FirstLater(Takes&& takes) const {
    return FirstRow(table_,
                    [&](const SupportRow& row) { return row.since > level_ && takes(row); });
  }

  bool IsReported(const std::string& pointer) const {
    const auto& list = diagnostics_.list();
    return std::any_of(list.begin(), list.end(),
                       [&](const Diagnostic& one) { return one.pointer == pointer; });
  }

  const OperatorDesc& op_;
  const SupportTable& table_;
  FeatureLevel level_;
  Diagnostics& diagnostics_;
  std::string operator_;
};

}  // namespace

const SupportTable* SupportFor(const OperatorDesc& op) {
  for (const SupportTable& table : SupportOf(op.info())) {
    if (table.of == nullptr) return &table;
    const uint32_t* value = op.find(*table.of);
    if (value != nullptr && table.Holds(*value)) return &table;
  }
  return nullptr;
}

bool HasOneType(const OperatorDesc& op, TypeVariable variable) {
  const SupportTable* table = SupportFor(op);
  if (table == nullptr) return false;
  DataTypeSet all;
  for (const SupportRow& row : table->rows) {
    if (row.TypesOf(variable).empty()) return false;
    all = all | row.TypesOf(variable);
  }
  int count = 0;
  for (size_t i = 0; i < DataTypeNames().size(); ++i)
    count += all.Contains(DataType{static_cast<uint8_t>(i)});
  return count == 1;
}

void RequireLevel(const OperatorDesc& op, FeatureLevel since, std::string_view pointer,
                  FeatureLevel level, Diagnostics& diagnostics) {
  if (since <= level) return;
  diagnostics.Error("FL-1", pointer,
                    fmt::format("{} is not available at feature level {}; it needs {}", op.name(),
                                ToString(level), ToString(since)));
}

void CheckSupport(const OperatorDesc& op, FeatureLevel level, Diagnostics& diagnostics) {
  const SupportTable* table = SupportFor(op);
  if (table == nullptr) return;
  const SupportRow* row = RowAt(*table, level);
  if (row == nullptr) {
    return RequireLevel(op, table->rows.front().since, "", level, diagnostics);
  }
  SupportChecker(op, *table, level, diagnostics).Check(*row);
}

FeatureLevel MinimumFeatureLevel(const OperatorDesc& op) {
  const std::vector<TensorSlot> slots = TensorSlots(op);
  const SupportRow* row = FirstRow(*SupportFor(op), [&](const SupportRow& r) {
    return std::all_of(slots.begin(), slots.end(), [&](const TensorSlot& slot) {
      return TakesType(r, slot) && TakesRank(r, slot);
    });
  });
  FeatureLevel level = row != nullptr ? row->since : kHighestFeatureLevel;
  ForEachLateEnumerator(op, [&](const Field& field, uint32_t value) {
    level = std::max(level, field.names.since[value]);
  });
  ForEachActivation(op, [&](const LoneActivation& activation) {
    const FeatureLevel fusable = activation.op.info().fusable.SinceIn(activation.field.host);
    level = std::max({level, fusable, MinimumFeatureLevel(activation.op)});
  });
  const auto levels = FeatureLevels();
  const auto first = std::find_if(levels.begin(), levels.end(), [&](FeatureLevel one) {
    return one >= level && TakesFields(op, one);
  });
  return first == levels.end() ? kHighestFeatureLevel : *first;
}

// --- rows ----------------------------------------------------------------------------------------

const SupportRow* RowAt(const SupportTable& table, FeatureLevel level) {
  const SupportRow* in_force = nullptr;
  for (const SupportRow& row : table.rows) {
    if (row.since <= level) in_force = &row;
  }
  return in_force;
}

}  // namespace dmlop
