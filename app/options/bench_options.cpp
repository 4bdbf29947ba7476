// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "app/commands.h"
#include "app/options/command_options.h"
#include "app/options/option_kinds.h"

namespace dmlop {
namespace {

// Adds counts such as "1,2"; repeated numbers count once.
void AddThreadCounts(const std::string& text, std::vector<int>& counts) {
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const auto count = ParseWhole<int>(std::string_view(text).substr(begin, end - begin));
    if (!count || *count < 1 || *count > kMostThreads) {
      throw CLI::ValidationError(
          "--threads", fmt::format("'{}' is not a list such as 1,2 of numbers from 1 to {}", text,
                                   kMostThreads));
    }
    if (std::find(counts.begin(), counts.end(), *count) == counts.end()) counts.push_back(*count);
    begin = end + 1;
  }
}

// Returns a fraction.
double ParsePercent(const std::string& text) {
  const auto quantity = ParseQuantity(text);
  if (quantity && (quantity->second == "%" || quantity->second.empty())) {
    return quantity->first / 100;
  }
  throw CLI::ValidationError("--fail-over",
                             fmt::format("'{}' is not a percentage such as 5%", text));
}

void AddRows(CLI::App& command, BenchOptions& options) {
  command
      .add_option_function<std::vector<std::string>>(
          "-t,--threads",
          [&options](const std::vector<std::string>& lists) {
            for (const std::string& list : lists) AddThreadCounts(list, options.threads);
          },
          "Numbers of threads (default: of the cores it may use)")
      ->allow_extra_args(false)
      ->type_name("N,...");
  AddChoice(
      command, "--cache", "The state of the caches (default: both)", options.caches,
      {{"both", BenchCaches::kBoth}, {"hot", BenchCaches::kHot}, {"cold", BenchCaches::kCold}});
  command
      .add_option_function<std::string>(
          "--min-time",
          [&options](const std::string& text) {
            options.min_seconds = ParseSeconds("--min-time", text);
          },
          "Time each row at least this long, such as 2s or 500ms (default: 0.5s)")
      ->type_name("TIME");
}

void AddResults(CLI::App& command, BenchOptions& options) {
  const std::vector<std::pair<std::string, BenchFormat>> formats = {
      {"table", BenchFormat::kTable},
      {"json", BenchFormat::kJson},
      {"csv", BenchFormat::kCsv},
      {"markdown", BenchFormat::kMarkdown}};
  AddChoice(command, "--format", "Of the results (default: by the name of FILE)", options.format,
            formats);
  command.add_option("-o,--output", options.output, "Write the results to a file")
      ->type_name("FILE");
}

void AddBaseline(CLI::App& command, BenchOptions& options) {
  CLI::Option* baseline = command.add_option("--baseline", options.baseline,
                                             "Compare with what bench -o FILE.json wrote before");
  baseline->type_name("FILE.json");
  command
      .add_option_function<std::string>(
          "--fail-over",
          [&options](const std::string& text) { options.fail_over = ParsePercent(text); },
          "Status 1 where a row is slower than the baseline by more, such as 5%")
      ->needs(baseline)
      ->type_name("PERCENT");
}

}  // namespace

Command DeclareBench(CLI::App& command, const CommonOptions& common) {
  const auto options = std::make_shared<BenchOptions>();
  AddExamples(command,
              "  dmlop bench sum.json max.json -t 1,2\n"
              "  dmlop bench sum.json -i x.npy --min-time 2s -o sum-times.json\n"
              "  dmlop bench sum.json --baseline sum-times.json --fail-over 5%\n");
  command.add_option("descriptor", options->descriptors, "Paths, - or JSON text; models too")
      ->required()
      ->type_name("DESCRIPTOR");
  AddLine(command, options->line);
  AddFiles(command, "-i,--input",
           "Bind the next (or the named) input to a file (default: random values)",
           options->inputs);
  AddRows(command, *options);
  AddResults(command, *options);
  AddBaseline(command, *options);
  AddLevel(command, [options](FeatureLevel level) { options->level = level; });
  AddReshape(command, options->shapes);
  AddConfine(command, options->confine);
  AddIsa(command, options->isa);
  AddModelSizes(command, options->sizes);
  return [options, &common] { return BenchCommand(*options, common); };
}

}  // namespace dmlop
