// SPDX-License-Identifier: Apache-2.0
// Makes valid cases of an operator, the same on every machine. A case is named by its operator, a
// seed and an index, as in "GEMM/0/17", and depends on these and the options alone.
//
// Settings of a case are its types, its enumerators and booleans, which tensors are there and in
// which layouts, and the classes of its sizes, integers and values. Cases are taken in such an
// order that pairs of settings come up soon.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/fuzz/setting.h"
#include "core/fuzz/values.h"
#include "core/judge/descriptor_change.h"
#include "core/ops/operator.h"

namespace dmlop {

// A change that changes cases raises it.
inline constexpr int kGeneratorVersion = 1;

inline constexpr int64_t kMaxTermsOfElement = int64_t{1} << 16;

// Returns whether no tensor of a valid descriptor has more elements, and no element more terms,
// than a case may have.
bool IsWithinBounds(const OperatorDesc& op, int64_t max_elements);

struct GeneratorOptions {
  FeatureLevel level = kHighestFeatureLevel;
  DataTypeSet types;                  // of the first tensor; empty: all
  std::vector<size_t> ranks;          // of the first tensor; empty: all
  int64_t max_elements = 4096;        // of each tensor
  std::vector<DescriptorChange> set;  // fields that are kept: pointer and value
  bool packed_only = false;
  bool open = false;  // also what DirectML leaves open
};

struct DrawnCase {
  Computation computation;
  ValueClasses values;
};

struct PairCoverage {
  int64_t seen = 0;
  int64_t reachable = 0;
};

class CaseGenerator {
 public:
  CaseGenerator(const OperatorInfo& info, GeneratorOptions options, uint64_t seed);
  ~CaseGenerator();
  CaseGenerator(CaseGenerator&&) noexcept;
  CaseGenerator& operator=(CaseGenerator&&) noexcept;

  // Returns whether the operator has what the options ask for.
  bool can_draw() const;
  // Says why it cannot have the fields that are kept; empty if nothing speaks against them.
  const std::string& fault() const;

  // Requires can_draw(). Indices may come in any order; those below a few thousand are the cases
  // with most new pairs first.
  DrawnCase Case(uint64_t index);

  // The settings of a case, without making it; none of one behind those whose pairs can be had.
  SettingPairs::Ids SettingsOfCase(uint64_t index);

  // The pairs of all cases up to the highest index that was asked for.
  PairCoverage coverage() const;

  // The pairs that can be had and are not among these: "Mode CONVOLUTION, BiasTensor absent".
  std::vector<std::string> PairsWithout(const PairSet& seen) const;

  // Frees what further cases need.
  void End();

 private:
  class Pool;
  std::unique_ptr<Pool> pool_;
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
