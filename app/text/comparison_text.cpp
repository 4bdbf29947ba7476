#include "app/text/comparison_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/text/histogram_text.h"
#include "app/text/table_text.h"
#include "app/text/tensor_text.h"
#include "core/compare/tolerances.h"
#include "core/document/document_json.h"

namespace dmlop {
namespace {

// Of the bits of an element: little-endian, so the low bytes come first.
std::string ValueText(DataType type, uint64_t bits) {
  return ElementText(type, BytesOf(bits).data());
}

std::string UlpText(const Difference& difference) {
  return difference.is_mismatch ? "-" : fmt::format("{}", difference.ulp_error);
}

std::string DifferenceRow(std::string_view label, const Difference& difference,
                          const ConstTensorView& tensor) {
  const DataType type = tensor.type;
  return fmt::format(
      "{}: element {}\n"
      "  actual    {:<24} 0x{}\n"
      "  expected  {:<24} 0x{}\n"
      "  error     absolute {:.6g}, relative {:.6g}, ULP {}\n",
      label, IndexText(tensor.layout.sizes, difference.index),
      ValueText(type, difference.actual_bits), BitsText(type, difference.actual_bits),
      ValueText(type, difference.expected_bits), BitsText(type, difference.expected_bits),
      difference.absolute_error, difference.relative_error, UlpText(difference));
}

Json ValueJson(DataType type, uint64_t bits) {
  return ElementJson(type, BytesOf(bits).data());
}

Json DifferenceJson(const std::optional<Difference>& difference, const ConstTensorView& tensor) {
  if (!difference) return nullptr;
  const Dims index = IndexOf(tensor.layout.sizes, difference->index);
  Json json = {{"index", std::vector<int64_t>(index.begin(), index.end())},
               {"actual", ValueJson(tensor.type, difference->actual_bits)},
               {"expected", ValueJson(tensor.type, difference->expected_bits)},
               {"actualBits", BitsText(tensor.type, difference->actual_bits)},
               {"expectedBits", BitsText(tensor.type, difference->expected_bits)},
               {"absoluteError", NumberJson(difference->absolute_error)},
               {"relativeError", NumberJson(difference->relative_error)}};
  json["ulpError"] = difference->is_mismatch ? Json(nullptr) : Json(difference->ulp_error);
  return json;
}

bool HasUlpErrors(const Comparison& comparison) {
  return std::any_of(comparison.ulp_histogram.begin() + 1, comparison.ulp_histogram.end(),
                     [](int64_t count) { return count > 0; });
}

// "0", "1", "3-4", ... "513-1024"; then "2^10-2^11", which begins above 2^10.
std::string UlpBinText(size_t bin) {
  constexpr size_t kFirstPower = 12;
  const uint64_t least = LeastUlp(bin);
  const uint64_t most = MostUlp(bin);
  if (bin >= kFirstPower) return fmt::format("2^{}-2^{}", bin - 2, bin - 1);
  return least == most ? fmt::format("{}", least) : fmt::format("{}-{}", least, most);
}

// The bins that have elements.
std::string UlpHistogramText(const Comparison& comparison) {
  std::vector<HistogramRow> rows;
  for (size_t bin = 0; bin < comparison.ulp_histogram.size(); ++bin) {
    const int64_t count = comparison.ulp_histogram[bin];
    if (count == 0) continue;
    rows.push_back({UlpBinText(bin), count});
  }
  const int64_t mismatches = comparison.nan_mismatches + comparison.infinity_mismatches;
  if (mismatches > 0) rows.push_back({"mismatch", mismatches});
  return "elements by ULP error:\n" + HistogramText(rows);
}

Json UlpHistogramJson(const Comparison& comparison) {
  Json json = Json::array();
  for (size_t bin = 0; bin < comparison.ulp_histogram.size(); ++bin) {
    const int64_t count = comparison.ulp_histogram[bin];
    if (count == 0) continue;
    json.push_back({{"leastUlp", LeastUlp(bin)}, {"mostUlp", MostUlp(bin)}, {"count", count}});
  }
  return json;
}

Json MapJson(const DifferenceMap& map) {
  const auto dimension = [](std::optional<size_t> d) { return d ? Json(*d) : Json(nullptr); };
  const MapGrid& grid = map.grid();
  Json counts = Json::array();
  for (int64_t row = 0; row < grid.rows.cells; ++row) {
    Json line = Json::array();
    for (int64_t column = 0; column < grid.columns.cells; ++column) {
      line.push_back(map.count(row, column));
    }
    counts.push_back(std::move(line));
  }
  return {{"rowDimension", dimension(map.plane().row_dimension)},
          {"columnDimension", dimension(map.plane().column_dimension)},
          {"rows", grid.rows.size},
          {"columns", grid.columns.size},
          {"differenceCounts", std::move(counts)}};
}

// The listed differences as a table, whose columns line up.
std::string ListText(const Comparison& comparison, const ConstTensorView& tensor) {
  if (comparison.listed.empty()) return "";
  std::vector<std::vector<std::string>> rows = {
      {"element", "actual", "expected", "absolute", "relative", "ULP"}};
  for (const Difference& difference : comparison.listed) {
    rows.push_back({IndexText(tensor.layout.sizes, difference.index),
                    ValueText(tensor.type, difference.actual_bits),
                    ValueText(tensor.type, difference.expected_bits),
                    fmt::format("{:.6g}", difference.absolute_error),
                    fmt::format("{:.6g}", difference.relative_error), UlpText(difference)});
  }
  return fmt::format("the {} worst:\n{}", comparison.listed.size(), TableText(rows));
}

std::string HeadroomText(const Comparison& comparison, const Tolerance& tolerance) {
  const auto headroom = HeadroomOf(comparison, tolerance);
  return headroom && *headroom >= 0
             ? fmt::format("headroom: {:.3g} % of the tolerance\n", 100 * *headroom)
             : "";
}

}  // namespace

std::string ToleranceText(const Tolerance& tolerance) {
  if (tolerance.bits) return "equal bits";
  std::string text;
  const auto add = [&](std::string_view name, const std::string& value) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, value);
  };
  if (tolerance.absolute > 0) add("absolute", fmt::format("{}", tolerance.absolute));
  if (tolerance.relative > 0) add("relative", fmt::format("{}", tolerance.relative));
  if (tolerance.ulp > 0) add("ULP", fmt::format("{}", tolerance.ulp));
  return text.empty() ? "equal values" : text;
}

