// SPDX-License-Identifier: Apache-2.0
#include "core/document/operator_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iterator>
#include <set>
#include <utility>

#include "core/base/spelling.h"
#include "core/io/file.h"

namespace dmlop {
namespace {

// The fields of a tensor or an activation may be one level down.
JsonCursor InnerFields(JsonCursor object) {
  const auto desc = object.Find("desc");
  return desc && desc->is_object() ? *desc : TensorFields(object);
}

// Returns true if `pointer` leads to that value or into it.
bool LeadsTo(std::string_view value, std::string_view pointer) {
  return pointer.starts_with(value) &&
         (pointer.size() == value.size() || pointer[value.size()] == '/');
}

// Returns true for the fault of a file bound to a tensor that might have provided a field.
bool IsFileOf(const Diagnostic& fault, std::string_view field) {
  constexpr std::string_view kBindings = "/bindings/";
  return fault.file_fault && fault.pointer.starts_with(kBindings) &&
         LeadsTo(std::string_view(fault.pointer).substr(kBindings.size()), field);
}

// Returns true for a misspelled member in place of a missing one, or of the object around all.
bool Hides(const Diagnostic& fault, std::string_view missing) {
  if (fault.severity != Severity::kError || fault.code != "JSON-3") return false;
  if (IsMisspelt(fault, missing)) return true;
  const size_t slash = fault.pointer.rfind('/');
  const std::string_view name = std::string_view(fault.pointer).substr(slash + 1);
  return LeadsTo(std::string_view(fault.pointer).substr(0, slash), missing) &&
         (IsNear(name, "Desc") || IsNear(name, "desc"));
}

// Returns true for misspelled bindings, if a bound file might provide what is missing.
bool HidesBindings(const Diagnostic& fault, std::string_view of_operator) {
  const bool is_of_tensor = of_operator.ends_with("/DataType") || of_operator.ends_with("/Sizes") ||
                            of_operator.find("Tensors") != std::string_view::npos;
  return is_of_tensor && fault.code == "JSON-3" && fault.pointer.rfind('/') == 0 &&
         IsNear(std::string_view(fault.pointer).substr(1), "bindings");
}

// Returns true for a binding of no tensor whose name is similar to the tensor's or a part of it.
bool IsMisspeltBinding(const Diagnostic& fault, std::string_view of_operator) {
  constexpr std::string_view kBindings = "/bindings/";
  if (fault.code != "JSON-3" || !fault.pointer.starts_with(kBindings)) return false;
  const std::string_view name = std::string_view(fault.pointer).substr(kBindings.size());
  const std::string_view tensor = of_operator.substr(0, of_operator.find('/'));
  return tensor.find(name) != std::string_view::npos || IsNear(name, tensor);
}

// Returns true for a fault outside of the operator, which does not affect its fields.
bool IsBeside(const Diagnostic& fault) {
  constexpr std::string_view kBeside[] = {"/name", "/expect", "/tolerance"};
  return std::any_of(std::begin(kBeside), std::end(kBeside),
                     [&](std::string_view key) { return LeadsTo(key, fault.pointer); });
}

// Gives tensors whose type cannot be read a possible one, by which other fields can be judged.
void FillUnreadableTypes(OperatorDesc& op) {
  FillInTypes(op);
  for (const MutableTensorSlot& slot : TensorSlots(op)) {
    if (slot.desc->data_type || slot.role() != TensorRole::kInput) continue;
    slot.desc->data_type = PossibleType(op, slot.type, DataType::kFloat32);
  }
}

bool IsOfType(const Diagnostic& fault) {
  return fault.severity == Severity::kError && fault.pointer.ends_with("DataType");
}

// Returns true for the pointers to one size or axis, in whose place is a wrong one if it cannot be
// read.
bool IsSameNumber(std::string_view a, std::string_view b) {
  return a == b && (a.find("/Sizes/") != a.npos || a.find("/Axes/") != a.npos);
}

// Returns true for a sweep, whose values replace fields of the operator.
bool IsSweep(const Diagnostic& fault) {
  return fault.code == "JSON-3" && fault.pointer == "/sweep";
}

}  // namespace

DataType PossibleType(const OperatorDesc& op, TypeVariable variable, DataType preferred) {
  const SupportTable* table = SupportFor(op);
  if (table == nullptr) return preferred;
  const DataTypeSet types = table->rows.back().TypesOf(variable);
  DataType type = preferred;
  for (size_t i = 1; !types.Contains(type) && i < DataTypeNames().size(); ++i) {
    type = DataType{static_cast<uint8_t>(i)};
  }
  return type;
}

OperatorObject::OperatorObject(JsonCursor object, std::span<const std::string_view> other_keys,
                               const ValueReader& values)
    : object_(object), fields_(object), dialect_(values.dialect()) {
  if (!values.Expect(object, JsonKind::kObject)) return;
  const OperatorInfo* info = ReadOperatorType(object, values);
  if (info == nullptr) return;
  op_.emplace(*info);
  const auto desc = values.FindEither(object, "Desc", "desc");
  if (desc) fields_ = *desc;
  const bool is_null = !desc && (object.Find("Desc") || object.Find("desc"));
  if (is_null && values.dialect() == Dialect::kModel) {  // already reported
    op_.reset();
    return;
  }
  if (!values.Expect(fields_, JsonKind::kObject)) return;
  ReadFields(fields_, values, *op_);
  CheckKeys(object, fields_, *info, other_keys, values);
}

void OperatorObject::Check(FeatureLevel level, Diagnostics& diagnostics) {
  ExplainNegativeAxes(diagnostics);
  ReadScalars(fields_, ValueReader(diagnostics, dialect_), *op_);
  std::vector<std::string> left_out;
  for (const TensorSlot& slot : TensorSlots(std::as_const(*op_), TensorRole::kOutput)) {
    if (slot.desc->complete()) continue;
    const bool is_made_up = !slot.desc->data_type && !slot.desc->sizes;
    left_out.push_back(slot.path + (is_made_up ? "" : slot.desc->sizes ? "/DataType" : "/Sizes"));
  }
  const bool may_be_unreadable = std::any_of(
      diagnostics.list().begin(), diagnostics.list().end(),
      [](const Diagnostic& d) { return d.severity == Severity::kError && !IsBeside(d); });
  Diagnostics found;
  OperatorDesc incomplete = *op_;  // nothing is implied by fields that cannot be read
  const bool types_are_made_up = std::ranges::any_of(diagnostics.list(), IsOfType);
  if (types_are_made_up) FillUnreadableTypes(incomplete);
  dmlop::Check(may_be_unreadable ? incomplete : *op_, level, found);
  const auto is_left_out = [&](const std::string& pointer) {
    return std::any_of(left_out.begin(), left_out.end(),
                       [&](const std::string& path) { return LeadsTo(path, pointer); });
  };
  // Faults of what was inferred from the other fields are theirs.
  const auto is_implied = [&](const Diagnostic& diagnostic) {
    return diagnostic.code != "JSON-2" && is_left_out(diagnostic.pointer);
  };
  const bool fields_are_wrong =
      may_be_unreadable || !std::all_of(found.list().begin(), found.list().end(), is_implied);
  // A member that cannot be read has been reported, and is not missing.
  std::vector<Diagnostic> unreadable = diagnostics.list();
  std::erase_if(unreadable, [](const Diagnostic& d) { return d.pointer.empty(); });
  for (Diagnostic diagnostic : found.list()) {
    if (fields_are_wrong && is_implied(diagnostic)) continue;
    if (types_are_made_up && IsOfType(diagnostic)) continue;
    const std::string of_operator = diagnostic.pointer;
    Locate(diagnostic);
    const bool is_repeated =
        std::any_of(unreadable.begin(), unreadable.end(), [&](const Diagnostic& earlier) {
          const bool is_unreadable = earlier.code.starts_with("DOC-");
          if (diagnostic.code != "JSON-2") {
            return is_unreadable && IsSameNumber(earlier.pointer, diagnostic.pointer);
          }
          if (is_unreadable && is_left_out(of_operator)) return true;
          return LeadsTo(earlier.pointer, diagnostic.pointer) ||
                 LeadsTo(diagnostic.pointer, earlier.pointer) || IsFileOf(earlier, of_operator) ||
                 Hides(earlier, diagnostic.pointer) || IsMisspeltBinding(earlier, of_operator) ||
                 HidesBindings(earlier, of_operator) || HidesType(earlier, of_operator) ||
                 IsSweep(earlier);
        });
    if (!is_repeated) diagnostics.Append(diagnostic);
  }
  diagnostics.Omit(found.omitted());
}

// Returns true for a misspelled field that would provide the type of tensors.
bool OperatorObject::HidesType(const Diagnostic& fault, std::string_view of_operator) const {
  if (!of_operator.ends_with("/DataType")) return false;
  return std::any_of(op_->fields().begin(), op_->fields().end(), [&](const Field* field) {
    return field->kind == FieldKind::kDataType &&
           Hides(fault, fmt::format("{}/{}", fields_.pointer(), field->name));
  });
}

// Negative axes were refused before their tensor was known; this adds what they mean.
void OperatorObject::ExplainNegativeAxes(Diagnostics& diagnostics) const {
  for (const std::string_view name : {"Axis", "Axes"}) {
    const std::optional<JsonCursor> field = fields_.Find(name);
    if (!field) continue;
    ExplainNegativeAxis(*field, diagnostics);
    for (auto axis = field->first_child(); axis; axis = axis->next()) {
      ExplainNegativeAxis(*axis, diagnostics);
    }
  }
}

void OperatorObject::ExplainNegativeAxis(JsonCursor value, Diagnostics& diagnostics) const {
  const std::string_view token = value.token();
  int64_t axis = 0;
  const auto error = std::from_chars(token.data(), token.data() + token.size(), axis).ec;
  if (value.kind() != JsonKind::kInteger || error != std::errc() || axis >= 0) return;
  for (Diagnostic& fault : diagnostics.list()) {
    if (fault.code == "DOC-2" && fault.offset == value.offset()) fault.message = AxisFault(axis);
  }
}

std::string OperatorObject::AxisFault(int64_t axis) const {
  const std::string fault = fmt::format("{} is not an axis; axes are counted from 0", axis);
  const std::vector<TensorSlot> inputs = TensorSlots(*op_, TensorRole::kInput);
  if (inputs.empty() || !inputs.front().desc->sizes) return fault + ", and the last of n is n - 1";
  const std::string tensor = DisplayName(inputs.front().path);
  const int64_t rank = static_cast<int64_t>(inputs.front().desc->rank());
  if (axis < -rank) return fmt::format("{}, and {} has {}", fault, tensor, rank);
  return fmt::format("{}, and NumPy's axis {} of the {} that {} has is axis {}", fault, axis, rank,
                     tensor, rank + axis);
}

void OperatorObject::WarnOfValues(std::span<const ConstTensorView> inputs,
                                  Diagnostics& diagnostics) const {
  Diagnostics found;
  dmlop::WarnOfValues(*op_, inputs, found);
  for (Diagnostic& warning : found.list()) {
    Locate(warning);
    diagnostics.Append(std::move(warning));
  }
}

// Returns the count of an array of tensors that is left out.
std::optional<JsonCursor> OperatorObject::CountInPlaceOf(std::string_view field) const {
  std::string_view count;
  for (const Field* known : op_->fields()) {
    if (known->kind == FieldKind::kCount) count = known->name;
    if (known->kind != FieldKind::kTensors || known->name != field) continue;
    return fields_.Find(field) ? std::nullopt : fields_.Find(count);
  }
  return std::nullopt;
}

// Follows a validator's path through the document as far as possible, through the "Desc" level that
// a tensor or an activation may have. A field that was left out is reported at the object that
// should have it.
void OperatorObject::Locate(Diagnostic& diagnostic) const {
  const std::string_view field =
      std::string_view(diagnostic.pointer).substr(0, diagnostic.pointer.find('/'));
  if (const auto count = CountInPlaceOf(field)) {
    diagnostic.pointer = count->pointer();
    diagnostic.offset = count->offset();
    return;
  }
  JsonCursor at = fields_;
  std::string_view rest = diagnostic.pointer;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find('/'));
    if (at.is_object()) at = InnerFields(at);
    std::optional<JsonCursor> next;
    if (at.is_object()) next = at.Find(name);
    if (at.is_array()) {
      size_t index = 0;
      const auto error = std::from_chars(name.data(), name.data() + name.size(), index).ec;
      if (error == std::errc()) next = at.first_child();  // else an array in place of an object
      for (; next && index > 0; --index) next = next->next();
    }
    if (!next) break;
    at = *next;
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
  }
  diagnostic.pointer = at.pointer() + (rest.empty() ? "" : "/") + std::string(rest);
  diagnostic.offset = at.offset();
}

