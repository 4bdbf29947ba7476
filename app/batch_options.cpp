#include <charconv>
#include <memory>

#include "app/command_options.h"
#include "app/commands.h"
#include "app/option_kinds.h"

namespace dmlop {
namespace {

bool ParseWhole(std::string_view text, int64_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

Shard ParseShard(const std::string& text) {
  const size_t slash = std::min(text.find('/'), text.size());
  Shard shard;
  if (slash < text.size() && ParseWhole(std::string_view(text).substr(0, slash), shard.number) &&
      ParseWhole(std::string_view(text).substr(slash + 1), shard.count) && shard.number >= 1 &&
      shard.number <= shard.count) {
    return shard;
  }
  throw CLI::ValidationError("--shard",
                             fmt::format("'{}' is not K/N with K from 1 to N, such as 1/4", text));
}

CLI::Validator Positive() {
  return CLI::Range(int64_t{1}, int64_t{1} << 53).description("");
}

void AddChoiceOfCases(CLI::App& command, const std::shared_ptr<BatchOptions>& options) {
  CLI::Option* shard = command.add_option_function<std::string>(
      "--shard", [options](const std::string& text) { options->shard = ParseShard(text); },
      "Only every N-th case, beginning with the K-th");
  shard->type_name("K/N");
  command.add_option("--line", options->line, "Only the case of that line of the manifest")
      ->check(Positive())
      ->excludes(shard)
      ->type_name("N");
  command
      .add_flag("--resume", options->resume,
                "Skip cases whose outputs are newer than their inputs and the manifest")
      ->excludes("--check");
}

void AddExpand(CLI::App& command, BatchOptions& options) {
  CLI::Option* expand = command.add_flag("--expand", options.expand,
                                         "Print the manifest with a line for each case of a sweep");
  for (const char* other :
       {"--check", "--keep-going", "--shard", "--line", "--resume", "--report"}) {
    expand->excludes(other);
  }
  command
      .add_option("--max-cases", options.max_cases,
                  "Cases that a sweep may have (default: 1000000)")
      ->check(Positive())
      ->needs(expand)
      ->type_name("N");
}

}  // namespace

Command DeclareBatch(CLI::App& command, const CommonOptions& common) {
  const auto options = std::make_shared<BatchOptions>();
  AddExamples(command,
              "  dmlop batch cases.jsonl --keep-going --report report.jsonl\n"
              "  dmlop batch cases.jsonl --check --ulp 2\n"
              "  dmlop batch cases.jsonl --shard 1/4 --report report-1.jsonl\n"
              "  dmlop batch --expand sweep.jsonl > cases.jsonl\n");
  command.add_option("manifest", options->manifest, "JSON Lines, one descriptor a line, or -")
      ->required()
      ->type_name("MANIFEST");
  command.add_flag("--check", options->check,
                   "Compare with the outputs that exist instead of writing them");
  command.add_flag("-k,--keep-going", options->keep_going, "Go on after a case that failed");
  AddChoiceOfCases(command, options);
  command.add_option("--report", options->report, "Write one line of JSON for each case")
      ->type_name("FILE");
  command.add_flag_callback(
      "--no-times", [options] { options->times = false; }, "Leave times out of what is reported");
  AddExpand(command, *options);
  AddTolerance(command, options->tolerance);
  AddBits(command, options->tolerance);
  AddWebnnTolerance(command, options->webnn_tolerance);
  AddLevel(command, [options](FeatureLevel level) { options->level = level; });
  AddThreads(command, options->threads);
  AddIsa(command, options->isa);
  AddConfine(command, options->confine);
  return [options, &common] { return BatchCommand(*options, common); };
}

}  // namespace dmlop
