// SPDX-License-Identifier: Apache-2.0
#include "app/fuzz/finding_list.h"

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <utility>

#include "app/files/manifest.h"
#include "app/files/output.h"
#include "core/base/error.h"
#include "core/document/file_argument.h"
#include "core/io/file.h"
#include "core/io/json.h"

namespace dmlop {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFindings = "findings.jsonl";

// The cases after which the last one fails; none of a finding that fails alone.
std::vector<NamedCase> CompanyIn(const std::string& folder) {
  std::vector<NamedCase> company;
  const std::string list = folder + "/" + kCaseList;
  if (!FileExists(list)) return company;
  Manifest manifest(list);
  for (auto lines = manifest.Next(); !lines.empty(); lines = manifest.Next()) {
    for (const ManifestLine& line : lines) company.push_back(ReadWrittenCase(list, line.number));
  }
  return company;
}

}  // namespace

struct FindingList::Entry {
  Finding finding;
  Json record;
  bool is_own = true;
};

NamedCase ReadWrittenCase(const std::string& path, std::optional<int64_t> line) {
  Diagnostics diagnostics;
  auto read = ReadCaseOf(ReadDescriptor(path, line), /*confine=*/"", diagnostics);
  if (!read) throw Error(ErrorKind::kUsage, path + ": is no valid case any more");
  return std::move(read->one);
}

void ReadRecord(const std::string& path, const std::function<void()>& body) {
  try {
    body();
  } catch (const nlohmann::json::exception&) {
    throw Error(ErrorKind::kUsage, path + ": is damaged, or was written by another program");
  }
}

FindingList::FindingList(std::string folder, bool goes_on) : folder_(std::move(folder)) {
  const std::string path = folder_ + "/" + kFindings;
  if (FileExists(path)) ReadRecord(path, [&] { Read(goes_on); });
}

FindingList::~FindingList() = default;

void FindingList::Read(bool goes_on) {
  std::istringstream lines(ReadText(folder_ + "/" + kFindings, JsonDocument::kMaxBytes));
  for (std::string line; std::getline(lines, line);) {
    Json record = Json::parse(line);
    Finding finding = FindingOf(record);
    if (goes_on) {
      const std::string own = folder_ + "/" + finding.folder();
      finding.smallest = ReadWrittenCase(own + "/" + kCaseFile);
      finding.first_case = finding.smallest;
      finding.company = CompanyIn(own);
    }
    entries_.push_back(
        std::make_unique<Entry>(Entry{std::move(finding), std::move(record), goes_on}));
  }
}

void FindingList::PreferKnownCauses(const NamedCase& one,
                                    std::vector<DiagnosedFile>& diagnoses) const {
  for (size_t i = entries_.size(); i-- > 0;) {
    const auto& [finding, record, is_own] = *entries_[i];
    if (!is_own || !finding.has_cause || finding.key.op != one.computation.op.name()) continue;
    PreferCause(finding.key.code, diagnoses);
  }
}

bool FindingList::Count(const FailureKey& key, const NamedCase& one) {
  for (const auto& entry : entries_) {
    if (!entry->is_own || entry->finding.key != key || !entry->finding.Covers(one)) continue;
    entry->record["cases"] = ++entry->finding.cases;
    return true;
  }
  return false;
}

void FindingList::Add(Finding finding) {
  for (const auto& entry : entries_) {
    if (!entry->is_own || !entry->finding.IsLike(finding)) continue;
    entry->record["cases"] = ++entry->finding.cases;
    return Write();
  }
  std::error_code ignored;
  fs::create_directories(folder_, ignored);
  finding.number = entries_.empty() ? 1 : entries_.back()->finding.number + 1;
  entries_.push_back(std::make_unique<Entry>(Entry{finding, RecordOf(finding)}));
  bool has_folder = false;
  try {
    WriteFinding(finding, folder_);
    has_folder = true;
    Write();
  } catch (const Error&) {
    entries_.pop_back();
    if (has_folder) fs::remove_all(folder_ + "/" + finding.folder(), ignored);
    fs::remove(folder_, ignored);  // if it is empty
    unwritten_ = std::move(finding);
    throw;
  }
}

void FindingList::Write() const {
  if (entries_.empty()) return;
  std::string findings, cases;
  for (const auto& entry : entries_) {
    findings += OneLine(entry->record) + "\n";
    cases += OneLine(entry->record["smallest"]) + "\n";
  }
  ResultFile(folder_ + "/" + kFindings, findings).Publish();
  ResultFile(folder_ + "/" + kCaseList, cases).Publish();
}

std::vector<const Finding*> FindingList::own() const {
  std::vector<const Finding*> findings;
  for (const auto& entry : entries_) {
    if (entry->is_own) findings.push_back(&entry->finding);
  }
  return findings;
}

}  // namespace dmlop
