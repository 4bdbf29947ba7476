// SPDX-License-Identifier: Apache-2.0
#include "core/fuzz/shrink.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string>
#include <utility>

#include "core/document/document_json.h"
#include "core/fuzz/setting.h"
#include "core/fuzz/values.h"

namespace dmlop {
namespace {

// --- what is smaller -----------------------------------------------------------------------------

constexpr double kRoundNumbers[] = {0, 1, -1, 2, -2, 0.5, -0.5};

// The place among the round numbers; behind them come whole ones, then others.
double RoughnessOf(double number) {
  const auto* const found = std::ranges::find(kRoundNumbers, number);
  const double place = static_cast<double>(found - kRoundNumbers);
  return found != std::end(kRoundNumbers) || number == std::trunc(number) ? place : place + 1;
}

// The rounder numbers that are tried in place of one.
std::vector<double> RounderThan(double number) {
  std::vector<double> rounder(std::begin(kRoundNumbers), std::end(kRoundNumbers));
  if (std::abs(number) < 0x1p20) rounder.push_back(std::trunc(number));
  const double own = RoughnessOf(number);
  std::erase_if(rounder, [&](double one) { return RoughnessOf(one) >= own; });
  return rounder;
}

double DistanceFromDefault(const PlainValue& plain) {
  const SettingValue usual = DefaultOf(plain);
  if (plain.value == usual) return 0;
  if (const auto* number = std::get_if<int64_t>(&plain.value)) {
    return static_cast<double>(std::abs(*number - std::get<int64_t>(usual)));
  }
  const auto* number = std::get_if<double>(&plain.value);
  return number == nullptr ? 1 : 1 + RoughnessOf(*number);
}

// Returns the measures of how large a case is, those that count most first.
std::array<double, 8> MeasureOf(const Computation& computation) {
  const OperatorDesc& op = computation.op;
  std::array<double, 8> measure{};
  auto& [tensors, fields, rank, elements, numbers, layouts, values, types] = measure;
  for (const TensorSlot& slot : TensorSlots(op)) {
    const Dims sizes = LayoutOf(*slot.desc).sizes;
    tensors += 1;
    rank += static_cast<double>(sizes.size());
    elements += static_cast<double>(Product(sizes));
    layouts += LayoutKindOf(*slot.desc) != LayoutKind::kPacked;
    types += slot.desc->data_type != DataType::kFloat32;
  }
  std::set<std::string> unusual;
  for (const PlainValue& plain : PlainValuesOf(op)) {
    const double distance = DistanceFromDefault(plain);
    numbers += distance;
    if (distance != 0) unusual.insert(plain.path.substr(0, plain.path.find('/')));
  }
  for (size_t i = 0; i < op.fields().size(); ++i) {
    const Field& field = *op.fields()[i];
    const bool is_there = !std::holds_alternative<std::monostate>(op.values()[i]);
    if (field.optional && is_there && !field.is_tensor()) unusual.emplace(field.name);
    if (const auto length = LengthOf(op.values()[i]); length && !field.is_tensor()) {
      numbers += static_cast<double>(*length);
    }
  }
  fields = static_cast<double>(unusual.size());
  for (const ConstTensorView& input : computation.inputs) {
    values += static_cast<double>(ComplexityOf(input));
  }
  return measure;
}

// Whatever a device can tell one case from another by.
std::string KeyOf(const Computation& computation) {
  std::string key = OneLine(OperatorJson(computation.op));
  for (const ConstTensorView& input : computation.inputs) {
    const auto bytes = static_cast<size_t>(Extent(input.layout)) * ByteWidth(input.type);
    key.append(reinterpret_cast<const char*>(input.data), bytes);
  }
  return key;
}

// The sizes that are tried in place of one: the smallest ones, then less and less taken away.
std::vector<int64_t> SmallerThan(int64_t number, int64_t least) {
  std::vector<int64_t> smaller;
  const auto add = [&](int64_t candidate) {
    const bool is_new = std::ranges::find(smaller, candidate) == smaller.end();
    if (least <= candidate && candidate < number && is_new) smaller.push_back(candidate);
  };
  for (const int64_t few : {least, int64_t{1}, int64_t{2}}) add(few);
  for (int64_t taken = (number + 1) / 2; taken > 1; taken /= 2) add(number - taken);
  for (int64_t taken = 1; taken < number; taken *= 2) add(number - taken);
  return smaller;
}

// The whole numbers that are tried in place of one: those nearer to 0, on its side of it, and the
// number on the other side.
std::vector<int64_t> SimplerThan(int64_t number, int64_t least) {
  if (number >= 0) return SmallerThan(number, least);
  std::vector<int64_t> simpler = {0, -number};
  for (const int64_t smaller : SmallerThan(-number, 1)) simpler.push_back(-smaller);
  return simpler;
}

// --- steps ---------------------------------------------------------------------------------------

class Shrinker {
 public:
  Shrinker(const Computation& failing, const TryAll& run, int64_t most_runs,
           const CaseBounds& bounds)
      : changer_(failing, bounds), run_(run), most_runs_(most_runs), measure_(MeasureOf(failing)) {
    tried_.insert(KeyOf(failing));
  }

