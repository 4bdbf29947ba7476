// SPDX-License-Identifier: Apache-2.0
// Checks in two stages. The first treats the fields of every operator alike: they are there, arrays
// have their lengths, numbers keep to their limits, tensors are sound, data types agree. If no
// field is missing, the operator's own rules follow, and finally its feature level's.
#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"
#include "core/ops/fused.h"
#include "core/ops/inference.h"
#include "core/ops/operator.h"

namespace dmlop {
namespace {

bool IsLeftOut(const FieldValue& value) {
  return std::holds_alternative<std::monostate>(value);
}

class FieldChecker {
 public:
  FieldChecker(const OperatorDesc& op, Diagnostics& diagnostics)
      : op_(op), diagnostics_(diagnostics) {}

  // Returns whether every field is there and keeps to its limits.
  bool Check() {
    CheckFieldsAreThere();
    CheckLengths();
    for (size_t i = 0; i < op_.fields().size(); ++i) CheckLimits(*op_.fields()[i], op_.values()[i]);
    for (const TensorSlot& slot : TensorSlots(op_, TensorRole::kInput)) RequireComplete(slot);
    return is_complete_;
  }

  void RequireComplete(const TensorSlot& slot) {
    const bool is_input = slot.role() == TensorRole::kInput;
    const auto require = [&](std::string_view field, bool is_there) {
      if (is_there) return;
      is_complete_ = false;
      diagnostics_.Error("JSON-2", fmt::format("{}/{}", slot.path, field),
                         fmt::format("'{}' is missing{}", field,
                                     is_input ? ", and no .npy file is bound that would tell it"
                                              : ", and the other fields do not imply it"));
    };
    require("DataType", slot.desc->data_type.has_value());
    require("Sizes", slot.desc->sizes.has_value());
  }

 private:
  // --- what is missing ---------------------------------------------------------------------------

  void CheckFieldsAreThere() {
    std::optional<uint32_t> count;
    for (size_t i = 0; i < op_.fields().size(); ++i) {
      const Field& field = *op_.fields()[i];
      const FieldValue& value = op_.values()[i];
      if (field.kind == FieldKind::kCount) {
        const auto* number = std::get_if<uint32_t>(&value);
        count = number != nullptr ? std::optional(*number) : std::nullopt;
      } else if (IsLeftOut(value) && !field.optional) {
        ReportMissing(field, count.value_or(0));
      }
    }
  }

  void ReportMissing(const Field& field, uint32_t count) {
    is_complete_ = false;
    if (field.kind == FieldKind::kDataType) return;  // the missing tensor is reported
    std::string message = fmt::format("'{}' is missing", field.name);
    if (field.kind == FieldKind::kTensors && count > kMaxImpliedTensors) {
      message += fmt::format("; a count alone may stand for up to {} tensors, not for {}",
                             kMaxImpliedTensors, count);
    }
    diagnostics_.Error("JSON-2", field.name, std::move(message));
  }

  // --- how long arrays are -----------------------------------------------------------------------

  // The count and the other arrays are compared with the first array after the count.
  void CheckLengths() {
    const Field* count = nullptr;
    const uint32_t* number = nullptr;
    const Field* first = nullptr;
    size_t first_length = 0;
    std::optional<size_t> expected;  // length of the first, from the rank of the input
    for (size_t i = 0; i < op_.fields().size(); ++i) {
      const Field& field = *op_.fields()[i];
      if (field.kind == FieldKind::kCount) {
        count = &field;
        number = std::get_if<uint32_t>(&op_.values()[i]);
        first = nullptr;
        continue;
      }
      const auto length = LengthOf(op_.values()[i]);
      if (!length || count == nullptr || field.kind == FieldKind::kActivation) continue;
      if (first != nullptr) {
        if (length != expected) CheckLikeFirst(field, *length, *first, first_length);
        continue;
      }
      first = &field;
      first_length = *length;
      expected = field.limits.per_dimension ? RankOfInput() : std::nullopt;
      if (number != nullptr && *number != expected) CheckCount(*count, *number, *length);
      CheckFirstLength(field, *length);
    }
  }

  void CheckCount(const Field& field, uint32_t count, size_t length) {
    if (count == length) return;
    diagnostics_.Error("DOC-3", field.name,
                       fmt::format("{} does not match the array, which has {}", count, length));
  }

  void CheckLikeFirst(const Field& field, size_t length, const Field& first, size_t first_length) {
    if (length == first_length) return;
    ReportLength(field, fmt::format("{} {} not match the {} of {}", Counted(length, "entry"),
                                    ForCount(length, "does", "do"), Counted(first_length, "entry"),
                                    first.name));
  }

