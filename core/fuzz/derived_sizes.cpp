// SPDX-License-Identifier: Apache-2.0
#include "core/fuzz/derived_sizes.h"

#include <algorithm>

namespace dmlop {

DerivedSizes::DerivedSizes(const CaseChanger& changer) : sizes_(DerivedSizesOf(changer)) {}

void DerivedSizes::Note(const std::string& of, const OperatorDesc& varied, bool fails) {
  Seen& seen = seen_[of].emplace_back();
  seen.fails = fails;
  for (const Setting& size : sizes_) {
    const std::vector<SettingValue> values = ValuesIn(varied, size.of, size.ties, true);
    seen.sizes.emplace_back();
    if (values.size() == 1) seen.sizes.back() = std::get<int64_t>(values[0]);
  }
}

bool DerivedSizes::MayHangOn(const std::vector<Seen>& seen, size_t i) const {
  const SettingValue& own = sizes_[i].value;
  const auto is_told = [&](const Seen& one) {
    return one.sizes[i] && (one.fails || SettingValue(*one.sizes[i]) != own);
  };
  return std::ranges::count(seen, false, &Seen::fails) > 0 && std::ranges::all_of(seen, is_told);
}

std::optional<TellingSize> DerivedSizes::TellingAt(size_t i) const {
  TellingSize telling{sizes_[i], {{sizes_[i].value, true}}, {}};
  for (const auto& [of, seen] : seen_) {
    if (!MayHangOn(seen, i)) continue;
    telling.settings.push_back(of);
    for (const Seen& one : seen) {
      const auto [known, is_new] = telling.seen.emplace(*one.sizes[i], one.fails);
      if (known->second != one.fails) return std::nullopt;
    }
  }
  if (telling.settings.size() < 2) return std::nullopt;
  const auto kind =
      SimplestCondition(SettingKind::kSize, sizes_[i].of, sizes_[i].value, telling.seen).kind;
  const bool is_simple = kind == ConditionKind::kAtLeast || kind == ConditionKind::kAtMost ||
                         kind == ConditionKind::kResidue;
  return is_simple ? std::optional(std::move(telling)) : std::nullopt;
}

std::vector<TellingSize> DerivedSizes::Find() const {
  std::vector<TellingSize> found;
  for (size_t i = 0; i < sizes_.size(); ++i) {
    if (auto telling = TellingAt(i)) found.push_back(std::move(*telling));
  }
  return found;
}

}  // namespace dmlop