OperatorDocument::OperatorDocument(JsonDocument json, std::string folder, Diagnostics& diagnostics)
    : json_(std::move(json)),
      folder_(std::move(folder)),
      object_(json_.root(), kDocumentKeys, ValueReader(diagnostics)) {
  if (const auto trailing = json_.trailing_offset()) {
    const bool is_manifest = json_.text()[*trailing] == '{';
    diagnostics.Error("JSON-1", "",
                      fmt::format("not well-formed JSON: {} after the document{}",
                                  is_manifest ? "another" : "text",
                                  is_manifest ? "; --line N takes one case of a manifest" : ""),
                      trailing);
  }
  if (!has_operator()) return;
  const ValueReader values(diagnostics);
  const JsonCursor root = json_.root();
  if (const auto bindings = values.Find(root, "bindings")) ReadBindings(*bindings, values);
  if (const auto expected = values.Find(root, "expect")) ReadExpected(*expected, values);
  if (const auto tolerance = values.Find(root, "tolerance")) ReadTolerance(*tolerance, values);
  if (const auto name = values.Find(root, "name")) name_ = values.String(*name).value_or("");
}

// Calls take(value, role, path) for each member of an object that has fields of tensors, and for
// each entry of those that are arrays. Skips null.
template <typename Take>
void OperatorDocument::ReadTensorValues(JsonCursor object, std::span<const Field* const> fields,
                                        const ValueReader& values, Take&& take) {
  if (!values.Expect(object, JsonKind::kObject)) return;
  std::vector<std::string_view> names;
  for (const Field* field : fields) names.push_back(field->name);
  values.CheckKeys(object, names);
  for (const Field* field : fields) {
    const auto value = values.Find(object, field->name);
    if (!value) continue;
    if (field->kind == FieldKind::kTensor) {
      op().AddTensor(*field);
      take(*value, field->role, std::string(field->name));
      continue;
    }
    if (!values.Expect(*value, JsonKind::kArray)) continue;
    size_t i = 0;
    for (const JsonCursor child : value->children()) {
      const std::string path = fmt::format("{}/{}", field->name, i++);
      if (!child.is_null()) take(child, field->role, path);
    }
  }
}