  ShrinkResult Run() {
    using Pass = void (Shrinker::*)();
    constexpr Pass kPasses[] = {&Shrinker::Tensors, &Shrinker::Fields,    &Shrinker::Ranks,
                                &Shrinker::Sizes,   &Shrinker::Numbers,   &Shrinker::Layouts,
                                &Shrinker::Values,  &Shrinker::EverySize, &Shrinker::Types};
    do {
      progress_ = false;
      for (const Pass pass : kPasses) (this->*pass)();
    } while (progress_ && !spent());
    return {changer_.original(), runs_, !spent()};
  }

 private:
  bool spent() const { return is_spent_; }

  // --- tries -------------------------------------------------------------------------------------

  void Add(const CaseDraft& draft) {
    if (auto candidate = changer_.Case(draft)) AddCase(std::move(*candidate));
  }

  // The first elements of smaller tensors are tried, and the last ones.
  void AddBoth(CaseDraft draft) {
    Add(draft);
    draft.keeps_last = true;
    Add(draft);
  }

  void AddSetting(const Setting& setting, const SettingValue& value) {
    if (value == setting.value) return;
    for (const CaseDraft& draft : DraftsWith(changer_.draft(), setting, value)) AddBoth(draft);
  }

  void AddCase(Computation candidate) {
    if (MeasureOf(candidate) < measure_ && tried_.insert(KeyOf(candidate)).second) {
      candidates_.push_back(std::move(candidate));
    }
  }

  // Takes the first of the candidates that fails, and returns whether there is one.
  bool Take() {
    const auto left = static_cast<size_t>(most_runs_ - runs_);
    if (candidates_.size() > left) {
      is_spent_ = true;
      candidates_.erase(candidates_.begin() + static_cast<std::ptrdiff_t>(left), candidates_.end());
    }
    const std::vector<Computation> candidates = std::exchange(candidates_, {});
    if (candidates.empty()) return false;
    const std::vector<TryResult> results = run_(candidates, TryUntil::kFirstFailure);
    const auto first = std::ranges::find(results, TryResult::kFails);
    const auto place = static_cast<size_t>(first - results.begin());
    runs_ += static_cast<int64_t>(std::min(place + 1, candidates.size()));
    for (size_t i = place + 1; i < candidates.size(); ++i) tried_.erase(KeyOf(candidates[i]));
    if (first == results.end()) return false;
    is_spent_ = runs_ >= most_runs_;
    measure_ = MeasureOf(candidates[place]);
    changer_ = CaseChanger(candidates[place], changer_.bounds());
    progress_ = true;
    return true;
  }

  std::vector<Setting> SettingsOfKinds(const std::set<SettingKind>& kinds) const {
    if (kinds.contains(SettingKind::kSize)) return SymbolsOf(changer_);
    std::vector<Setting> settings = SettingsButSizesOf(changer_);
    std::erase_if(settings, [&](const Setting& one) { return !kinds.contains(one.kind); });
    return settings;
  }

