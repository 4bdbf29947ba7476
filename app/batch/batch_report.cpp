#include "app/batch/batch_report.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/files/output.h"

namespace dmlop {
namespace {

std::string_view NameOf(CaseStatus status) {
  constexpr std::string_view kNames[] = {"done", "up-to-date", "different", "failed"};
  return kNames[static_cast<size_t>(status)];
}

}  // namespace

std::string CaseJson(const CaseOutcome& outcome, bool times) {
  Json json = {{"line", outcome.line},
               {"status", NameOf(outcome.status)},
               {"exitStatus", static_cast<int>(outcome.exit_status)},
               {"inputs", FilesJson(outcome.files.inputs)},
               {"outputs", FilesJson(outcome.files.outputs)}};
  if (!outcome.files.compared.empty()) {
    json["comparisons"] = Json::array();
    for (const ComparedFile& compared : outcome.files.compared) {
      json["comparisons"].push_back(ComparedJson(compared));
    }
  }
  if (!outcome.name.empty()) json["name"] = outcome.name;
  if (times) json["seconds"] = SecondsJson(outcome.times);
  if (!outcome.passed()) {
    std::string error;
    for (const CaseFault& fault : outcome.faults) error += (error.empty() ? "" : "\n") + fault.text;
    json["error"] = error;
  }
  return Utf8Text(json) + "\n";
}

std::string FaultText(const CaseOutcome& outcome, const std::string& manifest, bool details) {
  std::string text;
  const std::string name = outcome.name.empty() ? "" : outcome.name + ": ";
  for (const CaseFault& fault : outcome.faults) {
    const std::string place = fault.place
                                  ? fmt::format("{}:{}", fault.place->line, fault.place->column)
                                  : fmt::format("{}", outcome.line);
    text += fmt::format("{}:{}: {}\n", manifest, place, Printable(name + fault.text));
    if (details) text += fault.details;
  }
  return text;
}

BatchReport::BatchReport(const std::string& path) {
  if (path == kStandardStream || path == "/dev/stdout") return;
  if (IsStream(path)) {
    device_.emplace(path);
  } else {
    file_.emplace(path, 0);
  }
}

void BatchReport::Write(const std::string& lines) {
  const auto bytes = std::as_bytes(std::span(lines));
  if (file_) {
    file_->Write(size_, bytes);
    size_ += bytes.size();
  } else if (device_) {
    device_->Write(bytes);
  } else {
    PrintResult(lines);
  }
}

void BatchReport::Publish(bool synced) {
  if (!file_) return;
  OutputSet files;
  files.Add(*std::move(file_));
  file_.reset();
  files.Publish(synced);
}

}  // namespace dmlop
