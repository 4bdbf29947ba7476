// SPDX-License-Identifier: Apache-2.0
#include "core/fuzz/generator.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <queue>
#include <stdexcept>
#include <utility>

#include "core/base/integers.h"
#include "core/base/parallel.h"
#include "core/fuzz/kept_fields.h"
#include "core/fuzz/random_desc.h"
#include "core/fuzz/setting.h"
#include "core/fuzz/values.h"
#include "core/ops/operator.h"

namespace dmlop {
namespace generator {

// The pool is full when its last quarter has had few new pairs.
constexpr size_t kLeastPool = 1000;
constexpr size_t kMostPool = 8000;
constexpr int64_t kPairsOfFew = 200;    // of so many pairs, one is new
constexpr uint64_t kMostDraws = 60000;  // for the pool
// Once there is one with the fields that are kept, with which many draws cannot be valid.
constexpr uint64_t kMostDrawsWithKept = 5000;
constexpr int64_t kMostWork = int64_t{1} << 18;
constexpr size_t kMixedCases = 256;

// A descriptor with the classes of its values.
struct DrawnDesc {
  OperatorDesc op;
  ValueClasses classes;
};

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

// --- draws ---------------------------------------------------------------------------------------

uint64_t Mixed(uint64_t number) {
  number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9u;
  number = (number ^ (number >> 27)) * 0x94D049BB133111EBu;
  return number ^ (number >> 31);
}

}  // namespace generator

using namespace generator;

// Draws are numbered; many of them are not valid. The first valid ones are the pool, from which
// cases are taken in the order of the new pairs that they have, but of the first ones every other
// as it comes: low ranks and few tensors have few pairs, and would come last. Later cases are taken
// as they come, too.
class CaseGenerator::Pool {
 public:
  Pool(const OperatorInfo& info, GeneratorOptions options, uint64_t seed)
      : options_(std::move(options)), kept_(info, options_.set), seed_(Mixed(seed + 1)) {
    limits_.level = options_.level;
    limits_.types = options_.types;
    limits_.ranks = options_.ranks;
    limits_.max_elements = options_.max_elements;
    limits_.max_slice_elements = options_.max_elements;
    limits_.layouts = options_.packed_only ? LayoutForms::kPacked : LayoutForms::kUsual;
    limits_.open = options_.open;
    for (const char c : info.name) seed_ = Mixed(seed_ + static_cast<unsigned char>(c) + 1);
    if (kept_.exist()) Fill();
  }

  bool is_empty() const { return draws_.empty(); }
  const std::string& fault() const { return kept_.fault(); }

  SettingPairs::Ids SettingsOfCase(uint64_t index) {
    TakeUpTo(index);
    return index < order_.size() ? members_[order_[index]].settings : SettingPairs::Ids();
  }

  DrawnCase Case(uint64_t index) {
    TakeUpTo(index);
    while (draws_.size() <= index) DrawMore();
    const uint64_t number = draws_[index];
    DrawnDesc drawn = *Draw(number);
    for (uint64_t attempt = 0; attempt < 20; ++attempt) {
      if (auto computation = ValuesOf(drawn, number * 32 + attempt)) {
        return {*std::move(computation), std::move(drawn.classes)};
      }
    }
    throw std::logic_error(fmt::format("no values for case {} of {}", index, drawn.op.name()));
  }

  PairCoverage coverage() const { return {seen_.count(), reachable_.count()}; }

  std::vector<std::string> PairsWithout(const PairSet& seen) const {
    std::vector<std::string> pairs;
    for (size_t pair = 0; pair < reachable_.end(); ++pair) {
      if (!reachable_.Contains(pair) || seen.Contains(pair)) continue;
      const auto [a, b] = SettingPairs::SettingsOfPair(pair);
      pairs.push_back(fmt::format("{}, {}", pairs_.name(a), pairs_.name(b)));
    }
    return pairs;
  }

  void End() {
    members_ = {};
    order_ = {};
    draws_ = {};
    gains_ = {};
  }

 private:
  struct Member {
    uint64_t draw;
    SettingPairs::Ids settings;
    bool is_taken = false;
  };
  using DrawnSettings =
      std::optional<std::vector<std::string>>;  // none of a draw that is not valid
  struct Gain {
    int64_t pairs;
    size_t member;

    // The one with the most pairs comes first, and the earlier one of two.
    bool operator<(const Gain& other) const {
      return std::pair(pairs, other.member) < std::pair(other.pairs, member);
    }
  };

