// SPDX-License-Identifier: Apache-2.0
#include "app/run/run_comparisons.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/files/output.h"
#include "app/shell_word.h"
#include "app/text/diagnostic_text.h"

namespace dmlop {

RunComparisons::RunComparisons(const RunOptions& options, const CommonOptions& common)
    : options_(options),
      common_(common),
      drawing_(options.drawing, common.color,
               {.text = options.format == TextFormat::kText,
                .json = options.format == TextFormat::kJson || !options.report.empty()}) {}

void RunComparisons::Compare(const Computed& computed, const std::string& path,
                             const std::function<LoadedTensor()>& load, Side side,
                             const std::optional<Command>& explain) {
  if (IsMissing(path)) {
    all_.push_back(
        MissingFile({computed.name, path, ""}, side, computed.view.layout.element_count()));
  } else {
    const LoadedTensor tensor = load();
    const bool is_reported = !options_.report.empty() || options_.format == TextFormat::kJson;
    all_.push_back(
        CompareWith({computed.name, path, is_reported ? Sha256(tensor.file_bytes) : std::string()},
                    tensor, side, computed.view, computed.tolerance, options_.rules.leniency,
                    computed.units, computed.is_bool, drawing_.details()));
  }
  const ComparedFile& compared = all_.back();
  status_ = std::max(status_, StatusOf(compared.judgement));
  auto picture = drawing_.MakePicture(compared.judgement);
  if (picture) picture_.emplace(std::move(*picture));
  if (!compared.judgement.passes()) {
    TellDifference(compared, explain);
  } else if (common_.verbose) {
    PrintMessage(fmt::format("dmlop: {}\n", Printable(AgreesText(compared))));
  }
}

void RunComparisons::TellDifference(const ComparedFile& compared,
                                    const std::optional<Command>& explain) {
  if (compared.judgement.is_missing) {
    return PrintMessage(fmt::format("dmlop: {}: {}\n", Printable(DiffersText(compared)),
                                    JudgementLine(compared.judgement)));
  }
  if (common_.quiet || options_.format == TextFormat::kJson) return;
  PrintResult(fmt::format("{}: {}{}", Printable(DiffersText(compared)),
                          JudgementText(compared.judgement), drawing_.Text(compared.judgement)));
  const std::string element = WorstElement(compared);
  if (element.empty() || !explain) return;
  PrintResult(fmt::format("how the worst element comes about:\n  {}\n",
                          Printable(fmt::format("dmlop explain {} {}{}", explain->before,
                                                ShellWord(element), explain->behind))));
}

std::string RoleOfCompared(Side side, const std::string& tensor) {
  return (side == Side::kActual ? "the judged file of " : "the expected file of ") + tensor;
}

}  // namespace dmlop
