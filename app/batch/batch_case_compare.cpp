// SPDX-License-Identifier: Apache-2.0
// Compares the outputs of cases with expected ones or a device's, and checks that the files of
// inputs still hold the line's values.
#include <fmt/format.h>

#include <algorithm>

#include "app/batch/batch_case.h"
#include "app/batch/batch_files.h"
#include "app/compare/judgement.h"
#include "app/files/file_roles.h"
#include "app/fuzz/case_folder.h"
#include "app/options/option_kinds.h"
#include "app/shell_word.h"
#include "core/base/error.h"
#include "core/document/operator_case.h"

namespace dmlop {

bool BatchCase::IsExpected(const TensorSlot& slot) const {
  return document_->expected().contains(slot.path);
}

// True if the file to compare with is not there.
bool BatchCase::IsMissing(const TensorSlot& slot) const {
  const bool has_values = settings_.compared == Side::kExpected && IsExpected(slot);
  return !has_values && dmlop::IsMissing(FileOrStandIn(case_->PathOf(slot)));
}

// Ends the case if no output of it is there.
bool BatchCase::SkipIfMissing() {
  if (model_) return SkipModelIfMissing();
  const std::vector<TensorSlot> slots = case_->Slots(TensorRole::kOutput);
  if (!std::ranges::all_of(slots, [&](const TensorSlot& slot) { return IsMissing(slot); })) {
    return false;
  }
  outcome_.missing = static_cast<int64_t>(slots.size());
  outcome_.status = CaseStatus::kMissing;
  return is_finished_ = true;
}

// Ends the case if no output of it is there, since a device has said that it does not support it.
bool BatchCase::SkipIfUnsupported() {
  if (settings_.compared != Side::kActual) return false;
  const std::vector<TensorSlot> slots = case_->Slots(TensorRole::kOutput);
  const auto folder = std::filesystem::path(case_->PathOf(slots.front())).parent_path();
  const bool is_told = FileExists((folder / kUnsupportedFile).string());
  const auto is_missing = [&](const TensorSlot& slot) { return IsMissing(slot); };
  if (!is_told || !std::ranges::all_of(slots, is_missing)) return false;
  outcome_.status = CaseStatus::kUnsupported;
  return is_finished_ = true;
}

// Compares with the values that the case states or, without any, with the file. If the case states
// several, a device's file is compared with these, too.
ComparedFile BatchCase::Compared(const TensorSlot& slot, const OutputTensor& output, size_t number,
                                 const JudgeDetails& details) {
  const ConstTensorView computed = AsConst(output.view());
  const OutputUnits units{
      [&] { return ErrorUnitsOf(document_->op(), case_->InputViews(), computed, number); },
      UnitToleranceFor(settings_.options.rules, *document_)};
  const Tolerance tolerance = ToleranceFor(settings_.options.rules, *document_, computed.type);
  const Leniency& leniency = settings_.options.rules.leniency;
  ReportedFile file{DisplayName(slot.path), "", ""};
  const auto nearest = [&](auto&& compare) {
    const std::vector<JsonCursor>& allowed = document_->expected().at(slot.path);
    std::optional<ComparedFile> best;
    for (const JsonCursor values : allowed) {
      Diagnostics none;  // the values have been checked before
      ComparedFile one = compare(document_->InlineTensor(slot, values, none));
      if (!best || IsFurtherOff(best->judgement, one.judgement)) best = std::move(one);
    }
    best->allowed = allowed.size();
    return *std::move(best);
  };
  if (settings_.compared == Side::kExpected && IsExpected(slot)) {
    return nearest([&](const LoadedTensor& expected) {
      return CompareWith(file, expected, Side::kExpected, computed, tolerance, leniency, units,
                         /*is_bool=*/false, details);
    });
  }
  file.path = FileOrStandIn(case_->PathOf(slot));
  const LoadedTensor tensor = LoadCompared(file.path, *slot.desc, settings_.options.rules.shapes);
  if (settings_.is_reported()) file.sha256 = Sha256(tensor.file_bytes);
  if (IsExpected(slot) && document_->expected().at(slot.path).size() > 1) {
    return nearest([&](const LoadedTensor& expected) {
      return CompareWith(file, tensor, Side::kActual, expected.view, tolerance, leniency, units,
                         /*is_bool=*/false, details);
    });
  }
  return CompareWith(file, tensor, *settings_.compared, computed, tolerance, leniency, units,
                     /*is_bool=*/false, details);
}

void BatchCase::Compare(const std::vector<OutputTensor>& outputs) {
  CompareInputs();
  outcome_.lacks_tolerance = NameLackingTolerance(settings_.options.rules, *document_);
  const std::vector<TensorSlot> slots = case_->Slots(TensorRole::kOutput);
  Drawing drawing(settings_.options.drawing, settings_.color, {.json = settings_.is_reported()});
  drawing.RequireOne(outputs.size());
  RequireSeparatePicture();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (IsMissing(slots[i])) {
      ++outcome_.missing;
      if (!settings_.options.skip_missing) {
        TellMissing(DisplayName(slots[i].path), case_->PathOf(slots[i]), *settings_.compared,
                    *slots[i].desc);
      }
      continue;
    }
    outcome_.files.compared.push_back(Compared(slots[i], outputs[i], i, drawing.details()));
    const ComparedFile& compared = outcome_.files.compared.back();
    const Judgement& judgement = compared.judgement;
    std::optional<ResultFile> picture = drawing.MakePicture(judgement);
    if (!judgement.passes() && !PassesAsNoise(i, compared)) {
      TellDifference(DiffersText(compared), judgement, drawing.Text(judgement));
    }
    if (picture) picture->Publish();
  }
  TellCommonCause(outcome_.diagnoses);
  if (!settings_.is_reported()) return;
  for (DiagnosedFile& file : outcome_.diagnoses) AddChecks(file);
}

