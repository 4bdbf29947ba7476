// SPDX-License-Identifier: Apache-2.0
#include "app/fuzz/finding.h"

#include <algorithm>
#include <utility>

#include "core/arithmetic/arithmetic.h"
#include "core/base/error.h"
#include "core/judge/descriptor_change.h"
#include "core/judge/varied_run.h"

namespace dmlop {
namespace {

constexpr double kEnoughOfCause = 0.9;  // of the wrong elements, as for a diagnosis

// "wrong values in [*, *, last]"
std::string TextOf(const DeviceVerdict& verdict) {
  if (verdict.what != CaseClass::kWrong) return verdict.text.substr(0, verdict.text.find('\n'));
  const auto wrong = std::ranges::find_if(
      verdict.outputs, [](const JudgedOutput& output) { return !output.judgement.passes(); });
  return "wrong values in " + wrong->judgement.comparison.where.box;
}

// Causes of place are looked for again: a smaller case has other places.
bool IsKept(const Cause& cause) {
  return std::ranges::all_of(cause.ids, [](const std::string& id) {
    const auto arithmetic = ParseArithmetic(id);
    return arithmetic ? arithmetic->kind != ArithmeticKind::kFastFunctions
                      : ParseDescriptorChange(id).has_value();
  });
}

// The cause that a smaller case is to have, too; null if there is none that another case can have.
const Cause* KeptCause(const Failure& failure) {
  if (failure.verdict.what != CaseClass::kWrong) return nullptr;
  const Cause* cause = TellingCause(failure.verdict, failure.diagnoses);
  return cause != nullptr && IsKept(*cause) ? cause : nullptr;
}

// Decides which cases fail in the same way as the first one.
class SameFailure {
 public:
  SameFailure(const Failure& first, Device& device)
      : first_(first), cause_(KeptCause(first)), device_(device) {}

  bool IsIt(const NamedCase& one, const DeviceVerdict& verdict) const {
    if (first_.verdict.what == CaseClass::kUnsteady) return verdict.fails();
    if (verdict.what != first_.verdict.what || verdict.code != first_.verdict.code) return false;
    return cause_ == nullptr || Reproduces(one, verdict) || HasCause(one, verdict);
  }

  const Cause* cause() const { return cause_; }

  Device::Tries HowToTry(TryUntil until) const {
    const CaseClass what = first_.verdict.what;
    const bool is_hang = what == CaseClass::kHang, is_unsteady = what == CaseClass::kUnsteady;
    const double timeout = device_.options().timeout;
    Device::Tries how{
        .timeout = is_hang ? device_.TimeoutOfTries(first_.one.computation.op.name()) : timeout,
        .are_alone = is_hang || is_unsteady || what == CaseClass::kEngine,
        .are_confirmed = until == TryUntil::kFirstFailure,
        .most_runs = is_unsteady ? 5 : 1};
    if (until == TryUntil::kFirstFailure) {
      how.ends = [this](const NamedCase& one, const DeviceVerdict& verdict) {
        return IsIt(one, verdict);
      };
    }
    return how;
  }

  TryResult ResultOf(const NamedCase& one, const DeviceVerdict& verdict) const {
    if (IsIt(one, verdict)) return TryResult::kFails;
    const bool is_unknown =
        verdict.what == CaseClass::kUnsupported || verdict.what == CaseClass::kNotRun;
    return is_unknown ? TryResult::kNotSupported : TryResult::kPasses;
  }

 private:
  // Returns whether the change that explained the first case explains this one.
  bool Reproduces(const NamedCase& one, const DeviceVerdict& verdict) const {
    try {
      const VariedRun varied("--as", cause_->ids);
      const Computation changed = varied.Changed(one.computation.op, one.computation.inputs);
      return std::ranges::all_of(verdict.outputs, [&](const JudgedOutput& output) {
        return output.judgement.passes() || Explains(varied, changed, output);
      });
    } catch (const Error&) {  // the smaller operator has no such change
      return false;
    }
  }

