// SPDX-License-Identifier: Apache-2.0
#include "app/batch/batch_case.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <new>
#include <nlohmann/json.hpp>

#include "app/files/descriptor.h"
#include "app/timing.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/engine/copy/copy_views.h"
#include "core/io/file.h"
#include "core/io/tensor_file.h"
#include "core/ops/pieces.h"
#include "core/tensor/element.h"

namespace dmlop {
namespace {

namespace fs = std::filesystem;

// A case with less work runs in one thread beside other cases.
constexpr int64_t kLargeWorkBytes = int64_t{8} << 20;

// The modification time of a file; null if there is none. Devices and pipes keep nothing.
std::optional<fs::file_time_type> TimeOf(const std::string& path) {
  if (IsStream(path)) return std::nullopt;
  std::error_code error;
  const fs::file_time_type time = fs::last_write_time(FileOf(path), error);
  return error ? std::nullopt : std::optional(time);
}

}  // namespace

const ComparedFile* CaseOutcome::worst() const {
  const auto& compared = files.compared;
  const auto found = std::min_element(compared.begin(), compared.end(),
                                      [](const ComparedFile& a, const ComparedFile& b) {
                                        return IsFurtherOff(a.judgement, b.judgement);
                                      });
  return found == compared.end() ? nullptr : &*found;
}

BatchCase::BatchCase(const BatchSettings& settings, const ManifestLine& line)
    : settings_(settings), line_(line) {
  outcome_.line = line.number;
}

template <typename Step>
void BatchCase::Attempt(Step&& step) {
  try {
    step();
  } catch (const Error& error) {
    Fail(StatusOf(error.kind()), error.what());
  } catch (const std::bad_alloc&) {
    Fail(ExitStatus::kFileSystem, "there is not enough memory for this");
  } catch (const std::exception& error) {
    Fail(ExitStatus::kInternal, fmt::format("internal error: {}", error.what()));
  }
}

void BatchCase::Fail(ExitStatus status, std::string text) {
  outcome_.status = CaseStatus::kFailed;
  outcome_.exit_status = status;
  outcome_.faults.push_back({{Severity::kError, "", "", std::move(text), std::nullopt}});
  outcome_.files = {};
  is_finished_ = true;
}

void BatchCase::Refuse(const Diagnostics& diagnostics) {
  outcome_.status = CaseStatus::kFailed;
  outcome_.exit_status = StatusOf(diagnostics);
  outcome_.faults = FaultsOf(diagnostics, Severity::kError);
  is_finished_ = true;
}

std::vector<CaseFault> BatchCase::FaultsOf(const Diagnostics& diagnostics,
                                           Severity severity) const {
  std::vector<CaseFault> faults;
  PositionFinder positions(line_.text);
  for (const Diagnostic& diagnostic : diagnostics.list()) {
    if (diagnostic.severity != severity) continue;
    CaseFault& fault = faults.emplace_back(CaseFault{diagnostic});
    if (diagnostic.offset) fault.place = PlaceOf(positions.Find(*diagnostic.offset));
  }
  return faults;
}

TextPosition BatchCase::PlaceOf(const TextPosition& in_case) const {
  TextPosition place = in_case;
  if (place.line == 1) place.column += line_.column - 1;
  place.line += static_cast<size_t>(line_.number) - 1;
  return place;
}

void BatchCase::Prepare() {
  Attempt([&] {
    Read();
    if (!is_finished_ && !model_ && SkipIfUnsupported()) return;
    if (!is_finished_ && settings_.options.skip_missing && SkipIfMissing()) return;
    if (is_finished_ || !settings_.manifest_time || !IsUpToDate()) return;
    outcome_.status = CaseStatus::kUpToDate;
    is_finished_ = true;
    if (settings_.is_reported() && !model_) ReportFiles();
  });
}

void BatchCase::Read() {
  Diagnostics diagnostics, of_text;
  if (line_.text.find("\"model\"") != std::string::npos) {
    const auto json = JsonDocument::Parse(line_.text, of_text);
    if (json && IsModelLine(json->root())) return ReadModel(json->root());
  }
  const Descriptor descriptor{"", settings_.folder, line_.text};
  const bool may_be_model = line_.text.find("\"dispatchables\"") != std::string::npos;
  Document document = ReadDocument(descriptor, settings_.options.level,
                                   {settings_.options.confine, "", settings_.folder}, diagnostics,
                                   may_be_model ? settings_.options.sizes : ModelSizes());
  if (document.model) return ReadModel(descriptor, std::move(document.model), diagnostics);
  document_ = std::move(document.op);
  if (!document_) return Refuse(diagnostics);
  if (document_->json().root().Find("sweep")) {
    RefuseAsCase("a sweep, of which --expand makes cases");
  }
  outcome_.name = document_->name();
  outcome_.type = document_->op().info().name;
  case_.emplace(*document_, CaseFiles{.shapes = settings_.options.rules.shapes,
                                      .reads_outputs = settings_.compared.has_value()});
  case_->Bind(TensorRole::kInput, {});
  case_->Bind(TensorRole::kOutput, {});
  MoveOutputs();
  if (!diagnostics.has_errors()) RequireBound(TensorRole::kInput);
  if (!case_->Check(settings_.options.level, diagnostics)) return Refuse(diagnostics);
  RequireBound(TensorRole::kOutput);
  RequireConfined();
  if (settings_.options.complete) {
    outcome_.descriptor = std::make_shared<const Json>(CompleteJson());
  } else if (settings_.is_reported()) {
    outcome_.descriptor = std::make_shared<const Json>(DescriptorJson(*case_));
  }
}

// The complete descriptor, with the files of all tensors as the line would bind them, those
// included that --inputs writes.
Json BatchCase::CompleteJson() const {
  Json json = DescriptorJson(*case_);
  const Json line = AsWritten(document_->json().root());
  for (const char* member : {"name", "tolerance", "expect"}) {
    if (line.contains(member)) json[member] = line[member];
  }
  const auto bind = [&](const TensorSlot& slot, const std::string& path) {
    const bool is_relative = !settings_.folder.empty() && fs::path(path).is_relative();
    json["bindings"][Json::json_pointer("/" + slot.path)] =
        is_relative ? fs::path(path).lexically_relative(settings_.folder).string() : path;
  };
  for (const TensorRole role : {TensorRole::kInput, TensorRole::kOutput}) {
    for (const TensorSlot& slot : case_->Slots(role)) {
      const std::string path = HasValues(slot) ? InputPath(slot) : case_->PathOf(slot);
      if (!path.empty()) bind(slot, path);
    }
  }
  return json;
}

void BatchCase::RefuseAsCase(const char* message) {
  outcome_.is_case = false;
  throw Error(ErrorKind::kUsage, message);
}

void BatchCase::MoveOutputs() {
  for (const TensorSlot& slot : case_->Slots(TensorRole::kOutput)) {
    const auto binding = document_->bindings().find(slot.path);
    if (binding == document_->bindings().end()) continue;
    std::string& path = binding->second.path;
    if (unmoved_output_.empty()) unmoved_output_ = path;
    path = settings_.output_folder.Moved(path);
  }
}

void BatchCase::RequireBound(TensorRole role) const {
  std::vector<std::string> unbound;
  for (const TensorSlot& slot : case_->Slots(role)) {
    if (settings_.compared == Side::kExpected && IsExpected(slot)) continue;
    const auto binding = document_->bindings().find(slot.path);
    if (binding == document_->bindings().end()) {
      unbound.push_back(DisplayName(slot.path));
    } else if (case_->PathOf(slot) == kStandardStream) {
      throw Error(ErrorKind::kUsage, "{}: a case cannot use a standard stream",
                  DisplayName(slot.path));
    } else if (role == TensorRole::kOutput && IsTerminal(binding->second.path)) {
      throw Error(ErrorKind::kUsage, "{} is a terminal; {} is binary", binding->second.path,
                  DisplayName(slot.path));
    }
  }
  if (unbound.empty()) return;
  throw Error(ErrorKind::kUsage, "{} {} no {} in 'bindings'", Listed(unbound),
              unbound.size() == 1 ? "has" : "have",
              role == TensorRole::kInput ? "file or values" : "file");
}

bool BatchCase::IsUpToDate() const {
  fs::file_time_type newest = *settings_.manifest_time;
  for (const std::string& path : model_ ? model_->InputPaths() : case_->InputPaths()) {
    if (path.empty()) continue;  // values in the line
    const auto time = TimeOf(path);
    if (!time) return false;
    newest = std::max(newest, *time);
  }
  const std::vector<std::string> written = WrittenPaths();
  return std::all_of(written.begin(), written.end(), [&](const std::string& path) {
    const auto time = TimeOf(path);
    return time && *time > newest;
  });
}

std::vector<std::string> BatchCase::WrittenPaths() const {
  std::vector<std::string> paths;
  if (model_) {
    for (const ModelCase::Output& output : model_->outputs()) paths.push_back(PathOf(output));
    return paths;
  }
  for (const TensorSlot& slot : case_->Slots(TensorRole::kOutput)) {
    paths.push_back(case_->PathOf(slot));
  }
  for (const TensorSlot& slot : case_->Slots(TensorRole::kInput)) {
    const std::string path = settings_.options.has_inputs ? InputPath(slot) : "";
    if (!path.empty()) paths.push_back(path);
  }
  return paths;
}

bool BatchCase::HasValues(const TensorSlot& slot) const {
  const auto binding = document_->bindings().find(slot.path);
  return binding != document_->bindings().end() && binding->second.values;
}

// The path at which the input's values are, or would be, a file; empty if it has none.
std::string BatchCase::InputPath(const TensorSlot& slot) const {
  if (!HasValues(slot)) return "";
  return InputPathBeside(case_->PathOf(case_->Slots(TensorRole::kOutput).front()), slot.path);
}

// Writes files in their own layout, whatever the desc's strides.
void BatchCase::WriteInputs() {
  const std::vector<TensorSlot> slots = case_->Slots(TensorRole::kInput);
  for (size_t i = 0; i < slots.size(); ++i) {
    const std::string path = settings_.options.has_inputs ? InputPath(slots[i]) : "";
    if (path.empty()) continue;
    const ConstTensorView& values = case_->inputs()[i].view;
    OutputTensor file =
        OutputTensor::ToFile(path, *slots[i].desc, StagingFor(std::array{slots[i].desc}),
                             {.name = DisplayName(slots[i].path)});
    const Move move{values, file.view()};
    HasOverlap(file.layout()) ? CopyElements(move.from, move.to) : CopyAll({&move, 1});
    const std::string hash = Sha256(file.bytes());
    new_inputs_.emplace_back(path, hash);
    if (settings_.is_reported()) {
      outcome_.files.inputs.push_back({DisplayName(slots[i].path), path, hash});
    }
    file.Flush(files_);
  }
}

bool BatchCase::is_large() const {
  if (is_finished_) return false;
  int64_t bytes = 0;
  for (const OperatorDesc* op : operators()) bytes += WorkBytes(*op);
  return bytes >= kLargeWorkBytes;
}

void BatchCase::Run() {
  Attempt([&] {
    if (model_) return RunModel();
    const Clock::time_point start = Clock::now();
    Diagnostics diagnostics;
    case_->LoadInputs(diagnostics);
    if (diagnostics.has_errors()) return Refuse(diagnostics);
    outcome_.times.load_seconds = SecondsSince(start);
    document_->WarnOfValues(case_->InputViews(), diagnostics);
    outcome_.warnings = FaultsOf(diagnostics, Severity::kWarning);
    std::vector<OutputTensor> outputs = Compute();
    if (settings_.is_reported()) outcome_.files.inputs = InputFilesOf(*case_);
    if (settings_.compared) {
      Compare(outputs);
    } else {
      Write(outputs);
    }
  });
  is_finished_ = true;
}

std::vector<OutputTensor> BatchCase::Compute() {
  if (!settings_.compared) {
    for (const TensorSlot& slot : case_->Slots(TensorRole::kOutput)) {
      settings_.new_folders->MakeFor(case_->PathOf(slot));
    }
  }
  std::vector<OutputTensor> outputs = case_->CreateOutputs(!settings_.compared);
  std::vector<OutputTensor*> pointers;
  for (OutputTensor& output : outputs) pointers.push_back(&output);
  const Clock::time_point start = Clock::now();
  RunInto(document_->op(), case_->InputViews(), pointers);
  outcome_.times.run_seconds = SecondsSince(start);
  return outputs;
}

void BatchCase::Write(std::vector<OutputTensor>& outputs) {
  const std::vector<TensorSlot> slots = case_->Slots(TensorRole::kOutput);
  for (size_t i = 0; settings_.is_reported() && i < outputs.size(); ++i) {
    outcome_.files.outputs.push_back(
        {DisplayName(slots[i].path), case_->PathOf(slots[i]), Sha256(outputs[i].bytes())});
  }
  for (OutputTensor& output : outputs) output.Flush(files_);
  WriteInputs();
  PublishSoon();
}

void BatchCase::PublishSoon() {
  is_to_be_published_ = settings_.options.sync;
  if (!settings_.options.sync) PublishFiles();
}

void BatchCase::PublishFiles() {
  files_.Publish();
  for (const auto& [path, hash] : new_inputs_) settings_.written_inputs->Share(path, hash);
}

void BatchCase::Publish(bool flush_first) {
  is_to_be_published_ = false;
  Attempt([&] {
    OutputSet* const files = &files_;
    if (flush_first) OutputSet::FlushFiles({&files, 1});
    PublishFiles();
  });
}

// Reports files that an earlier run made, in the order in which a run reports them.
void BatchCase::ReportFiles() {
  const auto report = [](const TensorSlot& slot, const std::string& path,
                         std::vector<ReportedFile>& files) {
    if (path.empty()) return;
    const bool is_part = ParseRawPath(path).offset.has_value();  // the whole file is reported
    files.push_back(
        {DisplayName(slot.path), path, Sha256(OpenBytes(is_part ? FileOf(path) : path).bytes())});
  };
  ReportedFiles& files = outcome_.files;
  const std::vector<TensorSlot> input_slots = case_->Slots(TensorRole::kInput);
  for (const TensorSlot& slot : input_slots) report(slot, case_->PathOf(slot), files.inputs);
  for (const TensorSlot& slot : input_slots) {
    if (settings_.options.has_inputs) report(slot, InputPath(slot), files.inputs);
  }
  for (const TensorSlot& slot : case_->Slots(TensorRole::kOutput)) {
    report(slot, case_->PathOf(slot), files.outputs);
  }
}

}  // namespace dmlop
