// SPDX-License-Identifier: Apache-2.0
// The causes of one of several outputs may be those of all.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/judge/diagnosis.h"

namespace dmlop {
namespace {

class CommonCause {
 public:
  explicit CommonCause(std::span<Diagnosis* const> diagnoses) {
    for (Diagnosis* const one : diagnoses) {
      if (one->find_same) wrong_.push_back(one);
    }
  }

  void Tell() {
    if (wrong_.size() < 2 || HaveOneFirst()) return;
    for (const Cause& cause : Candidates()) {
      const std::vector<Cause> found = OfAll(cause);
      if (found.empty()) continue;
      for (size_t i = 0; i < found.size(); ++i) PutFirst(found[i], *wrong_[i]);
      return;
    }
  }

 private:
  static constexpr size_t kMostTried = 16;

  bool HaveOneFirst() const {
    return std::ranges::all_of(wrong_, [&](const Diagnosis* one) {
      return !one->causes.empty() && !wrong_.front()->causes.empty() &&
             one->causes.front().ids == wrong_.front()->causes.front().ids;
    });
  }

  // The best of each output first, and causes before others with the same values.
  std::vector<Cause> Candidates() const {
    std::vector<Cause> all;
    const auto add = [&](const Cause& cause) {
      const bool is_new = std::ranges::find(all, cause.ids, &Cause::ids) == all.end();
      if (is_new && cause.has_values && all.size() < kMostTried) all.push_back(cause);
    };
    for (size_t place = 0; place < Diagnosis::kMostCauses; ++place) {
      for (const Diagnosis* one : wrong_) {
        if (place < one->causes.size()) add(one->causes[place]);
      }
    }
    for (const Diagnosis* one : wrong_) {
      if (one->causes.empty()) continue;
      for (const std::string& id : one->causes.front().same) {
        if (const auto cause = one->find_same({{id}, ""})) add(*cause);
      }
    }
    return all;
  }

  // Returns nothing if an output is explained better by what is told of it.
  std::vector<Cause> OfAll(const Cause& cause) const {
    std::vector<Cause> found;
    for (const Diagnosis* one : wrong_) {
      const auto same = one->find_same(cause);
      if (!same) return {};
      if (!one->causes.empty() && IsBetter(one->causes.front(), *same)) return {};
      found.push_back(*same);
    }
    return found;
  }

  // Shares that are nearly equal are taken for equal, so that rounding does not decide.
  static bool IsBetter(const Cause& a, const Cause& b) {
    const auto order = [](const Cause& cause) {
      const auto of = static_cast<double>(std::max<int64_t>(cause.of, 1));
      return std::pair(std::lround(50 * cause.share()),
                       std::lround(10 * static_cast<double>(cause.exact) / of));
    };
    return order(a) > order(b);
  }

  static void PutFirst(const Cause& cause, Diagnosis& diagnosis) {
    std::erase_if(diagnosis.causes, [&](const Cause& one) { return one.ids == cause.ids; });
    diagnosis.causes.insert(diagnosis.causes.begin(), cause);
    if (diagnosis.causes.size() > Diagnosis::kMostCauses)
      diagnosis.causes.resize(Diagnosis::kMostCauses);
    diagnosis.verdict = DiagnosisVerdict::kCause;
  }

  std::vector<Diagnosis*> wrong_;
};

}  // namespace

void TellCommonCause(std::span<Diagnosis* const> diagnoses) {
  CommonCause(diagnoses).Tell();
  for (Diagnosis* const one : diagnoses) one->find_same = nullptr;
}

}  // namespace dmlop