  bool Explains(const VariedRun& varied, const Computation& changed,
                const JudgedOutput& output) const {
    const ConstTensorView& actual = output.actual.view;
    Buffer buffer(static_cast<size_t>(actual.element_bytes()));
    const TensorView view{buffer.data(), actual.type, PackedLayout(actual.layout.sizes)};
    varied.RunInto(changed, output.number, view);
    Leniency leniency = device_.judge().rules().leniency;
    leniency.cuts_to_bfloat16 = varied.RoundsTowardZero();
    const Judgement as_changed = CompareWith({}, output.actual, Side::kActual, AsConst(view),
                                             output.judgement.tolerance, leniency)
                                     .judgement;
    const auto unlike = static_cast<double>(as_changed.comparison.difference_count);
    const auto wrong = static_cast<double>(output.judgement.comparison.difference_count);
    return as_changed.mismatches.empty() && unlike <= (1 - kEnoughOfCause) * wrong;
  }

  // Returns whether the same cause, with other details, is among those of this case.
  bool HasCause(const NamedCase& one, const DeviceVerdict& verdict) const {
    const std::string key = KeyOfCause(cause_->ids);
    for (const DiagnosedFile& file : device_.judge().Diagnose(one, verdict)) {
      for (const Cause& cause : file.diagnosis.causes) {
        const auto is_key = [&](const std::string& id) { return KeyOfCause({id}) == key; };
        if (KeyOfCause(cause.ids) == key || std::ranges::any_of(cause.same, is_key)) return true;
      }
    }
    return false;
  }

  const Failure& first_;
  const Cause* cause_;
  Device& device_;
};

// Thrown where a signal, or what is known of the failure, ends the tries.
struct Interrupted {};
struct Known {};

// The smallest case that is known to fail, with what was said of it, and the runs that it took.
struct Shrunk {
  NamedCase one;
  DeviceVerdict verdict;
  int64_t runs = 0;
};

// The runs of a shrinker. Of several cases of which only the first failure matters, as many are run
// at once as share what runs at once.
class TryRuns {
 public:
  // `is_known` is asked for each smaller case.
  TryRuns(const SameFailure& same, Device& device, const std::function<bool()>& is_known,
          Shrunk& shrunk)
      : same_(same), device_(device), is_known_(is_known), shrunk_(shrunk) {}

  std::vector<TryResult> operator()(std::span<const Computation> cases, TryUntil until) const {
    const Device::Tries how = same_.HowToTry(until);
    const EngineOptions& options = device_.options();
    const size_t at_once = until == TryUntil::kEnd
                               ? cases.size()
                               : options.jobs * (how.are_alone ? 1 : options.per_start);
    std::vector<TryResult> results;
    for (size_t begin = 0; begin < cases.size(); begin += at_once) {
      const auto some = cases.subspan(begin, std::min(at_once, cases.size() - begin));
      if (RunSome(some, how, until, results)) break;
    }
    return results;
  }

 private:
  // Returns true if no more results matter.
  bool RunSome(std::span<const Computation> cases, const Device::Tries& how, TryUntil until,
               std::vector<TryResult>& results) const {
    std::vector<NamedCase> named;
    for (const Computation& one : cases) named.push_back({shrunk_.one.name, one});
    std::vector<DeviceVerdict> verdicts = device_.Try(named, how);
    for (size_t i = 0; i < named.size(); ++i) {
      if (verdicts[i].what == CaseClass::kNotRun && EndRequest::has_come()) throw Interrupted();
      results.push_back(same_.ResultOf(named[i], verdicts[i]));
      if (until == TryUntil::kEnd) continue;
      ++shrunk_.runs;
      if (results.back() != TryResult::kFails) continue;
      shrunk_.one = std::move(named[i]);
      shrunk_.verdict = std::move(verdicts[i]);
      if (is_known_()) throw Known();
      return true;
    }
    return false;
  }