  // Calls add(setting) for each setting of the kinds until none of them leads further.
  template <typename AddTries>
  void ForSettings(const std::set<SettingKind>& kinds, AddTries&& add) {
    std::vector<Setting> settings = SettingsOfKinds(kinds);
    for (size_t i = 0; i < settings.size() && !spent(); ++i) {
      add(settings[i]);
      if (!Take()) continue;
      settings = SettingsOfKinds(kinds);
      --i;  // more may be had of the same one
    }
  }

  // --- passes, in the order of what counts more --------------------------------------------------

  void Tensors() {
    ForSettings({SettingKind::kPresence, SettingKind::kCount}, [&](const Setting& setting) {
      if (!setting.field->is_tensor()) return;
      if (setting.kind == SettingKind::kPresence) return AddSetting(setting, std::string(kAbsent));
      for (const int64_t count : SmallerThan(std::get<int64_t>(setting.value), 1)) {
        AddSetting(setting, count);
      }
    });
  }

  void Fields() {
    ForSettings({SettingKind::kPresence}, [&](const Setting& setting) {
      if (!setting.field->is_tensor()) AddSetting(setting, std::string(kAbsent));
    });
    FieldsAtOnce();
    ForSettings(
        {SettingKind::kInteger, SettingKind::kScalar, SettingKind::kEnum, SettingKind::kBool},
        [&](const Setting& setting) { AddDefault(setting); });
  }

  void AddDefault(const Setting& setting) {
    if (setting.of.ends_with("/Type")) return;
    const SettingValue usual = DefaultOf({setting.path, setting.field, setting.value});
    AddSetting(setting, usual);
    if (setting.kind == SettingKind::kScalar) AddWithAllSizes(setting, usual);
  }

  // Sizes follow a scale, but some operators take others, too.
  void AddWithAllSizes(const Setting& setting, const SettingValue& value) {
    if (value == setting.value) return;
    for (CaseDraft& draft : DraftsWith(changer_.draft(), setting, value)) {
      for (const std::string& path : SizePathsOf(changer_.original().op)) {
        if (const auto size = NumberAt(changer_.original().op, path)) draft.Set(path, *size);
      }
      Add(draft);
    }
  }

  // All entries of a field at their defaults.
  void FieldsAtOnce() {
    std::set<std::string> names;
    for (const PlainValue& plain : PlainValuesOf(changer_.original().op)) {
      names.insert(plain.path.substr(0, plain.path.find('/')));
    }
    for (const std::string& name : names) {
      CaseDraft draft = changer_.draft();
      for (const PlainValue& plain : PlainValuesOf(draft.op)) {
        if (plain.path.starts_with(name + "/")) SetValueAt(draft.op, plain.path, DefaultOf(plain));
      }
      if (!spent()) AddBoth(draft);
      Take();
    }
  }

  void Ranks() {
    do {
      for (size_t d = 0; d < RankOf(changer_.original().op); ++d) {
        CaseDraft draft = changer_.draft();
        draft.EraseDims(d, 1);
        AddBoth(draft);
      }
      // A failure that hangs on the number of elements needs all of them.
      const size_t rank = RankOf(changer_.original().op);
      if (rank > 2) AddMerged(0, rank);
      for (size_t d = 0; d + 1 < rank; ++d) AddMerged(d, 2);
    } while (!spent() && Take());
  }

  void AddMerged(size_t first, size_t count) {
    if (auto merged = changer_.WithMergedDims(first, count)) AddCase(std::move(*merged));
  }

  void Sizes() {
    ForSettings({SettingKind::kSize}, [&](const Setting& setting) {
      for (const int64_t size : SmallerThan(std::get<int64_t>(setting.value), 1)) {
        AddSetting(setting, size);
      }
    });
  }

