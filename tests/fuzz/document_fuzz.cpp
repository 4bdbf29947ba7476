// SPDX-License-Identifier: Apache-2.0
// The bytes are a document, either an operator descriptor or a DxDispatch model. It is read,
// validated, printed with everything filled in, and run if its tensors are small. Files that it
// names are not opened.

#include <fmt/format.h>

#include <algorithm>

#include "app/files/descriptor.h"
#include "app/text/diagnostic_text.h"
#include "core/base/error.h"
#include "core/document/operator_case.h"
#include "core/io/output_tensor.h"
#include "core/model/model_run.h"
#include "core/model/model_text.h"
#include "tests/fuzz/check.h"

namespace dmlop {
namespace {

constexpr int64_t kMaxElements = 1 << 14;  // of a tensor that is created
constexpr uint64_t kMaxBytes = 1 << 20;    // of a model's resources

Descriptor DescriptorOf(const std::string& text) {
  return {"fuzz.json", "", text};
}

void Ignore(std::string_view) {}

// Renders every excerpt that a message shows.
void ShowAll(const Diagnostics& diagnostics, const std::string& text) {
  for (const Diagnostic& diagnostic : diagnostics.list()) {
    Require(!diagnostic.offset || *diagnostic.offset <= text.size(), "a place behind the text");
    if (diagnostic.offset) CaretText(text, *diagnostic.offset, " | ", " | ", kErrorPaint);
  }
}

bool IsSmall(const OperatorDesc& desc) {
  const std::vector<TensorSlot> slots = TensorSlots(desc);
  return std::all_of(slots.begin(), slots.end(), [](const TensorSlot& slot) {
    return LayoutOf(*slot.desc).element_count() <= kMaxElements &&
           SizeInBytes(*slot.desc) <= kMaxBytes;
  });
}

// --- operator descriptors ------------------------------------------------------------------------

// Checks a document that could be read.
bool IsValid(OperatorDocument* document, FeatureLevel level, Diagnostics& diagnostics) {
  if (!document) return false;
  std::erase_if(document->bindings(), [](const auto& entry) { return !entry.second.values; });
  OperatorCase files(*document);
  files.Bind(TensorRole::kInput, {});
  files.Bind(TensorRole::kOutput, {});
  document->Check(level, diagnostics);
  return !diagnostics.has_errors();
}

// Checks that the complete text reads back as itself.
void CheckCompleteText(const OperatorDocument& document, FeatureLevel level) {
  const std::string complete = CompleteText(document);
  Diagnostics diagnostics;
  const Document again = ReadDocument(DescriptorOf(complete), level, {}, diagnostics);
  const bool valid = IsValid(again.op.get(), level, diagnostics);
  Require(valid, "the complete text is not valid:\n" + complete);
  Require(CompleteText(*again.op) == complete, "the complete text changes:\n" + complete);
}

void RunSmall(OperatorDocument& document, Diagnostics& diagnostics) {
  OperatorCase files(document);
  files.LoadInputs(diagnostics);
  const std::vector<ConstTensorView> inputs = files.InputViews();
  const bool all_bound = std::all_of(inputs.begin(), inputs.end(),
                                     [](const ConstTensorView& view) { return view.data; });
  if (!all_bound || diagnostics.has_errors()) return;
  std::vector<OutputTensor> outputs;
  std::vector<TensorView> views;
  for (const TensorSlot& slot : files.Slots(TensorRole::kOutput)) {
    outputs.push_back(OutputTensor::ToNoFile(*slot.desc, Staging::kInMemory));
    views.push_back(outputs.back().view());
  }
  Run(document.op(), inputs, views);

  // The equivalent model is valid, too.
  Diagnostics of_model;
  const std::string model = ModelText(files);
  ReadDocument(DescriptorOf(model), kHighestFeatureLevel, {}, of_model);
  Require(!of_model.has_errors(), "the operator's model is not valid:\n" + model);
}

void CheckOperator(OperatorDocument* document, FeatureLevel level, Diagnostics& diagnostics) {
  if (!IsValid(document, level, diagnostics)) return;
  Require(MinimumFeatureLevel(document->op()) <= level, "valid below its minimum level");
  CheckCompleteText(*document, level);
  if (IsSmall(document->op())) RunSmall(*document, diagnostics);
}

// --- models --------------------------------------------------------------------------------------

bool NamesFiles(const ModelDocument& model) {
  return std::any_of(model.resources().begin(), model.resources().end(), [](const auto& resource) {
    return std::holds_alternative<InitialValues::File>(resource.initial_values.source);
  });
}

bool IsSmall(const ModelDocument& model, const ModelResources& resources) {
  for (size_t i = 0; i < model.resources().size(); ++i) {
    if (resources.shape(i).size > kMaxBytes / model.resources().size()) return false;
  }
  return std::all_of(model.dispatchables().begin(), model.dispatchables().end(),
                     [](const auto& dispatchable) { return IsSmall(*dispatchable.op()); });
}

void RunSmall(const ModelDocument& model, ModelResources& resources, const BoundModel& bound,
              Diagnostics& diagnostics) {
  resources.Fill();
  ModelRun run(model, resources, bound);
  WriteDescriptors(
      model, run, [](const WrittenDescriptor&) {}, diagnostics);
  for (size_t i = 0; i < model.commands().size(); ++i) {
    const auto& what = model.commands()[i].what;
    if (const auto* print = std::get_if<PrintCommand>(&what)) {
      run.Print(*print, Ignore);
    } else if (const auto* write = std::get_if<WriteFileCommand>(&what)) {
      run.Write(*write);
    } else {
      run.Dispatch(i);
    }
  }
}

void CheckModel(const ModelDocument& model, Diagnostics& diagnostics) {
  if (NamesFiles(model)) return;
  ModelResources resources(model, "", diagnostics);
  const BoundModel bound = BindModel(model, resources, diagnostics);
  if (diagnostics.has_errors() || !IsSmall(model, resources)) return;
  RunSmall(model, resources, bound, diagnostics);
}

// Graphs are in files, which must not be opened.
bool HasGraph(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text.find("graph") != std::string::npos;
}

void CheckInput(const std::string& text) {
  if (HasGraph(text)) return;
  const auto levels = FeatureLevels();
  const FeatureLevel level = levels[levels.size() - 1 - text.size() % levels.size()];
  Diagnostics diagnostics;
  const Document document = ReadDocument(DescriptorOf(text), level, {}, diagnostics);
  if (document.model) {
    CheckModel(*document.model, diagnostics);
  } else {
    CheckOperator(document.op.get(), level, diagnostics);
  }
  diagnostics.SortByPlace();
  ShowAll(diagnostics, text);
}

}  // namespace
}  // namespace dmlop

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    dmlop::CheckInput({reinterpret_cast<const char*>(data), size});
  } catch (const dmlop::Error&) {
    // Rejects the input.
  }
  return 0;
}
