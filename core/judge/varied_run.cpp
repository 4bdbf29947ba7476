// SPDX-License-Identifier: Apache-2.0
#include "core/judge/varied_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/base/error.h"
#include "core/base/spelling.h"
#include "core/judge/element_formula.h"
#include "core/judge/varied_tensors.h"
#include "core/judge/varied_values.h"

namespace dmlop {
namespace {

std::string WithoutDetails(const std::string& id) {
  return id.substr(0, id.find(':'));
}

// Whether a variation changes what is computed, and not only inputs or results.
bool IsWithin(const ArithmeticVariation& variation) {
  return variation.kind != ArithmeticKind::kFlushSubnormals &&
         variation.kind != ArithmeticKind::kInputs;
}

// Those of place_change.h and input_change.h, which a search makes from a device's values.
constexpr std::string_view kOnlyFound[] = {
    "not-written",  "from-input",   "shifted",      "reversed",     "permuted",    "exchanged",
    "tail-missing", "head-missing", "part-missing", "other-layout", "padding-edge"};

[[noreturn]] void RefuseId(std::string_view option, const std::string& id) {
  const std::vector<std::string> ids = ArithmeticIds();
  const std::string base = WithoutDetails(id);
  if (std::ranges::find(kOnlyFound, base) != std::end(kOnlyFound)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{} {}: only 'dmlop diagnose' tries variations of place", option, id));
  }
  if (std::ranges::find(ids, base) == ids.end()) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{} {}: there is no such variation{}", option, id,
                            DidYouMeanOneOf(
                                base, {std::vector<std::string_view>(ids.begin(), ids.end())})));
  }
  std::vector<std::string> details;
  for (const ArithmeticVariation& variation : AllArithmeticVariations()) {
    const std::string known = variation.id();
    if (WithoutDetails(known) == base && known != base) {
      details.push_back(known.substr(base.size() + 1));
    }
  }
  if (details.empty()) {
    throw Error(ErrorKind::kUsage, fmt::format("{} {}: {} has no details", option, id, base));
  }
  throw Error(ErrorKind::kUsage,
              fmt::format("{} {}: {} has no such detail{}", option, id, base,
                          DidYouMeanOneOf(
                              id.substr(base.size() + 1),
                              {std::vector<std::string_view>(details.begin(), details.end())})));
}

size_t OutputCount(const OperatorDesc& op) {
  return TensorSlots(op, TensorRole::kOutput).size();
}

// Whether a variation with any details can make a difference to an output.
bool Concerns(const ArithmeticVariation& variation, const Computation& computation) {
  for (size_t output = 0; output < OutputCount(computation.op); ++output) {
    const auto all = ArithmeticVariationsOf(computation.op, computation.inputs, output);
    const bool is_any = std::ranges::any_of(all, [&](const ArithmeticVariation& other) {
      return other.kind == variation.kind && other.format == variation.format;
    });
    if (is_any) return true;
  }
  return false;
}

}  // namespace

std::vector<std::string> ArithmeticIds() {
  std::vector<std::string> ids;
  for (const ArithmeticVariation& variation : AllArithmeticVariations()) {
    const std::string id = WithoutDetails(variation.id());
    if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
  }
  return ids;
}

VariedRun::VariedRun(std::string_view option, std::span<const std::string> ids) : option_(option) {
  for (const std::string& id : ids) Add(option, id);
}

void VariedRun::Add(std::string_view option, const std::string& id) {
  if (const auto change = ParseDescriptorChange(id)) {
    changes_.push_back(*change);
    return;
  }
  const auto variation = ParseArithmetic(id);
  if (!variation) RefuseId(option, id);
  if (variation->kind == ArithmeticKind::kFastFunctions) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{} {}: says how far a device is off, not what it computes; there is "
                            "nothing to run",
                            option, id));
  }
  const ArithmeticVariation* other = within();
  if (other != nullptr && IsWithin(*variation)) {
    throw Error(ErrorKind::kUsage,
                fmt::format("{} {}: excludes {}; only changes of the descriptor, inputs-* and "
                            "flush-subnormals go with others",
                            option, id, other->id()));
  }
  arithmetics_.push_back(*variation);
}

