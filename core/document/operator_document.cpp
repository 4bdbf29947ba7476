#include "core/document/operator_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <set>

#include "core/base/spelling.h"
#include "core/document/value_reader.h"
#include "core/io/file.h"
#include "core/ops/checks.h"
#include "core/ops/field_visitor.h"

namespace dmlop {
namespace {

constexpr std::array<std::string_view, 6> kDocumentKeys = {"type", "Type",     "desc",
                                                           "Desc", "bindings", "$schema"};

// Reads every field of an operator from an object.
class FieldReader : public FieldVisitor {
 public:
  FieldReader(JsonCursor object, Diagnostics& diagnostics)
      : object_(object), values_(diagnostics) {}

  template <typename E>
  void Enum(std::string_view name, std::string_view prefix, std::span<const std::string_view> names,
            std::optional<E>& field) {
    if (const auto value = Field(name)) {
      const auto index = values_.Enum(*value, prefix, names);
      if (index) field = static_cast<E>(*index);
    }
  }
  void Tensor(std::string_view name, TensorRole, TensorDesc& field) {
    if (const auto value = Field(name)) field = values_.Tensor(*value);
  }
  void Tensors(std::string_view name, TensorRole, std::optional<std::vector<TensorDesc>>& field) {
    const auto value = Field(name);
    if (!value || !values_.Expect(*value, JsonKind::kArray)) return;
    field.emplace();
    for (auto child = value->first_child(); child; child = child->next()) {
      field->push_back(child->is_null() ? TensorDesc() : values_.Tensor(*child));
    }
  }
  template <typename A>
  void Count(std::string_view name, std::optional<uint32_t>& field, A&) {
    Number(name, field);
  }
  void Number(std::string_view name, std::optional<uint32_t>& field) {
    if (const auto value = Field(name)) field = values_.Uint32(*value);
  }
  void Numbers(std::string_view name, std::optional<std::vector<uint32_t>>& field) {
    if (const auto value = Field(name)) field = values_.Uint32Array(*value);
  }
  void ScaleAndBias(std::string_view name, std::optional<ScaleBias>& field) {
    const auto value = Field(name);
    if (!value || !values_.Expect(*value, JsonKind::kObject)) return;
    constexpr std::array<std::string_view, 2> kKeys = {"Scale", "Bias"};
    values_.CheckKeys(*value, kKeys);
    std::array<std::optional<float>, 2> numbers;
    for (size_t i = 0; i < kKeys.size(); ++i) {
      if (const auto number = FindPresent(*value, kKeys[i])) {
        numbers[i] = values_.Float32(*number);
      } else {
        values_.Error(*value, "JSON-2", fmt::format("'{}' is missing", kKeys[i]));
      }
    }
    field = ScaleBias{numbers[0].value_or(1), numbers[1].value_or(0)};
  }

  // The names of all fields.
  const std::vector<std::string_view>& names() const { return names_; }

 private:
  std::optional<JsonCursor> Field(std::string_view name) {
    names_.push_back(name);
    return FindPresent(object_, name);
  }

  JsonCursor object_;
  ValueReader values_;
  std::vector<std::string_view> names_;
};

struct TensorsSizer : FieldVisitor {
  TensorRole role;
  size_t count;

  TensorsSizer(TensorRole r, size_t n) : role(r), count(n) {}

  void Tensors(std::string_view, TensorRole of, std::optional<std::vector<TensorDesc>>& field) {
    if (of == role && !field) field.emplace(count);
  }
};

// The names of the tensor fields, and the numbers of entries of those that are arrays.
struct TensorFieldLister : FieldVisitor {
  struct Entry {
    std::string_view name;
    TensorRole role;
    bool is_array;
  };
  std::vector<Entry> entries;

