// SPDX-License-Identifier: Apache-2.0
#include "app/options/fuzz_options.h"

#include <algorithm>
#include <memory>

#include "app/commands.h"
#include "app/options/option_kinds.h"
#include "core/base/error.h"
#include "core/base/spelling.h"
#include "core/fuzz/field_value.h"
#include "core/judge/varied_run.h"

namespace dmlop {
namespace {

constexpr double kMostSeconds = 365 * 24 * kSecondsPerHour;
constexpr int64_t kMostRuns = 1'000'000'000;

template <typename Seconds>
void AddTime(CLI::App& command, const std::string& name, const std::string& description,
             Seconds& seconds) {
  AddParsed(command, name, "TIME", description, seconds,
            [name](const std::string& text) { return ParseSeconds(name, text, kMostSeconds); });
}

size_t ParseRank(const std::string& text) {
  const auto rank = ParseWhole<size_t>(text);
  if (rank && *rank >= 1 && *rank <= kMaxRank) return *rank;
  throw Invalid("--rank", "'{}' is not a rank from 1 to {}", text, kMaxRank);
}

std::string ParseSeed(const std::string& text) {
  if (text == "random" || ParseWhole<uint64_t>(text)) return text;
  throw Invalid("--seed", "'{}' is neither a whole number nor random", text);
}

CLI::Option* AddEngine(CLI::App& command, EngineOptions& engine) {
  constexpr size_t kMostPerStart = 1'000'000, kMostJobs = 1024;
  CLI::Option* option = AddValue(
      command, "--engine", "COMMAND",
      "Command that runs the case of a folder, {}, and writes its outputs where case.json says",
      engine.command);
  AddTime(command, "--timeout", "Longest time of a start of the engine (default: 30s)",
          engine.timeout);
  AddWhole(command, "--per-start", "Cases that the engine takes at once (default: 1)",
           engine.per_start, size_t{1}, kMostPerStart);
  AddWhole(command, "--jobs", "Engines side by side (default: 1)", engine.jobs, size_t{1},
           kMostJobs);
  AddChoice(command, "--form", "dxdispatch writes model.json beside case.json, too", engine.form,
            {{"descriptor", CaseForm::kDescriptor}, {"dxdispatch", CaseForm::kModel}});
  return option;
}

void AddFindings(CLI::App& command, FindingOptions& findings) {
  AddOperatorRules(command, findings.rules);
  AddWhole(command, "--shrink-runs",
           "Runs of the engine that make a failure smaller (default: 300; 0: none)",
           findings.shrink_runs, int64_t{0}, kMostRuns);
  AddValue(command, "-o,--output", "DIR", "Folder for findings (default: findings)",
           findings.folder);
}

void AddCases(CLI::App& command, FuzzOptions& options) {
  AddValue(command, "operator", "OPERATOR", "Names, globs or groups of operators (default: all)",
           options.operators);
  AddLevel(command, options.level);
  AddEach(command, "--type", "TYPE", "Only cases of that type; may be repeated",
          [&options](const std::string& name) {
            options.types.push_back(ParseDataType("--type", name));
          });
  AddEach(command, "--rank", "N", "Only cases of that rank; may be repeated",
          [&options](const std::string& text) { options.ranks.push_back(ParseRank(text)); });
  AddWhole(command, "--max-elements", "Elements of each tensor at most (default: 4096)",
           options.max_elements, int64_t{1}, int64_t{1} << 30);
  AddValue(command, "--set", "POINTER=VALUE", "Keep a field, as in /desc/Direction=FORWARD",
           options.set)
      ->allow_extra_args(false);
  AddChoice(command, "--layouts", "packed leaves out all other layouts (default: all)",
            options.packed_only, {{"all", false}, {"packed", true}});
  command.add_flag("--open", options.open, "Let in what DirectML leaves open");
  AddParsed(command, "--seed", "N", "Number that the cases depend on, or random (default: 0)",
            options.seed, ParseSeed);
}

void AddExtent(CLI::App& command, FuzzOptions& options) {
  AddWhole(command, "-n,--cases",
           "Cases of each operator (default: until 95 % of pairs, at most 1000)", options.cases,
           int64_t{1}, kMostRuns);
  AddTime(command, "--time", "Time in all, operators in turn", options.seconds);
  AddValue(command, "--case", "NAME", "Only the case of that name", options.only_case)
      ->excludes("operator", "-n", "--time");
}

void AddResults(CLI::App& command, FuzzOptions& options) {
  AddValue(command, "--accept", "ID", "Count failures with that cause apart; may be repeated",
           options.accepted)
      ->allow_extra_args(false);
  AddValue(command, "--report", "FILE", "Write one line of JSON for each case", options.report);
  AddValue(command, "--write", "DIR", "Write the cases for a device elsewhere", options.written);
  AddValue(command, "--replay", "DIR", "Run the smallest cases of findings again",
           options.replayed);
  AddValue(command, "--resume", "DIR", "Go on with a run that was interrupted", options.resumed);
}

// Sums are the tolerance unless another one is asked for.
void TakeDefaultRules(const CLI::App& command, ComparisonRules& rules) {
  if (!HasTolerance(command)) rules.units.rule = UnitTolerance::Rule::kSums;
}

void AddFuzz(CLI::App& command, FuzzOptions& options) {
  AddCases(command, options);
  CLI::Option* engine = AddEngine(command, options.engine);
  AddExtent(command, options);
  AddFindings(command, options.findings);
  AddResults(command, options);
  command.get_option("--write")->excludes(engine, command.get_option("--replay"),
                                          command.get_option("--resume"));
  command.get_option("--replay")->excludes("--resume", "operator", "--case");
  command.get_option("--resume")->excludes("operator", "--case");
}

// The options as one may type them, without those that belong to one run only.
std::vector<std::string> TypedWords(const CLI::App& command) {
  constexpr std::string_view kOfOneRun[] = {"--engine", "--output", "--resume",  "--replay",
                                            "--write",  "--quiet",  "--verbose", "--color"};
  std::vector<std::string> words;
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->nonpositional() ? option->get_name() : "";
    if (std::ranges::find(kOfOneRun, name) != std::end(kOfOneRun)) continue;
    for (const std::string& value : option->results()) {
      if (option->get_type_size_max() == 0) {
        words.push_back(name);
      } else if (name.starts_with("--")) {
        words.push_back(name + "=" + value);
      } else if (!name.empty()) {
        words.insert(words.end(), {name, value});
      } else {
        words.push_back(value);
      }
    }
  }
  return words;
}

// A run that goes on has the other options from its beginning.
void RequireOptionsOfEngine(const CLI::App& command) {
  constexpr std::string_view kOfThisRun[] = {"--engine", "--timeout", "--jobs", "--resume",
                                             "--quiet",  "--verbose", "--color"};
  for (const CLI::Option* option : command.get_options()) {
    const std::string name = option->get_name();
    if (option->count() == 0 || std::ranges::find(kOfThisRun, name) != std::end(kOfThisRun))
      continue;
    throw Error(ErrorKind::kUsage,
                "--resume goes on with the options of that run: {} cannot be another one", name);
  }
}

// Causes are variations of what is computed, or changes of the descriptor: pointers. Their details
// may be left out.
void RequireKnownCauses(const std::vector<std::string>& accepted) {
  const std::vector<std::string> known = VariationIds();
  for (const std::string& id : accepted) {
    const std::string base = id.substr(0, id.find_first_of("=:"));
    if (id.starts_with(kDescRoot) || std::ranges::find(known, base) != known.end()) continue;
    throw Error(ErrorKind::kUsage, "--accept '{}': there is no such cause{}", id,
                DidYouMeanOneOf(base, {std::vector<std::string_view>(known.begin(), known.end())}));
  }
}

// The options of a command that say how results are judged.
std::vector<std::string> JudgingWordsOf(const CLI::App& command) {
  CLI::App rules;
  ComparisonRules none;
  AddOperatorRules(rules, none);
  std::vector<std::string> words = TypedWords(command);
  std::erase_if(words, [&](const std::string& word) {
    const std::string name = word.substr(0, word.find('='));
    return !name.starts_with("--") || rules.get_option_no_throw(name) == nullptr;
  });
  return words;
}

void RequireEngine(const FuzzOptions& options) {
  if (options.engine.command.empty() && options.written.empty()) {
    throw Error(ErrorKind::kUsage,
                "--engine is missing: the command that runs a case; or --write DIR, for a device "
                "elsewhere");
  }
}

}  // namespace