std::string VariedRun::text() const {
  std::vector<std::string> texts;
  for (const DescriptorChange& change : changes_) {
    texts.push_back(fmt::format("{} ({})", change.id(), change.text()));
  }
  for (const ArithmeticVariation& variation : arithmetics_) {
    texts.push_back(fmt::format("{} ({})", variation.id(), variation.text()));
  }
  return fmt::format("{}", fmt::join(texts, " + "));
}

const ArithmeticVariation* VariedRun::within() const {
  const auto found = std::ranges::find_if(arithmetics_, IsWithin);
  return found == arithmetics_.end() ? nullptr : &*found;
}

void VariedRun::RequireConcern(const Computation& computation) const {
  for (const ArithmeticVariation& variation : arithmetics_) {
    if (Concerns(variation, computation)) continue;
    throw Error(ErrorKind::kUsage, fmt::format("{} {}: makes no difference to {} of these types",
                                               option_, variation.id(), computation.op.name()));
  }
}

Computation VariedRun::Changed(const OperatorDesc& op, InputViews inputs) const {
  Computation computation{op, {inputs.begin(), inputs.end()}};
  if (!changes_.empty()) {
    Diagnostics why;
    const auto changed = dmlop::Changed(computation, changes_, why);
    if (!changed) {
      const std::string reason = why.list().empty() ? "it is not valid" : why.list()[0].message;
      throw Error(ErrorKind::kUsage, fmt::format("{} {}: {}", option_, changes_[0].id(), reason));
    }
    computation = *changed;
  }
  RequireConcern(computation);
  for (const ArithmeticVariation& variation : arithmetics_) {
    if (ChangesInputs(variation)) {
      computation = WithChangedInputs(std::move(computation), variation, 0);
    }
  }
  return computation;
}

std::vector<ElementBytes> VariedRun::ElementsOf(const Computation& changed, size_t output,
                                                std::span<const int64_t> elements) const {
  const ArithmeticVariation* variation = within();
  std::vector<ElementBytes> values =
      variation == nullptr
          ? dmlop::ElementsOf(changed, output, elements)
          : ComputeVaried(changed.op, changed.inputs, *variation, output, elements);
  const DataType type = *TensorSlots(changed.op, TensorRole::kOutput)[output].desc->data_type;
  for (const ArithmeticVariation& other : arithmetics_) {
    if (!IsWithin(other) && ChangesOutputs(other)) ChangeOutputs(other, type, values);
  }
  return values;
}

std::vector<std::vector<PartialSum>> VariedRun::PartialSums(const Computation& changed,
                                                            size_t output, int64_t element) const {
  const ArithmeticVariation* variation = within();
  if (variation == nullptr || variation->kind != ArithmeticKind::kSums) return {};
  const TensorDesc& desc = *TensorSlots(changed.op, TensorRole::kOutput)[output].desc;
  const Dims sizes(desc.sizes->begin(), desc.sizes->end());
  const Region place{output, IndexOf(sizes, element), Dims::Filled(sizes.size(), 1)};
  const auto formula = ElementFormula::Of(changed.op, changed.inputs, place);
  if (!formula) return {};
  std::vector<std::vector<PartialSum>> sums;
  formula->WithSums([&](FormulaNode sum) {
    sums.push_back(PartialSumsOf(*variation, formula->TermsOf(sum)));
    return sums.back().empty() ? 0 : sums.back().back().value;
  });
  return sums;
}

void VariedRun::RunInto(const Computation& changed, size_t output, const TensorView& view) const {
  std::vector<int64_t> numbers(static_cast<size_t>(view.layout.element_count()));
  std::iota(numbers.begin(), numbers.end(), 0);
  const std::vector<ElementBytes> values = ElementsOf(changed, output, numbers);
  const size_t width = ByteWidth(view.type);
  Dims index = Dims::Filled(view.layout.rank(), 0);
  for (const ElementBytes& value : values) {
    const auto offset = static_cast<size_t>(OffsetOf(view.layout, index)) * width;
    std::memcpy(view.data + offset, value.data(), width);
    Advance(view.layout.sizes, index);
  }
}

}  // namespace dmlop
