// SPDX-License-Identifier: Apache-2.0
// Reads a ModelDocument.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "core/base/spelling.h"
#include "core/base/text.h"
#include "core/model/model_dispatchables.h"
#include "core/model/model_document.h"

namespace dmlop {
namespace {

using NumberOfName = std::map<std::string, size_t, std::less<>>;

}  // namespace

class ModelReader {
 public:
  ModelReader(ModelDocument& model, FeatureLevel level, const StatedSizes& sizes,
              const ModelDocument::OpenFile& open, Diagnostics& diagnostics)
      : model_(model),
        diagnostics_(diagnostics),
        values_(diagnostics, Dialect::kModel),
        dispatchables_(level, open, diagnostics),
        onnx_(level, sizes, open, diagnostics) {}

  void Read(JsonCursor root) {
    constexpr std::array<std::string_view, 4> kKeys = {"resources", "dispatchables", "commands",
                                                       "$schema"};
    values_.CheckKeys(root, kKeys);
    const auto resources = Section(root, "resources", JsonKind::kObject);
    const auto dispatchables = Section(root, "dispatchables", JsonKind::kObject);
    const auto commands = Section(root, "commands", JsonKind::kArray);
    has_resources_ = resources.has_value();
    has_dispatchables_ = dispatchables.has_value();
    if (resources) ForEachMember(*resources, [&](JsonCursor value) { ReadResource(value); });
    if (dispatchables) {
      ForEachMember(*dispatchables, [&](JsonCursor value) { ReadDispatchable(value); });
    }
    onnx_.WarnOfUnused();
    if (!commands) return;
    for (auto child = commands->first_child(); child; child = child->next()) ReadCommand(*child);
    for (const ModelResource& resource : model_.resources_) CheckDeferred(resource);
  }

 private:
  std::optional<JsonCursor> Section(JsonCursor root, std::string_view name, JsonKind kind) const {
    const auto section = values_.Require(root, name);
    return section && values_.Expect(*section, kind) ? section : std::nullopt;
  }

  // A later member replaces an earlier one of the same name.
  template <typename Body>
  void ForEachMember(JsonCursor object, Body&& body) const {
    std::map<std::string_view, JsonCursor> seen;
    for (auto member = object.first_child(); member; member = member->next()) {
      if (!seen.emplace(member->key(), *member).second) {
        values_.Warning(*member, "JSON-5", "'{}' is given twice; the later one counts",
                        member->key());
      }
      body(*member);
    }
  }

  // --- resources ---------------------------------------------------------------------------------

  void ReadResource(JsonCursor value) {
    resource_names_[value.key()] = kUnreadable;
    if (!values_.Expect(value, JsonKind::kObject)) return;
    auto initial_values = ReadInitialValues(value, values_);
    CheckResourceKeys(value, initial_values);
    const auto size = OptionalUint64(value, "sizeInBytes");
    const uint64_t offset = OptionalUint64(value, "initialValuesOffsetInBytes").value_or(0);
    if (offset != 0) {
      values_.Warning(*value.Find("initialValuesOffsetInBytes"), "JSON-3",
                      "the values are written at byte 0 all the same");
    }
    if (!initial_values) return;
    resource_names_[value.key()] = model_.resources_.size();
    model_.resources_.push_back({value.key(), value, *std::move(initial_values), size, offset});
  }

  // Two members are for pictures, and ignored beside other values.
  void CheckResourceKeys(JsonCursor value, const std::optional<InitialValues>& initial) const {
    constexpr std::array<std::string_view, 6> kKeys = {"initialValues",
                                                       "initialValuesDataType",
                                                       "sizeInBytes",
                                                       "initialValuesOffsetInBytes",
                                                       kIgnoredResourceKeys[0].name,
                                                       kIgnoredResourceKeys[1].name};
    const auto* file = initial ? std::get_if<InitialValues::File>(&initial->source) : nullptr;
    if (!initial || (file != nullptr && file->is_picture))
      return CheckKeys(values_, value, kKeys, {});
    CheckKeys(values_, value, std::span(kKeys).first(4), kIgnoredResourceKeys);
  }

  std::optional<uint64_t> OptionalUint64(JsonCursor object, std::string_view name) const {
    const auto member = values_.Find(object, name);
    return member ? values_.Uint64(*member) : std::nullopt;
  }

  // --- dispatchables -----------------------------------------------------------------------------

  void ReadDispatchable(JsonCursor value) {
    dispatchable_names_[value.key()] = kUnreadable;
    if (!values_.Expect(value, JsonKind::kObject)) return;
    if (OnnxDispatchables::IsOnnx(value)) return onnx_.Read(value);
    auto dispatchable = dispatchables_.Read(value);
    if (!dispatchable) return;
    const auto bindings = values_.Find(value, "bindings");
    if (bindings && dispatchable->op() != nullptr) {
      dispatchable->initialization = ReadBindings(*bindings, *dispatchable);
    }
    AddDispatchable(*std::move(dispatchable));
  }

