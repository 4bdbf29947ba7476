// SPDX-License-Identifier: Apache-2.0
#include "core/model/model_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>

#include "core/base/error.h"
#include "core/base/integers.h"
#include "core/base/memory.h"
#include "core/base/text.h"
#include "core/graph/graph_run.h"
#include "core/io/picture_file.h"

namespace dmlop {
namespace {

constexpr uint64_t kMinimumAlignment = 16;  // DML_MINIMUM_BUFFER_TENSOR_ALIGNMENT

// The name of a graph's input may contain a slash.
std::string FieldOf(const TensorSlot& slot) {
  const bool is_entry = slot.field->kind == FieldKind::kTensors;
  return is_entry ? std::string(slot.field->name) : slot.path;
}

// A tensor with the position of its binding in the document.
struct PlacedTensor {
  TensorSlot slot;
  BoundTensor bound;
  JsonCursor place;

  uint64_t end() const { return bound.offset + SizeInBytes(*slot.desc); }
};

bool Intersect(const PlacedTensor& a, const PlacedTensor& b) {
  return a.bound.resource == b.bound.resource && a.bound.offset < b.end() &&
         b.bound.offset < a.end();
}

// Returns the names of the fields in which two tensors differ.
std::vector<std::string_view> Differences(const TensorDesc& a, const TensorDesc& b) {
  std::vector<std::string_view> fields;
  if (a.data_type != b.data_type) fields.push_back("DataType");
  if (LayoutOf(a).sizes != LayoutOf(b).sizes) fields.push_back("Sizes");
  if (LayoutOf(a).strides != LayoutOf(b).strides) fields.push_back("Strides");
  if (SizeInBytes(a) != SizeInBytes(b)) fields.push_back("TotalTensorSizeInBytes");
  return fields;
}

// Resources that are used with elements of another type, which is reported once for each type.
using Retyped = std::set<std::pair<size_t, DataType>>;

// Binds the tensors of one dispatch, or of one initialization.
class Binder {
 public:
  Binder(const ModelDispatchable& dispatchable, const ModelBindings& bindings,
         const ModelResources& resources, const ValueReader& values, Retyped& retyped)
      : dispatchable_(dispatchable),
        bindings_(bindings),
        resources_(resources),
        values_(values),
        retyped_(retyped),
        slots_(dispatchable.slots()) {}

  // Binds the inputs that are OWNED_BY_DML, or all other tensors.
  BoundTensors Bind(bool owned) {
    BoundTensors bound(slots_.size());
    for (size_t begin = 0, end = 0; begin < slots_.size(); begin = end) {
      end = begin + 1;
      while (end < slots_.size() && FieldOf(slots_[end]) == FieldOf(slots_[begin])) ++end;
      BindField(begin, end, owned, bound);
    }
    CheckHazards();
    return bound;
  }

 private:
  // The slots [begin, end) belong to one field.
  void BindField(size_t begin, size_t end, bool owned, BoundTensors& bound) {
    std::vector<size_t> wanted;
    for (size_t i = begin; i < end; ++i) {
      if (slots_[i].desc->owned_by_dml == owned) wanted.push_back(i);
    }
    const std::string field = FieldOf(slots_[begin]);
    const auto found = bindings_.by_field.find(field);
    if (found == bindings_.by_field.end()) {
      if (!wanted.empty()) {
        values_.Error(bindings_.place, "MB-2", "'{}' is bound to no resource", field);
      }
    } else if (wanted.empty()) {
      values_.Error(*bindings_.place.Find(field), "MB-4", "'{}' is {}", field,
                    owned ? "not OWNED_BY_DML; the dispatch binds it"
                          : "OWNED_BY_DML; the dispatchable binds it");
    } else if (found->second.size() != wanted.size()) {
      values_.Error(*bindings_.place.Find(field), "MB-1", "'{}' requires {}, but {} {} bound",
                    field, Counted(wanted.size(), "resource"), found->second.size(),
                    ForCount(found->second.size(), "was", "were"));
    } else {
      for (size_t i = 0; i < wanted.size(); ++i) {
        bound[wanted[i]] = BindSlot(slots_[wanted[i]], found->second[i]);
      }
    }
  }

