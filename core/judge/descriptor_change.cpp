// SPDX-License-Identifier: Apache-2.0
#include "core/judge/descriptor_change.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <utility>

#include "core/document/document_json.h"
#include "core/document/operator_document.h"
#include "core/engine/copy/copy_views.h"
#include "core/tensor/element.h"

namespace dmlop {
namespace {

constexpr std::string_view kDesc = "/desc/";
constexpr std::string_view kBindings = "/bindings/";

// Turns an activation into the form with its fields beside its type.
Json Flat(const Json& activation) {
  Json flat = {{"Type", activation["type"]}};
  flat.update(activation["desc"]);
  return flat;
}

// The name of an activation, which may be given without its prefix.
Json ActivationNamed(const Json& name) {
  if (!name.is_string() || FindOperator(name.get<std::string>()) != nullptr) return name;
  const std::string whole = "ACTIVATION_" + name.get<std::string>();
  return FindOperator(whole) == nullptr ? name : Json(whole);
}

// Leaves counts to be told by their arrays, which may become longer or shorter.
void LeaveOutCounts(const OperatorDesc& op, Json& desc) {
  for (size_t i = 0; i + 1 < op.fields().size(); ++i) {
    const bool is_told = desc.contains(op.fields()[i + 1]->name);
    if (op.fields()[i]->kind == FieldKind::kCount && is_told) desc.erase(op.fields()[i]->name);
  }
}

// Returns the descriptor without what would not hold for a changed one, as its pointers see it.
Json ChangeableJson(const OperatorDesc& op) {
  Json json = OperatorJson(op);
  LeaveOutCounts(op, json["desc"]);
  for (const TensorSlot& slot : TensorSlots(op)) {
    Json& tensor = json[Json::json_pointer(std::string(kDesc) + slot.path)];
    tensor = {{"DataType", tensor["DataType"]}, {"Sizes", tensor["Sizes"]}};
    if (slot.desc->strides) tensor["Strides"] = *slot.desc->strides;
  }
  for (const Field* field : op.fields()) {
    if (!json["desc"].contains(field->name)) continue;
    Json& value = json["desc"][std::string(field->name)];
    if (field->kind == FieldKind::kActivation) value = Flat(value);
    if (field->kind != FieldKind::kActivations) continue;
    for (Json& activation : value) activation = Flat(activation);
  }
  return json;
}

// A type that has all integers of fewer bits.
constexpr DataType kWide = DataType::kInt32;

std::optional<DataType> TypeNamed(std::string_view name) {
  const auto names = DataTypeNames();
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<DataType>(found - names.begin());
}

bool IsZeroPoint(const TensorSlot& slot) {
  return slot.path.ends_with("ZeroPointTensor");
}

// Returns whether an operator reads all integers as the first of them.
bool ReadsAlike(const OperatorDesc& op) {
  return std::holds_alternative<ElementWise>(op.info().family);
}

// The views of inputs by the paths of their slots.
using NamedViews = std::map<std::string, ConstTensorView>;

// One application of changes: to the document, then to the operator, then to the views.
class Application {
 public:
  Application(const Computation& original, std::span<const DescriptorChange> changes,
              Diagnostics& why)
      : original_(original), why_(why), json_(ChangeableJson(original.op)) {
    for (const DescriptorChange& change : changes) asked_.insert(change.pointer);
    size_t number = 0;
    for (const TensorSlot& slot : TensorSlots(original.op, TensorRole::kInput)) {
      views_[slot.path] = original.inputs[number++];
      descs_[slot.path] = *slot.desc;
    }
  }

  void Apply(const DescriptorChange& change) {
    try {
      if (!change.other.empty()) return Exchange(change);
      if (change.pointer.starts_with(kBindings)) return Fill(change);
      const Json value = Json::parse(change.value);
      Set(Json::json_pointer(change.pointer), value);
      if (change.pointer.ends_with("/DataType")) SetTiedTypes(change.pointer, value);
    } catch (const Json::exception&) {
      Refuse(change.pointer);
    }
  }