  void CheckFirstLength(const Field& field, size_t length) {
    const FieldLimits& limits = field.limits;
    if (field.kind == FieldKind::kTensors && length == 0) {
      ReportLength(field, "at least one tensor is needed");
    } else if (limits.per_dimension) {
      CheckPerDimension(field, length);
    } else if (length < limits.min_count || length > limits.max_count) {
      if (limits.count_rule.empty()) return;
      ReportLength(field,
                   fmt::format("{} {} out of range [{}, {}]", Counted(length, "entry"),
                               ForCount(length, "is", "are"), limits.min_count, limits.max_count));
    }
  }

  void CheckPerDimension(const Field& field, size_t length) {
    const std::optional<size_t> rank = RankOfInput();
    if (!rank || length == *rank) return;
    const std::vector<TensorSlot> inputs = TensorSlots(op_, TensorRole::kInput);
    ReportLength(field,
                 fmt::format("{}; expected {}, one for each dimension of {}",
                             Counted(length, "entry"), *rank, DisplayName(inputs.front().path)));
  }

  std::optional<size_t> RankOfInput() const {
    const std::vector<TensorSlot> inputs = TensorSlots(op_, TensorRole::kInput);
    if (inputs.empty() || !inputs.front().desc->sizes) return std::nullopt;
    return inputs.front().desc->rank();
  }

  void ReportLength(const Field& field, std::string message) {
    is_complete_ = false;
    diagnostics_.Error(field.limits.count_rule, field.name, std::move(message));
  }

  // --- numbers by themselves ---------------------------------------------------------------------

  void CheckLimits(const Field& field, const FieldValue& value) {
    if (field.limits.rule.empty()) return;
    if (const auto* number = std::get_if<uint32_t>(&value)) CheckNumber(field, At(field), *number);
    if (const auto* numbers = std::get_if<std::vector<uint32_t>>(&value)) {
      for (size_t i = 0; i < numbers->size(); ++i) CheckNumber(field, At(field, i), (*numbers)[i]);
    }
    if (const auto* size = std::get_if<Size2d>(&value)) {
      CheckNumber(field, {field.name, std::nullopt, "Width"}, size->width);
      CheckNumber(field, {field.name, std::nullopt, "Height"}, size->height);
    }
  }

  void CheckNumber(const Field& field, const Place& place, uint32_t number) {
    const FieldLimits& limits = field.limits;
    if (limits.min <= number && number <= limits.max) return;
    is_complete_ = false;
    diagnostics_.Error(
        limits.rule, place.path(),
        number == 0 ? "0 is not allowed"
                    : fmt::format("{} is out of range [{}, {}]", number, limits.min, limits.max));
  }