  // Draws do not depend on each other, and most of them are not valid: some are made ahead.
  void Fill() {
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

  std::vector<DrawnSettings> DrawAhead(uint64_t first) const {
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

  uint64_t MostDraws() const {
    return kept_.is_empty() || is_empty() ? kMostDraws : kMostDrawsWithKept;
  }

  bool IsFull() {
    const size_t size = members_.size();
    if (size < kLeastPool || size < next_size_) return size == kMostPool;
    const int64_t added = reachable_.count() - reachable_before_;
    reachable_before_ = reachable_.count();
    next_size_ = std::min(size + size / 3, kMostPool);
    return added * kPairsOfFew < reachable_.count() || size == kMostPool;
  }

  void TakeUpTo(uint64_t index) {
    while (order_.size() <= index && order_.size() < members_.size()) {
      const bool is_as_it_comes = order_.size() < kMixedCases && order_.size() % 2 == 1;
      Take(is_as_it_comes ? FirstLeft() : WithMostNewPairs());
    }
  }

  void Take(size_t member) {
    seen_.Add(members_[member].settings);
    members_[member].is_taken = true;
    draws_[order_.size()] = members_[member].draw;
    order_.push_back(member);
  }

  // Counts anew until the first one has been counted: gains only fall.
  size_t WithMostNewPairs() {
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

  size_t FirstLeft() {
    while (members_[first_left_].is_taken) ++first_left_;
    return first_left_;
  }

  void DrawMore() {
    while (!Draw(next_draw_)) ++next_draw_;
    draws_.push_back(next_draw_++);
  }

  std::optional<DrawnDesc> Draw(uint64_t number) const {
    RandomEngine engine(Mixed(seed_ + number));
    const Entropy from(engine);
    bool may_be_valid = true;
    OperatorDesc op = DrawDesc(from, kept_.begun(), limits_, [&](OperatorDesc& drawn) {
      may_be_valid = kept_.Settle(drawn, options_.level);
    });
    if (!may_be_valid || RowWithin(op, limits_) == nullptr) return std::nullopt;
    if (!options_.open) SeparatePlaces(op);
    auto kept = kept_.In(std::move(op), options_.level);
    if (!kept || !IsWithin(*kept)) return std::nullopt;
    ValueClasses classes = DrawClasses(from, *kept);
    DrawnDesc drawn{*std::move(kept), std::move(classes)};
    // There may be fewer places than elements that go to different ones.
    if (!kept_.is_empty() && !ValuesOf(drawn, number * 32)) return std::nullopt;
    return drawn;
  }

  std::optional<Computation> ValuesOf(const DrawnDesc& drawn, uint64_t draw) const {
    return DrawInputs(drawn.op, drawn.classes, Mixed(seed_ + draw), options_.open);
  }

  bool IsWithin(const OperatorDesc& op) const {
    const auto has_rank = [&](size_t rank) { return rank == TensorSlots(op).front().desc->rank(); };
    if (!options_.ranks.empty() && std::ranges::none_of(options_.ranks, has_rank)) return false;
    const CaseSize size(op);
    if (!size.HasAtMost(options_.max_elements)) return false;
    const int64_t operations = OperationsOf(op);
    return size.TermsOfElement(operations) <= kMaxTermsOfElement &&
           size.elements + operations <= kMostWork;
  }

  // All ordinary in half of the cases; otherwise half of the inputs are.
  ValueClasses DrawClasses(const Entropy& from, const OperatorDesc& op) const {
    ValueClasses classes;
    const bool are_ordinary = from.OneIn(2);
    for (const TensorSlot& slot : TensorSlots(op, TensorRole::kInput)) {
      const auto possible = ValueClassesOf(op, slot, options_.open);
      const bool is_ordinary = are_ordinary || from.OneIn(2);
      classes[slot.path] = is_ordinary ? InputClass::kOrdinary : from.OneOf(possible);
    }
    return classes;
  }

  static constexpr int64_t kUnknown = int64_t{1} << 40;  // above all gains that have been counted

  GeneratorOptions options_;
  DescLimits limits_;
  KeptFields kept_;
  uint64_t seed_;
  uint64_t next_draw_ = 0;
  std::vector<Member> members_;
  std::vector<size_t> order_;    // the members that have been taken
  size_t first_left_ = 0;        // the first member that may not have been taken
  std::vector<uint64_t> draws_;  // of cases; those behind order_ are not in order yet
  std::priority_queue<Gain> gains_;
  SettingPairs pairs_;
  PairSet reachable_;
  int64_t reachable_before_ = 0;   // when the pool was last found not to be full
  size_t next_size_ = kLeastPool;  // of the pool, at which it is asked again
  PairSet seen_;
};

CaseGenerator::CaseGenerator(const OperatorInfo& info, GeneratorOptions options, uint64_t seed)
    : pool_(std::make_unique<Pool>(info, std::move(options), seed)) {}
CaseGenerator::~CaseGenerator() = default;
CaseGenerator::CaseGenerator(CaseGenerator&&) noexcept = default;
CaseGenerator& CaseGenerator::operator=(CaseGenerator&&) noexcept = default;

bool CaseGenerator::can_draw() const {
  return !pool_->is_empty();
}

const std::string& CaseGenerator::fault() const {
  return pool_->fault();
}

SettingPairs::Ids CaseGenerator::SettingsOfCase(uint64_t index) {
  return pool_->SettingsOfCase(index);
}

DrawnCase CaseGenerator::Case(uint64_t index) {
  return pool_->Case(index);
}

PairCoverage CaseGenerator::coverage() const {
  return pool_->coverage();
}

std::vector<std::string> CaseGenerator::PairsWithout(const PairSet& seen) const {
  return pool_->PairsWithout(seen);
}

void CaseGenerator::End() {
  pool_->End();
}

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
  FuzzCaseId id{FindOperator(name.substr(0, first)), 0, 0};
  const auto read = [](std::string_view digits, uint64_t& number) {
    const char* end = digits.data() + digits.size();
    const auto result = std::from_chars(digits.data(), end, number);
    return result.ec == std::errc() && result.ptr == end;
  };
  const bool has_numbers = read(name.substr(first + 1, second - first - 1), id.seed) &&
                           read(name.substr(second + 1), id.index);
  return id.info != nullptr && has_numbers ? std::optional(id) : std::nullopt;
}

}  // namespace dmlop