  void AddDispatchable(ModelDispatchable dispatchable) {
    dispatchable_names_[dispatchable.name] = model_.dispatchables_.size();
    model_.dispatchables_.push_back(std::move(dispatchable));
  }

  // --- bindings ----------------------------------------------------------------------------------

  ModelBindings ReadBindings(JsonCursor value, const ModelDispatchable& dispatchable) const {
    ModelBindings bindings{value, {}};
    if (!values_.Expect(value, JsonKind::kObject)) return bindings;
    const std::vector<std::string_view> known = dispatchable.bind_points();
    for (auto member = value.first_child(); member; member = member->next()) {
      const std::string& field = member->key();
      if (std::find(known.begin(), known.end(), field) == known.end()) {
        values_.Warning(*member, "MB-3", "{} has no bind point '{}'{}; it is ignored",
                        dispatchable.type(), field, DidYouMean(field, known));
      } else if (bindings.by_field.contains(field)) {
        values_.Warning(*member, "JSON-5", "'{}' is given twice; it is ignored", field);
      } else {
        bindings.by_field[field] =
            ReadBindPoint(*member, OnnxDispatchables::IsOnnx(dispatchable.place));
      }
    }
    return bindings;
  }

  std::vector<ModelBinding> ReadBindPoint(JsonCursor value, bool has_shape) const {
    std::vector<ModelBinding> all;
    for (const JsonCursor entry : value.is_array() ? value.children() : std::vector{value}) {
      all.push_back(ReadBinding(entry, has_shape));
    }
    return all;
  }

  ModelBinding ReadBinding(JsonCursor value, bool has_shape) const {
    constexpr std::array<std::string_view, 4> kKeys = {"name", "elementOffset",
                                                       "elementSizeInBytes", "shape"};
    ModelBinding binding{kUnreadable, value};
    if (value.is_string()) {
      binding.resource = ResourceCalled(value);
      return binding;
    }
    if (!value.is_object()) {
      values_.Error(value, "DOC-1",
                    "expected the name of a resource, or an object with 'name', found {}",
                    Describe(value.kind()));
      return binding;
    }
    CheckKeys(values_, value, std::span(kKeys).first(has_shape ? 4 : 3), kIgnoredBindingKeys);
    if (const auto name = values_.Require(value, "name")) binding.resource = ResourceCalled(*name);
    binding.element_offset = OptionalUint64(value, "elementOffset").value_or(0);
    binding.element_size = OptionalUint64(value, "elementSizeInBytes").value_or(0);
    return binding;
  }

  size_t ResourceCalled(JsonCursor name) const {
    return Called(name, "resource", has_resources_, resource_names_);
  }

  // Returns the index of a name; kUnreadable for faults that were reported before.
  size_t Called(JsonCursor name, std::string_view kind, bool has_any,
                const NumberOfName& names) const {
    if (!values_.Expect(name, JsonKind::kString) || !has_any) return kUnreadable;
    const auto found = names.find(name.string());
    if (found != names.end()) return found->second;
    std::vector<std::string_view> candidates;
    for (const auto& [candidate, number] : names) {
      if (diagnostics_.full() || candidates.size() == kMaxCandidates) break;
      candidates.push_back(candidate);
    }
    values_.Error(name, "JSON-6", "there is no {} '{}'{}", kind, name.string(),
                  DidYouMeanOneOf(name.string(), candidates, names.size() - candidates.size()));
    return kUnreadable;
  }

  // --- commands ----------------------------------------------------------------------------------

  void ReadCommand(JsonCursor value) {
    if (!values_.Expect(value, JsonKind::kObject)) return;
    if (!value.Find("type")) return values_.MissingType(value);
    const auto type = values_.Find(value, "type");
    if (!type || !values_.Expect(*type, JsonKind::kString)) return;
    const std::string name = LowerCase(type->string());
    if (name == "dispatch") return ReadDispatch(value);
    if (name == "print") return ReadPrint(value);
    if (name == "writefile") return ReadWriteFile(value);
    for (const std::string_view ignored : kIgnoredCommands) {
      if (name != LowerCase(ignored)) continue;
      return values_.Warning(*type, "JSON-3", "'{}' is ignored: there is no such memory",
                             type->string());
    }
    constexpr std::array<std::string_view, 3> kTypes = {"dispatch", "print", "writeFile"};
    values_.Error(*type, "JSON-3", "'{}' is not a known command; expected one of {}{}",
                  type->string(), fmt::join(kTypes, ", "), DidYouMean(type->string(), kTypes));
  }

