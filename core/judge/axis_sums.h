// SPDX-License-Identifier: Apache-2.0
// Sums of products along an axis of an input, coordinate by coordinate. What is missing in an
// element is known there, so that the part that is left out is looked up and not tried.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/arithmetic/element_formula.h"
#include "core/judge/evidence.h"
#include "core/judge/omitted_terms.h"

namespace dmlop {

// A few elements whose terms along an axis are known.
class AxisSums {
 public:
  // An element that is linear in a sum.
  struct OneSum {
    std::vector<double> before;  // what all coordinates before each one add to the element
    double exact;
    double actual;
    double noise;  // how far rounding may move the element, roughly

    double Without(const AxisPart& part) const {
      return exact -
             (before[static_cast<size_t>(part.to)] - before[static_cast<size_t>(part.from)]);
    }
    bool Fits(const AxisPart& part) const;
  };

  explicit AxisSums(std::vector<OneSum> sums) : sums_(std::move(sums)) {}

  // The elements without the terms of a part, not rounded.
  std::vector<double> Without(const AxisPart& part) const;

  // The parts whose omission explains nearly all elements, those that leave least first.
  std::vector<AxisPart> Fitting() const;

 private:
  const OneSum& FurthestOff() const;
  std::vector<bool> Counting() const;
  double RestOf(const AxisPart& part) const;  // infinite if it does not fit nearly all

  std::vector<OneSum> sums_;
};

// A few elements that rise or fall with their only sum, whatever else they are made of: roots,
// logarithms, shares of it. What the device added up is what its values say. Null if there are
// none.
std::shared_ptr<const AxisSums> SumsOfDevice(const Evidence& evidence, const TermAxis& axis,
                                             std::span<const int64_t> few);

// The formulas of a few elements of an operator that is linear in its inputs.
class LinearElements {
 public:
  LinearElements(const Evidence& evidence, std::span<const int64_t> few);

  // Null if an element is made of more than one sum along the axis, or of none.
  std::shared_ptr<const AxisSums> Along(const TermAxis& axis) const;

  // Returns whether a sum is divided by the number of its terms, so that shorter inputs make a
  // difference.
  bool HasMeans() const;

 private:
  struct Known {
    int64_t element;
    std::unique_ptr<ElementFormula> formula;
  };

  std::optional<AxisSums::OneSum> SumOf(const Known& known, const TermAxis& axis) const;

  const Evidence& evidence_;
  std::vector<Known> known_;
};

}  // namespace dmlop
