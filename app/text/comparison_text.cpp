// SPDX-License-Identifier: Apache-2.0
#include "app/text/comparison_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/files/output.h"
#include "app/text/table_text.h"
#include "app/text/tensor_text.h"
#include "core/base/text.h"

namespace dmlop {
namespace {

// The bits are those of an element; the bytes are little-endian.
std::string ValueText(DataType type, uint64_t bits) {
  return ElementText(type, BytesOf(bits).data());
}

std::string UlpText(const Difference& difference) {
  return difference.is_mismatch ? "-" : fmt::format("{}", difference.ulp_error);
}

std::string UnitsText(const Difference& difference) {
  return difference.is_mismatch ? "-" : fmt::format("{:.3g}", difference.units.value_or(0));
}

// The form in which elements are printed; `type` is that of the actual ones.
struct Form {
  const Dims& sizes;
  DataType type;
  DataType expected_type;

  std::string IndexOf(const Difference& difference) const {
    return IndexText(sizes, difference.index);
  }
};

Form FormOf(const Comparison& comparison, const ConstTensorView& tensor) {
  return {tensor.layout.sizes, tensor.type, comparison.expected_type};
}

std::string DifferenceRow(std::string_view label, const Difference& difference, const Form& form) {
  return fmt::format(
      "{}: element {}\n"
      "  actual    {:<24} 0x{}\n"
      "  expected  {:<24} 0x{}\n"
      "  error     absolute {:.6g}, relative {:.6g}, ULP {}{}\n",
      label, form.IndexOf(difference), ValueText(form.type, difference.actual_bits),
      BitsText(form.type, difference.actual_bits),
      ValueText(form.expected_type, difference.expected_bits),
      BitsText(form.expected_type, difference.expected_bits), difference.absolute_error,
      difference.relative_error, UlpText(difference),
      difference.units ? ", units " + UnitsText(difference) : "");
}

Json ValueJson(DataType type, uint64_t bits) {
  return ElementJson(type, BytesOf(bits).data());
}

Json DifferenceJson(const std::optional<Difference>& difference, const Form& form) {
  if (!difference) return nullptr;
  const Dims index = IndexOf(form.sizes, difference->index);
  Json json = {{"index", std::vector<int64_t>(index.begin(), index.end())},
               {"actual", ValueJson(form.type, difference->actual_bits)},
               {"expected", ValueJson(form.expected_type, difference->expected_bits)},
               {"actualBits", BitsText(form.type, difference->actual_bits)},
               {"expectedBits", BitsText(form.expected_type, difference->expected_bits)},
               {"absoluteError", NumberJson(difference->absolute_error)},
               {"relativeError", NumberJson(difference->relative_error)}};
  json["ulpError"] = difference->is_mismatch ? Json(nullptr) : Json(difference->ulp_error);
  if (difference->units) {
    json["unitError"] = difference->is_mismatch ? Json(nullptr) : Json(*difference->units);
  }
  return json;
}

bool HasUlpErrors(const Comparison& comparison) {
  return comparison.passing.max_ulp_error > 0 || comparison.failing.max_ulp_error > 0;
}

// "0", "1", "3-4", ... "513-1024"; from then on "2^10-2^11", which excludes 2^10.
std::string UlpBinText(size_t bin) {
  constexpr size_t kFirstPower = 12;
  const uint64_t least = LeastUlp(bin);
  const uint64_t most = MostUlp(bin);
  if (bin >= kFirstPower) return fmt::format("2^{}-2^{}", bin - 2, bin - 1);
  return least == most ? fmt::format("{}", least) : fmt::format("{}-{}", least, most);
}

// Calls visit(bin, count, failing_count) for the bins that have elements.
template <typename Visit>
void ForEachBin(const Comparison& comparison, Visit&& visit) {
  const UlpHistogram& passing = comparison.passing.ulp_histogram;
  const UlpHistogram& failing = comparison.failing.ulp_histogram;
  for (size_t bin = 0; bin < passing.size(); ++bin) {
    const int64_t count = passing[bin] + failing[bin];
    if (count > 0) visit(bin, count, failing[bin]);
  }
}

std::string UlpHistogramText(const Comparison& comparison) {
  std::vector<HistogramRow> rows;
  ForEachBin(comparison, [&](size_t bin, int64_t count, int64_t failing_count) {
    rows.push_back({UlpBinText(bin), count, comparison.passes() ? 0 : count - failing_count});
  });
  const int64_t mismatches = comparison.nan_mismatches + comparison.infinity_mismatches;
  if (mismatches > 0) rows.push_back({"mismatch", mismatches});
  const bool has_dots =
      std::any_of(rows.begin(), rows.end(), [](const HistogramRow& row) { return row.dotted > 0; });
  return fmt::format("elements by ULP error{}:\n{}", has_dots ? " (# differ, . pass)" : "",
                     HistogramText(rows));
}

Json UlpHistogramJson(const Comparison& comparison) {
  Json json = Json::array();
  ForEachBin(comparison, [&](size_t bin, int64_t count, int64_t failing_count) {
    json.push_back({{"leastUlp", LeastUlp(bin)},
                    {"mostUlp", MostUlp(bin)},
                    {"count", count},
                    {"differenceCount", failing_count}});
  });
  return json;
}

// "0", "up to 1", "1 to 2", ... in powers of two.
// The last bin has no upper end.
bool IsLastUnitBin(size_t bin) {
  return bin + 1 == UnitHistogram().size();
}

std::string UnitBinText(size_t bin) {
  if (bin < 2) return bin == 0 ? "0" : "up to 1";
  if (IsLastUnitBin(bin)) return fmt::format("from 2^{}", bin - 2);
  constexpr size_t kFirstPower = 12;
  if (bin > kFirstPower) return fmt::format("2^{}-2^{}", bin - 2, bin - 1);
  return fmt::format("{}-{}", uint64_t{1} << (bin - 2), uint64_t{1} << (bin - 1));
}

// Tells how the errors in units are spread, and by how many terms they are to be judged.
std::string UnitStatisticsText(const Comparison& comparison) {
  if (!comparison.units) return "";
  const UnitStatistics& units = *comparison.units;
  std::vector<HistogramRow> rows;
  for (size_t bin = 0; bin < units.histogram.size(); ++bin) {
    if (units.histogram[bin] > 0) rows.push_back({UnitBinText(bin), units.histogram[bin]});
  }
  return fmt::format(
      "elements by units of the sum of magnitudes:\n{}units: median {:.3g}, 99 % {:.3g}, "
      "largest {:.3g}; {} at most\n",
      HistogramText(rows), units.median, units.p99, units.max, Counted(units.most_terms, "term"));
}

Json UnitsJson(const UnitStatistics& units) {
  Json histogram = Json::array();
  for (size_t bin = 0; bin < units.histogram.size(); ++bin) {
    if (units.histogram[bin] == 0) continue;
    const double most = bin == 0             ? 0
                        : IsLastUnitBin(bin) ? std::numeric_limits<double>::infinity()
                                             : std::ldexp(1, static_cast<int>(bin) - 1);
    histogram.push_back({{"mostUnits", NumberJson(most)}, {"count", units.histogram[bin]}});
  }
  return {{"median", NumberJson(units.median)},
          {"p99", NumberJson(units.p99)},
          {"max", NumberJson(units.max)},
          {"histogram", std::move(histogram)}};
}

Json CountsJson(const std::vector<DifferenceCell>& cells, const MapGrid& grid) {
  Json counts = Json::array();
  auto cell = cells.begin();
  for (int64_t row = 0; row < grid.rows.cells; ++row) {
    Json& line = counts.emplace_back(Json::array());
    for (int64_t column = 0; column < grid.columns.cells; ++column) line.push_back(cell++->count);
  }
  return counts;
}

// The listed differences as an aligned table.
std::string ListText(const Comparison& comparison, const Form& form) {
  if (comparison.listed.empty()) return "";
  std::vector<std::vector<std::string>> rows = {
      {"element", "actual", "expected", "absolute", "relative", "ULP"}};
  const bool has_units = comparison.units.has_value();
  if (has_units) rows[0].push_back("units");
  for (const Difference& difference : comparison.listed) {
    rows.push_back({form.IndexOf(difference), ValueText(form.type, difference.actual_bits),
                    ValueText(form.expected_type, difference.expected_bits),
                    fmt::format("{:.6g}", difference.absolute_error),
                    fmt::format("{:.6g}", difference.relative_error), UlpText(difference)});
    if (has_units) rows.back().push_back(UnitsText(difference));
  }
  constexpr int kWorths[] = {kNeededColumn, 8, 7, 3, 5, 6, 9};
  return fmt::format("the {} worst:\n{}", comparison.listed.size(),
                     TableText(rows, std::span(kWorths).first(rows[0].size()), TextColumns()));
}

std::string HeadroomText(const Comparison& comparison, const Tolerance& tolerance) {
  const auto headroom = HeadroomOf(comparison, tolerance);
  return headroom && *headroom >= 0
             ? fmt::format("headroom: {:.3g} % of the tolerance\n", 100 * *headroom)
             : "";
}

// Counts of subnormal numbers, which devices may flush to zero.
std::string SubnormalText(const Comparison& comparison) {
  const auto& [actual, expected] =
      std::pair(comparison.actual_subnormals, comparison.expected_subnormals);
  if (actual == 0 && expected == 0) return "";
  return fmt::format("subnormal numbers: actual {}, expected {}\n", actual, expected);
}

// The smallest --ulp that suffices, unless it is so large that almost anything would pass.
std::string PassingUlpText(const Comparison& comparison) {
  constexpr uint64_t kMostUlp = 4096;
  if (!comparison.smallest_passing_ulp) return "no --ulp lets this pass\n";
  if (*comparison.smallest_passing_ulp > kMostUlp) return "";
  return fmt::format("passes with --ulp {}\n", *comparison.smallest_passing_ulp);
}

// Rounds to three digits.
double RoundedUp(double units) {
  const double step = std::pow(10.0, std::floor(std::log10(std::max(units, 1e-3))) - 2);
  return std::ceil(units / step) * step;
}

std::string PassingUnitsText(const Comparison& comparison) {
  constexpr double kMostUnits = 4096;
  if (!comparison.units || !(comparison.units->max <= kMostUnits)) return "";
  return fmt::format("passes with --units {:.4g}\n", RoundedUp(comparison.units->max));
}

std::string LargestErrorsText(const Comparison& comparison) {
  const ErrorTally& tally = comparison.decisive();
  return fmt::format(
      "largest errors of finite elements that differ: absolute {:.6g}, relative {:.6g}, ULP {}\n",
      tally.max_absolute_error, tally.max_relative_error, tally.max_ulp_error);
}

}  // namespace

std::string ToleranceText(const Tolerance& tolerance, const UnitTolerance& units) {
  if (tolerance.bits) return "equal bits";
  std::string text;
  const auto add = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
  };
  if (tolerance.absolute > 0) add("absolute", fmt::format("{}", tolerance.absolute));
  if (tolerance.relative > 0) add("relative", fmt::format("{}", tolerance.relative));
  if (tolerance.ulp > 0) add("ULP", fmt::format("{}", tolerance.ulp));
  if (units.units > 0) add("units", fmt::format("{}", units.units));
  if (!units.word().empty()) add("the rounding of", units.word());
  return text.empty() ? "equal values" : text;
}