  void ReadDispatch(JsonCursor value) {
    constexpr std::array<std::string_view, 3> kKeys = {"type", "dispatchable", "bindings"};
    CheckKeys(values_, value, kKeys, kIgnoredDispatchKeys);
    const auto name = values_.Require(value, "dispatchable");
    const auto bindings = values_.Require(value, "bindings");
    if (name && name->is_string() && onnx_.Has(name->string())) {
      if (bindings) ReadOnnxDispatch(value, name->string(), *bindings);
      return;
    }
    const size_t number =
        name ? Called(*name, "dispatchable", has_dispatchables_, dispatchable_names_) : kUnreadable;
    if (number == kUnreadable || !bindings) return;
    Add(value, DispatchCommand{number, ReadBindings(*bindings, model_.dispatchables_[number])});
  }

  // Each dispatch has a graph of its own shapes, and resources may have the sizes of its outputs.
  void ReadOnnxDispatch(JsonCursor value, const std::string& name, JsonCursor bindings) {
    auto dispatchable = onnx_.ForDispatch(name, bindings);
    if (!dispatchable) return;
    model_.dispatchables_.push_back(*std::move(dispatchable));
    const ModelDispatchable& added = model_.dispatchables_.back();
    ModelBindings bound = ReadBindings(bindings, added);
    for (const TensorSlot& slot : added.slots()) {
      const auto found = bound.by_field.find(slot.path);
      if (slot.role() == TensorRole::kInput || found == bound.by_field.end()) continue;
      for (const ModelBinding& binding : found->second) SizeDeferred(binding, *slot.desc);
    }
    Add(value, DispatchCommand{model_.dispatchables_.size() - 1, std::move(bound)});
  }

  void CheckDeferred(const ModelResource& resource) const {
    // Without its model, the size of an output is not known.
    if (!resource.initial_values.is_deferred || !onnx_.is_complete()) return;
    if (std::get<InitialValues::Sequence>(resource.initial_values.source).count > 0) return;
    values_.Error(resource.place.Find("initialValues").value_or(resource.place), "RES-4",
                  "deferred values are for outputs of ONNX models");
  }

  void SizeDeferred(const ModelBinding& binding, const TensorDesc& desc) {
    if (binding.resource == kUnreadable) return;
    InitialValues& values = model_.resources_[binding.resource].initial_values;
    if (!values.is_deferred) return;
    auto& sequence = std::get<InitialValues::Sequence>(values.source);
    const auto count = static_cast<uint32_t>(LayoutOf(desc).element_count());
    sequence.count = std::max(sequence.count, count);
  }

  void ReadPrint(JsonCursor value) {
    constexpr std::array<std::string_view, 3> kKeys = {"type", "resource", "verbose"};
    values_.CheckKeys(value, kKeys);
    const auto verbose = values_.Find(value, "verbose");
    const bool is_verbose = verbose && values_.Boolean(*verbose).value_or(false);
    if (const auto resource = ReadTarget(value)) Add(value, PrintCommand{*resource, is_verbose});
  }

  void ReadWriteFile(JsonCursor value) {
    constexpr std::array<std::string_view, 4> kKeys = {"type", "resource", "targetPath",
                                                       "dimensions"};
    values_.CheckKeys(value, kKeys);
    const auto path_value = values_.Require(value, "targetPath");
    const auto path = path_value ? values_.FileName(*path_value) : std::nullopt;
    const auto dimensions_value = values_.Find(value, "dimensions");
    const auto dimensions =
        dimensions_value ? values_.Uint32Array(*dimensions_value) : std::vector<uint32_t>();
    const auto resource = ReadTarget(value);
    if (path && dimensions && resource) Add(value, WriteFileCommand{*resource, *path, *dimensions});
  }

  std::optional<size_t> ReadTarget(JsonCursor value) const {
    const auto name = values_.Require(value, "resource");
    if (!name) return std::nullopt;
    const size_t resource = ResourceCalled(*name);
    return resource == kUnreadable ? std::nullopt : std::optional(resource);
  }

  template <typename Command>
  void Add(JsonCursor place, Command command) {
    model_.commands_.push_back({place, std::move(command)});
  }

  static constexpr size_t kUnreadable = ModelDocument::kUnreadable;

  ModelDocument& model_;
  Diagnostics& diagnostics_;
  ValueReader values_;
  const DispatchableReader dispatchables_;
  OnnxDispatchables onnx_;
  bool has_resources_ = false;
  bool has_dispatchables_ = false;
  NumberOfName resource_names_;
  NumberOfName dispatchable_names_;
};

ModelDocument::ModelDocument(JsonDocument json, FeatureLevel level, const OpenFile& open,
                             Diagnostics& diagnostics, const StatedSizes& sizes)
    : json_(std::move(json)) {
  if (const auto trailing = json_.trailing_offset()) {
    diagnostics.Warning("JSON-1", "", "text after the document is ignored", trailing);
  }
  ModelReader(*this, level, sizes, open, diagnostics).Read(json_.root());
  JoinMisspelt(diagnostics);
}

}  // namespace dmlop