  std::optional<BoundTensor> BindSlot(const TensorSlot& slot, const ModelBinding& binding) {
    if (binding.resource == ModelDocument::kUnreadable) return std::nullopt;
    const ModelResources::Shape& shape = resources_.shape(binding.resource);
    uint64_t width = binding.element_size;
    if (width == 0 && shape.type != DataType::kUnknown) width = ByteWidth(shape.type);
    if (width == 0 && !shape.is_known && binding.element_offset != 0) return std::nullopt;
    const CheckedU64 offset = CheckedMul(binding.element_offset, width);
    if (!CheckRange(slot, binding, offset)) return std::nullopt;
    WarnOfType(slot, binding);
    const BoundTensor bound{binding.resource, *offset};
    placed_.push_back({slot, bound, binding.place});
    return bound;
  }

  // A resource of mixed types has no type; elements of 4 bits are given as bytes.
  void WarnOfType(const TensorSlot& slot, const ModelBinding& binding) const {
    const DataType held = resources_.shape(binding.resource).type;
    const DataType type = *slot.desc->data_type;
    if (held == DataType::kUnknown || held == type || (HasNibbles(type) && ByteWidth(held) == 1)) {
      return;
    }
    if (!retyped_.emplace(binding.resource, type).second) return;
    values_.Warning(binding.place, "MB-6", "resource '{}' holds {}; {} {} its bytes as {}",
                    resources_.name(binding.resource), Name(held), DisplayName(slot.path),
                    slot.role() == TensorRole::kInput ? "reads" : "writes", Name(type));
  }

  bool CheckRange(const TensorSlot& slot, const ModelBinding& binding, CheckedU64 offset) const {
    const uint64_t needed = SizeInBytes(*slot.desc);
    const CheckedU64 end = CheckedAdd(offset, needed);
    if (!end) {
      values_.Error(binding.place, "BIND-2", "the offset is beyond any resource");
      return false;
    }
    const bool is_aligned = CheckAlignment(slot, binding, *offset);
    const std::optional<uint64_t> size = resources_.shape(binding.resource).size;
    if (size && *end > *size) {
      values_.Error(binding.place, "BIND-2", "{} needs {}{}; the resource has {}",
                    DisplayName(slot.path), Counted(needed, "byte"),
                    offset == 0u ? "" : fmt::format(" from byte {}", *offset), *size);
      return false;
    }
    return is_aligned;
  }

  bool CheckAlignment(const TensorSlot& slot, const ModelBinding& binding, uint64_t offset) const {
    const uint64_t alignment =
        std::max<uint64_t>(kMinimumAlignment, slot.desc->guaranteed_base_offset_alignment);
    if (offset % alignment == 0) return true;
    values_.Error(binding.place, "BIND-3", "byte offset {} is not a multiple of {}", offset,
                  alignment);
    return false;
  }

  // Goes through memory in order. A tensor that begins before another and ends inside of it is a
  // fault, so it suffices to look at the one that reaches furthest; one with the same beginning may
  // be the same area.
  void CheckHazards() {
    std::stable_sort(placed_.begin(), placed_.end(), [](const auto& a, const auto& b) {
      return std::pair(a.bound.resource, a.bound.offset) <
             std::pair(b.bound.resource, b.bound.offset);
    });
    const PlacedTensor* furthest_input = nullptr;
    const PlacedTensor* furthest_output = nullptr;
    for (size_t begin = 0, end = 0; begin < placed_.size(); begin = end) {
      while (end < placed_.size() && BeginTogether(placed_[begin], placed_[end])) ++end;
      const std::span<const PlacedTensor> together(placed_.data() + begin, end - begin);
      for (const PlacedTensor& tensor : together) {
        if (furthest_output && Intersect(*furthest_output, tensor)) {
          ReportHazard(*furthest_output, tensor);
        } else if (Writes(tensor) && furthest_input && Intersect(*furthest_input, tensor)) {
          ReportHazard(*furthest_input, tensor);
        }
      }
      CheckSamePlace(together);
      for (const PlacedTensor& tensor : together) {
        Extend(Writes(tensor) ? furthest_output : furthest_input, tensor);
      }
    }
  }