  template <typename T>
  void Tensor(std::string_view name, TensorRole role, T&) {
    entries.push_back({name, role, false});
  }
  template <typename T>
  void Tensors(std::string_view name, TensorRole role, T&) {
    entries.push_back({name, role, true});
  }
};

// True when `pointer` is that value or lies within it.
bool LeadsTo(std::string_view value, std::string_view pointer) {
  return pointer.starts_with(value) &&
         (pointer.size() == value.size() || pointer[value.size()] == '/');
}

// The member under its lower-case or its upper-case name, as DxDispatch takes both; not under both.
std::optional<JsonCursor> FindEither(JsonCursor root, std::string_view lower,
                                     std::string_view upper, const ValueReader& values) {
  const auto member = FindPresent(root, lower);
  const auto other = FindPresent(root, upper);
  if (member && other) {
    values.Error(*other, "JSON-5", fmt::format("'{}' stands beside '{}'", upper, lower));
  }
  return member ? member : other;
}

std::optional<OperatorDesc> ReadType(JsonCursor root, const ValueReader& values) {
  const auto type = FindEither(root, "type", "Type", values);
  if (!type) {
    values.Error(root, "JSON-2", "'type' is missing");
    return std::nullopt;
  }
  const auto index = values.Enum(*type, kOperatorPrefix, OperatorNames());
  if (!index) return std::nullopt;
  return MakeOperator(OperatorNames()[*index]);
}

}  // namespace

OperatorDocument::OperatorDocument(JsonDocument json, std::string folder, Diagnostics& diagnostics)
    : json_(std::move(json)), folder_(std::move(folder)) {
  const ValueReader values(diagnostics);
  const JsonCursor root = json_.root();
  if (!values.Expect(root, JsonKind::kObject)) return;
  if (root.Find("dispatchables")) {
    values.Error(root, "JSON-2",
                 "this is a DxDispatch model; expected an operator descriptor with 'type'");
    return;
  }
  op_ = ReadType(root, values);
  if (!op_) return;

  const auto desc = FindEither(root, "desc", "Desc", values);
  fields_ = desc.value_or(root);
  if (!values.Expect(*fields_, JsonKind::kObject)) return;
  const FieldReader reader = VisitAllFields(*op_, FieldReader(*fields_, diagnostics));
  std::vector<std::string_view> known(kDocumentKeys.begin(), kDocumentKeys.end());
  if (desc) {
    values.CheckKeys(root, known);
    values.CheckKeys(*fields_, reader.names());
  } else {
    known.insert(known.end(), reader.names().begin(), reader.names().end());
    values.CheckKeys(root, known);
  }
  if (const auto bindings = FindPresent(root, "bindings")) ReadBindings(*bindings, diagnostics);
}

void OperatorDocument::ReadBindings(JsonCursor object, Diagnostics& diagnostics) {
  const ValueReader values(diagnostics);
  if (!values.Expect(object, JsonKind::kObject)) return;
  const auto fields = VisitAllFields(*op_, TensorFieldLister()).entries;
  std::vector<std::string_view> names;
  for (const auto& field : fields) names.push_back(field.name);
  values.CheckKeys(object, names);

  const auto read = [&](JsonCursor value, TensorRole role, const std::string& path) {
    if (value.is_null()) return;
    if (value.is_string() &&
        (value.string().empty() || value.string().find('\0') != std::string::npos)) {
      values.Error(value, "DOC-1", "expected a file name, found text that is none");
    } else if (value.is_string()) {
      const bool stream = value.string() == kStandardStream;
      bindings_[path] = {
          stream ? value.string() : (std::filesystem::path(folder_) / value.string()).string(),
          std::nullopt};
    } else if (role == TensorRole::kInput && (value.is_array() || value.is_object())) {
      bindings_[path] = {"", value};
    } else {
      values.Error(value, "DOC-1",
                   fmt::format("expected a file name{}, found {}",
                               role == TensorRole::kInput ? ", values or an initializer" : "",
                               Describe(value.kind())));
    }
  };
  for (const auto& field : fields) {
    const auto value = FindPresent(object, field.name);
    if (!value) continue;
    if (!field.is_array) {
      read(*value, field.role, std::string(field.name));
      continue;
    }
    if (!values.Expect(*value, JsonKind::kArray)) continue;
    size_t i = 0;
    for (const JsonCursor child : value->children()) {
      read(child, field.role, fmt::format("{}/{}", field.name, i++));
    }
  }
}

void OperatorDocument::SizeLeftOutTensors(TensorRole role, size_t count) {
  VisitAllFields(*op_, TensorsSizer(role, count));
}

void OperatorDocument::Check(FeatureLevel level, Diagnostics& diagnostics) {
  std::vector<std::string> left_out;
  for (const TensorSlot& slot : TensorSlots(static_cast<const OperatorDesc&>(*op_))) {
    if (slot.role == TensorRole::kOutput && !slot.desc->complete()) left_out.push_back(slot.path);
  }
  Complete(*op_);
  Diagnostics found;
  Validate(*op_, level, found);
  // What is wrong with a tensor that was made up from the other fields is their fault.
  const auto is_implied = [&](const Diagnostic& diagnostic) {
    return std::any_of(left_out.begin(), left_out.end(),
                       [&](const std::string& path) { return LeadsTo(path, diagnostic.pointer); });
  };
  const bool fields_are_wrong = diagnostics.has_errors() ||
                                !std::all_of(found.list().begin(), found.list().end(), is_implied);
  // What cannot be read has been reported, and is not missing.
  const std::vector<Diagnostic> unreadable = diagnostics.list();
  for (Diagnostic& diagnostic : found.list()) {
    if (fields_are_wrong && is_implied(diagnostic)) continue;
    Locate(diagnostic);
    const bool is_repeated =
        diagnostic.code == "JSON-2" &&
        std::any_of(unreadable.begin(), unreadable.end(), [&](const Diagnostic& earlier) {
          return LeadsTo(earlier.pointer, diagnostic.pointer) ||
                 LeadsTo(diagnostic.pointer, earlier.pointer);
        });
    if (!is_repeated) diagnostics.Append(diagnostic);
  }
  CheckBindings(diagnostics);
  CheckInlineValues(diagnostics);
  std::stable_sort(diagnostics.list().begin(), diagnostics.list().end(),
                   [](const Diagnostic& a, const Diagnostic& b) { return a.offset < b.offset; });
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

// Follows a validator's path down the document as far as it goes, through the "Desc" level that a
// tensor may have. A field that was left out is reported at the object that should have it.
void OperatorDocument::Locate(Diagnostic& diagnostic) const {
  JsonCursor at = *fields_;
  std::string_view rest = diagnostic.pointer;
  while (!rest.empty()) {
    const std::string_view name = rest.substr(0, rest.find('/'));
    if (at.is_object()) at = TensorFields(at);
    std::optional<JsonCursor> next;
    if (at.is_object()) next = at.Find(name);
    if (at.is_array()) {
      const auto children = at.children();
      size_t index = children.size();  // stays where an array stands in place of an object
      std::from_chars(name.data(), name.data() + name.size(), index);
      if (index < children.size()) next = children[index];
    }
    if (!next) break;
    at = *next;
    rest.remove_prefix(std::min(rest.size(), name.size() + 1));
  }
  diagnostic.pointer = at.pointer() + (rest.empty() ? "" : "/") + std::string(rest);
  diagnostic.offset = at.offset();
}

}  // namespace dmlop