  std::optional<Computation> Result() {
    std::optional<Computation> result = Read();
    if (!result) return std::nullopt;
    result->sources = sources_;
    for (const TensorSlot& slot : TensorSlots(std::as_const(result->op), TensorRole::kInput)) {
      const auto view = ViewOf(slot, *result);
      if (!view) return std::nullopt;
      result->inputs.push_back(*view);
    }
    return result;
  }

 private:
  void Refuse(const std::string& pointer) {
    why_.Error("DOC-1", pointer, "this leads to nothing that can be changed so", 0);
  }

  // Null stands for a field that is left out. An activation of another type keeps the fields that
  // it has; where there is none, one is added.
  void Set(const Json::json_pointer& pointer, const Json& value) {
    const bool is_type = pointer.back() == "Type";
    if (is_type && !json_.contains(pointer.parent_pointer())) {
      json_[pointer.parent_pointer()] = Json::object({{"Type", nullptr}});
    }
    const Json before = json_.contains(pointer) ? json_.at(pointer) : Json();
    if (before == value) {
      why_.Error("DOC-1", pointer.to_string(), "this makes no difference: it is so already", 0);
    }
    Json& parent = json_.at(pointer.parent_pointer());
    if (value.is_null() && parent.is_object()) {
      parent.erase(pointer.back());
    } else if (is_type && parent.contains("Type")) {
      parent["Type"] = ActivationNamed(value);
      KeepFieldsOf(parent["Type"], parent);
    } else if (parent.is_array()) {
      json_.at(pointer) = value;
    } else {
      parent[pointer.back()] = value;
    }
  }

  // Tensors that must have the same type are read alike, outputs, too. But where each is read by
  // its own, those beside a zero point and zero points beside others keep their values, and so do
  // those beside a zero point where all are read alike. Those that changes name are as these say.
  void SetTiedTypes(const std::string& pointer, const Json& type) {
    const auto slots = TensorSlots(original_.op);
    const auto changed = std::ranges::find_if(slots, [&](const TensorSlot& slot) {
      return pointer == std::string(kDesc) + slot.path + "/DataType";
    });
    if (changed == slots.end()) return;
    for (const TensorSlot& slot : slots) {
      const bool is_tied =
          slot.type == changed->type && *slot.desc->data_type == *changed->desc->data_type;
      const bool is_own_output = slot.role() == TensorRole::kOutput && IsZeroPoint(*changed);
      const bool is_asked = asked_.contains(std::string(kDesc) + slot.path + "/DataType");
      if (!is_tied || is_own_output || is_asked) continue;
      json_[TypePointer(slot.path)] = type;
      if (IsZeroPoint(*changed) || (IsZeroPoint(slot) && !ReadsAlike(original_.op))) {
        kept_.insert(slot.path);
      }
    }
    const bool is_read_alone = IsZeroPoint(*changed) && !kept_.empty();
    if (is_read_alone && ReadsAlike(original_.op)) Widen(*changed, type);
  }

  static Json::json_pointer TypePointer(const std::string& path) {
    return Json::json_pointer(std::string(kDesc) + path + "/DataType");
  }

  // Integers that are read as two types have a wider one together.
  void Widen(const TensorSlot& zero_point, const Json& type) {
    const auto read_as = type.is_string() ? TypeNamed(type.get<std::string>()) : std::nullopt;
    ConstTensorView& view = views_[zero_point.path];
    if (!read_as || ByteWidth(*read_as) != ByteWidth(view.type)) return;
    if (ByteWidth(view.type) >= ByteWidth(kWide)) return;
    view.type = *read_as;
    kept_.insert(zero_point.path);
    for (const std::string& path : kept_) {
      json_[TypePointer(path)] = Name(kWide);
      views_[path] = Widened(views_[path]);
      descs_[path].data_type = kWide;
    }
  }

  ConstTensorView Widened(const ConstTensorView& view) {
    const Dims& sizes = view.layout.sizes;
    const auto buffer =
        std::make_shared<Buffer>(static_cast<size_t>(Product(sizes)) * ByteWidth(kWide));
    auto* const numbers = reinterpret_cast<int32_t*>(buffer->data());
    const auto width = static_cast<int64_t>(ByteWidth(view.type));
    for (int64_t i = 0; i < Product(sizes); ++i) {
      const int64_t offset = OffsetOfElement(view.layout, i);
      numbers[i] = static_cast<int32_t>(ValueOf(view.type, view.data + offset * width));
    }
    made_.push_back(buffer);
    return {buffer->data(), kWide, PackedLayout(sizes)};
  }