// The others are compared all the same.
void BatchCase::TellMissing(const std::string& name, const std::string& path, Side side,
                            const TensorDesc& desc) {
  outcome_.files.compared.push_back(
      MissingFile({name, path, ""}, side, LayoutOf(desc).element_count()));
  const ComparedFile& missing = outcome_.files.compared.back();
  TellDifference(DiffersText(missing), missing.judgement);
}

void BatchCase::RequireSeparatePicture() const {
  FileRoles roles;
  for (const TensorRole role : {TensorRole::kInput, TensorRole::kOutput}) {
    for (const TensorSlot& slot : case_->Slots(role)) {
      roles.ReadsTensor(FileOrStandIn(case_->PathOf(slot)), DisplayName(slot.path));
    }
  }
  roles.Writes(settings_.options.drawing.picture, "the picture");
  roles.RequireSeparate();
}

// Diagnoses what differs, if that was asked for.
bool BatchCase::PassesAsNoise(size_t output, const ComparedFile& compared) {
  if (!settings_.options.is_diagnosed) return false;
  const TensorSlot slot = case_->Slots(TensorRole::kOutput)[output];
  return PassesAsNoise(
      {document_->op(), case_->InputViews()}, output, compared,
      LoadCompared(compared.file.path, *slot.desc, settings_.options.rules.shapes));
}

bool BatchCase::PassesAsNoise(const Computation& computation, size_t output,
                              const ComparedFile& compared, const LoadedTensor& tensor) {
  outcome_.diagnoses.push_back(
      DiagnoseFile(computation,
                   {output,
                    compared.file.path,
                    tensor,
                    {compared.judgement.tolerance, compared.judgement.units}},
                   settings_.options.rules.leniency));
  outcome_.diagnoses.back().tensor = compared.file.tensor;
  return outcome_.diagnoses.back().passes();
}

void BatchCase::AddChecks(DiagnosedFile& file) const {
  if (settings_.manifest.empty()) return;
  dmlop::AddChecks(
      {fmt::format("dmlop run {} --line {}", PathWord(settings_.manifest), line_.number),
       file.tensor + "=" + file.path,
       LeniencyWords(settings_.options.rules) + ConfineWords(settings_.options.confine)},
      file);
}

