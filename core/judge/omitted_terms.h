// SPDX-License-Identifier: Apache-2.0
// Elements without some terms of the sums in their formulas, such as a device has that ends a loop
// too early: of a softmax, of a mean, of a window.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/judge/axis_part.h"
#include "core/judge/evidence.h"

namespace dmlop {

class ElementFormula;

// The axes of the sums of an element. Where there are no sums, maxima and minima have terms.
std::vector<TermAxis> TermAxesOf(const Computation& computation, const Region& element);

class OmittedTerms {
 public:
  // `few` are elements that are asked for many times.
  OmittedTerms(const Evidence& evidence, const TermAxis& axis, std::span<const int64_t> few);

  // The elements without the terms at coordinates in [from, to). Means divide by the number of all
  // terms or of those that are left.
  std::vector<VariedElement> Without(int64_t from, int64_t to, bool divides_by_all,
                                     std::span<const int64_t> elements) const;

 private:
  struct Known;

  std::shared_ptr<const Known> Make(int64_t element) const;

  const Evidence& evidence_;
  TermAxis axis_;
  std::map<int64_t, std::shared_ptr<const Known>> few_;
};

}  // namespace dmlop