  const OperatorDesc& op_;
  Diagnostics& diagnostics_;
  bool is_complete_ = true;
};

// Tensors and data types of one variable must agree with the first of them that is stated.
void CheckTypesAgree(const OperatorDesc& op, Diagnostics& diagnostics) {
  struct First {
    std::string path;
    DataType type;
  };
  std::array<std::optional<First>, kTypeVariables> firsts;
  const auto check = [&](TypeVariable variable, std::string_view rule, std::string_view path,
                         std::string_view member, DataType type) {
    auto& first = firsts[static_cast<size_t>(variable)];
    if (!first) {
      first = {std::string(path), type};
    } else if (first->type != type) {
      diagnostics.Error(rule, fmt::format("{}{}", path, member),
                        fmt::format("{} does not match {} of {}", Name(type), Name(first->type),
                                    DisplayName(first->path)));
    }
  };
  for (const TensorSlot& slot : TensorSlots(op)) {
    if (!slot.desc->data_type) continue;
    const bool is_first = !firsts[static_cast<size_t>(slot.type)];
    // If only one type is allowed, the check against the level reports the wrong one of the two.
    if (!is_first && slot.role() == TensorRole::kInput && HasOneType(op, slot.type)) continue;
    check(slot.type, op.info().type_rule, slot.path, "/DataType", *slot.desc->data_type);
  }
  for (size_t i = 0; i < op.fields().size(); ++i) {
    const Field& field = *op.fields()[i];
    const auto* type = std::get_if<DataType>(&op.values()[i]);
    if (type != nullptr) check(field.type, field.limits.rule, field.name, "", *type);
  }
}

void CheckTensors(const OperatorDesc& op, TensorRole role, Diagnostics& diagnostics) {
  for (const TensorSlot& slot : TensorSlots(op, role)) {
    if (!slot.desc->complete()) continue;
    std::optional<EmptyAxisRule> empty_axis;
    if (!slot.field->empty_axis_rule.empty()) {
      if (const uint32_t* axis = op.find(kAxis)) empty_axis = {*axis, slot.field->empty_axis_rule};
    }
    ValidateTensorDesc(*slot.desc, role, slot.path, empty_axis, diagnostics);
  }
}

// An activation keeps its own rules (FUSE-4). They are checked at the level that first has it, if
// that is later, so that the missing level is reported only once. If the host's output is both of
// its tensors, faults of its input are reported as those of the output.
void CheckActivation(const LoneActivation& activation, const std::string& output,
                     FeatureLevel level, Diagnostics& diagnostics) {
  OperatorDesc op = activation.op;
  const OperatorInfo& info = op.info();
  const FeatureLevel since = std::max(info.fusable.SinceIn(activation.field.host),
                                      SupportOf(info).front().rows.front().since);
  RequireLevel(op, since, activation.path, level, diagnostics);
  Diagnostics own;
  Check(op, std::max(level, since), own);
  for (Diagnostic diagnostic : own.list()) {
    const size_t name = std::min(diagnostic.pointer.find('/'), diagnostic.pointer.size());
    const std::string field = diagnostic.pointer.substr(0, name);
    const bool is_of_input = field == kInputTensor.name;
    if (field == kOutputTensor.name || (is_of_input && !activation.on_output)) continue;
    diagnostic.pointer = is_of_input ? output + diagnostic.pointer.substr(name)
                                     : activation.path + "/" + diagnostic.pointer;
    diagnostics.Append(std::move(diagnostic));
  }
}

void CheckActivations(const OperatorDesc& op, FeatureLevel level, Diagnostics& diagnostics) {
  const std::vector<TensorSlot> outputs = TensorSlots(op, TensorRole::kOutput);
  const std::string output = outputs.empty() ? "" : outputs.front().path;
  ForEachActivation(op, [&](const LoneActivation& activation) {
    CheckActivation(activation, output, level, diagnostics);
  });
}

// Strides whose count differs from that of the sizes have already been reported.
void DropWrongStrides(OperatorDesc& op) {
  for (const MutableTensorSlot& slot : TensorSlots(op)) {
    TensorDesc& desc = *slot.desc;
    const bool is_wrong = desc.sizes && desc.strides && desc.strides->size() != desc.rank();
    if (slot.role() == TensorRole::kInput && is_wrong) desc.strides.reset();
  }
}

// Too many dimensions or elements have been reported; nothing can be inferred from them.
bool InputsHaveLayouts(const OperatorDesc& op) {
  const std::vector<TensorSlot> inputs = TensorSlots(op, TensorRole::kInput);
  return std::all_of(inputs.begin(), inputs.end(), [](const TensorSlot& slot) {
    return !slot.desc->sizes || HasLayout(*slot.desc);
  });
}

// Applies the operator's own rules.
void CheckOperator(OperatorDesc& op, FeatureLevel level, Diagnostics& diagnostics) {
  DropWrongStrides(op);
  if (!InputsHaveLayouts(op)) return;
  Inference inference(op, level, diagnostics);
  op.info().infer(op, inference);
}

bool TakesInputs(const OperatorDesc& op) {
  const std::vector<const Field*> fields = TensorFieldsOf(op.info());
  return std::any_of(fields.begin(), fields.end(),
                     [](const Field* field) { return field->role == TensorRole::kInput; });
}

}  // namespace

void Check(OperatorDesc& op, FeatureLevel level, Diagnostics& diagnostics) {
  FillInTypes(op);
  FieldChecker fields(op, diagnostics);
  const bool is_complete = fields.Check();
  CheckTensors(op, TensorRole::kInput, diagnostics);
  if (is_complete) CheckOperator(op, level, diagnostics);
  CheckTypesAgree(op, diagnostics);
  CheckTensors(op, TensorRole::kOutput, diagnostics);
  CheckSupport(op, level, diagnostics);
  CheckActivations(op, level, diagnostics);
  if (diagnostics.has_errors() && TakesInputs(op)) return;  // errors may leave outputs incomplete
  for (const TensorSlot& slot : TensorSlots(op, TensorRole::kOutput)) {
    fields.RequireComplete(slot);
  }
}

}  // namespace dmlop
