// SPDX-License-Identifier: Apache-2.0
// An operator as a device may have computed it: with changes of its descriptor, of the arithmetic
// and of places, each by its id.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/arithmetic/arithmetic.h"
#include "core/arithmetic/computation.h"
#include "core/arithmetic/sum_orders.h"
#include "core/judge/descriptor_change.h"
#include "core/judge/evidence.h"
#include "core/judge/place_variation.h"
#include "core/units/units.h"

namespace dmlop {

class VariedRun {
 public:
  // Takes ids, or several joined by " + ". Throws an Error of kind kUsage for an id that there is
  // not, for one without a computation of its own, and for two that exclude one another. `option`
  // names the command line's option.
  VariedRun(std::string_view option, std::span<const std::string> ids);

  bool empty() const { return ids_.empty(); }

  // Returns whether results are rounded toward zero; those in bfloat16 are so, too, then.
  bool RoundsTowardZero() const;

  // Returns the ids one by one, also those that were joined.
  const std::vector<std::string>& ids() const { return ids_; }

  // The change in words.
  std::string text() const;

  // The operator and inputs with the changes of these. Throws an Error of kind kUsage if the
  // operator does not allow a change, or a variation of the arithmetic does not concern it.
  Computation Changed(const OperatorDesc& op, InputViews inputs) const;

  // Elements of an output of what Changed returned, by their row-major numbers.
  std::vector<ElementBytes> ElementsOf(const Computation& changed, size_t output,
                                       std::span<const int64_t> elements) const;

  // The partial sums of each sum that is rounded in an element; empty if none is.
  std::vector<std::vector<PartialSum>> PartialSums(const Computation& changed, size_t output,
                                                   int64_t element) const;

  // The units of an output; see ErrorUnitsOf.
  std::optional<ErrorUnits> UnitsOf(const Computation& changed, size_t output) const;

  // Computes a whole output.
  void RunInto(const Computation& changed, size_t output, const TensorView& view) const;

  // The variation of what is computed, apart from inputs and results; null if there is none.
  const ArithmeticVariation* within() const;

 private:
  void Add(std::string_view option, const std::string& id);
  void RequireConcern(const Computation& computation) const;
  std::vector<ElementBytes> InPlace(const Computation& changed, size_t output,
                                    std::span<const int64_t> elements) const;

  struct NamedPlace {
    std::string id;
    PlaceVariation place;
  };

  std::string option_;
  std::vector<std::string> ids_;
  std::vector<DescriptorChange> changes_;
  std::vector<ArithmeticVariation> arithmetics_;
  std::vector<NamedPlace> places_;
};

// Returns whether each of some ids, which a diagnosis tells, has a computation of its own.
bool AreComputed(std::span<const std::string> ids);

// Returns the hypothesis that these ids are about an output; none if they compute nothing.
std::optional<Hypothesis> OfVariedRun(const Evidence& evidence, const std::vector<std::string>& ids,
                                      const std::string& text);

// The ids of variations of arithmetic and place, without details: "sums-float16".
std::vector<std::string> VariationIds();

}  // namespace dmlop
