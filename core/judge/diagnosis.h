// SPDX-License-Identifier: Apache-2.0
// Says why a device's output differs: tries named changes of the computation and tells those that
// reproduce what the device has.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/arithmetic/computation.h"
#include "core/compare/error_measure.h"
#include "core/compare/wrong_elements.h"
#include "core/tensor/unit_tolerance.h"

namespace dmlop {

enum class DiagnosisVerdict { kEqual, kNoise, kCause, kUnknown };
std::string_view Name(DiagnosisVerdict verdict);

// A change of the computation that reproduces what the device has.
struct Cause {
  std::vector<std::string> ids;  // that belong together
  std::string text;
  int64_t explains = 0;  // of the elements that were looked at
  int64_t of = 0;
  int64_t exact = 0;       // to the bit
  int64_t at_edge = 0;     // of all, those that come in at an edge, of which it says nothing
  bool has_values = true;  // false: it says how far off results are, not what they are
  bool sampled = false;
  std::vector<std::string> same{};  // other changes with the same values; ids are joined by " + "

  double share() const {
    return of == 0 ? 0 : static_cast<double>(explains) / static_cast<double>(of);
  }
};

struct Diagnosis {
  static constexpr size_t kMostCauses = 5;

  int64_t elements = 0;
  int64_t different = 0;                // elements beyond the tolerance
  int64_t beyond_noise = 0;             // of these, those that rounding does not explain
  std::optional<ErrorFigures> ulp{};    // of the different elements that are finite
  std::optional<ErrorFigures> units{};  // likewise; none where only equality is right
  std::optional<int64_t> terms{};       // of the longest sum
  std::optional<double> toward_zero{};  // share of the different elements, of floats
  Where where{};                        // of the elements beyond noise or, if there are none, all
  std::vector<ValueClass> classes{};    // of the same
  DiagnosisVerdict verdict = DiagnosisVerdict::kEqual;
  std::vector<Cause> causes{};  // the best first
  // An order of sums in FLOAT32 that has the bits of a right device, and its text; empty: none.
  std::string order_id{}, order_text{};
  // Tries a cause of another output on this one, whose inputs must still be there. Returns none if
  // it is no cause here. Null where nothing is to be explained.
  std::function<std::optional<Cause>(const Cause& other)> find_same{};
};

struct DiagnosisOptions {
  Tolerance tolerance;
  UnitTolerance units;
  bool is_thorough = false;  // looks at all elements, however many
};

// `actual` and `expected` have the type and sizes of the output with that number, which `expected`
// is computed for. `in_bfloat16`: both have been rounded to that.
Diagnosis Diagnose(const Computation& computation, size_t output, const ConstTensorView& actual,
                   const ConstTensorView& expected, const DiagnosisOptions& options,
                   bool in_bfloat16 = false);

// Tells first, for each of several outputs of one computation, a cause that explains all of them,
// if there is one that explains each no worse than what is told of it alone. Forgets what causes
// are tried with.
void TellCommonCause(std::span<Diagnosis* const> diagnoses);

}  // namespace dmlop