FuzzOptions ParseFuzzWords(std::vector<std::string> words) {
  FuzzOptions options;
  CLI::App command;
  AddFuzz(command, options);
  options.words = words;
  std::ranges::reverse(words);
  try {
    command.parse(words);
  } catch (const CLI::ParseError& error) {
    throw Error(ErrorKind::kUsage, "the options of that run are damaged: {}", error.what());
  }
  TakeDefaultRules(command, options.findings.rules);
  options.findings.judging = JudgingWordsOf(command);
  return options;
}

Command DeclareFuzz(CLI::App& command, const CommonOptions& common) {
  const auto options = std::make_shared<FuzzOptions>();
  AddFuzz(command, *options);
  return [options, &common, &command] {
    RequireEngine(*options);
    RequireKnownCauses(options->accepted);
    TakeDefaultRules(command, options->findings.rules);
    options->findings.judging = JudgingWordsOf(command);
    options->words = TypedWords(command);
    options->has_timeout = command.count("--timeout") > 0;
    options->has_jobs = command.count("--jobs") > 0;
    if (!options->resumed.empty()) RequireOptionsOfEngine(command);
    options->engine.is_shown = common.verbose;
    return FuzzCommand(*options, common);
  };
}

Command DeclareShrink(CLI::App& command, const CommonOptions& common) {
  const auto options = std::make_shared<ShrinkOptions>();
  AddDescriptor(command, options->descriptor);
  AddLine(command, options->line);
  AddEngine(command, options->engine)->required();
  AddFindings(command, options->findings);
  AddConfine(command, options->confine);
  return [options, &common, &command] {
    TakeDefaultRules(command, options->findings.rules);
    options->findings.judging = JudgingWordsOf(command);
    options->engine.is_shown = common.verbose;
    return ShrinkCommand(*options, common);
  };
}

}  // namespace dmlop
