#include <fmt/format.h>

#include <algorithm>

#include "app/commands.h"
#include "app/output.h"
#include "app/tensor_text.h"
#include "core/base/error.h"
#include "core/compare/statistics.h"
#include "core/io/file.h"
#include "core/io/tensor_file.h"

namespace dmlop {
namespace {

constexpr int64_t kBarWidth = 40;  // columns of the longest bar

std::string NumberText(const Number& number) {
  return std::visit([](auto value) { return fmt::format("{}", value); }, number);
}

double ToDouble(const Number& number) {
  return std::visit([](auto value) { return static_cast<double>(value); }, number);
}

std::string HistogramText(const FiniteStatistics& finite) {
  const int64_t most = *std::max_element(finite.histogram.begin(), finite.histogram.end());
  const double low = ToDouble(finite.min);
  const double high = ToDouble(finite.max);
  std::string text;
  for (size_t bin = 0; bin < finite.histogram.size(); ++bin) {
    // Weighted ends instead of a width, which could overflow.
    const double part = static_cast<double>(bin) / static_cast<double>(finite.histogram.size());
    const int64_t count = finite.histogram[bin];
    const int64_t bar = (count * kBarWidth + most - 1) / most;
    text += fmt::format("  {:>12.5g} {:>12} {}\n", low * (1 - part) + high * part, count,
                        std::string(static_cast<size_t>(bar), '#'));
  }
  return text;
}

std::string StatisticsText(const Statistics& statistics) {
  std::string text = fmt::format(
      "count {}, zero {}, nan {}, inf {}, -inf {}\n", statistics.count, statistics.zero_count,
      statistics.nan_count, statistics.positive_infinity_count, statistics.negative_infinity_count);
  if (!statistics.finite) return text;
  const FiniteStatistics& finite = *statistics.finite;
  text += fmt::format("min {}, max {}, mean {}\n", NumberText(finite.min), NumberText(finite.max),
                      finite.mean);
  return text + HistogramText(finite);
}

std::string OrderText(const Layout& layout) {
  if (IsPacked(layout)) return "C";
  return layout.strides == FortranStrides(layout.sizes) ? "Fortran" : "strided";
}

}  // namespace

ExitStatus ShowCommand(const ShowOptions& options) {
  for (const std::string& path : options.files) {
    if (FormatOf(path) == FileFormat::kRaw) {
      throw Error(ErrorKind::kTensorFile, path + ": a raw file does not say its type and shape");
    }
    const LoadedTensor tensor = LoadNpy(path);
    PrintResult(fmt::format("{}: (Sizes:{}, DataType:{}, order:{})\n", path,
                            SizesText(tensor.view.layout.sizes), Name(tensor.view.type),
                            OrderText(tensor.view.layout)));
    PrintResult(ValuesText(tensor.view, options.full));
    if (options.statistics) PrintResult(StatisticsText(ComputeStatistics(tensor.view)));
  }
  return ExitStatus::kSuccess;
}

}  // namespace dmlop
