// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <sstream>
#include <utility>

#include "app/commands.h"
#include "app/files/manifest.h"
#include "app/files/output.h"
#include "app/fuzz/finding.h"
#include "app/shell_word.h"
#include "app/text/comparison_text.h"
#include "app/text/tensor_text.h"
#include "core/base/error.h"
#include "core/document/operator_case.h"
#include "core/io/file.h"
#include "core/io/json.h"
#include "core/io/signals.h"

namespace dmlop {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFindings = "findings.jsonl";

// --- the folder of a finding ---------------------------------------------------------------------

std::string Fenced(const std::string& text) {
  return "```\n" + text + (text.ends_with('\n') ? "" : "\n") + "```\n";
}

// Writes the folder of a finding, which can be handed on.
class FindingFolder {
 public:
  FindingFolder(const Finding& finding, std::string folder)
      : finding_(finding), folder_(std::move(folder)) {}

  void Write() const {
    WriteCaseIn("", kCaseFile, {finding_.folder(), finding_.smallest.computation});
    WriteCaseIn("first/", "first.json", finding_.first_case);
    WriteOutputs();
    if (!finding_.company.empty()) WriteCases(folder_, finding_.company, CaseForm::kDescriptor);
    WriteNewFile(folder_ + "/README.md", Readme());
  }

 private:
  std::string Readme() const {
    std::string text = fmt::format("# {}: {}\n\n", finding_.key.op, Printable(finding_.text));
    const std::string all = fs::path(folder_).parent_path().string();
    text += Fenced(FindingText(finding_, all, CaseCount::kLeftOut));
    text += FilesText();
    for (const DiagnosedFile& file : finding_.diagnoses) {
      text += "\n## Cause\n\n" + Fenced(DiagnosisText({file}));
    }
    for (const JudgedOutput& output : finding_.verdict.outputs) text += TextOf(output);
    text += "\n## The device\n\n" + WordsOfDevice();
    return text;
  }

  void WriteCaseIn(const std::string& inputs, const char* name, const NamedCase& one) const {
    WriteNewFile(folder_ + "/" + name, Pretty(CaseJson(one, inputs, inputs)) + "\n");
    if (!inputs.empty()) MakeFolder(folder_ + "/" + inputs);
    WriteInputs(folder_ + "/" + inputs, one.computation);
  }

  void WriteOutputs() const {
    const std::vector<TensorSlot> slots =
        TensorSlots(finding_.smallest.computation.op, TensorRole::kOutput);
    const ExactOutputs exact(finding_.smallest.computation);
    MakeFolder(folder_ + "/expected");
    for (size_t i = 0; i < slots.size(); ++i) {
      WriteNewTensor(folder_ + "/expected/" + FileOfTensor(slots[i]), exact.views[i]);
    }
    MakeFolder(folder_ + "/actual");
    for (const JudgedOutput& output : finding_.verdict.outputs) {
      WriteNewFile(folder_ + "/actual/" + FileOfTensor(slots[output.number]),
                   output.actual.file_bytes);
    }
  }

  // The first line is what it comes to, the others are what the engine said.
  std::string WordsOfDevice() const {
    std::istringstream lines(finding_.verdict.text);
    std::string heading, said;
    std::getline(lines, heading);
    for (std::string line; std::getline(lines, line);) said += Printable(line) + "\n";
    return Printable(heading) + "\n" + (said.empty() ? "" : "\n" + Fenced(said));
  }

  std::string FilesText() const {
    std::string text =
        "\n`case.json` is the smallest case that was found, with its inputs beside it; `expected/` "
        "has DirectML's\nresults, `actual/` those of the device. `first.json` is the case with "
        "which "
        "it was found.\n";
    if (!finding_.company.empty()) {
      text += "`cases.jsonl` lists the cases after which the last one fails.\n";
    }
    return text;
  }

  // Explains how the worst element of an output comes about.
  std::string TextOf(const JudgedOutput& output) const {
    const Comparison& comparison = output.judgement.comparison;
    if (output.judgement.passes() || !comparison.worst) return "";
    const TensorSlot slot =
        TensorSlots(finding_.smallest.computation.op, TensorRole::kOutput)[output.number];
    const Dims sizes = LayoutOf(*slot.desc).sizes;
    const std::string element = DisplayName(slot.path) + IndexText(sizes, comparison.worst->index);
    const std::string actual = "actual/" + FileOfTensor(slot);
    ExplainOptions options;
    options.descriptor = folder_ + "/" + kCaseFile;
    options.element = element;
    options.judged = {slot.path + "=" + folder_ + "/" + actual};
    return fmt::format("\n## {}\n\n{}\n{}", element,
                       Fenced(fmt::format("dmlop explain case.json {} --judge {}",
                                          ShellWord(element), ShellWord(slot.path + "=" + actual))),
                       Fenced(ExplainedText(options)));
  }

