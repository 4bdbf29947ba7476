// SPDX-License-Identifier: Apache-2.0
#include "core/document/operator_document.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "core/document/value_reader.h"
#include "core/io/file.h"

namespace dmlop {

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
