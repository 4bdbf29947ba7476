// SPDX-License-Identifier: Apache-2.0
#include "core/judge/place_variation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>

#include "core/arithmetic/float_format.h"
#include "core/base/integers.h"
#include "core/compare/wrong_elements.h"
#include "core/explain/formula_value.h"
#include "core/judge/evidence.h"
#include "core/judge/omitted_terms.h"
#include "core/tensor/element.h"
#include "core/tensor/visit_data_type.h"

namespace dmlop {
namespace {

std::optional<size_t> FindTensor(const OperatorDesc& op, TensorRole role, std::string_view name) {
  const std::vector<TensorSlot> slots = TensorSlots(op, role);
  const auto found = std::ranges::find(slots, name, &TensorSlot::path);
  return found == slots.end() ? std::nullopt : std::optional<size_t>(found - slots.begin());
}

std::optional<size_t> FindInput(const Computation& computation, std::string_view name) {
  return FindTensor(computation.op, TensorRole::kInput, name);
}

bool IsOutput(const OperatorDesc& op, std::string_view name) {
  return FindTensor(op, TensorRole::kOutput, name).has_value();
}

ElementBytes ElementOfText(DataType type, const std::string& text) {
  ElementBytes bytes{};
  if (text.starts_with("0x")) {
    const uint64_t bits = std::strtoull(text.c_str(), nullptr, 16);
    std::memcpy(bytes.data(), &bits, ByteWidth(type));
    return bytes;
  }
  const double number = std::strtod(text.c_str(), nullptr);
  VisitDataType(AllTypes(), type, [&]<typename T>() {
    if constexpr (std::is_integral_v<T>) {
      bytes = BytesOf(Truncated<T>(number));
    } else {
      bytes = BytesOf(FromDouble<T>(number));
    }
  });
  return bytes;
}

bool AreAxes(const std::vector<int64_t>& numbers, size_t rank) {
  return std::ranges::all_of(
      numbers, [&](int64_t axis) { return axis >= 0 && static_cast<size_t>(axis) < rank; });
}

bool IsOrder(const PlaceVariation& order, const Dims& sizes) {
  if (!order.split.Fits(sizes)) return false;
  std::vector<int64_t> all(order.split.Of(sizes).size());
  std::iota(all.begin(), all.end(), 0);
  return std::ranges::is_permutation(order.numbers, all);
}

// The first element, that in the middle of each axis and the last one, as those at the edges may
// have fewer terms.
std::vector<int64_t> SomeOf(const Dims& sizes) {
  Dims middle = sizes;
  for (int64_t& coordinate : middle) coordinate /= 2;
  return {0, OffsetOf(PackedLayout(sizes), middle), Product(sizes) - 1};
}

// The axes of which elements of the first output need all coordinates.
std::vector<TermAxis> AxesOfFirstOutput(const Computation& computation) {
  return ReducedAxesOf(computation, 0, SomeOf(OutputSizes(computation, 0)));
}

// Returns whether a box lies in a tensor, also when it is moved.
bool LiesIn(std::span<const Stretch> box, const Dims& sizes, std::span<const int64_t> distance) {
  if (box.size() != sizes.size()) return false;
  for (size_t d = 0; d < box.size(); ++d) {
    const int64_t moved = distance.empty() ? 0 : distance[d];
    const int64_t last = box[d].last < 0 ? sizes[d] - 1 : box[d].last;
    if (last >= sizes[d] || box[d].first + moved < 0 || last + moved >= sizes[d]) return false;
  }
  return true;
}

// Returns whether the numbers are distances between two places of a tensor.
bool AreDistances(std::span<const int64_t> numbers, const Dims& sizes) {
  const auto is_within = [](int64_t number, int64_t size) {
    return -size < number && number < size;
  };
  return std::ranges::equal(numbers, sizes, is_within) &&
         std::ranges::any_of(numbers, [](int64_t number) { return number != 0; });
}

AxisPieces PiecesOf(const PlaceVariation& place) {
  return {static_cast<size_t>(place.numbers[0]), place.numbers[1], place.numbers.back(),
          *FindFirstState(place.name)};
}

}  // namespace

bool PlaceVariation::Moves(const OperatorDesc& op) const {
  return kind == PlaceKind::kOtherLayout
             ? IsOutput(op, name)
             : kind >= PlaceKind::kShifted && kind <= PlaceKind::kExchanged;
}

int64_t PlaceVariation::SourceAt(const Dims& sizes, Dims index) const {
  const Layout layout = PackedLayout(sizes);
  if (kind == PlaceKind::kPermuted || kind == PlaceKind::kOtherLayout) {
    const Dims whole = split.Of(sizes);
    return SourceInOrder(whole, IndexOf(whole, OffsetOf(layout, index)));
  }
  if (kind == PlaceKind::kReversed) {
    for (const int64_t axis : numbers) {
      const auto d = static_cast<size_t>(axis);
      index[d] = sizes[d] - 1 - index[d];
    }
    return OffsetOf(layout, index);
  }
  if (kind == PlaceKind::kShifted && !IsIn(box, index)) return OffsetOf(layout, index);
  Dims moved = index;
  for (size_t d = 0; d < moved.size(); ++d) moved[d] += numbers[d];
  if (kind == PlaceKind::kExchanged && !IsIn(box, index)) {
    for (size_t d = 0; d < moved.size(); ++d) moved[d] -= 2 * numbers[d];
    if (!IsIn(box, moved)) return OffsetOf(layout, index);
  }
  for (size_t d = 0; d < moved.size(); ++d) {
    if (moved[d] < 0 || moved[d] >= sizes[d]) return -1;
  }
  return OffsetOf(layout, moved);
}

int64_t PlaceVariation::SourceInOrder(const Dims& sizes, const Dims& index) const {
  Dims permuted, moved = index;
  for (const int64_t d : numbers) permuted.push_back(sizes[static_cast<size_t>(d)]);
  if (kind == PlaceKind::kOtherLayout && !is_written) {
    for (size_t d = 0; d < moved.size(); ++d) moved[d] = index[static_cast<size_t>(numbers[d])];
    return OffsetOf(PackedLayout(permuted), moved);
  }
  const Dims at = IndexOf(permuted, OffsetOf(PackedLayout(sizes), index));
  for (size_t d = 0; d < at.size(); ++d) moved[static_cast<size_t>(numbers[d])] = at[d];
  return OffsetOf(PackedLayout(sizes), moved);
}

std::optional<Computation> PlaceVariation::Changed(const Computation& computation) const {
  if (kind == PlaceKind::kPaddingEdge) return WithEdges(computation, *FindBeyond(name));
  if (kind == PlaceKind::kOtherLayout && !IsOutput(computation.op, name)) {
    const auto input = FindInput(computation, name);
    if (!input || !IsOrder(*this, computation.inputs[*input].layout.sizes)) return std::nullopt;
    const std::vector<size_t> axes(numbers.begin(), numbers.end());
    return WithLayout(computation, *input, {axes, split}, is_written);
  }
  if (kind == PlaceKind::kMissingPart && !is_of_terms) return WithoutPart(computation);
  return computation;
}

std::optional<Computation> PlaceVariation::WithoutPart(const Computation& computation) const {
  const auto axis = FindAxis(computation);
  if (!axis) return std::nullopt;
  const AxisPart part{numbers[1], numbers[2] < 0 ? axis->size : numbers[2]};
  return is_shorter ? Without(computation, *axis, AxesOfFirstOutput(computation), part)
                    : WithZeros(computation, *axis, part);
}

// Returns whether an axis is the one that is meant, as far as this says so, and has the part.
bool PlaceVariation::FitsAxis(const Computation& computation, const TermAxis& axis) const {
  const bool is_named = name.empty() || FindInput(computation, name) == axis.input;
  const bool is_axis = is_of_taps || axis.axis == static_cast<size_t>(numbers[0]);
  const int64_t to = numbers[2] < 0 ? axis.size : numbers[2];
  return is_named && is_axis && axis.is_of_taps == is_of_taps && numbers[1] < to && to <= axis.size;
}

// Any axis of an input that is named; otherwise the first one that is summed up.
std::optional<TermAxis> PlaceVariation::FindAxis(const Computation& computation) const {
  std::vector<TermAxis> axes = AxesOfFirstOutput(computation);
  if (const auto input = FindInput(computation, name)) {
    const Dims& sizes = computation.inputs[*input].layout.sizes;
    for (size_t d = 0; d < sizes.size(); ++d) axes.push_back({*input, d, sizes[d]});
  }
  const auto found =
      std::ranges::find_if(axes, [&](const TermAxis& axis) { return FitsAxis(computation, axis); });
  return found == axes.end() ? std::nullopt : std::optional(*found);
}

std::optional<TermAxis> PlaceVariation::FindTerms(const Computation& computation,
                                                  size_t output) const {
  const Dims sizes = OutputSizes(computation, output);
  for (const int64_t element : SomeOf(sizes)) {
    const Region place{output, IndexOf(sizes, element), Dims::Filled(sizes.size(), 1)};
    for (const TermAxis& axis : TermAxesOf(computation, place, Formula::kMostNodes)) {
      if (FitsAxis(computation, axis)) return axis;
    }
  }
  return std::nullopt;
}

std::optional<size_t> PlaceVariation::InputOf(const Computation& computation, size_t output) const {
  const auto axis = is_of_terms ? FindTerms(computation, output) : FindAxis(computation);
  return axis ? std::optional(axis->input) : std::nullopt;
}

// There is no device's output.
std::vector<ElementBytes> PlaceVariation::WithoutTerms(const Computation& computation,
                                                       size_t output,
                                                       std::span<const int64_t> elements) const {
  const auto none = [&] {
    return PackedOutput{Buffer(), OutputType(computation, output),
                        OutputSizes(computation, output)};
  };
  const Evidence evidence{computation, output, none(), none(), std::nullopt};
  const int64_t end = numbers[2] < 0 ? std::numeric_limits<int64_t>::max() : numbers[2];
  const auto varied = OmittedTerms(evidence, *FindTerms(computation, output), {})
                          .Without({numbers[1], end}, omission, elements);
  std::vector<ElementBytes> values;
  for (const VariedElement& one : varied) values.push_back(one.bytes);
  return values;
}

bool PlaceVariation::IsUnwritten(const Dims& sizes, int64_t element) const {
  if (!box.empty()) return IsIn(box, IndexOf(sizes, element));
  return numbers.empty() || (numbers[0] <= element && element <= numbers[1]);
}

bool PlaceVariation::Fits(const Computation& computation, size_t output) const {
  const Dims sizes = OutputSizes(computation, output);
  switch (kind) {
    case PlaceKind::kNotWritten:
      return box.empty() ? numbers.empty() || numbers[1] < Product(sizes) : LiesIn(box, sizes, {});
    case PlaceKind::kFromInput: {
      const auto input = FindInput(computation, name);
      return input && AsOutput(computation.inputs[*input], OutputType(computation, output), sizes);
    }
    case PlaceKind::kShifted:
      return AreDistances(numbers, sizes) && (box.empty() || LiesIn(box, sizes, {}));
    case PlaceKind::kReversed:
      return AreAxes(numbers, sizes.size());
    case PlaceKind::kPermuted:
      return IsOrder(*this, sizes);
    case PlaceKind::kOtherLayout: {
      const auto named = FindTensor(computation.op, TensorRole::kOutput, name);
      return !named || (*named == output && IsOrder(*this, sizes));
    }
    case PlaceKind::kExchanged:
      return AreDistances(numbers, sizes) && LiesIn(box, sizes, numbers);
    case PlaceKind::kBegunAnew: {
      const int64_t first = 0;
      return static_cast<size_t>(numbers[0]) < sizes.size() &&
             !BegunAnew(computation, output, PiecesOf(*this), {&first, 1}, ::dmlop::ElementsOf)
                  .empty();
    }
    case PlaceKind::kMissingPart:
      return !is_of_terms || FindTerms(computation, output);
    default:
      return true;
  }
}

std::vector<ElementBytes> PlaceVariation::ElementsOf(const Computation& computation, size_t output,
                                                     std::span<const int64_t> elements,
                                                     const ElementsFunction& compute) const {
  const Dims sizes = OutputSizes(computation, output);
  const DataType type = OutputType(computation, output);
  std::vector<ElementBytes> values(elements.size());
  std::vector<int64_t> sources(elements.begin(), elements.end());
  switch (kind) {
    case PlaceKind::kNotWritten: {
      values = compute(computation, output, elements);
      for (size_t i = 0; i < values.size(); ++i) {
        if (IsUnwritten(sizes, elements[i])) values[i] = ElementOfText(type, value);
      }
      return values;
    }
    case PlaceKind::kFromInput: {
      const auto input = AsOutput(computation.inputs[*FindInput(computation, name)], type, sizes);
      for (size_t i = 0; i < values.size(); ++i) values[i] = ElementAs(*input, elements[i], type);
      return values;
    }
    case PlaceKind::kBegunAnew:
      return BegunAnew(computation, output, PiecesOf(*this), elements, compute);
    case PlaceKind::kMissingPart:
      if (is_of_terms) return WithoutTerms(computation, output, elements);
      return compute(computation, output, elements);
    case PlaceKind::kPaddingEdge:
      return compute(computation, output, elements);
    default:
      if (!Moves(computation.op)) return compute(computation, output, elements);
  }
  for (int64_t& source : sources) source = SourceAt(sizes, IndexOf(sizes, source));
  std::vector<int64_t> known = sources;
  std::erase(known, -1);
  const std::vector<ElementBytes> found = compute(computation, output, known);
  for (size_t i = 0, k = 0; i < values.size(); ++i) {
    if (sources[i] >= 0) values[i] = found[k++];
  }
  return values;
}

bool IsIn(std::span<const Stretch> box, const Dims& index) {
  for (size_t d = 0; d < box.size(); ++d) {
    if (!box[d].Has(index[d])) return false;
  }
  return true;
}

std::vector<Stretch> StretchesOf(const Dims& sizes, std::span<const int64_t> elements) {
  const Dims begin = IndexOf(sizes, elements.front());
  std::vector<Stretch> box;
  for (const int64_t first : begin) box.push_back({first, first, 0});
  const auto add = [&](size_t d, int64_t at) {
    if (box[d].step != 1) box[d].step = std::gcd(box[d].step, at - begin[d]);
    box[d].first = std::min(box[d].first, at);
    box[d].last = std::max(box[d].last, at);
  };
  // Along a row, only the last coordinate changes.
  Range row{0, 0};
  for (const int64_t element : elements) {
    if (!row.Contains(element)) {
      const Dims index = IndexOf(sizes, element);
      for (size_t d = 0; d + 1 < box.size(); ++d) add(d, index[d]);
      row.begin = element - index.back();
      row.end = row.begin + sizes.back();
    }
    add(box.size() - 1, element - row.begin);
  }
  for (Stretch& stretch : box) stretch.step = std::max<int64_t>(stretch.step, 1);
  return box;
}

namespace {

// Finds the distances at which elements are pairs, by the row-major numbers.
class PairSearch {
 public:
  PairSearch(const Dims& sizes, std::span<const int64_t> elements,
             const AreExchanged& are_exchanged)
      : sizes_(sizes),
        elements_(elements),
        are_exchanged_(are_exchanged),
        contained_(Product(sizes)) {
    for (const int64_t element : elements) contained_.Add(element);
  }