  static bool Writes(const PlacedTensor& tensor) {
    return tensor.slot.role() == TensorRole::kOutput;
  }

  static bool BeginTogether(const PlacedTensor& a, const PlacedTensor& b) {
    return a.bound.resource == b.bound.resource && a.bound.offset == b.bound.offset;
  }

  void CheckSamePlace(std::span<const PlacedTensor> together) const {
    const auto output = std::find_if(together.begin(), together.end(), Writes);
    if (output == together.end()) return;
    for (const PlacedTensor& tensor : together) {
      if (&tensor != &*output) ReportHazard(*output, tensor);
    }
  }

  static void Extend(const PlacedTensor*& furthest, const PlacedTensor& tensor) {
    const bool is_further = furthest == nullptr ||
                            furthest->bound.resource != tensor.bound.resource ||
                            furthest->end() < tensor.end();
    if (is_further) furthest = &tensor;
  }

  void ReportHazard(const PlacedTensor& first, const PlacedTensor& second) const {
    if (first.slot.role() == second.slot.role()) {
      values_.Error(second.place, "BIND-5", "{} overlaps {}", Area(second), Area(first));
    } else if (first.slot.role() == TensorRole::kOutput) {
      CheckInPlace(first, second);
    } else {
      CheckInPlace(second, first);
    }
  }

  static std::string Area(const PlacedTensor& tensor) {
    return fmt::format("{} (bytes {} to {})", DisplayName(tensor.slot.path), tensor.bound.offset,
                       tensor.end());
  }

  void CheckInPlace(const PlacedTensor& output, const PlacedTensor& input) const {
    const bool identical = output.bound.offset == input.bound.offset && output.end() == input.end();
    const OperatorDesc* op = dispatchable_.op();
    if (!identical || op == nullptr || !op->info().in_place) {
      return values_.Error(
          output.place, "BIND-7", "{} overlaps {}{}", Area(output), Area(input),
          identical ? fmt::format("; {} does not run in place", dispatchable_.type()) : "");
    }
    const auto different = Differences(*output.slot.desc, *input.slot.desc);
    if (different.empty()) return;
    values_.Error(output.place, "BIND-8", "in place, {} must have the {} of {}",
                  DisplayName(output.slot.path), fmt::join(different, " and the "),
                  DisplayName(input.slot.path));
  }

  const ModelDispatchable& dispatchable_;
  const ModelBindings& bindings_;
  const ModelResources& resources_;
  const ValueReader& values_;
  Retyped& retyped_;
  std::vector<TensorSlot> slots_;
  std::vector<PlacedTensor> placed_;
};

// Checks the resources of print and write commands.
class CommandChecker {
 public:
  CommandChecker(const ModelDocument& model, const ModelResources& resources,
                 const ValueReader& values)
      : model_(model), resources_(resources), values_(values) {}

  void Check(const ModelCommand& command) const {
    if (const auto* print = std::get_if<PrintCommand>(&command.what)) {
      CheckTyped(command, print->resource, "printed");
    } else if (const auto* write = std::get_if<WriteFileCommand>(&command.what)) {
      CheckWrite(command, *write);
    }
  }

 private:
  void CheckTyped(const ModelCommand& command, size_t resource, std::string_view what) const {
    const ModelResources::Shape& shape = resources_.shape(resource);
    if (shape.type != DataType::kUnknown || !shape.is_known) return;
    values_.Error(*command.place.Find("resource"), "CMD-1",
                  "'{}' has values of several types and cannot be {}",
                  model_.resources()[resource].name, what);
  }

  void CheckWrite(const ModelCommand& command, const WriteFileCommand& write) const {
    const auto dimensions = command.place.Find("dimensions");
    const bool is_picture = IsImage(write.target_path);
    if (!IsNpy(write.target_path) && !is_picture) {
      if (dimensions) {
        values_.Warning(*dimensions, "JSON-3",
                        "'dimensions' is ignored: only .npy files and pictures have any");
      }
      return;
    }
    CheckTyped(command, write.resource, is_picture ? "written as a picture" : "written as .npy");
    if (is_picture) CheckPicture(command, write);
    if (write.dimensions.size() > Dims::kMaxCount) {
      values_.Error(*dimensions, "CMD-1", "{} dimensions; at most {} are written",
                    write.dimensions.size(), Dims::kMaxCount);
      return;
    }
    const ModelResources::Shape& shape = resources_.shape(write.resource);
    if (!shape.size || write.dimensions.empty()) return;
    CheckedU64 bytes = ByteWidth(shape.type);
    for (const uint32_t size : write.dimensions) bytes = CheckedMul(bytes, std::max(size, 1u));
    if (!bytes || *bytes > *shape.size) {
      values_.Error(*dimensions, "CMD-1", "{} of {} do not fit into the {} of '{}'",
                    ToString(write.dimensions), Name(shape.type), Counted(*shape.size, "byte"),
                    model_.resources()[write.resource].name);
    }
  }

