// SPDX-License-Identifier: Apache-2.0
// Computations that leave out a part of an input's axis, each in a way of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/judge/axis_sums.h"
#include "core/judge/evidence.h"
#include "core/judge/omitted_terms.h"

namespace dmlop {

// A computation without a part of an input's axis.
class Omission {
 public:
  Omission(const Evidence& evidence, const TermAxis& axis) : evidence_(evidence), axis_(axis) {}
  virtual ~Omission() = default;

  // Computes nothing if there is no such computation.
  Hypothesis Without(const AxisPart& part) const {
    Hypothesis hypothesis = Omitting(part);
    hypothesis.enough = kEnoughOfSearched;
    return hypothesis;
  }

  // The few elements, by which parts are found; empty if there is no such computation.
  virtual std::vector<double> ValuesWithout(const AxisPart& part,
                                            const std::vector<int64_t>& few) const;

  // The work of computing so many elements without a part, in operations of formulas.
  virtual int64_t WorkOf(size_t elements) const = 0;
  // The same of the few, whose formulas may be known.
  virtual int64_t WorkOfFew(size_t elements) const { return WorkOf(elements); }

  // Parts that need not be searched for.
  virtual std::vector<AxisPart> Known() const { return {}; }
  virtual bool IsLookedUp() const { return false; }

  int64_t size() const { return axis_.size; }
  size_t input() const { return axis_.input; }

 protected:
  virtual Hypothesis Omitting(const AxisPart& part) const = 0;

  std::string TextOf(const AxisPart& part) const;

  const Evidence& evidence_;
  TermAxis axis_;
};

// The input is shorter, with those axes of `all` that must be as long, or has zeros if that is
// null. `all` must outlive this.
std::unique_ptr<Omission> OmissionInInput(const Evidence& evidence, const TermAxis& axis,
                                          const std::vector<TermAxis>* all);

// Zeros in sums of products, whose parts are known.
std::unique_ptr<Omission> OmissionInSums(const Evidence& evidence, const TermAxis& axis,
                                         std::shared_ptr<const AxisSums> sums);

// The terms of sums that an element's formula has are left out. `sums` are those that the device's
// values say; null if they say nothing.
std::unique_ptr<Omission> OmissionOfTerms(const Evidence& evidence, const TermAxis& axis,
                                          std::shared_ptr<const OmittedTerms> terms,
                                          const OmissionKind& kind,
                                          std::shared_ptr<const AxisSums> sums);

// Returns what lies behind the end at which a device stops that looks for the greatest or least
// element along an axis. `shorter` leaves out coordinates of the input.
std::optional<AxisPart> PartBehindEnd(const Evidence& evidence, const Omission& shorter);

}  // namespace dmlop