Json ToleranceJson(const Tolerance& tolerance, const UnitTolerance& units) {
  if (tolerance.bits) return {{"bits", true}};
  Json json = {{"atol", NumberJson(tolerance.absolute)},
               {"rtol", NumberJson(tolerance.relative)},
               {"ulp", tolerance.ulp}};
  if (units.units > 0) json["units"] = NumberJson(units.units);
  if (!units.word().empty()) json["rule"] = units.word();
  return json;
}

std::string WhereText(const Comparison& comparison) {
  if (comparison.where.box.empty()) return "";
  std::string text;
  if (comparison.difference_count > 1) {  // the place of one is told with its values
    text = fmt::format("where: {}: {}\n", comparison.where.box, comparison.where.text);
  }
  std::vector<std::string> classes;
  for (const ValueClass& value_class : comparison.classes) classes.push_back(value_class.text);
  if (!classes.empty()) text += fmt::format("of these, {}\n", fmt::join(classes, "; "));
  return text;
}

Json WhereJson(const Comparison& comparison) {
  Json json = {{"where", nullptr}, {"classes", Json::array()}};
  if (comparison.where.box.empty()) return json;
  json["where"] = {{"box", comparison.where.box}, {"text", comparison.where.text}};
  for (const auto& [id, text, count] : comparison.classes) {
    json["classes"].push_back({{"id", id}, {"count", count}, {"text", text}});
  }
  return json;
}