void OperatorDocument::ReadBindings(JsonCursor object, const ValueReader& values) {
  const auto take = [&](JsonCursor value, TensorRole role, const std::string& path) {
    if (value.is_string()) {
      if (!values.FileName(value)) return;
      const bool stream = value.string() == kStandardStream;
      bindings_[path] = {
          stream ? value.string() : (std::filesystem::path(folder_) / value.string()).string(),
          /*values=*/std::nullopt, value};
    } else if (role == TensorRole::kInput && (value.is_array() || value.is_object())) {
      bindings_[path] = {"", value, std::nullopt};
    } else {
      values.Error(value, "DOC-1", "expected a file name{}, found {}",
                   role == TensorRole::kInput ? ", values or an initializer" : "",
                   Describe(value.kind()));
    }
  };
  const std::vector<const Field*> fields = TensorFieldsOf(op().info());
  ReadTensorValues(object, fields, values, take);
  if (!object.is_object()) return;
  for (const Field* field : fields) {
    const auto entries = values.Find(object, field->name);
    if (entries && entries->is_array()) bound_entries_.emplace(field->name, entries->child_count());
  }
}

size_t OperatorDocument::BoundEntries(std::string_view field) const {
  const auto found = bound_entries_.find(field);
  return found == bound_entries_.end() ? 0 : found->second;
}

