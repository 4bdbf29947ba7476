// SPDX-License-Identifier: Apache-2.0
#include "core/document/operator_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cctype>

#include "core/base/parallel.h"
#include "core/base/progress.h"
#include "core/base/text.h"
#include "core/io/file.h"
#include "core/ops/pieces.h"

namespace dmlop {
namespace {

// Takes the sizes from the array of a file.
void TakeSizes(const ConstTensorView& view, const std::string& path, TensorDesc& desc) {
  std::vector<uint32_t> sizes;
  if (view.layout.rank() > kMaxRank) {
    throw Error(ErrorKind::kTensorFile, "{}: has {} dimensions; tensors have at most {}", path,
                view.layout.rank(), kMaxRank);
  }
  for (const int64_t size : view.layout.sizes) {
    if (size < 1 || size > std::numeric_limits<uint32_t>::max()) {
      throw Error(ErrorKind::kTensorFile, "{}: has a size of {}; tensors have sizes in [1, {}]",
                  path, size, std::numeric_limits<uint32_t>::max());
    }
    sizes.push_back(static_cast<uint32_t>(size));
  }
  if (sizes.empty()) sizes.push_back(1);
  desc.sizes = std::move(sizes);
}

// Takes the type and, for an array, the sizes from values of the document if the desc lacks them.
void CompleteDesc(JsonCursor values, TensorDesc& desc) {
  if (!desc.data_type) desc.data_type = DataType::kFloat32;
  if (!desc.sizes && values.is_array()) desc.sizes = ShapeOfValues(values);
}

// Returns true if part of a tensor's desc, or of what is bound to it, could not be read.
bool IsUnreadable(const std::string& slot_path, const Diagnostics& diagnostics) {
  return std::any_of(
      diagnostics.list().begin(), diagnostics.list().end(), [&](const Diagnostic& fault) {
        return !fault.pointer.starts_with("/expect/") &&
               (fault.pointer + "/").find("/" + slot_path + "/") != std::string::npos;
      });
}

// Returns whether a pointer leads to the type or sizes of a tensor that a file provided.
bool Tells(const std::string& slot_path, const std::string& pointer, bool type, bool sizes) {
  const std::string slot = "/" + slot_path + "/";
  const size_t at = (pointer + "/").rfind(slot);
  if (at == std::string::npos) return false;
  constexpr std::string_view kDesc = "/Desc";
  std::string_view member = std::string_view(pointer).substr(at + slot.size() - 1);
  if (member.starts_with(kDesc)) member.remove_prefix(kDesc.size());
  return (type && member == "/DataType") || (sizes && member.starts_with("/Sizes"));
}

// Returns whether a fault is about the type or the sizes that the document itself gives a tensor.
bool IsWritten(const std::string& slot_path, bool type, const Diagnostics& diagnostics) {
  return std::any_of(diagnostics.list().begin(), diagnostics.list().end(),
                     [&](const Diagnostic& fault) {
                       return !fault.pointer.starts_with("/bindings/") &&
                              Tells(slot_path, fault.pointer, type, !type);
                     });
}

// Returns a desc with a possible type of the tensor: that of another tensor of its kind, or one
// that the operator accepts.
std::string TypeExample(const OperatorDesc& op, std::string_view slot_path) {
  const std::vector<TensorSlot> slots = TensorSlots(op);
  const auto own = std::find_if(slots.begin(), slots.end(),
                                [&](const TensorSlot& slot) { return slot.path == slot_path; });
  const auto other = std::find_if(slots.begin(), slots.end(), [&](const TensorSlot& slot) {
    return slot.type == own->type &&
           slot.desc->data_type.value_or(DataType::kFloat32) != DataType::kFloat32;
  });
  const DataType type = other != slots.end() ? *other->desc->data_type
                                             : PossibleType(op, own->type, DataType::kInt32);
  return fmt::format(R"({{"DataType": "{}"}})", Name(type));
}

// Returns whether a message contains the name of a tensor as a word.
bool Mentions(std::string_view message, std::string_view name) {
  const auto is_of_word = [&](size_t at) {
    return at < message.size() && (std::isalnum(static_cast<unsigned char>(message[at])) != 0 ||
                                   message[at] == '[' || message[at] == '_');
  };
  for (size_t at = message.find(name); at != std::string_view::npos;
       at = message.find(name, at + 1)) {
    if ((at == 0 || !is_of_word(at - 1)) && !is_of_word(at + name.size())) return true;
  }
  return false;
}

}  // namespace

bool OperatorCase::ReadsStandardInput() const {
  for (const TensorSlot& slot : Slots(TensorRole::kInput)) {
    if (!slot.desc->complete() && PathOf(slot) == kStandardStream) return true;
  }
  return false;
}

bool OperatorCase::Check(FeatureLevel level, Diagnostics& diagnostics) {
  if (!diagnostics.has_errors()) {
    try {
      if (usage_fault_) throw Error(*usage_fault_);
      RequireBoundInputs(/*only_incomplete=*/true);
    } catch (const Error&) {
      if (KnowsTensors(level)) throw;  // otherwise the document is to blame
    }
  }
  try {
    Judge(level, diagnostics);
  } catch (const Error&) {
    if (diagnostics.has_errors()) return false;  // the document's own faults come first
    throw;
  }
  if (usage_fault_ && !diagnostics.has_errors()) throw Error(*usage_fault_);
  return !diagnostics.has_errors();
}

void OperatorCase::Judge(FeatureLevel level, Diagnostics& diagnostics) {
  TakeFromFiles(diagnostics);
  for (const TensorSlot& slot : Slots(TensorRole::kOutput)) {
    const std::string path = PathOf(slot);
    const auto require_format = files_.reads_outputs ? FormatOf : OutputFormatOf;
    if (!path.empty()) WithFile(slot.path, diagnostics, [&] { require_format(path); });
  }
  document_.Check(level, diagnostics);
  NameSources(diagnostics);
}

void OperatorCase::NameSources(Diagnostics& diagnostics) const {
  for (Diagnostic& fault : diagnostics.list()) {
    if (fault.severity != Severity::kError || fault.file_fault) continue;
    fault.message += NoteOfSources(fault);
    for (const TakenFields& taken : taken_) {
      if (!Tells(taken.slot_path, fault.pointer, taken.type, taken.sizes)) continue;
      // The tensor is named or given there, or nowhere in the text.
      const Binding& binding = document_.bindings().at(taken.slot_path);
      const auto& place = binding.values ? binding.values : binding.place;
      fault.offset = place ? std::optional(place->offset()) : std::nullopt;
    }
  }
  diagnostics.SortByPlace();
}

// Returns " (InputTensors[1] is b.npy, of bool; ...)" for the tensors that a fault is about or
// mentions; empty if nothing that is bound provided any of their fields.
std::string OperatorCase::NoteOfSources(const Diagnostic& fault) const {
  std::string notes;
  for (const TakenFields& taken : taken_) {
    const std::string name = DisplayName(taken.slot_path);
    const bool is_meant = Tells(taken.slot_path, fault.pointer, taken.type, taken.sizes) ||
                          ((taken.type || taken.sizes) && Mentions(fault.message, name));
    if (!is_meant) continue;
    const Binding& binding = document_.bindings().at(taken.slot_path);
    const std::string note = binding.values ? NoteOfValues(taken, fault)
                                            : fmt::format("{} is {}{}", name, binding.path,
                                                          taken.is_bool ? ", of bool" : "");
    if (!note.empty()) notes += (notes.empty() ? "" : "; ") + note;
  }
  return notes.empty() ? "" : fmt::format(" ({})", notes);
}

// Explains what the values of a document implied, and how to write another type.
std::string OperatorCase::NoteOfValues(const TakenFields& taken, const Diagnostic& fault) const {
  const std::string name = DisplayName(taken.slot_path);
  if (!fault.pointer.ends_with("/DataType")) {
    return taken.sizes ? fmt::format("{} has the shape of its values", name) : "";
  }
  if (!taken.type) return "";
  const std::string field = taken.slot_path.substr(0, taken.slot_path.find('/'));
  return fmt::format("the values of {} are FLOAT32, as they have no DataType; write \"{}\": {}",
                     name, field, TypeExample(document_.op(), taken.slot_path));
}

template <typename Body>
void OperatorCase::WithFile(const std::string& slot_path, Diagnostics& diagnostics,
                            Body&& body) const {
  try {
    body();
  } catch (const Error& error) {
    const Binding& binding = document_.bindings().at(slot_path);
    // The position in a stream is then unknown.
    if (!binding.place || binding.path == kStandardStream) throw;
    diagnostics.FileError(error.kind(), "DOC-6", binding.place->pointer(), error.what(),
                          binding.place->offset());
  }
}

void OperatorCase::TakeFromFiles(Diagnostics& diagnostics) {
  // Arrays of standard input come in the order of the tensors, so if one is opened, all are.
  const bool reads_standard_input = ReadsStandardInput();
  for (const MutableTensorSlot& slot : TensorSlots(document_.op())) {
    if (slot.role() == TensorRole::kOutput) continue;
    const auto binding = document_.bindings().find(slot.path);
    const bool has_values =
        binding != document_.bindings().end() && binding->second.values.has_value();
    if (has_values && !IsUnreadable(slot.path, diagnostics)) {
      const TakenFields taken{slot.path, !slot.desc->data_type, !slot.desc->sizes};
      CompleteDesc(*binding->second.values, *slot.desc);
      taken_.push_back(taken);
    }
    const std::string path = PathOf({slot.path, slot.field, slot.desc, slot.type});
    if (path.empty()) continue;
    WithFile(slot.path, diagnostics, [&] {
      if (!IsDescribedBy(FormatOf(path))) return;
      const bool from_stream = path == kStandardStream && reads_standard_input;
      if (slot.desc->complete() && !from_stream) return;
      const LoadedTensor& array =
          loaded_.emplace_back(LoadedArray{slot.path, LoadArray(path)}).tensor;
      loaded_at_.emplace(slot.path, loaded_.size() - 1);
      const TakenFields& taken = taken_.emplace_back(TakenFields{
          slot.path, !slot.desc->data_type && !IsWritten(slot.path, /*type=*/true, diagnostics),
          !slot.desc->sizes && !IsWritten(slot.path, /*type=*/false, diagnostics), array.is_bool});
      if (taken.type) slot.desc->data_type = array.view.type;
      if (taken.sizes) TakeSizes(array.view, path, *slot.desc);
    });
  }
}

const LoadedTensor* OperatorCase::FindLoaded(const std::string& slot_path) const {
  const auto found = loaded_at_.find(slot_path);
  return found == loaded_at_.end() ? nullptr : &loaded_[found->second].tensor;
}

LoadedTensor OperatorCase::LoadOne(const TensorSlot& slot, Diagnostics& diagnostics) const {
  const Binding& binding = document_.bindings().at(slot.path);
  if (binding.values) return document_.InlineTensor(slot, *binding.values, diagnostics);
  if (const LoadedTensor* loaded = FindLoaded(slot.path)) {
    return FitToDesc(*loaded, *slot.desc, binding.path, files_.shapes);
  }
  return LoadInput(PathOf(slot), *slot.desc, files_.shapes);
}

std::vector<std::string> OperatorCase::UnboundInputs(bool only_incomplete) const {
  std::vector<std::string> unbound;
  for (const TensorSlot& slot : Slots(TensorRole::kInput)) {
    if (document_.bindings().contains(slot.path)) continue;
    if (!only_incomplete || !slot.desc->complete()) unbound.push_back(DisplayName(slot.path));
  }
  return unbound;
}

void OperatorCase::RequireBoundInputs(bool only_incomplete) const {
  const std::vector<std::string> unbound = UnboundInputs(only_incomplete);
  if (unbound.empty()) return;
  throw Error(ErrorKind::kUsage, "{} {} no {}; -i NAME=FILE binds one", Listed(unbound),
              unbound.size() == 1 ? "has" : "have",
              only_incomplete ? "file that tells DataType and Sizes" : "file or values");
}

void OperatorCase::LoadInputs(Diagnostics& diagnostics) {
  for (const TensorSlot& slot : Slots(TensorRole::kInput)) {
    LoadedTensor& input = inputs_.emplace_back();
    if (!document_.bindings().contains(slot.path)) continue;
    WithFile(slot.path, diagnostics, [&] { input = LoadOne(slot, diagnostics); });
  }
}

std::vector<OutputTensor> OperatorCase::CreateOutputs(bool writes_files) const {
  const std::vector<TensorSlot> slots = Slots(TensorRole::kOutput);
  std::vector<const TensorDesc*> descs;
  for (const TensorSlot& slot : slots) descs.push_back(slot.desc);
  const Staging staging = StagingFor(descs);
  std::vector<OutputTensor> outputs;
  for (const TensorSlot& slot : slots) {
    const std::string path = writes_files ? PathOf(slot) : "";
    outputs.push_back(path.empty() ? OutputTensor::ToNoFile(*slot.desc, staging)
                                   : OutputTensor::ToFile(path, *slot.desc, staging,
                                                          {.name = DisplayName(slot.path)}));
  }
  return outputs;
}

std::vector<TensorSlot> OperatorCase::Slots(TensorRole role) const {
  return TensorSlots(static_cast<const OperatorDocument&>(document_).op(), role);
}

std::string OperatorCase::PathOf(const TensorSlot& slot) const {
  const auto binding = document_.bindings().find(slot.path);
  if (binding == document_.bindings().end()) return "";
  const std::string& path = binding->second.path;
  const bool is_standard_stream =
      path == (slot.role() == TensorRole::kInput ? "/dev/stdin" : "/dev/stdout");
  return is_standard_stream ? std::string(kStandardStream) : path;
}

std::vector<std::string> OperatorCase::InputPaths() const {
  std::vector<std::string> paths;
  for (const TensorSlot& slot : Slots(TensorRole::kInput)) paths.push_back(PathOf(slot));
  return paths;
}

std::vector<ConstTensorView> OperatorCase::InputViews() const {
  std::vector<ConstTensorView> views;
  for (const LoadedTensor& input : inputs_) views.push_back(input.view);
  return views;
}

namespace {

// A piece stays in the second-level cache from its computation until it is written.
constexpr int64_t kPieceBytes = 1 << 20;

void RunInPieces(const OperatorDesc& desc, std::span<const ConstTensorView> inputs,
                 std::span<OutputTensor* const> outputs) {
  const Pieces pieces(desc, inputs, kPieceBytes);
  std::atomic<int64_t> next = 0;  // pieces in order suit file systems
  const auto work = [&](int64_t, int64_t) {
    Buffer buffer(pieces.buffer_size());
    for (int64_t i; (i = next.fetch_add(1)) < pieces.count();) {
      const Pieces::Part part = pieces.Run(i, {buffer.data(), buffer.size()});
      outputs[part.output]->Write(part.begin, part.bytes);
    }
  };
  ParallelFor(std::min<int64_t>(ThreadCount(), pieces.count()), 1, /*bytes=*/0, work);
}

}  // namespace

void RunInto(const OperatorDesc& desc, std::span<const ConstTensorView> inputs,
             std::span<OutputTensor* const> outputs) {
  const Work work(std::string(desc.name()), WorkBytes(desc));
  const bool all_packed = std::all_of(outputs.begin(), outputs.end(),
                                      [](const OutputTensor* o) { return IsPacked(o->layout()); });
  const bool any_large = std::any_of(outputs.begin(), outputs.end(),
                                     [](const OutputTensor* o) { return !o->is_in_memory(); });
  if (all_packed && any_large && HasCheapParts(desc)) return RunInPieces(desc, inputs, outputs);
  std::vector<TensorView> views;
  for (OutputTensor* output : outputs) views.push_back(output->view());
  Run(desc, inputs, views);
}

}  // namespace dmlop
