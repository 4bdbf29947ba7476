// SPDX-License-Identifier: Apache-2.0
// The output of a device beside the right one, and hypotheses that are counted on it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/judge/computation.h"
#include "core/judge/units.h"

namespace dmlop {

// An output in row-major order without gaps.
struct PackedOutput {
  Buffer buffer;
  DataType type;
  Dims sizes;

  const std::byte* at(int64_t element) const {
    return buffer.data() + element * static_cast<int64_t>(ByteWidth(type));
  }
  double Value(int64_t element) const { return ValueOf(type, at(element)); }
  ElementBytes Bytes(int64_t element) const;
  ConstTensorView view() const { return {buffer.data(), type, PackedLayout(sizes)}; }
};

// The ways in which a hypothesis can reproduce an element.
enum class Criterion {
  kRounding,  // to the bit, or as if it had been rounded in another order
  kBits,
  kNearer,  // four times nearer than the right value is
};

struct Evidence {
  const Computation& computation;  // as it was asked for
  size_t output;                   // number among its outputs
  PackedOutput actual;
  PackedOutput expected;
  std::optional<ErrorUnits> units;  // none where only equality is right
  std::vector<int64_t> wrong{};     // the elements that a cause must reproduce
  std::vector<int64_t> right{};     // the others, which it must leave as they are
  Criterion criterion = Criterion::kRounding;
  bool is_quantized = false;  // an integer may be off by a step

  int64_t count() const { return Product(expected.sizes); }
  Region At(int64_t element) const {
    const Dims& sizes = expected.sizes;
    return {output, IndexOf(sizes, element), Dims::Filled(sizes.size(), 1)};
  }
};

// Whether a value is apart from what the device has by no more than rounding explains, in the units
// of that element; null: none.
bool IsNoise(const Evidence& evidence, const ErrorUnits* units, int64_t element, double actual,
             double value);

// An element as a hypothesis has it.
struct VariedElement {
  ElementBytes bytes{};
  int64_t place = -1;  // the element in whose units its error is measured; -1: nothing is known

  bool is_known() const { return place >= 0; }
};

// A change of the computation that may be what the device does.
struct Hypothesis {
  std::vector<std::string> ids;
  std::string text;
  std::function<std::vector<VariedElement>(std::span<const int64_t> elements)> compute;
  // The units of the changed output; null: those of the right one.
  std::function<std::optional<ErrorUnits>()> units = nullptr;
  bool is_slow = false;  // computes by formulas, which takes many times as long
};

// A changed computation as a hypothesis about an output.
Hypothesis OfComputation(std::string id, std::string text, Computation changed, size_t output);

// The share of the evidence that a hypothesis explains.
struct Score {
  int64_t of = 0;         // wrong elements that were looked at
  int64_t unknown = 0;    // wrong elements that nothing is known about, such as at an edge
  int64_t explained = 0;  // those that are reproduced, to the bit or up to noise
  int64_t exact = 0;      // to the bit
  double broken = 0;      // right elements that would be wrong, in terms of all elements
  double rest = 0;        // the mean square of the units that are left where it explains
  uint64_t hash = 0;      // of all values

  double share() const {
    return of == 0 ? 0 : (static_cast<double>(explained) - broken) / static_cast<double>(of);
  }
  // The share of all wrong elements, unknown ones included.
  double share_of_all() const {
    return share() * static_cast<double>(of) /
           static_cast<double>(std::max<int64_t>(of + unknown, 1));
  }
  double exact_share() const {
    return of == 0 ? 0 : static_cast<double>(exact) / static_cast<double>(of);
  }
};

// The elements that are looked at: evenly spread ones of the evidence, if there are too many.
struct Sample {
  std::vector<int64_t> wrong;
  std::vector<int64_t> right;

  std::vector<int64_t> all() const;  // the wrong ones, then the right ones
};
Sample SampleOf(const Evidence& evidence, size_t most);

// Whether a hypothesis brings most of a few wrong elements much closer to what the device has, and
// leaves most right ones as they are. `varied` has the wrong ones, then the right ones.
bool IsPromising(const Evidence& evidence, const Hypothesis& hypothesis, const Sample& few);
bool ArePromising(const Evidence& evidence, const Sample& few,
                  std::span<const VariedElement> varied);

Score ScoreOf(const Evidence& evidence, const Hypothesis& hypothesis, const Sample& sample);

}  // namespace dmlop
