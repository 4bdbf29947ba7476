// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "app/commands.h"
#include "app/files/output.h"
#include "app/fuzz/finding.h"
#include "app/options/fuzz_options.h"
#include "app/text/diagnostic_text.h"

namespace dmlop {
namespace {

// The options for the tolerance of a case.
std::vector<std::string> WordsOf(const CaseTolerance& tolerance) {
  if (tolerance.webnn) return {"--tolerance=webnn"};
  if (!tolerance.units.word().empty()) return {"--tolerance=" + tolerance.units.word()};
  if (tolerance.tolerance.bits) return {"--bits"};
  return {fmt::format("--atol={}", tolerance.tolerance.absolute),
          fmt::format("--rtol={}", tolerance.tolerance.relative),
          fmt::format("--ulp={}", tolerance.tolerance.ulp),
          fmt::format("--units={}", tolerance.units.units)};
}

// The tolerance of a case takes precedence, as everywhere.
CaseJudge JudgeOf(const ShrinkOptions& options, const LoadedCase& read) {
  ComparisonRules rules = options.findings.rules;
  if (!read.tolerance) return {rules, options.findings.judging};
  rules.tolerances = {};
  rules.tolerances.all = read.tolerance->tolerance;
  rules.units = read.tolerance->units;
  rules.webnn_tolerance = read.tolerance->webnn;
  return {rules, WordsOf(*read.tolerance)};
}

int64_t MostElementsOf(const NamedCase& one) {
  int64_t most = 0;
  for (const TensorSlot& slot : TensorSlots(one.computation.op)) {
    most = std::max(most, Product(LayoutOf(*slot.desc).sizes));
  }
  return most;
}

ExitStatus ShrinkCase(const ShrinkOptions& options, const CommonOptions& common) {
  const Descriptor descriptor = ReadDescriptor(options.descriptor, options.line);
  Diagnostics diagnostics;
  auto read = ReadCaseOf(descriptor, options.confine, diagnostics);
  if (!read) {
    PrintDiagnostics(diagnostics, descriptor.name, descriptor.text, UseColor(common.color));
    return StatusOf(diagnostics);
  }
  read->one.name = options.descriptor;
  if (options.line) read->one.name += fmt::format(":{}", *options.line);
  const CaseJudge judge = JudgeOf(options, *read);
  Device device(options.engine, judge);
  Failure failure{.one = read->one};
  failure.verdict = device.Judge({&failure.one, 1}).front();
  if (!failure.verdict.fails()) {
    const bool is_unsupported = failure.verdict.what == CaseClass::kUnsupported;
    PrintResult(fmt::format("{}: {}\n", Printable(failure.one.name),
                            is_unsupported ? "is not supported" : "does not fail"));
    return ExitStatus::kSuccess;
  }
  failure.diagnoses = judge.Diagnose(failure.one, failure.verdict);
  FindingList findings(options.findings.folder, /*goes_on=*/false);
  CaseBounds bounds;
  bounds.max_elements = std::max(bounds.max_elements, MostElementsOf(failure.one));
  findings.Add(FindingMaker(device, options.findings.shrink_runs, bounds).Make(failure, findings));
  for (const Finding* finding : findings.own()) {
    PrintResult(FindingText(*finding, findings.folder()));
  }
  return ExitStatus::kDifferent;
}

}  // namespace

ExitStatus ShrinkCommand(const ShrinkOptions& options, const CommonOptions& common) {
  const EndRequest request;
  return ShrinkCase(options, common);
}

}  // namespace dmlop