  const SameFailure& same_;
  Device& device_;
  const std::function<bool()>& is_known_;
  Shrunk& shrunk_;
};

// Puts the cause first that was kept. It may be missing if others have the same values.
void PutFirst(const Cause& kept, std::vector<DiagnosedFile>& diagnoses) {
  for (DiagnosedFile& file : diagnoses) {
    std::vector<Cause>& causes = file.diagnosis.causes;
    const auto found = std::ranges::find_if(
        causes, [&](const Cause& cause) { return KeyOfCause(cause.ids) == KeyOfCause(kept.ids); });
    if (found != causes.end()) {
      std::rotate(causes.begin(), found, found + 1);
      return;
    }
  }
  if (diagnoses.empty()) return;
  const int64_t wrong = diagnoses.front().diagnosis.different;
  diagnoses.front().diagnosis.causes.insert(diagnoses.front().diagnosis.causes.begin(),
                                            {kept.ids, kept.text, wrong, wrong, 0, false, {}});
}

}  // namespace

Finding FindingMaker::Make(const Failure& failure, const FindingList& known) const {
  Finding finding{.key = KeyOf(failure.one, failure.verdict, failure.diagnoses),
                  .text = TextOf(failure.verdict),
                  .first = failure.one.name,
                  .first_case = failure.one,
                  .smallest = failure.one,
                  .verdict = failure.verdict,
                  .diagnoses = failure.diagnoses,
                  .judging = device_.judge().words()};
  if (failure.verdict.what == CaseClass::kCompany) {
    finding.company =
        most_runs_ > 0 ? device_.SmallestCompany(failure.verdict.company) : failure.verdict.company;
    finding.is_minimal = most_runs_ > 0;
  } else if (most_runs_ > 0) {
    Shrink(failure, known, finding);
  }
  return finding;
}

void FindingMaker::Shrink(const Failure& failure, const FindingList& known,
                          Finding& finding) const {
  const SameFailure same(failure, device_);
  Shrunk shrunk{failure.one, failure.verdict};
  const std::function<bool()> is_known = [&] {
    Finding so_far = finding;
    so_far.smallest = shrunk.one;
    so_far.diagnoses.clear();
    if (!known.Include(so_far)) return false;  // whatever its cause is
    so_far.diagnoses = device_.judge().Diagnose(shrunk.one, shrunk.verdict);
    return known.Include(so_far);
  };
  const TryRuns run(same, device_, is_known, shrunk);
  bool is_new = true;
  try {
    finding.is_minimal =
        dmlop::Shrink(failure.one.computation, run, most_runs_, bounds_).is_minimal;
    if (!Confirm(failure.verdict.what, shrunk.one, shrunk.verdict)) {
      shrunk = {failure.one, failure.verdict, shrunk.runs};
      finding.is_minimal = false;
    }
  } catch (const Interrupted&) {
  } catch (const Known&) {
    is_new = false;
  }
  finding.smallest = shrunk.one;
  finding.verdict = shrunk.verdict;
  finding.shrink_runs = shrunk.runs;
  finding.diagnoses = device_.judge().Diagnose(finding.smallest, finding.verdict);
  if (failure.verdict.what != CaseClass::kUnsteady) finding.text = TextOf(finding.verdict);
  if (same.cause() != nullptr) PutFirst(*same.cause(), finding.diagnoses);
  if (!is_new || EndRequest::has_come()) return;
  try {
    finding.conditions =
        FindConditions(finding.smallest.computation, failure.classes, run, 2 * most_runs_, bounds_);
  } catch (const Interrupted&) {
  }
}

// Judges the smallest case once more. A hang that comes back within the whole time is none.
bool FindingMaker::Confirm(CaseClass what, const NamedCase& smallest,
                           DeviceVerdict& verdict) const {
  const int most_runs = what == CaseClass::kUnsteady ? 10 : 1;
  DeviceVerdict again;
  for (int run = 0; run < most_runs && !again.fails(); ++run) {
    again = device_.Alone(smallest, device_.options().timeout);
  }
  if (again.what == CaseClass::kNotRun) throw Interrupted();
  if (!again.fails()) return false;
  verdict = std::move(again);
  return true;
}

}  // namespace dmlop
