// SPDX-License-Identifier: Apache-2.0
#include "app/fuzz/device.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "core/base/error.h"
#include "core/document/operator_case.h"
#include "core/io/file.h"

namespace dmlop {
namespace {

// The judgement of one output by the rules of a command line.
class OutputJudge {
 public:
  OutputJudge(const ComparisonRules& rules, const Computation& computation,
              const ConstTensorView& exact, size_t output)
      : rules_(rules), computation_(computation), exact_(exact), output_(output) {}

  Judgement Judge(const LoadedTensor& actual, const ConstTensorView& computed) const {
    const OutputUnits units{
        [&] { return ErrorUnitsOf(computation_.op, computation_.inputs, exact_, output_); },
        rules_.units};
    const JudgeDetails details{.most_listed = std::numeric_limits<size_t>::max()};
    return CompareWith({}, actual, Side::kActual, computed,
                       ToleranceFor(rules_, computation_.op, computed.type), rules_.leniency, units,
                       /*is_bool=*/false, details)
        .judgement;
  }

 private:
  const ComparisonRules& rules_;
  const Computation& computation_;
  const ConstTensorView& exact_;
  const size_t output_;
};

bool IsThere(const std::string& path) {
  struct stat status;
  return lstat(path.c_str(), &status) == 0;
}

// Why a path does not lead to a whole file; empty if it does.
std::string FaultOf(const std::string& path) {
  if (!IsThere(path)) return "is not there";
  return IsRegular(path) ? "" : "is no regular file";
}

// True if the bits are those that are expected, so that there is nothing to judge.
bool IsExact(const LoadedTensor& actual, const ConstTensorView& exact) {
  const ConstTensorView& view = actual.view;
  return view.type == exact.type && view.layout == exact.layout && !actual.is_bfloat16 &&
         std::memcmp(view.data, exact.data, static_cast<size_t>(exact.element_bytes())) == 0;
}

std::vector<int64_t> WrongElementsOf(const Judgement& judgement) {
  std::vector<int64_t> elements;
  for (const Difference& difference : judgement.comparison.listed) {
    elements.push_back(difference.index);
  }
  std::ranges::sort(elements);
  return elements;
}

}  // namespace

std::string_view Name(CaseClass what) {
  constexpr std::string_view kNames[] = {"not-run", "done",     "unsupported", "accepted",
                                         "engine",  "hang",     "missing",     "shape",
                                         "company", "unsteady", "wrong"};
  return kNames[static_cast<size_t>(what)];
}

ExactOutputs::ExactOutputs(const Computation& computation) {
  std::vector<TensorView> outputs;
  for (const TensorSlot& slot : TensorSlots(computation.op, TensorRole::kOutput)) {
    const Dims sizes = LayoutOf(*slot.desc).sizes;
    const DataType type = StoredAs(*slot.desc->data_type);
    Buffer& buffer = storage.emplace_back(static_cast<size_t>(Product(sizes)) * ByteWidth(type));
    outputs.push_back({buffer.data(), type, PackedLayout(sizes)});
    views.push_back(AsConst(outputs.back()));
  }
  Run(computation.op, computation.inputs, outputs);
}

DeviceVerdict CaseJudge::Judge(const NamedCase& one, const std::string& folder) const {
  if (IsThere(folder + "/" + kUnsupportedFile)) return {CaseClass::kUnsupported};
  const Computation& computation = one.computation;
  const std::vector<TensorSlot> slots = TensorSlots(computation.op, TensorRole::kOutput);
  DeviceVerdict verdict{CaseClass::kDone};
  for (size_t i = 0; i < slots.size(); ++i) {
    const std::string name = FileOfTensor(slots[i]), path = folder + "/" + name;
    std::string fault = FaultOf(path);
    try {
      if (fault.empty()) {
        verdict.outputs.push_back({i, LoadCompared(path, *slots[i].desc, rules_.shapes), {}});
      }
    } catch (const Error& error) {
      const std::string_view what = error.what();
      fault = what.starts_with(folder) ? what.substr(folder.size() + name.size() + 3) : what;
    }
    if (!fault.empty()) return {CaseClass::kMissing, "", fmt::format("{} {}", name, fault)};
  }
  const ExactOutputs exact(computation);
  const auto is_exact = [&](const JudgedOutput& output) {
    return IsExact(output.actual, exact.views[output.number]);
  };
  const bool may_be_refused = rules_.units.sums == DataType::kFloat16;
  if (!may_be_refused && std::ranges::all_of(verdict.outputs, is_exact)) return {CaseClass::kDone};
  for (JudgedOutput& output : verdict.outputs) {
    const ConstTensorView& expected = exact.views[output.number];
    output.judgement =
        OutputJudge(rules_, computation, expected, output.number).Judge(output.actual, expected);
    const Judgement& judgement = output.judgement;
    if (judgement.passes() || verdict.what == CaseClass::kShape) continue;
    verdict.what = judgement.mismatches.empty() ? CaseClass::kWrong : CaseClass::kShape;
    verdict.text =
        fmt::format("{}: {}", DisplayName(slots[output.number].path), JudgementLine(judgement));
  }
  if (verdict.what == CaseClass::kDone) verdict.outputs.clear();
  return verdict;
}

bool CaseJudge::AreAlike(const NamedCase& one, const DeviceVerdict& a,
                         const DeviceVerdict& b) const {
  if (a.what != b.what || a.code != b.code) return false;
  if (a.what != CaseClass::kWrong) return true;
  const ExactOutputs exact(one.computation);
  for (size_t i = 0; i < a.outputs.size(); ++i) {
    if (WrongElementsOf(a.outputs[i].judgement) != WrongElementsOf(b.outputs[i].judgement)) {
      return false;
    }
    const OutputJudge judge(rules_, one.computation, exact.views[i], i);
    if (!judge.Judge(b.outputs[i].actual, a.outputs[i].actual.view).passes()) return false;
  }
  return true;
}

std::vector<DiagnosedFile> CaseJudge::Diagnose(const NamedCase& one,
                                               const DeviceVerdict& verdict) const {
  std::vector<DiagnosedFile> files;
  const std::vector<TensorSlot> slots = TensorSlots(one.computation.op, TensorRole::kOutput);
  for (const JudgedOutput& output : verdict.outputs) {
    if (output.judgement.passes()) continue;
    files.push_back(DiagnoseFile(
        one.computation, output.number, FileOfTensor(slots[output.number]), output.actual,
        {output.judgement.tolerance, output.judgement.units}, rules_.leniency));
  }
  return files;
}

}  // namespace dmlop