void OperatorDocument::ReadExpected(JsonCursor object, const ValueReader& values) {
  std::vector<const Field*> outputs = TensorFieldsOf(op().info());
  std::erase_if(outputs, [](const Field* field) { return field->role != TensorRole::kOutput; });
  const auto add = [&](JsonCursor value, const std::string& path) {
    if (value.is_array() || value.is_object()) {
      expected_[path].push_back(value);
    } else {
      values.Error(value, "DOC-1", "expected values or an initializer, found {}",
                   Describe(value.kind()));
    }
  };
  const auto take = [&](JsonCursor value, TensorRole, const std::string& path) {
    constexpr std::string_view kAnyOf[] = {"anyOf"};
    const auto any = value.is_object() ? value.Find(kAnyOf[0]) : std::nullopt;
    if (!any) return add(value, path);
    values.CheckKeys(value, kAnyOf);
    if (!values.Expect(*any, JsonKind::kArray)) return;
    if (any->child_count() == 0) values.Error(*any, "DOC-2", "nothing would be right");
    for (const JsonCursor one : any->children()) add(one, path);
  };
  ReadTensorValues(object, outputs, values, take);
}

void OperatorDocument::ReadTolerance(JsonCursor value, const ValueReader& values) {
  CaseTolerance& read = tolerance_.emplace();
  if (value.is_string()) {
    read.webnn = value.string() == "webnn";
    if (read.webnn) return;
    const auto rule = ParseUnitRule(value.string());
    if (rule) return void(read.units = *rule);
    return values.Error(value, "DOC-1",
                        "expected 'webnn', 'sums', 'sums=FLOAT32', 'sums=FLOAT16', 'noise' or an "
                        "object");
  }
  if (!values.Expect(value, JsonKind::kObject)) return;
  constexpr std::string_view kRules[] = {"atol", "rtol", "ulp", "units", "bits"};
  values.CheckKeys(value, kRules);
  const auto read_number = [&](std::string_view name, double& number) {
    const auto member = values.Find(value, name);
    const auto found = member ? values.Number(*member) : std::nullopt;
    if (!found) return;
    number = *found;
    if (!(number >= 0)) values.Error(*member, "DOC-2", "expected a number of at least 0");
  };
  read_number("atol", read.tolerance.absolute);
  read_number("rtol", read.tolerance.relative);
  read_number("units", read.units.units);
  if (const auto ulp = values.Find(value, "ulp")) {
    read.tolerance.ulp = values.Uint64(*ulp).value_or(0);
  }
  if (const auto bits = values.Find(value, "bits")) {
    read.tolerance.bits = values.Boolean(*bits).value_or(false);
  }
}