  void CheckPicture(const ModelCommand& command, const WriteFileCommand& write) const {
    const ModelResources::Shape& shape = resources_.shape(write.resource);
    if (!shape.is_known || write.dimensions.size() > Dims::kMaxCount) return;
    try {
      Dims sizes(write.dimensions.begin(), write.dimensions.end());
      if (sizes.empty()) sizes.push_back(static_cast<int64_t>(shape.element_count()));
      ImageFormOf(shape.type, sizes, write.target_path, ErrorKind::kUsage);
    } catch (const Error& fault) {
      values_.Error(command.place.Find("dimensions").value_or(command.place), "CMD-1",
                    fault.what());
    }
  }

  const ModelDocument& model_;
  const ModelResources& resources_;
  const ValueReader& values_;
};

}  // namespace

BoundModel BindModel(const ModelDocument& model, const ModelResources& resources,
                     Diagnostics& diagnostics) {
  const ValueReader values(diagnostics, Dialect::kModel);
  BoundModel bound;
  Retyped retyped;
  for (const ModelDispatchable& dispatchable : model.dispatchables()) {
    if (!dispatchable.is_valid) {
      bound.initialization.emplace_back();
      continue;
    }
    const ModelBindings none{dispatchable.place, {}};
    bound.initialization.push_back(
        Binder(dispatchable, dispatchable.initialization.value_or(none), resources, values, retyped)
            .Bind(/*owned=*/true));
  }
  const CommandChecker checker(model, resources, values);
  for (const ModelCommand& command : model.commands()) {
    bound.dispatches.emplace_back();
    if (const auto* dispatch = std::get_if<DispatchCommand>(&command.what)) {
      const ModelDispatchable& dispatchable = model.dispatchables()[dispatch->dispatchable];
      if (!dispatchable.is_valid) continue;
      bound.dispatches.back() = Binder(dispatchable, dispatch->bindings, resources, values, retyped)
                                    .Bind(/*owned=*/false);
    }
    checker.Check(command);
  }
  return bound;
}

void CheckMemory(const ModelDocument& model, const ModelResources& resources,
                 const BoundModel& bound, Diagnostics& diagnostics) {
  const ValueReader values(diagnostics, Dialect::kModel);
  uint64_t left = AvailableMemory();
  const auto take = [&](uint64_t bytes, JsonCursor place) {
    if (bytes <= left) {
      left -= bytes;
      return;
    }
    values.FileError(place, ErrorKind::kFileSystem, "RES-7",
                     fmt::format("needs {} bytes of memory; {} are left", bytes, left));
  };
  for (size_t i = 0; i < model.resources().size(); ++i) {
    const JsonCursor place = model.resources()[i].place;
    take(*resources.shape(i).size, place.Find("sizeInBytes").value_or(place));
  }
  for (size_t d = 0; d < model.dispatchables().size(); ++d) {
    const ModelDispatchable& dispatchable = model.dispatchables()[d];
    if (const Graph* graph = dispatchable.graph()) {
      const auto size = std::max(PlanGraph(*graph, SingleNodes(*graph)).size,
                                 PlanGraph(*graph, ChainsOf(*graph)).size);
      take(size, dispatchable.place);
    }
    const std::vector<TensorSlot> slots = dispatchable.slots();
    for (size_t i = 0; i < slots.size(); ++i) {
      if (!bound.initialization[d][i]) continue;
      take(SizeInBytes(*slots[i].desc), dispatchable.initialization->place);
    }
  }
}

}  // namespace dmlop
