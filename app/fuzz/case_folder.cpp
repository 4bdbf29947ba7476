// SPDX-License-Identifier: Apache-2.0
#include "app/fuzz/case_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/parallel.h"
#include "core/document/operator_case.h"
#include "core/io/file.h"
#include "core/io/npy.h"
#include "core/io/temporary_file.h"
#include "core/model/model_text.h"

namespace dmlop {
namespace {

namespace fs = std::filesystem;

Json BindingsOf(const OperatorDesc& op, const std::string& inputs, const std::string& outputs) {
  Json bindings = Json::object();
  for (const TensorSlot& slot : TensorSlots(op)) {
    const std::string& folder = slot.role() == TensorRole::kInput ? inputs : outputs;
    bindings[Json::json_pointer("/" + slot.path)] = folder + FileOfTensor(slot);
  }
  return bindings;
}

// The complete descriptor of a case, of which the operator has been told in JSON.
Json CaseJson(const NamedCase& one, const Json& op, const std::string& inputs,
              const std::string& outputs) {
  Json json = {{"name", one.name}};
  json.update(op);
  json["bindings"] = BindingsOf(one.computation.op, inputs, outputs);
  return json;
}

// The model is made of the files that were written, and writes the files that the case names.
void WriteModel(const std::string& folder, const std::string& descriptor) {
  Diagnostics none;
  OperatorDocument document(*JsonDocument::Parse(descriptor, none), folder, none);
  OperatorCase files(document);
  files.Bind(TensorRole::kInput, {});
  files.Bind(TensorRole::kOutput, {});
  files.Check(kHighestFeatureLevel, none);
  files.LoadInputs(none);
  for (const TensorSlot& slot : files.Slots(TensorRole::kOutput)) {
    document.bindings().at(slot.path).path = FileOfTensor(slot);
  }
  WriteNewFile(folder + "/model.json", ModelText(files));
}

void WriteCase(const std::string& folder, const NamedCase& one, const Json& op, CaseForm form) {
  const std::string text = OneLine(CaseJson(one, op, "", ""));
  WriteNewFile(folder + "/" + kCaseFile, text + "\n");
  WriteInputs(folder, one.computation);
  if (form == CaseForm::kModel) WriteModel(folder, text);
}

}  // namespace

std::string FileOfTensor(const TensorSlot& slot) {
  std::string name = slot.path;
  std::ranges::replace(name, '/', '.');
  return name + ".npy";
}

Json CaseJson(const NamedCase& one, const std::string& inputs, const std::string& outputs) {
  return CaseJson(one, OperatorJson(one.computation.op), inputs, outputs);
}

void WriteNewFile(const std::string& path, std::span<const std::byte> bytes) {
  OpenFile file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (file.get() < 0) FailFile(path, "cannot be created", errno);
  try {
    WriteAll(file.get(), bytes, path);
    file.Close(path);
  } catch (const Error&) {
    unlink(path.c_str());
    throw;
  }
}

void WriteNewFile(const std::string& path, std::string_view text) {
  WriteNewFile(path, std::as_bytes(std::span(text)));
}

void WriteNewTensor(const std::string& path, const ConstTensorView& view) {
  Computation owner{OperatorDesc(CopyOperator()), {}};
  const ConstTensorView packed = IsPacked(view.layout) ? view : AsConst(PackedCopy(view, owner));
  std::string file = FormatNpyHeader(StoredAs(view.type), view.layout.sizes);
  file.append(packed.elements<char>(), static_cast<size_t>(view.element_bytes()));
  WriteNewFile(path, file);
}

void WriteInputs(const std::string& folder, const Computation& computation) {
  const std::vector<TensorSlot> slots = TensorSlots(computation.op, TensorRole::kInput);
  for (size_t i = 0; i < slots.size(); ++i) {
    WriteNewTensor(folder + "/" + FileOfTensor(slots[i]), computation.inputs[i]);
  }
}

void MakeFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0777) != 0) FailFile(path, "cannot be created", errno);
}

void WriteCase(const std::string& folder, const NamedCase& one, CaseForm form) {
  WriteCase(folder, one, OperatorJson(one.computation.op), form);
}

std::string CaseListWriter::FolderOf(size_t number) const {
  return fmt::format("{}/{}", folder_, number);
}

void CaseListWriter::Add(std::span<const NamedCase> cases) {
  const size_t first = is_made_.size();
  std::vector<std::string> lines(cases.size());
  is_made_.resize(first + cases.size());
  const auto write = [&](size_t i) {
    const Json op = OperatorJson(cases[i].computation.op);
    const std::string own = fmt::format("{}/", first + i);
    MakeFolder(FolderOf(first + i));
    is_made_[first + i] = true;
    WriteCase(FolderOf(first + i), cases[i], op, form_);
    lines[i] = OneLine(CaseJson(cases[i], op, own, own)) + "\n";
  };
  ParallelFor(std::ssize(cases), 1, /*bytes=*/0, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) write(i);
  });
  for (const std::string& line : lines) lines_ += line;
}

void CaseListWriter::Close() {
  WriteNewFile(folder_ + "/" + kCaseList, lines_);
  is_closed_ = true;
}

CaseListWriter::~CaseListWriter() {
  if (is_closed_) return;
  std::error_code ignored;
  for (size_t i = 0; i < is_made_.size(); ++i) {
    if (is_made_[i]) fs::remove_all(FolderOf(i), ignored);
  }
}

void WriteCases(const std::string& folder, std::span<const NamedCase> cases, CaseForm form) {
  CaseListWriter writer(folder, form);
  writer.Add(cases);
  writer.Close();
}

std::optional<LoadedCase> ReadCaseOf(const Descriptor& descriptor, const std::string& confine,
                                     Diagnostics& diagnostics) {
  Document document = ReadDocument(descriptor, kHighestFeatureLevel, {confine}, diagnostics);
  if (document.model) {
    throw Error(ErrorKind::kUsage,
                "{}: is a model; dmlop validate --print-complete makes descriptors of "
                "its dispatchables, each of which can be a case",
                descriptor.name);
  }
  if (!document.op) return std::nullopt;
  OperatorCase files(*document.op);
  files.Bind(TensorRole::kInput, {});
  files.Bind(TensorRole::kOutput, {});
  if (!files.Check(kHighestFeatureLevel, diagnostics)) return std::nullopt;
  files.RequireBoundInputs();
  files.LoadInputs(diagnostics);
  if (diagnostics.has_errors()) return std::nullopt;
  LoadedCase read{{document.op->name(), {document.op->op(), files.InputViews()}},
                  document.op->tolerance()};
  for (const LoadedTensor& input : files.inputs()) {
    read.one.computation.storage.push_back(std::make_shared<const LoadedTensor>(input));
  }
  return read;
}

}  // namespace dmlop
