#include "core/document/operator_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "core/document/value_reader.h"
#include "core/io/file.h"

namespace dmlop {
namespace {

constexpr std::array<std::string_view, 2> kOtherKeys = {"bindings", "$schema"};

}  // namespace

OperatorDocument::OperatorDocument(JsonDocument json, std::string folder, Diagnostics& diagnostics)
    : json_(std::move(json)),
      folder_(std::move(folder)),
      object_(json_.root(), kOtherKeys, ValueReader(diagnostics)) {
  if (const auto trailing = json_.trailing_offset()) {
    diagnostics.Error("JSON-1", "", "not well-formed JSON: text after the document", trailing);
  }
  if (!has_operator()) return;
  const ValueReader values(diagnostics);
  if (const auto bindings = values.Find(json_.root(), "bindings")) {
    ReadBindings(*bindings, diagnostics);
  }
}

void OperatorDocument::ReadBindings(JsonCursor object, Diagnostics& diagnostics) {
  const ValueReader values(diagnostics);
  if (!values.Expect(object, JsonKind::kObject)) return;
  const std::vector<const Field*> fields = TensorFieldsOf(op().info());
  std::vector<std::string_view> names;
  for (const Field* field : fields) names.push_back(field->name);
  values.CheckKeys(object, names);

  const auto read = [&](JsonCursor value, TensorRole role, const std::string& path) {
    if (value.is_null()) return;
    if (value.is_string()) {
      if (!values.FileName(value)) return;
      const bool stream = value.string() == kStandardStream;
      bindings_[path] = {
          stream ? value.string() : (std::filesystem::path(folder_) / value.string()).string(),
          /*values=*/std::nullopt, value};
    } else if (role == TensorRole::kInput && (value.is_array() || value.is_object())) {
      bindings_[path] = {"", value, std::nullopt};
    } else {
      values.Error(value, "DOC-1",
                   fmt::format("expected a file name{}, found {}",
                               role == TensorRole::kInput ? ", values or an initializer" : "",
                               Describe(value.kind())));
    }
  };
  for (const Field* field : fields) {
    const auto value = values.Find(object, field->name);
    if (!value) continue;
    if (field->kind == FieldKind::kTensor) {
      op().AddTensor(*field);
      read(*value, field->role, std::string(field->name));
      continue;
    }
    if (!values.Expect(*value, JsonKind::kArray)) continue;
    size_t i = 0;
    for (const JsonCursor child : value->children()) {
      read(child, field->role, fmt::format("{}/{}", field->name, i++));
    }
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
  object_.Check(level, diagnostics);
  CheckBindings(diagnostics);
  CheckInlineValues(diagnostics);
  diagnostics.SortByPlace();
}

// Arrays of bindings may be longer than the arrays of tensors.
void OperatorDocument::CheckBindings(Diagnostics& diagnostics) const {
  std::set<std::string> known;
  for (const TensorSlot& slot : TensorSlots(op())) known.insert(slot.path);
  for (const auto& [path, binding] : bindings_) {
    if (known.contains(path)) continue;
    const std::string field = path.substr(0, path.find('/'));
    const auto bindings = json_.root().Find("bindings");
    const auto array = bindings ? bindings->Find(field) : std::nullopt;
    diagnostics.Error("DOC-3", "/bindings/" + path,
                      fmt::format("there is no tensor {} to bind", DisplayName(path)),
                      array ? std::optional(array->offset()) : std::nullopt);
  }
}

}  // namespace dmlop
