#include "app/text/comparison_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/text/histogram_text.h"
#include "app/text/tensor_text.h"
#include "core/document/document_json.h"

namespace dmlop {
namespace {

// Little-endian: the low bytes come first.
const std::byte* BytesOf(const uint64_t& bits) {
  return reinterpret_cast<const std::byte*>(&bits);
}

std::string ValueText(DataType type, uint64_t bits) {
  return ElementText(type, BytesOf(bits));
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

// As ElementJson.
Json NumberJson(double value) {
  if (!std::isfinite(value)) return NumberText(value);
  return value;
}

Json ValueJson(DataType type, uint64_t bits) {
  return Json::parse(ElementJson(type, BytesOf(bits)));
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

}  // namespace

std::vector<std::string> MismatchesOf(const ConstTensorView& actual,
                                      const ConstTensorView& expected) {
  std::vector<std::string> mismatches;
  if (actual.type != expected.type) {
    mismatches.push_back(fmt::format("data types differ: actual {}, expected {}", Name(actual.type),
                                     Name(expected.type)));
  }
  if (actual.layout.sizes != expected.layout.sizes) {
    mismatches.push_back(fmt::format("shapes differ: actual {}, expected {}",
                                     SizesText(actual.layout.sizes),
                                     SizesText(expected.layout.sizes)));
  }
  return mismatches;
}

std::string ComparisonText(const Comparison& comparison, const ConstTensorView& tensor, bool bits) {
  std::string text = fmt::format("{} of {} elements differ\n", comparison.difference_count,
                                 comparison.element_count);
  if (comparison.first) text += DifferenceRow("first", *comparison.first, tensor);
  if (comparison.worst && comparison.worst->index != comparison.first->index) {
    text += DifferenceRow("worst", *comparison.worst, tensor);
  }
  if (HasUlpErrors(comparison)) text += UlpHistogramText(comparison);
  if (comparison.passes()) return text;
  text += fmt::format(
      "largest errors of finite elements: absolute {:.6g}, relative {:.6g}, ULP {}\n",
      comparison.max_absolute_error, comparison.max_relative_error, comparison.max_ulp_error);
  if (comparison.nan_mismatches + comparison.infinity_mismatches > 0) {
    text += fmt::format("mismatches: {} of NaN, {} of infinities\n", comparison.nan_mismatches,
                        comparison.infinity_mismatches);
  }
  if (bits) return text;
  text += comparison.smallest_passing_ulp
              ? fmt::format("passes with --ulp {}\n", *comparison.smallest_passing_ulp)
              : "no --ulp lets this pass\n";
  return text;
}

std::string ComparisonJson(const Comparison& comparison, const ConstTensorView& tensor,
                           const DifferenceMap* map) {
  Json json = {{"equal", comparison.passes()},
               {"elementCount", comparison.element_count},
               {"differenceCount", comparison.difference_count},
               {"nanMismatches", comparison.nan_mismatches},
               {"infinityMismatches", comparison.infinity_mismatches},
               {"maxAbsoluteError", NumberJson(comparison.max_absolute_error)},
               {"maxRelativeError", NumberJson(comparison.max_relative_error)},
               {"maxUlpError", comparison.max_ulp_error}};
  json["smallestPassingUlp"] =
      comparison.smallest_passing_ulp ? Json(*comparison.smallest_passing_ulp) : Json(nullptr);
  json["first"] = DifferenceJson(comparison.first, tensor);
  json["worst"] = DifferenceJson(comparison.worst, tensor);
  json["ulpHistogram"] = UlpHistogramJson(comparison);
  if (map != nullptr) json["map"] = MapJson(*map);
  return Utf8Text(json) + "\n";
}

}  // namespace dmlop