void OperatorDocument::SizeLeftOutTensors(TensorRole role, size_t count) {
  for (size_t i = 0; i < op().fields().size(); ++i) {
    const Field& field = *op().fields()[i];
    if (field.kind != FieldKind::kTensors || field.role != role || op().Has(field)) continue;
    op().values()[i].emplace<std::vector<TensorDesc>>(count);
  }
}

void OperatorDocument::Check(FeatureLevel level, Diagnostics& diagnostics) {
  op().AddImpliedOutputs();
  object_.Check(level, diagnostics);
  CheckTensorsExist(diagnostics);
  CheckInlineValues(diagnostics);
  diagnostics.SortByPlace();
}

// Arrays of bindings and of expected values may be longer than the arrays of tensors.
void OperatorDocument::CheckTensorsExist(Diagnostics& diagnostics) const {
  std::set<std::string> known;
  for (const TensorSlot& slot : TensorSlots(op())) known.insert(slot.path);
  const auto check = [&](const std::string& path, std::string_view verb, JsonCursor place) {
    if (known.contains(path)) return;
    diagnostics.Error("DOC-3", place.pointer(),
                      fmt::format("there is no tensor {} to {}", DisplayName(path), verb),
                      place.offset());
  };
  for (const auto& [path, binding] : bindings_) {
    const std::optional<JsonCursor>& place = binding.values ? binding.values : binding.place;
    if (place) check(path, "bind", *place);
  }
  for (const auto& [path, values] : expected_) check(path, "expect values of", values[0]);
}

}  // namespace dmlop