  // The first element and the last one are in different pairs, or in the only one.
  std::vector<ElementPairing> All() {
    const int64_t begin = elements_.front();
    const int64_t end = elements_.back();
    const auto partners =
        Those(elements_.subspan(1), [&](int64_t other) { return are_exchanged_(begin, other); });
    for (const int64_t partner : partners) {
      if (looks_ > MostLooks() || found_.size() == kMostFound) break;
      const int64_t distance = partner - begin;
      if (ArePair(end - distance, distance)) Pair(distance);
    }
    return std::move(found_);
  }

 private:
  static constexpr size_t kMostFound = 2;

  // Chance ends most attempts after a few looks, so that those at all distances are not many more.
  int64_t MostLooks() const { return 2 * std::ssize(elements_) + 10'000; }

  bool Contains(int64_t element) const {
    return element >= 0 && element < contained_.element_count() && contained_.Contains(element);
  }

  bool ArePair(int64_t element, int64_t distance) {
    ++looks_;
    return Contains(element) && Contains(element + distance) &&
           are_exchanged_(element, element + distance);
  }

  // Each element that has not been paired is before its partner.
  void Pair(int64_t distance) {
    std::vector<int64_t> first;
    size_t paired = 0;
    for (const int64_t element : elements_) {
      if (paired < first.size() && first[paired] + distance == element) {
        ++paired;
      } else if (ArePair(element, distance)) {
        first.push_back(element);
      } else {
        return;
      }
    }
    Dims along = IndexOf(sizes_, elements_.front() + distance);
    const Dims begin = IndexOf(sizes_, elements_.front());
    for (size_t d = 0; d < along.size(); ++d) along[d] -= begin[d];
    if (paired == first.size() && LiesIn(StretchesOf(sizes_, first), sizes_, along)) {
      found_.push_back({along, std::move(first)});
    }
  }

  const Dims& sizes_;
  std::span<const int64_t> elements_;
  const AreExchanged& are_exchanged_;
  WrongElements contained_;
  int64_t looks_ = 0;
  std::vector<ElementPairing> found_;
};

}  // namespace

std::vector<ElementPairing> PairingsOf(const Dims& sizes, std::span<const int64_t> elements,
                                       const AreExchanged& are_exchanged) {
  if (elements.size() % 2 != 0) return {};
  return PairSearch(sizes, elements, are_exchanged).All();
}

std::string BoxText(const Dims& sizes, std::span<const Stretch> box) {
  std::vector<std::string> parts;
  for (size_t d = 0; d < box.size(); ++d) {
    const auto& [first, last, step] = box[d];
    const bool is_all = step == 1 && first == 0 && last + 1 == sizes[d] && sizes[d] > 1;
    parts.push_back(is_all          ? "*"
                    : first == last ? fmt::format("{}", first)
                    : step == 1     ? fmt::format("{}..{}", first, last)
                                    : fmt::format("{}..{} by {}", first, last, step));
  }
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

std::string ValueText(DataType type, const ElementBytes& element) {
  const double number = ValueOf(type, element.data());
  for (const std::string& text :
       {fmt::format("{}", static_cast<float>(number)), fmt::format("{}", number)}) {
    if (ElementOfText(type, text) == element) return text;
  }
  uint64_t bits = 0;
  std::memcpy(&bits, element.data(), ByteWidth(type));
  return fmt::format("{:#x}", bits);
}

std::optional<ConstTensorView> AsOutput(ConstTensorView input, DataType type, const Dims& sizes) {
  if (input.type != type && !IsFloat(type)) return std::nullopt;
  bool is_larger = input.layout.rank() == sizes.size();
  for (size_t d = 0; is_larger && d < sizes.size(); ++d) {
    is_larger = input.layout.sizes[d] >= sizes[d];
  }
  if (is_larger) input.layout.sizes = sizes;
  const bool fits = input.layout.element_count() == Product(sizes);
  return fits ? std::optional(input) : std::nullopt;
}

ElementBytes ElementAs(const ConstTensorView& input, int64_t number, DataType type) {
  const int64_t offset = OffsetOfElement(input.layout, number);
  if (input.type != type) return Stored(type, ExactArithmetic::Element(input, offset).number);
  ElementBytes bytes{};
  const auto width = static_cast<int64_t>(ByteWidth(type));
  std::copy_n(input.data + offset * width, width, bytes.data());
  return bytes;
}

}  // namespace dmlop
