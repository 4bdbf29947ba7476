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
#include <vector>

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

// A case with what its descriptor and its line in a list have in common.
class CaseText {
 public:
  explicit CaseText(const NamedCase& one) : one_(one), op_(OperatorJson(one.computation.op)) {}

  std::string Line(const std::string& folder) const { return Text(folder) + "\n"; }

  void Write(const std::string& folder, CaseForm form) const {
    const std::string text = Text("");
    WriteNewFile(folder + "/" + kCaseFile, text + "\n");
    const std::vector<TensorSlot> slots = TensorSlots(one_.computation.op, TensorRole::kInput);
    for (size_t i = 0; i < slots.size(); ++i) {
      WriteNewTensor(folder + "/" + FileOfTensor(slots[i]), one_.computation.inputs[i]);
    }
    if (form == CaseForm::kModel) WriteModel(folder);
  }

 private:
  std::string Text(const std::string& folder) const {
    Json json = {{"name", one_.name}};
    json.update(op_);
    json["bindings"] = BindingsOf(one_.computation.op, folder, folder);
    return OneLine(json);
  }

  // The model is made of the files that were written, and writes the files that the case names.
  void WriteModel(const std::string& folder) const {
    Diagnostics none;
    OperatorDocument document(*JsonDocument::Parse(Text(""), none), folder, none);
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

  const NamedCase& one_;
  const Json op_;
};

}  // namespace

std::string FileOfTensor(const TensorSlot& slot) {
  std::string name = slot.path;
  std::ranges::replace(name, '/', '.');
  return name + ".npy";
}

Json CaseJson(const NamedCase& one, const std::string& inputs, const std::string& outputs) {
  Json json = {{"name", one.name}};
  json.update(OperatorJson(one.computation.op));
  json["bindings"] = BindingsOf(one.computation.op, inputs, outputs);
  return json;
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

void MakeFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0777) != 0) FailFile(path, "cannot be created", errno);
}

void WriteCase(const std::string& folder, const NamedCase& one, CaseForm form) {
  CaseText(one).Write(folder, form);
}

std::string CaseListWriter::FolderOf(size_t number) const {
  return fmt::format("{}/{}", folder_, number);
}

void CaseListWriter::Add(std::span<const NamedCase> cases) {
  const size_t first = is_made_.size();
  std::vector<std::string> lines(cases.size());
  is_made_.resize(first + cases.size());
  const auto write = [&](size_t i) {
    const CaseText text(cases[i]);
    MakeFolder(FolderOf(first + i));
    is_made_[first + i] = true;
    text.Write(FolderOf(first + i), form_);
    lines[i] = text.Line(fmt::format("{}/", first + i));
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
                fmt::format("{}: is a model; dmlop validate --print-complete makes descriptors of "
                            "its dispatchables, each of which can be a case",
                            descriptor.name));
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
