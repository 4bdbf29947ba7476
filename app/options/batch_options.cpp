// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>

#include "app/commands.h"
#include "app/options/option_kinds.h"
#include "core/base/error.h"
#include "core/base/text.h"
#include "core/ops/words.h"

namespace dmlop {
namespace {

Shard ParseShard(const std::string& text) {
  const size_t slash = std::min(text.find('/'), text.size());
  const auto number = ParseWhole<int64_t>(std::string_view(text).substr(0, slash));
  const auto count =
      ParseWhole<int64_t>(std::string_view(text).substr(std::min(slash + 1, text.size())));
  if (number && count && *number >= 1 && *number <= *count) return {*number, *count};
  throw Invalid("--shard", "'{}' is not K/N with K from 1 to N, such as 1/4", text);
}

std::string ParseOperator(const std::string& text) {
  const auto found = std::ranges::find_if(
      OperatorNames(), [&](std::string_view known) { return EqualIgnoringCase(known, text); });
  const OperatorInfo* const info =
      FindOperator(found == OperatorNames().end() ? text : std::string(*found));
  if (info != nullptr) return std::string(info->name);
  throw Invalid("--only", "'{}' is not one of dmlop's operators{}", text, DidYouMeanOperator(text));
}

void AddChoiceOfCases(CLI::App& command, BatchOptions& options) {
  CLI::Option* shard =
      AddParsed(command, "--shard", "K/N", "Only every N-th case, beginning with the K-th",
                options.shard, ParseShard);
  AddWhole(command, "--line", "Only the case of that line of the manifest", options.line,
           int64_t{1})
      ->excludes(shard);
  AddParsed(command, "--only", "OPERATOR", "Only the cases of that operator", options.only,
            ParseOperator);
  command
      .add_flag("--resume", options.resume,
                "Skip cases whose outputs are newer than their inputs and the manifest")
      ->excludes("--check")
      ->excludes("--judge");
}

void AddExpand(CLI::App& command, BatchOptions& options) {
  CLI::Option* expand = command.add_flag("--expand", options.expand,
                                         "Print the manifest with a line for each case of a sweep");
  for (const char* other :
       {"--check", "--judge", "--output-path", "--inputs", "--keep-going", "--shard", "--line",
        "--resume", "--report", "--sync", "--skip-missing"}) {
    expand->excludes(other);
  }
  command
      .add_flag("--complete", options.complete,
                "Print complete descriptors, with the files of all tensors")
      ->needs(expand);
  AddWhole(command, "--max-cases", "Cases that a sweep may have (default: 1000000)",
           options.max_cases, int64_t{1}, int64_t{1} << 53)
      ->needs(expand);
}

}  // namespace

Command DeclareBatch(CLI::App& command, const CommonOptions& common) {
  const auto options = std::make_shared<BatchOptions>();
  AddValue(command, "manifest", "MANIFEST", "JSON Lines, one descriptor a line, or -",
           options->manifest)
      ->required();
  CLI::Option* check = command.add_flag(
      "--check", options->check,
      "Compare with what is expected, in the lines or in the outputs' files, and write nothing");
  CLI::Option* judge = command.add_flag(
      "--judge", options->judge,
      "Compare the outputs' files, which a device made, with what is computed here");
  judge->excludes(check);
  command
      .add_flag_callback(
          "--diagnose", [options] { options->is_diagnosed = options->keep_going = true; },
          "With --judge, group all that differs by its cause; noise passes")
      ->needs(judge);
  CLI::Option* folder = AddValue(command, "--output-path", "DIR",
                                 "The outputs' folder, in place of the one that all have in common",
                                 options->output_folder);
  CLI::Option* compared =
      AddValue(command, "folder", "DIR", "With --check or --judge, the same as --output-path",
               options->output_folder)
          ->excludes(folder);
  command.add_flag(
      "--inputs", options->has_inputs,
      "Write the inputs whose values the lines state beside the outputs; with --check or "
      "--judge, demand them there");
  command.add_flag("--skip-missing", options->skip_missing,
                   "Count outputs whose files are not there, and compare the others");
  command.add_flag("--allow-empty", options->allow_empty,
                   "Accept that there are no cases or, with --skip-missing, no outputs");
  command.add_flag("-k,--keep-going", options->keep_going, "Go on after a case that failed");
  AddChoiceOfCases(command, *options);
  AddValue(command, "--report", "FILE", "Write one line of JSON for each case", options->report);
  command.add_flag_callback(
      "--no-times", [options] { options->times = false; }, "Leave times out of what is reported");
  AddSync(command, options->sync)->excludes(check)->excludes(judge);
  AddExpand(command, *options);
  AddDrawing(command, options->drawing, "--picture");
  for (const char* name : {"--list", "--map", "--picture", "--measure"}) {
    command.get_option(name)->needs("--line");
  }
  AddOperatorRules(command, options->rules);
  AddLevel(command, options->level);
  AddThreads(command, options->threads);
  AddIsa(command, options->isa);
  AddModelSizes(command, options->sizes);
  AddConfine(command, options->confine);
  return [options, &common, &command, compared] {
    RequireComparison(command, {"--check", "--judge"});
    if (compared->count() > 0 && !options->check && !options->judge) {
      throw Error(ErrorKind::kUsage,
                  "'{0}' is one argument too many; --output-path {0} writes to that folder, "
                  "--check and --judge compare with it",
                  options->output_folder);
    }
    if (options->skip_missing && !options->check && !options->judge) {
      throw Error(ErrorKind::kUsage, "--skip-missing needs --check or --judge");
    }
    return BatchCommand(*options, common);
  };
}

// --- bench ---------------------------------------------------------------------------------------

namespace {

// Adds counts such as "1,2"; repeated numbers count once.
void AddThreadCounts(const std::string& text, std::vector<int>& counts) {
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const auto count = ParseWhole<int>(std::string_view(text).substr(begin, end - begin));
    if (!count || *count < 1 || *count > kMostThreads) {
      throw Invalid("--threads", "'{}' is not a list such as 1,2 of numbers from 1 to {}", text,
                    kMostThreads);
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
  throw Invalid("--fail-over", "'{}' is not a percentage such as 5%", text);
}

void AddRows(CLI::App& command, BenchOptions& options) {
  AddEach(command, "-t,--threads", "N,...", "Numbers of threads (default: of the cores it may use)",
          [&options](const std::string& list) { AddThreadCounts(list, options.threads); });
  AddChoice(
      command, "--cache", "The state of the caches (default: both)", options.caches,
      {{"both", BenchCaches::kBoth}, {"hot", BenchCaches::kHot}, {"cold", BenchCaches::kCold}});
  AddParsed(command, "--min-time", "TIME",
            "Time each row at least this long, such as 2s or 500ms (default: 0.5s)",
            options.min_seconds,
            [](const std::string& text) { return ParseSeconds("--min-time", text); });
}

void AddResults(CLI::App& command, BenchOptions& options) {
  const std::vector<std::pair<std::string, BenchFormat>> formats = {
      {"table", BenchFormat::kTable},
      {"json", BenchFormat::kJson},
      {"csv", BenchFormat::kCsv},
      {"markdown", BenchFormat::kMarkdown}};
  AddChoice(command, "--format", "Of the results (default: by the name of FILE)", options.format,
            formats);
  AddValue(command, "-o,--output", "FILE", "Write the results to a file", options.output);
}

void AddBaseline(CLI::App& command, BenchOptions& options) {
  CLI::Option* baseline =
      AddValue(command, "--baseline", "FILE.json",
               "Compare with what bench -o FILE.json wrote before", options.baseline);
  AddParsed(command, "--fail-over", "PERCENT",
            "Status 1 where a row is slower than the baseline by more, such as 5%",
            options.fail_over, ParsePercent)
      ->needs(baseline);
}

}  // namespace

Command DeclareBench(CLI::App& command, const CommonOptions& common) {
  const auto options = std::make_shared<BenchOptions>();
  AddValue(command, "descriptor", "DESCRIPTOR", "Paths, - or JSON text; models too",
           options->descriptors)
      ->required();
  AddLine(command, options->line);
  AddFiles(command, "-i,--input",
           "Bind the next (or the named) input to a file (default: random values)",
           options->inputs);
  AddRows(command, *options);
  AddResults(command, *options);
  AddBaseline(command, *options);
  AddLevel(command, options->level);
  AddReshape(command, options->shapes);
  AddConfine(command, options->confine);
  AddIsa(command, options->isa);
  AddModelSizes(command, options->sizes);
  return [options, &common] { return BenchCommand(*options, common); };
}

}  // namespace dmlop
