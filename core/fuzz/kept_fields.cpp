// SPDX-License-Identifier: Apache-2.0
#include "core/fuzz/kept_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "core/document/document_json.h"
#include "core/document/operator_document.h"
#include "core/fuzz/setting.h"

namespace dmlop {
namespace {

std::optional<SettingValue> AsSetting(const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) return value.get<std::string>();
  return std::nullopt;
}

// Returns false if the pointer is none, or leads into a value that is kept.
bool Set(const std::string& pointer, const Json& value, Json& json) {
  try {
    json[Json::json_pointer(pointer)] = value;
    return true;
  } catch (const Json::exception&) {
    return false;
  }
}

// --- whether there is such a value ---------------------------------------------------------------

bool IsEntryName(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

std::vector<std::string> NamesIn(std::string path) {
  std::vector<std::string> names;
  for (size_t slash = path.find('/'); slash != path.npos; slash = path.find('/')) {
    names.push_back(path.substr(0, slash));
    path.erase(0, slash + 1);
  }
  names.push_back(path);
  return names;
}

const Field* FindField(const OperatorInfo& info, std::string_view name) {
  const auto found = std::ranges::find(info.fields, name, &Field::name);
  return found == info.fields.end() ? nullptr : *found;
}

// Returns whether a path leads to a tensor's type, sizes or strides as a whole.
bool IsMemberOfTensor(const OperatorInfo& info, std::string_view name, std::string_view rest) {
  const Field* field = FindField(info, name);
  return field != nullptr && field->kind == FieldKind::kTensor &&
         (rest == "DataType" || rest == "Sizes" || rest == "Strides");
}

// Returns whether a field, or a part of one, may be left out.
bool MayBeLeftOut(const OperatorInfo& info, const std::vector<std::string>& names) {
  const Field* field = FindField(info, names[0]);
  return field != nullptr && (field->optional || names.size() > 1);
}

// The first activation of a host that has a field or, if none has, the first one.
std::string_view ActivationWith(ActivationHost host, std::string_view field) {
  const std::vector<const OperatorInfo*> all = FusableIn(host);
  for (const OperatorInfo* info : all) {
    const Field* found = FindField(*info, field);
    if (found != nullptr && !found->is_tensor()) return info->name;
  }
  return all.empty() ? std::string_view() : all.front()->name;
}

// A descriptor with nothing but a value at a path, which is the first entry of every array.
Json SampleWith(const OperatorInfo& info, const std::vector<std::string>& names, Json value) {
  const Field* field = FindField(info, names[0]);
  const bool has_activations = field != nullptr && (field->kind == FieldKind::kActivation ||
                                                    field->kind == FieldKind::kActivations);
  for (size_t i = names.size(); i-- > 0;) {
    const std::string& name = names[i];
    if (i > 0 && IsEntryName(name)) {
      value = Json::array({std::move(value)});
      continue;
    }
    value = {{name, std::move(value)}};
    const bool is_activation =
        has_activations && names.size() > 1 && i == (IsEntryName(names[1]) ? 2U : 1U);
    if (is_activation && name != "Type" && name != "type") {
      value["Type"] = ActivationWith(field->host, name);
    }
  }
  return {{"type", info.name}, {"desc", std::move(value)}};
}

// The number of dimensions that a tensor may have at any level.
size_t MostDimensions(const OperatorInfo& info, const Field& tensor) {
  size_t most = 0;
  for (const SupportTable& table : SupportOf(info)) {
    for (const SupportRow& row : table.rows) most = std::max(most, row.RanksOf(tensor.ranks).max);
  }
  return most;
}

// Returns the field whose dimensions a path counts: a tensor or, for a list of numbers, the
// operator's first tensor.
const Field* TensorCounted(const OperatorInfo& info, const std::vector<std::string>& names) {
  const Field* field = FindField(info, names[0]);
  if (field == nullptr || !IsEntryName(names.back())) return nullptr;
  if (field->kind == FieldKind::kUints && names.size() == 2) return TensorFieldsOf(info).front();
  const bool is_member = names.size() > 2 && !IsEntryName(names[names.size() - 2]);
  return field->is_tensor() && is_member ? field : nullptr;
}

// Says why a tensor or a list cannot have a dimension that a path names; empty if it can.
std::string FaultOfDimension(const OperatorInfo& info, const std::vector<std::string>& names) {
  const Field* tensor = TensorCounted(info, names);
  if (tensor == nullptr) return "";
  const size_t most = MostDimensions(info, *tensor);
  const bool exists = names.back().size() == 1 && std::stoul(names.back()) < most;
  return exists ? "" : fmt::format("there are at most {} dimensions", most);
}

// Says why an operator cannot have a value at a path, whatever its other fields are; empty if
// nothing speaks against it.
std::string FaultOf(const OperatorInfo& info, const std::string& path, const Json& value) {
  const std::vector<std::string> names = NamesIn(path);
  if (value.is_discarded()) return "is no JSON";
  if (value.is_null()) return MayBeLeftOut(info, names) ? "" : "cannot be left out";
  Diagnostics faults;
  const auto document = JsonDocument::Parse(Utf8Text(SampleWith(info, names, value)), faults);
  if (document) OperatorObject(document->root(), {}, ValueReader(faults));
  for (const Diagnostic& fault : faults.list()) {
    const bool is_missing = fault.code == "JSON-2";  // the rest of the descriptor
    if (fault.severity == Severity::kError && !is_missing) return fault.message;
  }
  return FaultOfDimension(info, names);
}

// --- setting -------------------------------------------------------------------------------------

// A tensor keeps what is stated of it.
void Keep(const FieldValue& kept, FieldValue& value) {
  const auto* stated = std::get_if<TensorDesc>(&kept);
  auto* tensor = std::get_if<TensorDesc>(&value);
  if (stated == nullptr || tensor == nullptr) {
    value = kept;
    return;
  }
  if (stated->data_type) tensor->data_type = stated->data_type;
  if (stated->sizes) tensor->sizes = stated->sizes;
  if (stated->strides) tensor->strides = stated->strides;
}

bool HasOtherLength(const FieldValue& a, const FieldValue& b) {
  const auto length = LengthOf(a);
  return length && LengthOf(b) && length != LengthOf(b);
}

}  // namespace

KeptFields::KeptFields(const OperatorInfo& info, const std::vector<DescriptorChange>& changes)
    : begun_(info) {
  if (!changes.empty()) Read(info, changes);
}

void KeptFields::Read(const OperatorInfo& info, const std::vector<DescriptorChange>& changes) {
  Json json = {{"type", info.name}, {"desc", Json::object()}};
  for (const DescriptorChange& change : changes) {
    const std::string path = change.pointer.substr(kDescRoot.size());
    const size_t slash = std::min(path.find('/'), path.size());
    const std::string name = path.substr(0, slash);
    const Json value = Json::parse(change.value, nullptr, /*allow_exceptions=*/false);
    if (const std::string fault = FaultOf(info, path, value); !fault.empty()) {
      return Refuse(change.pointer, fault);
    }
    const bool is_whole = slash == path.size();
    const bool is_member = !is_whole && IsMemberOfTensor(info, name, path.substr(slash + 1));
    if (is_whole || (is_member && !value.is_null())) {
      names_.push_back(name);
      if (!value.is_null() && !Set(change.pointer, value, json)) {
        return Refuse(change.pointer, "another value is kept, too");
      }
    } else {
      parts_.push_back({change, path, AsSetting(value)});
    }
  }
  Diagnostics faults;
  if (const auto document = JsonDocument::Parse(Utf8Text(json), faults)) {
    begun_ = OperatorObject(document->root(), {}, ValueReader(faults)).op();
  }
  for (const Diagnostic& fault : faults.list()) {
    if (fault.severity == Severity::kError) Refuse(fault.pointer, fault.message);
  }
}

// Only the first fault is told.
void KeptFields::Refuse(const std::string& pointer, const std::string& fault) {
  if (exist()) fault_ = fmt::format("{}: {}", pointer, fault);
}

bool KeptFields::Settle(OperatorDesc& op, FeatureLevel level) const {
  if (is_empty()) return Complete(op);
  const OperatorDesc drawn = op;
  SetAllIn(op);
  OperatorDesc completed = op;
  Diagnostics faults;
  Check(completed, level, faults);
  // Arrays of another length belong to another rank.
  const bool is_near = std::ranges::equal(drawn.values(), op.values(), std::not_fn(HasOtherLength));
  if (faults.has_errors() && is_near) {
    // Another draw is often cheaper than a long search.
    const auto repaired = Repaired(op, NumbersKept(drawn, op), level, RepairEffort::kQuick);
    if (repaired) completed = *repaired;
  }
  op = std::move(completed);
  return true;  // what cannot be set yet may matter
}

std::optional<OperatorDesc> KeptFields::In(OperatorDesc op, FeatureLevel level) const {
  const std::vector<DescriptorChange> others = SetAllIn(op);
  if (!IsSound(op, level)) return std::nullopt;
  if (others.empty()) return op;
  Diagnostics faults;
  const auto changed = Changed(WithZeros(op), others, faults);
  return changed ? std::optional(changed->op) : std::nullopt;
}

bool KeptFields::AreIn(const OperatorDesc& op, FeatureLevel level) const {
  if (is_empty()) return true;
  const std::optional<OperatorDesc> with = In(op, level);
  return with && OperatorJson(*with) == OperatorJson(op);
}

// Returns those that cannot be set alone.
std::vector<DescriptorChange> KeptFields::SetAllIn(OperatorDesc& op) const {
  for (const std::string& name : names_) {
    Keep(ValueOf(const_cast<OperatorDesc&>(begun_), name), ValueOf(op, name));
  }
  std::vector<DescriptorChange> others;
  for (const Part& part : parts_) {
    if (!part.value || !SetValueAt(op, part.path, *part.value)) others.push_back(part.change);
  }
  return others;
}

// The numbers that stay, with what they were before.
std::map<std::string, int64_t> KeptFields::NumbersKept(const OperatorDesc& before,
                                                       const OperatorDesc& now) const {
  std::map<std::string, int64_t> kept;
  const auto keep = [&](const std::string& path) {
    kept[path] = NumberAt(before, path).value_or(NumberAt(now, path).value_or(0));
  };
  for (const std::string& name : names_) keep(name);
  for (const Part& part : parts_) keep(part.path);
  for (const PlainValue& plain : PlainValuesOf(now)) {
    if (kept.contains(plain.path.substr(0, plain.path.find('/')))) keep(plain.path);
  }
  for (const std::string& path : SizePathsOf(begun_)) keep(path);
  return kept;
}

}  // namespace dmlop