void BatchCase::TellDifference(const std::string& text, const Judgement& judgement,
                               const std::string& drawn) {
  const bool is_other = outcome_.status == CaseStatus::kDifferent;
  outcome_.status =
      judgement.is_missing && !is_other ? CaseStatus::kMissing : CaseStatus::kDifferent;
  outcome_.exit_status = std::max(outcome_.exit_status, StatusOf(judgement));
  const std::string all = JudgementText(judgement);
  outcome_.faults.push_back(
      {{Severity::kError, "", "", fmt::format("{}: {}", text, JudgementLine(judgement)),
        std::nullopt},
       std::nullopt,
       judgement.mismatches.empty() ? all.substr(all.find('\n') + 1) + drawn : ""});
}

// The files that may hold an input's values: next to the compared outputs, and next to the outputs
// that the line binds, where a device may have read them.
std::vector<std::string> BatchCase::InputPaths(const TensorSlot& slot) const {
  std::vector<std::string> paths;
  for (const std::string& written :
       {InputPath(slot), InputPathBeside(unmoved_output_, slot.path)}) {
    const std::string path = FileOrStandIn(written);
    const bool is_known = paths.size() == 1 && paths.front() == path;
    if (!path.empty() && !is_known) paths.push_back(path);
  }
  return paths;
}

// A device that was given other inputs is not at fault, so the inputs are compared first.
void BatchCase::CompareInputs() {
  const std::vector<TensorSlot> slots = case_->Slots(TensorRole::kInput);
  for (size_t i = 0; i < slots.size(); ++i) {
    if (!HasValues(slots[i])) continue;
    const std::vector<std::string> paths = InputPaths(slots[i]);
    size_t compared = 0;
    for (const std::string& path : paths) {
      if (!FileExists(path)) continue;
      CompareInput(slots[i], case_->inputs()[i].view, path);
      ++compared;
    }
    if (compared > 0 || paths.empty() || !settings_.options.has_inputs) continue;
    throw Error(ErrorKind::kFileSystem, "{}: is not there; batch --inputs writes it",
                paths.front());
  }
}

void BatchCase::CompareInput(const TensorSlot& slot, const ConstTensorView& values,
                             const std::string& path) {
  const LoadedTensor file = LoadInput(path, *slot.desc);
  const std::string name = DisplayName(slot.path);
  if (settings_.is_reported()) {
    outcome_.files.inputs.push_back({name, path, Sha256(file.file_bytes)});
  }
  const std::string_view type = Name(values.type);
  const Judgement judgement = Judge({file.view, type}, {values, type}, {.bits = true}, {});
  if (judgement.passes()) return;
  TellDifference(fmt::format("{} is not what the line says of {}", path, name), judgement);
}

// Checks that the names derived from the line's bindings stay within the folder, too.
void BatchCase::RequireConfined() {
  if (settings_.options.confine.empty()) return;
  const Confinement confinement{.folder = settings_.options.confine,
                                .output_folder = settings_.output_folder.folder()};
  Diagnostics found;
  const auto check = [&](const std::string& path, const Binding& binding) {
    const auto& place = binding.values ? binding.values : binding.place;
    if (place) MayDerive(path, confinement, *place, found);
  };
  for (const TensorSlot& slot : case_->Slots(TensorRole::kOutput)) {
    const std::string path = case_->PathOf(slot);
    if (path.empty()) continue;
    check(settings_.compared ? FileOrStandIn(path) : path, document_->bindings().at(slot.path));
  }
  const bool has_files = settings_.options.has_inputs || settings_.compared;
  for (const TensorSlot& slot : case_->Slots(TensorRole::kInput)) {
    if (!has_files || !HasValues(slot)) continue;
    for (const std::string& path : InputPaths(slot)) {
      check(path, document_->bindings().at(slot.path));
    }
  }
  if (found.has_errors()) Refuse(found);
}

}  // namespace dmlop
