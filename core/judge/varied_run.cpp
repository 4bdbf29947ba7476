// SPDX-License-Identifier: Apache-2.0
#include "core/judge/varied_run.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/arithmetic/element_formula.h"
#include "core/arithmetic/sum_orders.h"
#include "core/arithmetic/varied_values.h"
#include "core/base/error.h"
#include "core/base/spelling.h"
#include "core/document/document_json.h"

namespace dmlop {
namespace {

std::string WithoutDetails(const std::string& id) {
  return id.substr(0, id.find(':'));
}

// Returns whether a variation changes what is computed, and not only inputs or results.
bool IsWithin(const ArithmeticVariation& variation) {
  return variation.kind != ArithmeticKind::kFlushSubnormals &&
         (variation.kind != ArithmeticKind::kInputs ||
          variation.inputs == RoundedInputs::kWithComputed);
}

// Refuses the change of a field, unless it has a value in JSON. A shell takes quotes of strings.
void RequireJson(std::string_view option, const std::string& id) {
  const size_t end = std::min(id.find('='), id.size());
  const std::string value = id.substr(std::min(end + 1, id.size()));
  if (IsJson(value)) return;
  throw Error(ErrorKind::kUsage, "{} {}: expected a value in JSON, such as '{}=\"{}\"'", option, id,
              id.substr(0, end), value.empty() ? "VALUE" : value);
}

[[noreturn]] void RefuseId(std::string_view option, const std::string& id) {
  if (id.starts_with('/') && id.find("<->") == id.npos) RequireJson(option, id);
  const std::vector<std::string> ids = VariationIds();
  const std::string base = WithoutDetails(id);
  if (IsPlaceId(id)) {
    throw Error(ErrorKind::kUsage, "{} {}: has no such details; expected {}", option, id,
                FormOfPlace(id));
  }
  if (std::ranges::find(ids, base) == ids.end()) {
    throw Error(ErrorKind::kUsage, "{} {}: there is no such variation{}", option, id,
                DidYouMeanOneOf(base, {std::vector<std::string_view>(ids.begin(), ids.end())}));
  }
  std::vector<std::string> details;
  for (const ArithmeticVariation& variation : AllArithmeticVariations()) {
    const std::string known = variation.id();
    if (WithoutDetails(known) == base && known != base) {
      details.push_back(known.substr(base.size() + 1));
    }
  }
  if (details.empty()) {
    throw Error(ErrorKind::kUsage, "{} {}: {} has no details", option, id, base);
  }
  throw Error(ErrorKind::kUsage, "{} {}: {} has no such detail{}", option, id, base,
              DidYouMeanOneOf(id.substr(base.size() + 1),
                              {std::vector<std::string_view>(details.begin(), details.end())}));
}

size_t OutputCount(const OperatorDesc& op) {
  return TensorSlots(op, TensorRole::kOutput).size();
}

// Returns whether a variation with any details can make a difference to an output.
bool Concerns(const ArithmeticVariation& variation, const Computation& computation) {
  for (size_t output = 0; output < OutputCount(computation.op); ++output) {
    const auto all = ArithmeticVariationsOf(computation.op, computation.inputs, output);
    const bool is_any = std::ranges::any_of(all, [&](const ArithmeticVariation& other) {
      return other.kind == variation.kind && other.format == variation.format &&
             other.cut_off == variation.cut_off;
    });
    if (is_any) return true;
  }
  return false;
}

bool FitsAny(const PlaceVariation& place, const Computation& computation) {
  for (size_t output = 0; output < OutputCount(computation.op); ++output) {
    if (place.Fits(computation, output)) return true;
  }
  return false;
}

// Says what an id of a place does not fit: "no output of GEMM: OutputTensor {32, 24}".
std::string MisfitText(const PlaceVariation& place, const OperatorDesc& op) {
  if (place.kind == PlaceKind::kPaddingEdge) return fmt::format("{} has no padding", op.name());
  const bool is_of_outputs = place.Moves(op) || place.kind == PlaceKind::kNotWritten ||
                             place.kind == PlaceKind::kBegunAnew;
  const TensorRole role = is_of_outputs ? TensorRole::kOutput : TensorRole::kInput;
  std::vector<std::string> tensors;
  for (const TensorSlot& slot : TensorSlots(op, role)) {
    tensors.push_back(
        fmt::format("{} {}", DisplayName(slot.path), ToString(LayoutOf(*slot.desc).sizes)));
  }
  return fmt::format("fits no {} of {}: {}", is_of_outputs ? "output" : "input", op.name(),
                     fmt::join(tensors, ", "));
}

std::vector<int64_t> NumbersOf(const Layout& layout) {
  std::vector<int64_t> numbers(static_cast<size_t>(layout.element_count()));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// All elements of a tensor in row-major order.
void Store(const std::vector<ElementBytes>& values, const TensorView& view) {
  const size_t width = ByteWidth(view.type);
  Dims index = Dims::Filled(view.layout.rank(), 0);
  for (const ElementBytes& value : values) {
    const auto offset = static_cast<size_t>(OffsetOf(view.layout, index)) * width;
    std::memcpy(view.data + offset, value.data(), width);
    Advance(view.layout.sizes, index);
  }
}

// Moves the properties of elements along with them, unless they are the same for all.
template <typename T>
void TakeFrom(const std::vector<int64_t>& sources, std::vector<T>& all) {
  if (all.size() != sources.size()) return;
  const std::vector<T> before = all;
  for (size_t i = 0; i < all.size(); ++i) {
    all[i] = sources[i] < 0 ? T() : before[static_cast<size_t>(sources[i])];
  }
}

}  // namespace

std::vector<std::string> VariationIds() {
  std::vector<std::string> ids = PlaceIds();
  for (const ArithmeticVariation& variation : AllArithmeticVariations()) {
    const std::string id = WithoutDetails(variation.id());
    if (std::ranges::find(ids, id) == ids.end()) ids.push_back(id);
  }
  return ids;
}

bool AreComputed(std::span<const std::string> ids) {
  return std::ranges::all_of(ids, [](const std::string& id) {
    const auto arithmetic = ParseArithmetic(id);
    if (arithmetic) return arithmetic->kind != ArithmeticKind::kFastFunctions;
    return ParseDescriptorChange(id) || ParsePlace(id);
  });
}

std::optional<Hypothesis> OfVariedRun(const Evidence& evidence, const std::vector<std::string>& ids,
                                      const std::string& text) {
  if (!AreComputed(ids)) return std::nullopt;
  struct Changed {
    VariedRun run;
    Computation computation;
  };
  VariedRun run("--as", ids);
  Computation computation = run.Changed(evidence.computation.op, evidence.computation.inputs);
  const auto changed =
      std::make_shared<const Changed>(Changed{std::move(run), std::move(computation)});
  Hypothesis hypothesis{ids, text, nullptr, nullptr};
  hypothesis.is_slow = changed->run.within() != nullptr;
  hypothesis.compute = [changed, output = evidence.output](std::span<const int64_t> elements) {
    const auto values = changed->run.ElementsOf(changed->computation, output, elements);
    std::vector<VariedElement> varied;
    for (size_t i = 0; i < values.size(); ++i) varied.push_back({values[i], elements[i]});
    return varied;
  };
  if (hypothesis.is_slow) return hypothesis;
  hypothesis.units = [changed, output = evidence.output]() -> std::optional<ErrorUnits> {
    if (WorkOf(changed->computation.op) > kMostWorkForUnits) return std::nullopt;
    return changed->run.UnitsOf(changed->computation, output);
  };
  return hypothesis;
}

VariedRun::VariedRun(std::string_view option, std::span<const std::string> ids) : option_(option) {
  constexpr std::string_view kTogether = " + ";
  for (const std::string& joined : ids) {
    for (size_t begin = 0; begin <= joined.size();) {
      const size_t end = std::min(joined.find(kTogether, begin), joined.size());
      ids_.push_back(joined.substr(begin, end - begin));
      Add(option, ids_.back());
      begin = end + kTogether.size();
    }
  }
}

void VariedRun::Add(std::string_view option, const std::string& id) {
  if (const auto change = ParseDescriptorChange(id)) {
    changes_.push_back(*change);
    return;
  }
  if (const auto place = ParsePlace(id)) {
    places_.push_back({id, *place});
    return;
  }
  const auto variation = ParseArithmetic(id);
  if (!variation) RefuseId(option, id);
  if (variation->kind == ArithmeticKind::kFastFunctions) {
    throw Error(ErrorKind::kUsage,
                "{} {}: says how far a device is off, not what it computes; there is "
                "nothing to run",
                option, id);
  }
  const ArithmeticVariation* other = within();
  if (other != nullptr && IsWithin(*variation)) {
    throw Error(ErrorKind::kUsage,
                "{} {}: excludes {}; only changes of the descriptor and of places, "
                "inputs-* and flush-subnormals go with others",
                option, id, other->id());
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
  for (const auto& [id, place] : places_) {
    texts.push_back(fmt::format("{} ({})", id, TextOfPlace(id)));
  }
  return fmt::format("{}", fmt::join(texts, " + "));
}

const ArithmeticVariation* VariedRun::within() const {
  const auto found = std::ranges::find_if(arithmetics_, IsWithin);
  return found == arithmetics_.end() ? nullptr : &*found;
}

bool VariedRun::RoundsTowardZero() const {
  const ArithmeticVariation* variation = within();
  return variation != nullptr && variation->kind == ArithmeticKind::kTowardZero;
}

void VariedRun::RequireConcern(const Computation& computation) const {
  for (const ArithmeticVariation& variation : arithmetics_) {
    if (Concerns(variation, computation)) continue;
    throw Error(ErrorKind::kUsage, "{} {}: makes no difference to {} of these types", option_,
                variation.id(), computation.op.name());
  }
}

Computation VariedRun::Changed(const OperatorDesc& op, InputViews inputs) const {
  Computation computation{op, {inputs.begin(), inputs.end()}};
  if (!changes_.empty()) {
    Diagnostics why;
    const auto changed = dmlop::Changed(computation, changes_, why);
    if (!changed) {
      const std::string reason = why.list().empty() ? "it is not valid" : why.list()[0].message;
      throw Error(ErrorKind::kUsage, "{} {}: {}", option_, changes_[0].id(), reason);
    }
    computation = *changed;
  }
  RequireConcern(computation);
  for (const ArithmeticVariation& variation : arithmetics_) {
    if (ChangesInputs(variation) && !IsWithin(variation)) {
      const std::vector<bool> factors = FactorsOf(computation.op, computation.inputs, 0);
      computation = WithChangedInputs(std::move(computation), variation, factors);
    }
  }
  for (const auto& [id, place] : places_) {
    const auto moved = place.Changed(computation);
    if (!moved || !FitsAny(place, *moved)) {
      throw Error(ErrorKind::kUsage, "{} {}: {}", option_, id, MisfitText(place, computation.op));
    }
    computation = *moved;
  }
  return computation;
}

std::vector<ElementBytes> VariedRun::ElementsOf(const Computation& changed, size_t output,
                                                std::span<const int64_t> elements) const {
  ElementsFunction compute = [this](const auto& computation, size_t number, auto some) {
    return InPlace(computation, number, some);
  };
  for (const auto& [id, place] : places_) {
    if (!place.Fits(changed, output)) continue;
    compute = [&place = place, before = compute](const auto& computation, size_t number,
                                                 auto some) {
      return place.ElementsOf(computation, number, some, before);
    };
  }
  return compute(changed, output, elements);
}

std::vector<ElementBytes> VariedRun::InPlace(const Computation& changed, size_t output,
                                             std::span<const int64_t> elements) const {
  const ArithmeticVariation* variation = within();
  std::vector<ElementBytes> values = variation == nullptr
                                         ? dmlop::ElementsOf(changed, output, elements)
                                         : ComputeVaried(changed.op, changed.inputs, *variation,
                                                         changed.SourceOf(output), elements);
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
  for (auto named = places_.rbegin(); named != places_.rend(); ++named) {
    const PlaceVariation& place = named->place;
    if (place.Moves(changed.op) && place.Fits(changed, output)) {
      element = place.SourceAt(sizes, IndexOf(sizes, element));
    }
    if (element < 0) return {};
  }
  const Region place{changed.SourceOf(output), IndexOf(sizes, element),
                     Dims::Filled(sizes.size(), 1)};
  const auto formula = ElementFormula::Of(changed.op, changed.inputs, place);
  if (!formula) return {};
  std::vector<std::vector<PartialSum>> sums;
  formula->WithSums(*variation, [&](FormulaNode sum) {
    const std::vector<double> terms = OrderedTerms(changed.op, *formula, sum, *variation);
    sums.push_back(PartialSumsOf(*variation, terms));
    return sums.back().empty() ? 0 : sums.back().back().value;
  });
  return sums;
}

std::optional<ErrorUnits> VariedRun::UnitsOf(const Computation& changed, size_t output) const {
  const TensorDesc& desc = *TensorSlots(changed.op, TensorRole::kOutput)[output].desc;
  const Layout layout = PackedLayout(LayoutOf(desc).sizes);
  const DataType type = StoredAs(*desc.data_type);
  Buffer whole(static_cast<size_t>(layout.element_count()) * ByteWidth(type));
  const TensorView view{whole.data(), type, layout};
  const std::vector<int64_t> numbers = NumbersOf(layout);
  Store(InPlace(changed, output, numbers), view);
  auto units = ErrorUnitsOf(changed.op, changed.inputs, AsConst(view), changed.SourceOf(output));
  for (const auto& [id, place] : places_) {
    if (!units || !place.Moves(changed.op) || !place.Fits(changed, output)) continue;
    std::vector<int64_t> sources = numbers;
    for (int64_t& source : sources)
      source = place.SourceAt(layout.sizes, IndexOf(layout.sizes, source));
    TakeFrom(sources, units->scale);
    TakeFrom(sources, units->terms);
    TakeFrom(sources, units->steps);
    TakeFrom(sources, units->unscaled);
  }
  return units;
}

void VariedRun::RunInto(const Computation& changed, size_t output, const TensorView& view) const {
  Store(ElementsOf(changed, output, NumbersOf(view.layout)), view);
}

}  // namespace dmlop