Json ToleranceJson(const Tolerance& tolerance) {
  if (tolerance.bits) return {{"bits", true}};
  return {{"atol", NumberJson(tolerance.absolute)},
          {"rtol", NumberJson(tolerance.relative)},
          {"ulp", tolerance.ulp}};
}

std::string ComparisonText(const Comparison& comparison, const ConstTensorView& tensor,
                           const Tolerance& tolerance) {
  std::string text = fmt::format("{} of {} elements differ\n", comparison.difference_count,
                                 comparison.element_count);
  if (comparison.first) text += DifferenceRow("first", *comparison.first, tensor);
  if (comparison.worst && comparison.worst->index != comparison.first->index) {
    text += DifferenceRow("worst", *comparison.worst, tensor);
  }
  const bool has_other_finite = comparison.worst_finite &&
                                comparison.worst_finite->index != comparison.worst->index &&
                                comparison.worst_finite->index != comparison.first->index;
  if (has_other_finite) text += DifferenceRow("worst finite", *comparison.worst_finite, tensor);
  text += ListText(comparison, tensor);
  if (HasUlpErrors(comparison)) text += UlpHistogramText(comparison);
  if (comparison.passes()) return text + HeadroomText(comparison, tolerance);
  text += fmt::format(
      "largest errors of finite elements: absolute {:.6g}, relative {:.6g}, ULP {}\n",
      comparison.max_absolute_error, comparison.max_relative_error, comparison.max_ulp_error);
  if (comparison.nan_mismatches + comparison.infinity_mismatches > 0) {
    text += fmt::format("mismatches: {} of NaN, {} of infinities\n", comparison.nan_mismatches,
                        comparison.infinity_mismatches);
  }
  if (tolerance.bits) return text;
  text += comparison.smallest_passing_ulp
              ? fmt::format("passes with --ulp {}\n", *comparison.smallest_passing_ulp)
              : "no --ulp lets this pass\n";
  return text;
}

Json FiguresJson(const Comparison& comparison, const ComparedTensor& tensor,
                 const Tolerance& tolerance) {
  const Dims& sizes = tensor.view.layout.sizes;
  const auto headroom = HeadroomOf(comparison, tolerance);
  Json json = {{"equal", comparison.passes()},
               {"dataType", tensor.type_name},
               {"sizes", std::vector<int64_t>(sizes.begin(), sizes.end())},
               {"elementCount", comparison.element_count},
               {"differenceCount", comparison.difference_count},
               {"nanMismatches", comparison.nan_mismatches},
               {"infinityMismatches", comparison.infinity_mismatches},
               {"maxAbsoluteError", NumberJson(comparison.max_absolute_error)},
               {"maxRelativeError", NumberJson(comparison.max_relative_error)},
               {"maxUlpError", comparison.max_ulp_error}};
  json["smallestPassingUlp"] =
      comparison.smallest_passing_ulp ? Json(*comparison.smallest_passing_ulp) : Json(nullptr);
  json["worst"] = DifferenceJson(comparison.worst, tensor.view);
  json["worstFinite"] = DifferenceJson(comparison.worst_finite, tensor.view);
  json["tolerance"] = ToleranceJson(tolerance);
  json["headroom"] = headroom ? Json(*headroom) : Json(nullptr);
  return json;
}

Json ComparisonJson(const Comparison& comparison, const ComparedTensor& tensor,
                    const Tolerance& tolerance, const DifferenceMap* map) {
  Json json = FiguresJson(comparison, tensor, tolerance);
  json["first"] = DifferenceJson(comparison.first, tensor.view);
  if (comparison.most_listed > 0) {
    json["differences"] = Json::array();
    for (const Difference& difference : comparison.listed) {
      json["differences"].push_back(DifferenceJson(difference, tensor.view));
    }
  }
  json["ulpHistogram"] = UlpHistogramJson(comparison);
  if (map != nullptr) json["map"] = MapJson(*map);
  return json;
}

}  // namespace dmlop
