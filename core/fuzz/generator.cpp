// SPDX-License-Identifier: Apache-2.0
#include "core/fuzz/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "core/base/integers.h"
#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/document/random_values.h"

namespace dmlop {
namespace {

// The pool is full when its last quarter has had few new pairs.
constexpr size_t kLeastPool = 1000;
constexpr size_t kMostPool = 8000;
constexpr int64_t kPairsOfFew = 200;    // of so many pairs, one is new
constexpr uint64_t kMostDraws = 60000;  // for the pool
// Once there is one with the fields that are kept, with which many draws cannot be valid.
constexpr uint64_t kMostDrawsWithKept = 5000;
constexpr int64_t kMostWork = int64_t{1} << 18;
constexpr size_t kMixedCases = 256;
constexpr int64_t kUnknown = int64_t{1} << 40;  // above all gains that have been counted

// Returns how much a case takes.
struct CaseSize {
  int64_t most_input = 0, most_output = 0;  // elements of the largest tensor
  int64_t elements = 0;                     // of all tensors

  explicit CaseSize(const OperatorDesc& op) {
    for (const TensorSlot& slot : TensorSlots(op)) {
      const int64_t count = Product(LayoutOf(*slot.desc).sizes);
      int64_t& most = slot.role() == TensorRole::kInput ? most_input : most_output;
      most = std::max(most, count);
      elements += count;
    }
  }

  bool HasAtMost(int64_t max_elements) const {
    return std::max(most_input, most_output) <= max_elements;
  }
  int64_t TermsOfElement(int64_t operations) const {
    return std::max(most_input, operations) / std::max<int64_t>(most_output, 1);
  }
};

// Places to write to that share memory cannot all differ.
void SeparatePlaces(OperatorDesc& op) {
  for (const MutableTensorSlot& slot : TensorSlots(op)) {
    if (!slot.desc->complete() || !HasPlaces(op, {slot.path, slot.field, slot.desc, slot.type})) {
      continue;
    }
    if (HasOverlap(LayoutOf(*slot.desc))) slot.desc->strides.reset();
  }
}

}  // namespace

CaseGenerator::CaseGenerator(const OperatorInfo& info, CaseBounds bounds, uint64_t seed)
    : bounds_(std::move(bounds)),
      limits_{.level = bounds_.level,
              .types = bounds_.types,
              .ranks = bounds_.ranks,
              .max_elements = bounds_.max_elements,
              .max_slice_elements = bounds_.max_elements,
              .layouts = bounds_.packed_only ? LayoutForms::kPacked : LayoutForms::kUsual,
              .open = bounds_.open},
      kept_(info, bounds_.kept),
      seed_(Mix(seed + 1)),
      next_size_(kLeastPool) {
  for (const char c : info.name) seed_ = Mix(seed_ + static_cast<unsigned char>(c) + 1);
  if (kept_.exist()) Fill();
}

SettingPairs::Ids CaseGenerator::SettingsOfCase(uint64_t index) {
  TakeUpTo(index);
  return index < order_.size() ? members_[order_[index]].settings : SettingPairs::Ids();
}

DrawnCase CaseGenerator::Case(uint64_t index) {
  TakeUpTo(index);
  for (; draws_.size() <= index; ++next_draw_) {
    if (Draw(next_draw_)) draws_.push_back(next_draw_);
  }
  const uint64_t number = draws_[index];
  DrawnDesc drawn = *Draw(number);
  for (uint64_t attempt = 0; attempt < 20; ++attempt) {
    if (auto computation = ValuesOf(drawn, number * 32 + attempt)) {
      return {*std::move(computation), std::move(drawn.classes)};
    }
  }
  throw std::logic_error(fmt::format("no values for case {} of {}", index, drawn.op.name()));
}

std::vector<std::string> CaseGenerator::PairsWithout(const PairSet& seen) const {
  std::vector<std::string> pairs;
  for (size_t pair = 0; pair < reachable_.end(); ++pair) {
    if (!reachable_.Contains(pair) || seen.Contains(pair)) continue;
    const auto [a, b] = SettingPairs::SettingsOfPair(pair);
    pairs.push_back(fmt::format("{}, {}", pairs_.name(a), pairs_.name(b)));
  }
  return pairs;
}

void CaseGenerator::End() {
  members_ = {};
  order_ = {};
  draws_ = {};
  gains_ = {};
}

// --- the pool ------------------------------------------------------------------------------------

// Draws do not depend on each other, and most of them are not valid: some are made ahead.
void CaseGenerator::Fill() {
  std::vector<DrawnSettings> ahead;
  uint64_t first_ahead = 0;
  while (!IsFull() && next_draw_ < MostDraws()) {
    if (next_draw_ == first_ahead + ahead.size()) {
      first_ahead = next_draw_;
      ahead = DrawAhead(first_ahead);
    }
    const uint64_t number = next_draw_++;
    const DrawnSettings& settings = ahead[number - first_ahead];
    if (!settings) continue;
    members_.push_back({number, pairs_.IdsOf(*settings)});
    draws_.push_back(number);
    gains_.push({reachable_.Add(members_.back().settings) + kUnknown, members_.size() - 1});
  }
}

std::vector<CaseGenerator::DrawnSettings> CaseGenerator::DrawAhead(uint64_t first) const {
  constexpr int64_t kAhead = 256;
  constexpr int64_t kGrain = 16;
  std::vector<DrawnSettings> all(kAhead);
  ParallelFor(kAhead, kGrain, 0, [&](int64_t begin, int64_t end) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const auto drawn = Draw(first + i);
      if (drawn) all[i] = SettingsOf(drawn->op, drawn->classes);
    }
  });
  return all;
}