  static void KeepFieldsOf(const Json& type, Json& activation) {
    const OperatorInfo* info = type.is_string() ? FindOperator(type.get<std::string>()) : nullptr;
    if (info == nullptr) return;  // which reading refuses
    Json kept = {{"Type", type}};
    for (const Field* field : info->fields) {
      const std::string name(field->name);
      if (activation.contains(name)) kept[name] = activation[name];
    }
    activation = kept;
  }

  void Exchange(const DescriptorChange& change) {
    const Json::json_pointer one(change.pointer);
    const Json::json_pointer other(change.other);
    if (!json_.contains(one) || !json_.contains(other)) return Refuse(change.pointer);
    const std::string path = change.pointer.substr(kDesc.size());
    const std::string other_path = change.other.substr(kDesc.size());
    if (ExchangeOutputs(path, other_path)) return;
    std::swap(json_[one], json_[other]);
    if (views_.contains(path) && views_.contains(other_path)) {
      std::swap(views_[path], views_[other_path]);
      std::swap(descs_[path], descs_[other_path]);
    }
  }

  // Outputs keep their descriptions, and have the elements of one another. Returns false if one is
  // no output.
  bool ExchangeOutputs(const std::string& path, const std::string& other_path) {
    const auto slots = TensorSlots(original_.op, TensorRole::kOutput);
    const auto one = std::ranges::find(slots, path, &TensorSlot::path);
    const auto other = std::ranges::find(slots, other_path, &TensorSlot::path);
    if (one == slots.end() || other == slots.end()) return false;
    if (!AreExchangeable(*one->desc, *other->desc)) {
      Refuse(std::string(kDesc) + path);
      return true;
    }
    if (sources_.empty()) {
      sources_.resize(slots.size());
      std::iota(sources_.begin(), sources_.end(), size_t{0});
    }
    std::swap(sources_[static_cast<size_t>(one - slots.begin())],
              sources_[static_cast<size_t>(other - slots.begin())]);
    return true;
  }

  void Fill(const DescriptorChange& change) {
    const std::string path = change.pointer.substr(kBindings.size());
    const Json value = Json::parse(change.value, nullptr, /*allow_exceptions=*/false);
    if (!views_.contains(path)) return Refuse(change.pointer);
    ConstTensorView& view = views_[path];
    if (value.is_array()) return FillWith(change, view);
    if (!value.is_number()) return Refuse(change.pointer);
    const auto element =
        std::make_shared<ElementBytes>(ConvertElement(value.get<float>(), StoredAs(view.type)));
    made_.push_back(element);
    view = {element->data(), view.type, {view.layout.sizes, Dims::Filled(view.layout.rank(), 0)}};
  }

  // The values are in row-major order.
  void FillWith(const DescriptorChange& change, ConstTensorView& view) {
    const auto document = JsonDocument::Parse(change.value, why_);
    const std::vector<JsonCursor> values = document->root().children();
    const auto width = ByteWidth(view.type);
    if (std::ssize(values) != view.layout.element_count()) return Refuse(change.pointer);
    const auto buffer = std::make_shared<Buffer>(values.size() * width);
    for (size_t i = 0; i < values.size(); ++i) {
      ValueReader(why_).Element(values[i], view.type, buffer->data() + i * width);
    }
    made_.push_back(buffer);
    view = {buffer->data(), view.type, PackedLayout(view.layout.sizes)};
  }

  std::optional<Computation> Read() {
    if (why_.has_errors()) return std::nullopt;
    const auto document = JsonDocument::Parse(Utf8Text(json_), why_);
    if (!document) return std::nullopt;
    OperatorObject object(document->root(), {}, ValueReader(why_));
    if (!object.has_operator()) return std::nullopt;
    object.Check(kHighestFeatureLevel, why_);
    if (why_.has_errors()) return std::nullopt;
    Computation result{object.op(), {}, original_.storage};
    result.storage.insert(result.storage.end(), made_.begin(), made_.end());
    return result;
  }