  // All smaller sizes, in case that only certain remainders fail.
  void EverySize() {
    constexpr int64_t kMost = 64;
    if (progress_) return;  // cheaper steps come first
    ForSettings({SettingKind::kSize}, [&](const Setting& setting) {
      const auto size = std::get<int64_t>(setting.value);
      for (int64_t smaller = 1; smaller < std::min(size, kMost); ++smaller) {
        AddSetting(setting, smaller);
      }
    });
  }

  void Numbers() {
    ForSettings({SettingKind::kInteger}, [&](const Setting& setting) {
      AddDefault(setting);
      const int64_t least = setting.field->limits.min;
      for (const int64_t number : SimplerThan(std::get<int64_t>(setting.value), least)) {
        AddSetting(setting, number);
      }
    });
    Scalars();
    Axes();
  }

  void Scalars() {
    ForSettings({SettingKind::kScalar}, [&](const Setting& setting) {
      for (const double number : RounderThan(std::get<double>(setting.value))) {
        AddSetting(setting, number);
      }
    });
    ForSettings({SettingKind::kScalar}, [&](const Setting& setting) { AddWithSizes(setting); });
  }

  // A rounder number that sizes follow may need smaller ones: it is tried with each of them.
  void AddWithSizes(const Setting& setting) {
    const std::vector<Setting> symbols = SymbolsOf(changer_);
    for (const double number : RounderThan(std::get<double>(setting.value))) {
      for (const CaseDraft& begun : DraftsWith(changer_.draft(), setting, number)) {
        const auto fitted = changer_.Fitted(begun);
        if (!fitted || !HasOtherSizes(*fitted)) continue;
        for (const Setting& symbol : symbols) AddSmaller(begun, symbol);
      }
    }
  }

  bool HasOtherSizes(const OperatorDesc& op) const {
    return std::ranges::any_of(SizePathsOf(op), [&](const std::string& path) {
      return NumberAt(op, path) != NumberAt(changer_.original().op, path);
    });
  }

  void AddSmaller(const CaseDraft& begun, const Setting& symbol) {
    for (const int64_t size : SmallerThan(std::get<int64_t>(symbol.value), 1)) {
      for (const CaseDraft& draft : DraftsWith(begun, symbol, size)) AddBoth(draft);
    }
  }

  // Fewer axes.
  void Axes() {
    const OperatorDesc op = changer_.draft().op;
    for (size_t i = 0; i < op.fields().size(); ++i) {
      if (!NamesAxes(*op.fields()[i])) continue;
      do {
        const auto axes = std::get_if<std::vector<uint32_t>>(&changer_.draft().op.values()[i]);
        for (size_t k = 0; axes != nullptr && axes->size() > 1 && k < axes->size(); ++k) {
          CaseDraft draft = changer_.draft();
          auto& fewer = std::get<std::vector<uint32_t>>(draft.op.values()[i]);
          fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(k));
          Add(draft);
        }
      } while (!spent() && Take());
    }
  }

  void Layouts() {
    ForSettings({SettingKind::kLayout},
                [&](const Setting& setting) { AddSetting(setting, std::string(kLayoutKinds[0])); });
  }

  void Values() {
    for (size_t input = 0; input < changer_.original().inputs.size(); ++input) {
      do {
        for (Computation& simpler : WithSimplerValues(changer_.original(), input)) {
          if (HasSoundValues(simpler)) AddCase(std::move(simpler));
        }
      } while (!spent() && Take());
    }
  }

  void Types() {
    ForSettings({SettingKind::kType}, [&](const Setting& setting) {
      AddSetting(setting, std::string(Name(DataType::kFloat32)));
    });
  }

  CaseChanger changer_;
  const TryAll& run_;
  int64_t most_runs_;
  std::array<double, 8> measure_;
  int64_t runs_ = 0;
  bool is_spent_ = false;
  bool progress_ = false;
  std::set<std::string> tried_;
  std::vector<Computation> candidates_;
};

}  // namespace

ShrinkResult Shrink(const Computation& failing, const TryAll& run, int64_t most_runs,
                    const CaseBounds& bounds) {
  return Shrinker(failing, run, most_runs, bounds).Run();
}

}  // namespace dmlop
