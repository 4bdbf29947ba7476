// SPDX-License-Identifier: Apache-2.0
#include "app/batch/cause_groups.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "app/files/output.h"
#include "app/text/diagnosis_text.h"

namespace dmlop {
namespace {

// The output that says most about a case: one with a cause, one without, or noise.
const DiagnosedFile& Decisive(const std::vector<DiagnosedFile>& files) {
  return *std::ranges::max_element(files, {}, [](const DiagnosedFile& file) {
    return file.passes() ? 0 : file.diagnosis.causes.empty() ? 1 : 2;
  });
}

// Causes that differ in details only are one, and so are unexplained outputs that are wrong alike.
std::string KeyOf(const DiagnosedFile& file) {
  const Diagnosis& diagnosis = file.diagnosis;
  if (!file.mismatches.empty()) return "other-type-or-shape";
  if (diagnosis.verdict == DiagnosisVerdict::kUnknown) {
    return diagnosis.classes.empty() ? "unknown" : diagnosis.classes.front().id;
  }
  if (diagnosis.verdict != DiagnosisVerdict::kCause) return std::string(Name(diagnosis.verdict));
  std::string key;
  for (const std::string& id : diagnosis.causes.front().ids)
    key += id.substr(0, id.find(':')) + " ";
  return key;
}

}  // namespace

void CauseGroups::Add(const CaseOutcome& outcome) {
  if (outcome.diagnoses.empty()) return;
  const DiagnosedFile& file = Decisive(outcome.diagnoses);
  Group& group = groups_[KeyOf(file)];
  const ComparedFile& worst = *outcome.worst();
  if (group.count++ > 0 && !IsFurtherOff(worst.judgement, group.worst)) return;
  group.text = DiagnosisLine(file);
  group.example = outcome.name.empty() ? file.path : outcome.name;
  group.line = outcome.line;
  group.worst = worst.judgement;
}

std::string CauseGroups::Text(const std::string& manifest, int64_t total) const {
  std::vector<const Group*> order;
  int64_t count = 0;
  for (const auto& [key, group] : groups_) {
    order.push_back(&group);
    count += group.count;
  }
  if (order.empty()) return "";
  std::ranges::stable_sort(order, std::greater<>(), &Group::count);
  std::string summary, examples;
  for (const Group* group : order) {
    summary += fmt::format("{}{} {}", summary.empty() ? "" : "; ", group->count, group->text);
    examples += fmt::format("  {:>6}  {}, as {}:{}: {}\n", group->count, group->text, manifest,
                            group->line, Printable(group->example));
  }
  return fmt::format("{} of {} differ: {}\n{}", count, total, summary, examples);
}

}  // namespace dmlop