  // Returns the elements that an input has once its desc is another one.
  std::optional<ConstTensorView> ViewOf(const TensorSlot& slot, Computation& result) {
    const auto found = views_.find(slot.path);
    if (found == views_.end()) return Missing(slot);
    ConstTensorView view = found->second;
    if (!kept_.contains(slot.path)) view.type = *slot.desc->data_type;
    const Layout layout = LayoutOf(*slot.desc);
    const TensorDesc& before = descs_.at(slot.path);
    if (ByteWidth(view.type) != ByteWidth(*before.data_type)) return Missing(slot);
    if (layout == LayoutOf(before)) return view;
    return Reread(view, LayoutOf(before), layout, slot, result);
  }

  std::optional<ConstTensorView> Missing(const TensorSlot& slot) {
    Refuse(std::string(kDesc) + slot.path);
    return std::nullopt;
  }

  // Reads the buffer of a tensor by another layout. The elements behind its end are unknown.
  std::optional<ConstTensorView> Reread(const ConstTensorView& view, const Layout& before,
                                        const Layout& layout, const TensorSlot& slot,
                                        Computation& result) {
    if (Extent(layout) > Extent(before) || view.layout.sizes != before.sizes) return Missing(slot);
    const auto width = ByteWidth(view.type);
    const auto buffer = std::make_shared<Buffer>(static_cast<size_t>(Extent(before)) * width);
    const Move move{view, {buffer->data(), view.type, before}};
    CopyAll({&move, 1});
    result.storage.push_back(buffer);
    return ConstTensorView{buffer->data(), view.type, layout};
  }

  const Computation& original_;
  Diagnostics& why_;
  Json json_;
  NamedViews views_;
  std::map<std::string, TensorDesc> descs_;
  std::set<std::string> asked_;  // pointers of all changes
  std::set<std::string> kept_;   // paths of inputs that keep their values beside another type
  std::vector<std::shared_ptr<const void>> made_;
  std::vector<size_t> sources_;  // see Computation
};

// Returns a pointer without the part that all have.
std::string_view Shown(std::string_view pointer) {
  for (const std::string_view root : {kDesc, kBindings}) {
    if (pointer.starts_with(root)) pointer.remove_prefix(root.size());
  }
  return pointer;
}

bool IsPointer(std::string_view text) {
  return (text.starts_with(kDesc) && text.size() > kDesc.size()) ||
         (text.starts_with(kBindings) && text.size() > kBindings.size());
}

}  // namespace

bool AreExchangeable(const TensorDesc& a, const TensorDesc& b) {
  return *a.data_type == *b.data_type && *a.sizes == *b.sizes;
}

std::string DescriptorChange::text() const {
  if (!other.empty()) return fmt::format("{} and {} exchanged", Shown(pointer), Shown(other));
  if (value == "null") return fmt::format("{} left out", Shown(pointer));
  std::string shown = value;
  std::erase(shown, '"');
  return fmt::format("{} is {}", Shown(pointer), shown);
}

std::optional<DescriptorChange> ParseDescriptorChange(std::string_view id) {
  constexpr std::string_view kExchange = "<->";
  const size_t arrow = id.find(kExchange);
  const size_t sign = id.find('=');
  const size_t end = std::min(arrow, sign);
  if (end == std::string_view::npos || !IsPointer(id.substr(0, end))) return std::nullopt;
  const std::string pointer(id.substr(0, end));
  if (end == sign) {
    const std::string value(id.substr(end + 1));
    return IsJson(value) ? std::optional(DescriptorChange{pointer, value, ""}) : std::nullopt;
  }
  const std::string other(id.substr(end + kExchange.size()));
  if (!IsPointer(other) || !other.starts_with(kDesc) || !pointer.starts_with(kDesc)) {
    return std::nullopt;
  }
  return DescriptorChange{pointer, "", other};
}

std::optional<Computation> Changed(const Computation& original,
                                   std::span<const DescriptorChange> changes, Diagnostics& why) {
  Application application(original, changes, why);
  for (const DescriptorChange& change : changes) application.Apply(change);
  return application.Result();
}

}  // namespace dmlop
