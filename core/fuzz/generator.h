// SPDX-License-Identifier: Apache-2.0
// Makes valid cases of an operator, the same on every machine. A case is named by its operator, a
// seed and an index, as in "GEMM/0/17", and depends on these and the options alone.
//
// Settings of a case are its types, its enumerators and booleans, which tensors are there and in
// which layouts, and the classes of its sizes, integers and values. Cases are taken in such an
// order that pairs of settings come up soon.
#pragma once

#include <cstdint>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/fuzz/kept_fields.h"
#include "core/fuzz/random_desc.h"
#include "core/fuzz/setting.h"
#include "core/fuzz/values.h"
#include "core/ops/operator.h"

namespace dmlop {

// A change that changes cases raises it.
inline constexpr int kGeneratorVersion = 3;

inline constexpr int64_t kMaxTermsOfElement = int64_t{1} << 16;

// Returns whether no tensor of a valid descriptor has more elements, and no element more terms,
// than a case may have.
bool IsWithinBounds(const OperatorDesc& op, int64_t max_elements);

struct DrawnCase {
  Computation computation;
  ValueClasses values;
};

struct PairCoverage {
  int64_t seen = 0;
  int64_t reachable = 0;
};

// Draws are numbered; many of them are not valid. The first valid ones are the pool, from which
// cases are taken in the order of the new pairs that they have, but of the first ones every other
// as it comes: low ranks and few tensors have few pairs, and would come last. Later cases are taken
// as they come, too.
class CaseGenerator {
 public:
  CaseGenerator(const OperatorInfo& info, CaseBounds bounds, uint64_t seed);

  // Returns whether the operator has what the bounds ask for.
  bool can_draw() const { return !draws_.empty(); }
  // Says why it cannot have the fields that are kept; empty if nothing speaks against them.
  const std::string& fault() const { return kept_.fault(); }

  // Requires can_draw(). Indices may come in any order; those below a few thousand are the cases
  // with most new pairs first.
  DrawnCase Case(uint64_t index);

  // The settings of a case, without making it; none of one behind those whose pairs can be had.
  SettingPairs::Ids SettingsOfCase(uint64_t index);

  // The pairs of all cases up to the highest index that was asked for.
  PairCoverage coverage() const { return {seen_.count(), reachable_.count()}; }

  // The pairs that can be had and are not among these: "Mode CONVOLUTION, BiasTensor absent".
  std::vector<std::string> PairsWithout(const PairSet& seen) const;

  // Frees what further cases need.
  void End();

 private:
  // A descriptor with the classes of its values.
  struct DrawnDesc {
    OperatorDesc op;
    ValueClasses classes;
  };
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

  void Fill();
  std::vector<DrawnSettings> DrawAhead(uint64_t first) const;
  uint64_t MostDraws() const;
  bool IsFull();

  void TakeUpTo(uint64_t index);
  void Take(size_t member);
  size_t WithMostNewPairs();
  size_t FirstLeft();

  std::optional<DrawnDesc> Draw(uint64_t number) const;
  std::optional<Computation> ValuesOf(const DrawnDesc& drawn, uint64_t draw) const;
  bool IsWithin(const OperatorDesc& op) const;
  ValueClasses DrawClasses(const Entropy& from, const OperatorDesc& op) const;

  CaseBounds bounds_;
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
  int64_t reachable_before_ = 0;  // when the pool was last found not to be full
  size_t next_size_;              // of the pool, at which it is asked again
  PairSet seen_;
};

// "GEMM/0/17"
std::string FuzzCaseName(const OperatorInfo& info, uint64_t seed, uint64_t index);

struct FuzzCaseId {
  const OperatorInfo* info;
  uint64_t seed;
  uint64_t index;
};
// Returns nothing if the text is no such name, or the operator is unknown.
std::optional<FuzzCaseId> ParseFuzzCaseName(std::string_view name);

}  // namespace dmlop
