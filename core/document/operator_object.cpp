#include "core/document/operator_object.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "core/base/spelling.h"
#include "core/ops/field_visitor.h"

namespace dmlop {
namespace {

constexpr std::array<std::string_view, 4> kOperatorKeys = {"type", "Type", "desc", "Desc"};

// Reads every field of an operator from an object.
class FieldReader : public FieldVisitor {
 public:
  FieldReader(JsonCursor object, const ValueReader& values) : object_(object), values_(values) {}

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
      if (child->is_null() && values_.dialect() == Dialect::kModel) {
        values_.Error(*child, "JSON-4", "null; leave the field out instead");
      }
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
      if (const auto number = values_.Require(*value, kKeys[i])) {
        numbers[i] = values_.Float32(*number);
      }
    }
    field = ScaleBias{numbers[0].value_or(1), numbers[1].value_or(0)};
  }

  // The names of all fields.
  const std::vector<std::string_view>& names() const { return names_; }

 private:
  std::optional<JsonCursor> Field(std::string_view name) {
    names_.push_back(name);
    return name == "ScaleBias" ? values_.Find(object_, name) : values_.FindField(object_, name);
  }

  JsonCursor object_;
  const ValueReader& values_;
  std::vector<std::string_view> names_;
};

// Reads the arrays of numbers that the operator lacks, once more.
class ArrayReader : public FieldVisitor {
 public:
  ArrayReader(JsonCursor object, const ValueReader& values) : object_(object), values_(values) {}

  void Tensor(std::string_view name, TensorRole, TensorDesc& field) {
    if (const auto value = values_.Find(object_, name)) Read(*value, field);
  }
  void Tensors(std::string_view name, TensorRole, std::optional<std::vector<TensorDesc>>& field) {
    const auto value = values_.Find(object_, name);
    if (!value || !field) return;
    auto child = value->first_child();
    for (size_t i = 0; child && i < field->size(); ++i, child = child->next()) {
      Read(*child, (*field)[i]);
    }
  }
  void Numbers(std::string_view name, std::optional<std::vector<uint32_t>>& field) {
    if (const auto value = values_.Find(object_, name); value && !field) {
      field = values_.Uint32Array(*value);
    }
  }

 private:
  void Read(JsonCursor value, TensorDesc& field) const {
    const TensorDesc again = values_.Tensor(value);
    if (!field.sizes) field.sizes = again.sizes;
    if (!field.strides) field.strides = again.strides;
  }

  JsonCursor object_;
  const ValueReader& values_;
};

// The count that stands for an array of tensors where that is left out.
struct CountFinder : FieldVisitor {
  std::string_view array;
  std::string_view last, found;

  explicit CountFinder(std::string_view name) : array(name) {}

  template <typename C, typename A>
  void Count(std::string_view name, C&, A&) {
    last = name;
  }
  template <typename A>
  void Tensors(std::string_view name, TensorRole, A&) {
    if (name == array) found = last;
  }
};

// True when `pointer` is that value or lies within it.
bool LeadsTo(std::string_view value, std::string_view pointer) {
  return pointer.starts_with(value) &&
         (pointer.size() == value.size() || pointer[value.size()] == '/');
}

// " ('tpe' may stand for it)" where a member has nearly that name.
std::string Misspelling(JsonCursor object, std::string_view name) {
  for (auto member = object.first_child(); member; member = member->next()) {
    if (DidYouMean(member->key(), std::array<std::string_view, 1>{name}).empty()) continue;
    return fmt::format(" ('{}' may stand for it)", member->key());
  }
  return "";
}

// True for the fault of a file that is bound to a tensor, which might have told one of its fields.
bool IsFileOf(const Diagnostic& fault, std::string_view field) {
  constexpr std::string_view kBindings = "/bindings/";
  return fault.file_fault && fault.pointer.starts_with(kBindings) &&
         LeadsTo(std::string_view(fault.pointer).substr(kBindings.size()), field);
}

}  // namespace

OperatorObject::OperatorObject(JsonCursor object, std::span<const std::string_view> other_keys,
                               const ValueReader& values)
    : object_(object), fields_(object), dialect_(values.dialect()) {
  if (!values.Expect(object, JsonKind::kObject)) return;
  op_ = ReadType(values);
  if (!op_) return;
  const auto desc = values.FindEither(object, "Desc", "desc");
  if (desc) fields_ = *desc;
  const bool is_null = !desc && (object.Find("Desc") || object.Find("desc"));
  if (is_null && values.dialect() == Dialect::kModel) {  // which is reported
    op_.reset();
    return;
  }
  if (!values.Expect(fields_, JsonKind::kObject)) return;
  const FieldReader reader = VisitAllFields(*op_, FieldReader(fields_, values));
  std::vector<std::string_view> known(kOperatorKeys.begin(), kOperatorKeys.end());
  known.insert(known.end(), other_keys.begin(), other_keys.end());
  if (desc) {
    values.CheckKeys(object, known);
    values.CheckKeys(fields_, reader.names());
  } else {
    known.insert(known.end(), reader.names().begin(), reader.names().end());
    values.CheckKeys(object, known);
  }
}

