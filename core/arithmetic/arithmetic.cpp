// SPDX-License-Identifier: Apache-2.0
#include "core/arithmetic/arithmetic.h"

#include <fmt/format.h>

#include <algorithm>

namespace dmlop {
namespace {

using Kind = ArithmeticKind;
using Variation = ArithmeticVariation;

constexpr FloatFormat kSumFormats[] = {FloatFormat::kFloat32, FloatFormat::kFloat16,
                                       FloatFormat::kBfloat16};

// --- names ---------------------------------------------------------------------------------------

// The beginning of an id, and its meaning; "{}" is a format.
struct KindNames {
  std::string_view id, text;
};

constexpr KindNames kKindNames[] = {
    // by ArithmeticKind
    {"inputs-{}", "inputs rounded to {}"},
    {"sums-{}", "sums in {}"},
    {"product-rounded", "the sum of products rounded before the addend"},
    {"{}-steps", "each step rounded to {}"},
    {"through-{}", "results rounded to {} on their way"},
    {"toward-zero", "results rounded toward zero"},
    {"flush-subnormals", "subnormal"},
    {"nan-passes", "what compares numbers is NaN if one of them is"},
    {"starts-at-zero", "maxima and minima begin with 0"},
    {"last-of-equals", "the other end of equal elements wins"},
    {"fast-functions", "functions of few correct digits"},
    {"saturated", "what is beyond the type becomes its nearest number"},
    {"wrapped", "integers beyond the type wrap"},
};

const KindNames& NamesOf(Kind kind) {
  return kKindNames[static_cast<size_t>(kind)];
}

std::string WithFormat(std::string_view text, std::string_view format) {
  return fmt::format(fmt::runtime(text), format);
}

// A detail of an id, and in words.
struct Detail {
  std::string id{}, text{};
};

// The details that enumerators stand for, in their order.
constexpr KindNames kRoundedInputs[] = {{},
                                        {"all", "those that are added, too"},
                                        {"first", "only the first"},
                                        {"weights", "only weights"},
                                        {"computed", "factors that are computed, too"}};
constexpr KindNames kTermOrders[] = {{},
                                     {"backwards", "from the last term"},
                                     {"padded", "with zeros of padding"},
                                     {"by-channel", "channel by channel with zeros of padding"}};
constexpr KindNames kAddendOrders[] = {
    {}, {"rounded-addend", "the addend, too"}, {"addend-first", "from the addend on"}};
constexpr KindNames kFlushedParts[] = {{"outputs", "results become 0"},
                                       {"inputs", "inputs count as 0"},
                                       {"", "inputs count as 0, and results become 0"}};
constexpr KindNames kCutOffs[] = {
    {}, {"after-zero-point", "with the zero point"}, {"floor", "negative ones away from it"}};
constexpr KindNames kWrappedParts[] = {
    {},
    {"differences", "those of differences in the type of their operands"},
    {"sums", "those of sums in the type of their operands"},
    {"int16", "those of sums in INT16"},
    {"int16-steps", "those of sums in INT16, term by term"},
    {"int16-pairs", "those of sums of two terms in INT16"}};

template <typename Enum>
Detail DetailOf(std::span<const KindNames> names, Enum value) {
  const auto& [id, text] = names[static_cast<size_t>(value)];
  return {std::string(id), std::string(text)};
}

std::vector<Detail> DetailsOfInputs(const Variation& v) {
  std::vector<Detail> details;
  if (v.mode == RoundingMode::kTowardZero) details.push_back({"cut-off", "cut off"});
  if (v.format == FloatFormat::kTf32 && v.mode == RoundingMode::kTiesAway) {
    details.push_back({"", "ties away from zero"});
  } else if (v.format == FloatFormat::kTf32 && v.mode == RoundingMode::kTiesToEven) {
    details.push_back({"ties-to-even", "ties to even"});
  }
  details.push_back(DetailOf(kRoundedInputs, v.inputs));
  return details;
}

Detail OrderOf(const Variation& v) {
  switch (v.order) {
    case SumOrder::kPairwise:
      return {"pairwise", "pairwise"};
    case SumOrder::kBlocks:
      return {fmt::format("blocks={}", v.count), fmt::format("in blocks of {}", v.count)};
    case SumOrder::kParts:
      return {fmt::format("parts={}", v.count), fmt::format("in {} parts", v.count)};
    case SumOrder::kLanes:
    case SumOrder::kLanesOfNeighbours:
      return {fmt::format("lanes={}", v.count), fmt::format("in {} lanes", v.count)};
    default:
      return {"", "in order"};
  }
}

std::vector<Detail> DetailsOfSums(const Variation& v) {
  std::vector<Detail> details = {OrderOf(v)};
  if (v.order == SumOrder::kLanesOfNeighbours) {
    details.push_back({"neighbours", "neighbours first"});
  }
  if (!v.is_fused && v.order != SumOrder::kPairwise) {
    details.push_back({"unfused", "products rounded"});
  }
  if (v.adds_blocks_in_float32) details.push_back({"in-float32", "these added in FLOAT32"});
  details.push_back(DetailOf(kTermOrders, v.terms));
  details.push_back(DetailOf(kAddendOrders, v.addend));
  return details;
}

std::vector<Detail> DetailsOf(const Variation& v) {
  switch (v.kind) {
    case Kind::kInputs:
      return DetailsOfInputs(v);
    case Kind::kSums:
      return DetailsOfSums(v);
    case Kind::kProductRounded:
      return {v.format == FloatFormat::kBfloat16 ? Detail{"bfloat16", "to bfloat16"} : Detail{}};
    case Kind::kSteps:
      return {v.rounds_constants ? Detail{"rounded-constants", "constants, too"} : Detail{},
              v.has_whole_sums ? Detail{"whole-sums", "sums once"} : Detail{},
              v.divides_first ? Detail{"quotients-first", "products after divisions"} : Detail{}};
    case Kind::kTowardZero:
      return {DetailOf(kCutOffs, v.cut_off)};
    case Kind::kFlushSubnormals:
      return {DetailOf(kFlushedParts, v.flushed)};
    default:
      return {DetailOf(kWrappedParts, v.wrapped)};
  }
}

std::string Joined(std::string text, const std::vector<Detail>& details, std::string Detail::*part,
                   std::string_view first, std::string_view next) {
  std::string_view separator = first;
  for (const Detail& detail : details) {
    if ((detail.*part).empty()) continue;
    text += fmt::format("{}{}", separator, detail.*part);
    separator = next;
  }
  return text;
}

// --- the list ------------------------------------------------------------------------------------

void AddInputs(std::vector<Variation>& all) {
  using enum RoundingMode;
  const Variation inputs[] = {{Kind::kInputs, FloatFormat::kTf32, kTiesAway},
                              {Kind::kInputs, FloatFormat::kTf32, kTiesToEven},
                              {Kind::kInputs, FloatFormat::kTf32, kTowardZero},
                              {Kind::kInputs, FloatFormat::kBfloat16, kTiesToEven},
                              {Kind::kInputs, FloatFormat::kBfloat16, kTowardZero},
                              {Kind::kInputs, FloatFormat::kFloat16, kTiesToEven}};
  all.insert(all.end(), std::begin(inputs), std::end(inputs));
  for (Variation of_all : inputs) {
    of_all.inputs = RoundedInputs::kAll;
    all.push_back(of_all);
  }
  for (const RoundedInputs some :
       {RoundedInputs::kFirstFactor, RoundedInputs::kWeights, RoundedInputs::kWithComputed}) {
    for (Variation of_some : {inputs[0], inputs[3], inputs[5]}) {
      of_some.inputs = some;
      all.push_back(of_some);
    }
  }
}

// `sums` says how they are added; they are added with products rounded, too, and blocks in FLOAT32.
void AddSums(Variation sums, std::vector<Variation>& all) {
  sums.is_fused = sums.order != SumOrder::kPairwise;
  all.push_back(sums);
  if (sums.order == SumOrder::kPairwise) return;
  sums.is_fused = false;
  all.push_back(sums);
  const bool has_blocks = sums.order == SumOrder::kBlocks || sums.order == SumOrder::kParts;
  if (!has_blocks || sums.format == FloatFormat::kFloat32) return;
  sums.adds_blocks_in_float32 = true;
  all.push_back(sums);
  sums.is_fused = true;
  all.push_back(sums);
}

constexpr int kMostCount = 256;

// Calls add(order, count) with all orders but that of the terms.
template <typename Add>
void ForEachOrder(const Add& add) {
  add(SumOrder::kPairwise, 0);
  for (int count = 4; count <= kMostCount; count *= 2) add(SumOrder::kBlocks, count);
  for (int count = 2; count <= kMostCount; count *= 2) {
    add(SumOrder::kLanes, count);
    if (count > 2) add(SumOrder::kLanesOfNeighbours, count);
  }
}

void AddSums(std::vector<Variation>& all) {
  const auto add = [&](SumOrder order, int count) {
    for (const FloatFormat format : kSumFormats) {
      AddSums({.kind = Kind::kSums, .format = format, .order = order, .count = count}, all);
    }
  };
  add(SumOrder::kInOrder, 0);
  ForEachOrder(add);
}

// Other terms, parts of them, and the addend as one of them, in formats in which that can be told.
void AddSumsOfOtherTerms(std::vector<Variation>& all) {
  const auto add = [&](Variation sums) {
    for (const FloatFormat format : {FloatFormat::kFloat16, FloatFormat::kBfloat16}) {
      sums.format = format;
      AddSums(sums, all);
    }
  };
  for (const TermOrder terms : {TermOrder::kBackwards, TermOrder::kByChannel}) {
    add({.kind = Kind::kSums, .terms = terms});
  }
  for (const int parts : {2, 4, 8}) {
    add({.kind = Kind::kSums, .order = SumOrder::kParts, .count = parts});
  }
  for (const TermOrder terms : {TermOrder::kOfFormula, TermOrder::kByChannel}) {
    for (const AddendOrder addend : {AddendOrder::kRounded, AddendOrder::kFirst}) {
      add({.kind = Kind::kSums, .terms = terms, .addend = addend});
    }
  }
  for (const TermOrder terms : {TermOrder::kWithPadding, TermOrder::kByChannel}) {
    ForEachOrder([&](SumOrder order, int count) {
      add({.kind = Kind::kSums, .order = order, .count = count, .terms = terms});
    });
  }
}

// The steps of a formula round its sums, too, which is told by the sums if nothing else is rounded.
void AddSteps(std::vector<Variation>& all) {
  for (const FloatFormat format : {FloatFormat::kFloat32, FloatFormat::kFloat16}) {
    all.push_back({Kind::kSteps, format});
  }
  for (const bool divides_first : {false, true}) {
    for (const bool has_whole_sums : {false, true}) {
      for (const bool rounds_constants : {false, true}) {
        if (!divides_first && !has_whole_sums && !rounds_constants) continue;
        all.push_back({.kind = Kind::kSteps,
                       .format = FloatFormat::kFloat16,
                       .rounds_constants = rounds_constants,
                       .has_whole_sums = has_whole_sums,
                       .divides_first = divides_first});
      }
    }
  }
}

std::vector<Variation> MakeAll() {
  std::vector<Variation> all = {
      {Kind::kTowardZero},
      {.kind = Kind::kTowardZero, .cut_off = CutOff::kAfterZeroPoint},
      {.kind = Kind::kTowardZero, .cut_off = CutOff::kFloor},
      {Kind::kFlushSubnormals},
      {.kind = Kind::kFlushSubnormals, .flushed = FlushedPart::kInputs},
      {.kind = Kind::kFlushSubnormals, .flushed = FlushedPart::kBoth},
      {Kind::kThrough, FloatFormat::kFloat16},
      {Kind::kThrough, FloatFormat::kFloat32},
      {Kind::kNanPasses},
      {Kind::kStartsAtZero},
      {Kind::kLastOfEquals},
      {Kind::kSaturated},
      {Kind::kWrapped},
      {.kind = Kind::kWrapped, .wrapped = WrappedPart::kDifferences},
      {.kind = Kind::kWrapped, .wrapped = WrappedPart::kSums},
      {.kind = Kind::kSaturated, .wrapped = WrappedPart::kSumsInInt16},
      {.kind = Kind::kSaturated, .wrapped = WrappedPart::kStepsInInt16},
      {.kind = Kind::kSaturated, .wrapped = WrappedPart::kPairsInInt16},
      {.kind = Kind::kWrapped, .wrapped = WrappedPart::kSumsInInt16},
      {Kind::kProductRounded},
      {Kind::kProductRounded, FloatFormat::kBfloat16},
      {Kind::kFastFunctions},
  };
  AddInputs(all);
  AddSums(all);
  AddSumsOfOtherTerms(all);
  AddSteps(all);
  return all;
}

}  // namespace

std::string ArithmeticVariation::id() const {
  const std::string begin = WithFormat(NamesOf(kind).id, InfoOf(format).id_name);
  return Joined(begin, DetailsOf(*this), &Detail::id, ":", ",");
}

std::string ArithmeticVariation::text() const {
  const std::string_view first = kind == Kind::kFlushSubnormals ? " " : ", ";
  const std::string begin = WithFormat(NamesOf(kind).text, InfoOf(format).name);
  return Joined(begin, DetailsOf(*this), &Detail::text, first, ", ");
}

std::span<const ArithmeticVariation> AllArithmeticVariations() {
  static const std::vector<Variation> all = MakeAll();
  return all;
}

std::optional<ArithmeticVariation> ParseArithmetic(std::string_view id) {
  const auto all = AllArithmeticVariations();
  const auto found = std::ranges::find_if(all, [&](const Variation& v) { return v.id() == id; });
  return found == all.end() ? std::nullopt : std::optional(*found);
}

}  // namespace dmlop