  const Finding& finding_;
  const std::string folder_;
};

// Exchanges what two paths lead to, which may be nothing for one of them; step by step where the
// file system cannot do it at once.
void Exchange(const std::string& a, const std::string& b) {
  if (renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE) == 0) return;
  const std::string aside = a + "-aside";
  if (fs::exists(b)) fs::rename(b, aside);
  if (fs::exists(a)) fs::rename(a, b);
  if (fs::exists(aside)) fs::rename(aside, a);
}

// --- the list ------------------------------------------------------------------------------------

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
    if (!is_own || !finding.has_cause() || finding.key.op != one.computation.op.name()) continue;
    PreferCause(finding.key.code, diagnoses);
  }
}

// A cause that says little by itself, or has the same values as the first one, says enough if a
// finding has it.
bool FindingList::Count(const NamedCase& one, const DeviceVerdict& verdict,
                        const std::vector<DiagnosedFile>& diagnoses) {
  std::vector<FailureKey> keys = {KeyOf(one, verdict, diagnoses)};
  const auto add = [&](const std::vector<std::string>& ids) {
    keys.push_back(keys.front());
    keys.back().code = KeyOfCause(ids);
  };
  if (const Cause* first = FirstCause(diagnoses)) {
    add(first->ids);
    for (const std::string& same : first->same) add({same});
  }
  for (const auto& entry : entries_) {
    const Finding& finding = entry->finding;
    const bool has_key =
        std::ranges::any_of(keys, [&](const FailureKey& key) { return finding.HasKey(key); });
    if (!entry->is_own || !has_key || !finding.Covers(one)) continue;
    if (finding.first == one.name) return false;
    entry->record["cases"] = ++entry->finding.cases;
    return true;
  }
  return false;
}

void FindingList::Add(Finding finding) {
  const auto replaced = std::ranges::find_if(entries_, [&](const auto& entry) {
    return entry->is_own && entry->finding.first == finding.first;
  });
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry == replaced || !(*entry)->is_own || !(*entry)->finding.IsLike(finding)) continue;
    return CountTo(**entry, finding, replaced);
  }
  AddNew(std::move(finding), replaced);
}

void FindingList::CountTo(Entry& entry, const Finding& finding, Entries::iterator replaced) {
  std::vector<std::string>& codes = entry.finding.other_codes;
  if (!entry.finding.HasKey(finding.key)) codes.push_back(finding.key.code);
  entry.record["cases"] = ++entry.finding.cases;
  entry.record["otherKeys"] = codes;
  if (replaced == entries_.end()) return Write();
  const std::string folder = folder_ + "/" + (*replaced)->finding.folder();
  entries_.erase(replaced);
  Write();
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

void FindingList::AddNew(Finding finding, Entries::iterator replaced) {
  const bool is_last = replaced == entries_.end();
  const int64_t next = entries_.empty() ? 1 : entries_.back()->finding.number + 1;
  finding.number = is_last ? next : (*replaced)->finding.number;
  auto& entry = is_last ? entries_.emplace_back() : *replaced;
  auto before = std::exchange(entry, std::make_unique<Entry>(Entry{finding, RecordOf(finding)}));
  std::error_code ignored;
  fs::create_directories(folder_, ignored);
  try {
    WriteWith(finding);
  } catch (const Error&) {
    entry = std::move(before);
    if (is_last) entries_.pop_back();
    fs::remove(folder_, ignored);  // if it is empty
    unwritten_ = std::move(finding);
    throw;
  }
}

// Writes the lists and the folder of a finding, in place of one that is there: only a whole folder
// gets its name, and what was there before is back if the lists cannot be written.
void FindingList::WriteWith(const Finding& finding) const {
  const std::string path = folder_ + "/" + finding.folder();
  const TemporaryTree beside(folder_ + "/.dmlop-" + finding.folder() + ".tmp");
  bool is_placed = false;
  std::error_code ignored;
  try {
    fs::remove_all(beside.get());
    MakeFolder(beside.get());
    FindingFolder(finding, beside.get()).Write();
    Exchange(beside.get(), path);
    is_placed = true;
    Write();
  } catch (const std::exception& error) {
    if (is_placed) Exchange(beside.get(), path);
    fs::remove_all(beside.get(), ignored);
    if (dynamic_cast<const fs::filesystem_error*>(&error) == nullptr) throw;
    throw Error(ErrorKind::kFileSystem, error.what());
  }
  fs::remove_all(beside.get(), ignored);
}

bool FindingList::HasLike(const Finding& finding) const {
  return std::ranges::any_of(
      entries_, [&](const auto& entry) { return entry->is_own && entry->finding.IsLike(finding); });
}

bool FindingList::Include(const Finding& finding) const {
  return std::ranges::any_of(entries_, [&](const auto& entry) {
    return entry->is_own && entry->finding.Includes(finding);
  });
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