std::string DifferenceCountText(const Comparison& comparison) {
  return fmt::format("{} of {} {}", comparison.difference_count,
                     Counted(comparison.element_count, "element"),
                     comparison.element_count == 1 ? "differs" : "differ");
}

std::string ComparisonText(const Comparison& comparison, const ConstTensorView& tensor,
                           const Tolerance& tolerance, const UnitTolerance& units) {
  std::string text = DifferenceCountText(comparison) + "\n" + WhereText(comparison);
  const Form form = FormOf(comparison, tensor);
  if (comparison.first) text += DifferenceRow("first", *comparison.first, form);
  if (comparison.worst && comparison.worst->index != comparison.first->index) {
    text += DifferenceRow("worst", *comparison.worst, form);
  }
  const bool has_other_finite = comparison.worst_finite &&
                                comparison.worst_finite->index != comparison.worst->index &&
                                comparison.worst_finite->index != comparison.first->index;
  if (has_other_finite) text += DifferenceRow("worst finite", *comparison.worst_finite, form);
  text += ListText(comparison, form);
  if (HasUlpErrors(comparison)) text += UlpHistogramText(comparison);
  text += UnitStatisticsText(comparison);
  text += SubnormalText(comparison);
  if (comparison.passes()) return text + HeadroomText(comparison, tolerance);
  text += LargestErrorsText(comparison);
  if (comparison.nan_mismatches + comparison.infinity_mismatches > 0) {
    text += fmt::format("mismatches: {} of NaN, {} of infinities\n", comparison.nan_mismatches,
                        comparison.infinity_mismatches);
  }
  text += fmt::format("allowed: {}\n", ToleranceText(tolerance, units));
  return tolerance.bits ? text : text + PassingUlpText(comparison) + PassingUnitsText(comparison);
}