uint64_t CaseGenerator::MostDraws() const {
  return bounds_.kept.empty() || !can_draw() ? kMostDraws : kMostDrawsWithKept;
}

bool CaseGenerator::IsFull() {
  const size_t size = members_.size();
  if (size < kLeastPool || size < next_size_) return size == kMostPool;
  const int64_t added = reachable_.count() - reachable_before_;
  reachable_before_ = reachable_.count();
  next_size_ = std::min(size + size / 3, kMostPool);
  return added * kPairsOfFew < reachable_.count() || size == kMostPool;
}

void CaseGenerator::TakeUpTo(uint64_t index) {
  while (order_.size() <= index && order_.size() < members_.size()) {
    const bool is_as_it_comes = order_.size() < kMixedCases && order_.size() % 2 == 1;
    Take(is_as_it_comes ? FirstLeft() : WithMostNewPairs());
  }
}

void CaseGenerator::Take(size_t member) {
  seen_.Add(members_[member].settings);
  members_[member].is_taken = true;
  draws_[order_.size()] = members_[member].draw;
  order_.push_back(member);
}

// Counts anew until the first one has been counted: gains only fall.
size_t CaseGenerator::WithMostNewPairs() {
  while (true) {
    Gain gain = gains_.top();
    gains_.pop();
    const Member& member = members_[gain.member];
    if (member.is_taken) continue;
    const int64_t pairs = seen_.CountNew(member.settings);
    const bool is_last = gains_.empty() || pairs == gain.pairs;
    if (is_last || gains_.top() < Gain{pairs, gain.member}) return gain.member;
    gains_.push({pairs, gain.member});
  }
}

size_t CaseGenerator::FirstLeft() {
  while (members_[first_left_].is_taken) ++first_left_;
  return first_left_;
}

// --- draws ---------------------------------------------------------------------------------------

std::optional<CaseGenerator::DrawnDesc> CaseGenerator::Draw(uint64_t number) const {
  RandomEngine engine(Mix(seed_ + number));
  const Entropy from(engine);
  OperatorDesc op = DrawBareDesc(from, kept_.begun(), limits_);
  const bool may_be_valid = kept_.Settle(op, bounds_.level);
  if (!may_be_valid || RowWithin(op, limits_) == nullptr) return std::nullopt;
  DrawLayouts(from, limits_.layouts, op);
  if (!bounds_.open) SeparatePlaces(op);
  auto kept = kept_.In(std::move(op), bounds_.level);
  if (!kept || !IsWithin(*kept)) return std::nullopt;
  ValueClasses classes = DrawClasses(from, *kept);
  DrawnDesc drawn{*std::move(kept), std::move(classes)};
  // There may be fewer places than elements that go to different ones.
  if (!bounds_.kept.empty() && !ValuesOf(drawn, number * 32)) return std::nullopt;
  return drawn;
}

std::optional<Computation> CaseGenerator::ValuesOf(const DrawnDesc& drawn, uint64_t draw) const {
  return DrawInputs(drawn.op, drawn.classes, Mix(seed_ + draw), bounds_.open);
}

bool CaseGenerator::IsWithin(const OperatorDesc& op) const {
  const size_t rank = TensorSlots(op).front().desc->rank();
  const bool has_rank = bounds_.ranks.empty() || std::ranges::count(bounds_.ranks, rank) > 0;
  return has_rank && IsWithinBounds(op, bounds_.max_elements) &&
         CaseSize(op).elements + OperationsOf(op) <= kMostWork;
}

// All ordinary in half of the cases; otherwise half of the inputs are.
ValueClasses CaseGenerator::DrawClasses(const Entropy& from, const OperatorDesc& op) const {
  ValueClasses classes;
  const bool are_ordinary = from.OneIn(2);
  for (const TensorSlot& slot : TensorSlots(op, TensorRole::kInput)) {
    const auto possible = ValueClassesOf(op, slot, bounds_.open);
    const bool is_ordinary = are_ordinary || from.OneIn(2);
    classes[slot.path] = is_ordinary ? InputClass::kOrdinary : from.OneOf(possible);
  }
  return classes;
}

// --- bounds and names ----------------------------------------------------------------------------

bool IsWithinBounds(const OperatorDesc& op, int64_t max_elements) {
  const CaseSize size(op);
  return size.HasAtMost(max_elements) &&
         size.TermsOfElement(OperationsOf(op)) <= kMaxTermsOfElement;
}

std::string FuzzCaseName(const OperatorInfo& info, uint64_t seed, uint64_t index) {
  return fmt::format("{}/{}/{}", info.name, seed, index);
}

std::optional<FuzzCaseId> ParseFuzzCaseName(std::string_view name) {
  const size_t second = name.rfind('/');
  const size_t first = second == name.npos || second == 0 ? name.npos : name.rfind('/', second - 1);
  if (first == name.npos) return std::nullopt;
  const OperatorInfo* info = FindOperator(name.substr(0, first));
  const auto seed = ParseNumber<uint64_t>(name.substr(first + 1, second - first - 1));
  const auto index = ParseNumber<uint64_t>(name.substr(second + 1));
  if (info == nullptr || !seed || !index) return std::nullopt;
  return FuzzCaseId{info, *seed, *index};
}

}  // namespace dmlop
