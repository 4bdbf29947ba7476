// SPDX-License-Identifier: Apache-2.0
#include "core/fuzz/varied_runs.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace dmlop {
namespace {

constexpr int64_t kFewestDraws = 2;
constexpr int64_t kSamples = 8;  // draws of the smallest case

// Returns how often to draw so that hardly any case passes which fails as often as the samples did,
// or somewhat less often.
int64_t DrawsFor(int64_t failing, int64_t samples) {
  constexpr double kRisk = 0.01;
  if (failing == 0 || failing == samples) return kFewestDraws;
  const auto sure = static_cast<double>(std::max<int64_t>(failing - 2, 1));
  const double draws = std::log(kRisk) / std::log(1 - sure / static_cast<double>(samples));
  return std::clamp(static_cast<int64_t>(std::ceil(draws)), kFewestDraws, VariedRuns::kMostDraws);
}

}  // namespace

VariedRuns::VariedRuns(const OperatorDesc& smallest, const ValueClasses& classes, const TryAll& run,
                       int64_t most_runs, bool open)
    : drawn_(classes), draws_(kFewestDraws), run_(run), most_(most_runs), open_(open) {
  ChooseDraws(smallest, classes);
}

// Draws the values of variations from the class with which the smallest case fails most often: of
// a fault that depends on signs or on rounding, a draw shows only a part.
void VariedRuns::ChooseDraws(const OperatorDesc& smallest, const ValueClasses& own) {
  const int64_t samples = std::min(kSamples, most_ / 16);
  int64_t most = 0;
  for (const ValueClasses& classes : {ValueClasses(), own}) {
    if (most == samples) return;
    const int64_t failing = FailuresOf(smallest, classes, samples);
    if (failing <= most) continue;
    most = failing;
    drawn_ = classes;
    draws_ = DrawsFor(failing, samples);
  }
}

int64_t VariedRuns::FailuresOf(const OperatorDesc& op, const ValueClasses& classes,
                               int64_t samples) {
  std::vector<Computation> cases;
  for (int64_t draw = 1; draw <= samples; ++draw) {
    auto one = Drawn(op, classes, draw);
    if (one) cases.push_back(std::move(*one));
  }
  return std::ranges::count(Run(std::move(cases)), TryResult::kFails);
}

std::optional<Computation> VariedRuns::Drawn(const OperatorDesc& op, const ValueClasses& classes,
                                             int64_t draw) const {
  return DrawInputs(op, classes, static_cast<uint64_t>(draw), open_);
}

std::vector<TryResult> VariedRuns::Run(std::vector<Computation> cases) {
  const auto left = static_cast<size_t>(std::max<int64_t>(0, most_ - kept_ - count_));
  if (cases.size() > left) {
    is_spent_ = true;
    cases.erase(cases.begin() + static_cast<std::ptrdiff_t>(left), cases.end());
  }
  if (cases.empty()) return {};
  count_ += static_cast<int64_t>(cases.size());
  return run_(cases, TryUntil::kEnd);
}

std::vector<std::optional<bool>> VariedRuns::Fail(const std::vector<Computation>& cases,
                                                  int64_t further_draws) {
  std::vector<std::optional<bool>> fails(cases.size());
  std::vector<size_t> open(cases.size());
  for (size_t i = 0; i < open.size(); ++i) open[i] = i;
  const int64_t first = further_draws == 0 ? 0 : draws_ + 1;
  for (int64_t draw = first; draw <= draws_ + further_draws && !open.empty(); ++draw) {
    std::vector<Computation> tries;
    std::vector<size_t> tried;
    for (const size_t i : open) {
      // Other draws than the samples, whose signs another sign in a field would turn round.
      auto one = draw == 0 ? std::optional(cases[i]) : Drawn(cases[i].op, drawn_, kSamples + draw);
      if (!one) continue;
      tries.push_back(std::move(*one));
      tried.push_back(i);
    }
    const std::vector<TryResult> results = Run(std::move(tries));
    open.clear();
    for (size_t k = 0; k < tried.size(); ++k) {
      std::optional<bool>& result = fails[tried[k]];
      if (k >= results.size() || results[k] == TryResult::kNotSupported) {
        result.reset();
        continue;
      }
      result = results[k] == TryResult::kFails;
      if (!*result) open.push_back(tried[k]);
    }
  }
  return fails;
}

}  // namespace dmlop