std::optional<OperatorDesc> OperatorObject::ReadType(const ValueReader& values) const {
  const auto type = values.FindEither(object_, "Type", "type");
  if (!type) {
    const bool is_null = object_.Find("Type") || object_.Find("type");  // reported where it is one
    if (!is_null || values.dialect() == Dialect::kDescriptor) {
      values.Missing(object_, "type", Misspelling(object_, "type"));
    }
    return std::nullopt;
  }
  const auto index = values.Enum(*type, kOperatorPrefix, OperatorNames());
  if (!index) return std::nullopt;
  return MakeOperator(OperatorNames()[*index]);
}

void OperatorObject::Check(FeatureLevel level, Diagnostics& diagnostics) {
  std::vector<std::string> left_out;
  for (const TensorSlot& slot : TensorSlots(static_cast<const OperatorDesc&>(*op_))) {
    if (slot.role == TensorRole::kInput || slot.desc->complete()) continue;
    const bool is_made_up = !slot.desc->data_type && !slot.desc->sizes;
    left_out.push_back(slot.path + (is_made_up ? "" : slot.desc->sizes ? "/DataType" : "/Sizes"));
  }
  Diagnostics found = Judge(level, diagnostics.has_errors());
  Complete(*op_);
  // What is wrong with what was made up from the other fields is their fault.
  const auto is_implied = [&](const Diagnostic& diagnostic) {
    return std::any_of(left_out.begin(), left_out.end(),
                       [&](const std::string& path) { return LeadsTo(path, diagnostic.pointer); });
  };
  const bool fields_are_wrong = diagnostics.has_errors() ||
                                !std::all_of(found.list().begin(), found.list().end(), is_implied);
  // What cannot be read has been reported, and is not missing.
  std::vector<Diagnostic> unreadable = diagnostics.list();
  std::erase_if(unreadable, [](const Diagnostic& d) { return d.pointer.empty(); });
  for (Diagnostic& diagnostic : found.list()) {
    if (fields_are_wrong && is_implied(diagnostic)) continue;
    const std::string of_operator = diagnostic.pointer;
    Locate(diagnostic);
    const bool is_repeated =
        diagnostic.code == "JSON-2" &&
        std::any_of(unreadable.begin(), unreadable.end(), [&](const Diagnostic& earlier) {
          return LeadsTo(earlier.pointer, diagnostic.pointer) ||
                 LeadsTo(diagnostic.pointer, earlier.pointer) || IsFileOf(earlier, of_operator);
        });
    if (!is_repeated) diagnostics.Append(diagnostic);
  }
  diagnostics.Omit(found.omitted());
}

// Where elements of arrays cannot be read, what is wrong with a small number in their place and
// with a large one is the fault of the rest.
Diagnostics OperatorObject::Judge(FeatureLevel level, bool may_be_unreadable) const {
  const auto judge = [&](uint32_t placeholder) {
    OperatorDesc op = *op_;
    Diagnostics known, found;
    if (may_be_unreadable) {
      VisitAllFields(op, ArrayReader(fields_, ValueReader(known, dialect_, placeholder)));
    }
    Complete(op);
    Validate(op, level, found);
    return found;
  };
  Diagnostics found = judge(1);
  if (!may_be_unreadable) return found;
  const Diagnostics other = judge(99'991);
  std::erase_if(found.list(), [&](const Diagnostic& one) {
    return std::none_of(other.list().begin(), other.list().end(), [&](const Diagnostic& another) {
      return one.pointer == another.pointer && one.message == another.message;
    });
  });
  return found;
}

// Where an array of tensors is left out, the number of them.
std::optional<JsonCursor> OperatorObject::CountInPlaceOf(std::string_view field) const {
  const std::string_view count = VisitAllFields(*op_, CountFinder(field)).found;
  if (count.empty() || fields_.Find(field)) return std::nullopt;
  return fields_.Find(count);
}

// Follows a validator's path down the document as far as it goes, through the "Desc" level that a
// tensor may have. A field that was left out is reported at the object that should have it.
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
    if (at.is_object()) at = TensorFields(at);
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

}  // namespace dmlop