Json FiguresJson(const Comparison& comparison, const ComparedTensor& tensor,
                 const Tolerance& tolerance, const UnitTolerance& units) {
  const Dims& sizes = tensor.view.layout.sizes;
  const auto headroom = HeadroomOf(comparison, tolerance);
  const ErrorTally& largest = comparison.decisive();
  const Form form = FormOf(comparison, tensor.view);
  Json json = {{"equal", comparison.passes()},
               {"dataType", tensor.type_name},
               {"sizes", std::vector<int64_t>(sizes.begin(), sizes.end())},
               {"elementCount", comparison.element_count},
               {"differenceCount", comparison.difference_count},
               {"nanMismatches", comparison.nan_mismatches},
               {"infinityMismatches", comparison.infinity_mismatches},
               {"maxAbsoluteError", NumberJson(largest.max_absolute_error)},
               {"maxRelativeError", NumberJson(largest.max_relative_error)},
               {"maxUlpError", largest.max_ulp_error},
               {"actualSubnormals", comparison.actual_subnormals},
               {"expectedSubnormals", comparison.expected_subnormals}};
  json.update(WhereJson(comparison));
  if (form.expected_type != form.type) json["expectedDataType"] = Name(form.expected_type);
  json["smallestPassingUlp"] =
      comparison.smallest_passing_ulp ? Json(*comparison.smallest_passing_ulp) : Json(nullptr);
  json["worst"] = DifferenceJson(comparison.worst, form);
  json["worstFinite"] = DifferenceJson(comparison.worst_finite, form);
  if (comparison.units) {
    json["units"] = UnitsJson(*comparison.units);
    json["terms"] = comparison.units->most_terms;
  }
  json["tolerance"] = ToleranceJson(tolerance, units);
  json["headroom"] = headroom ? NumberJson(*headroom) : Json(nullptr);
  if (comparison.most_listed > 0) json["differences"] = Json::array();
  for (const Difference& difference : comparison.listed) {
    json["differences"].push_back(DifferenceJson(difference, form));
  }
  return json;
}

Json SpreadJson(const Comparison& comparison, const UlpFigures& figures, const DifferenceMap* map) {
  Json json = {{"ulpHistogram", UlpHistogramJson(comparison)},
               {"medianUlpError", NumberJson(figures.median)},
               {"p99UlpError", figures.p99}};
  if (map != nullptr) json["map"] = MapJson(*map);
  return json;
}

Json DetailsJson(const Comparison& comparison, const ComparedTensor& tensor) {
  return {{"first", DifferenceJson(comparison.first, FormOf(comparison, tensor.view))}};
}

Json MapJson(const DifferenceMap& map) {
  const auto dimension = [](std::optional<size_t> d) { return d ? Json(*d) : Json(nullptr); };
  const MapGrid& grid = map.grid();
  Json planes = Json::array();
  std::vector<DifferenceCell> all(grid.cell_count());
  for (const DifferencePanel& panel : map.panels()) {
    for (size_t i = 0; i < all.size(); ++i) all[i].count += panel.cells[i].count;
    planes.push_back({{"at", std::vector<int64_t>(panel.at.begin(), panel.at.end())},
                      {"differenceCounts", CountsJson(panel.cells, grid)}});
  }
  return {{"rowDimension", dimension(map.plane().row_dimension)},
          {"columnDimension", dimension(map.plane().column_dimension)},
          {"rows", grid.rows.size},
          {"columns", grid.columns.size},
          {"planeCount", map.plane_count()},
          {"differentPlanes", map.different_count()},
          {"planes", std::move(planes)},
          {"differenceCounts", CountsJson(all, grid)}};
}

}  // namespace dmlop
