#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <functional>
#include <optional>
#include <span>

#include "app/commands.h"
#include "app/output.h"
#include "app/progress.h"
#include "core/base/error.h"
#include "core/base/spelling.h"
#include "core/kernels/isa.h"

namespace dmlop {
namespace {

constexpr std::string_view kVersion = DMLOP_VERSION;

std::string VersionText() {
  return fmt::format("dmlop {}\ninstruction sets: {}", kVersion, fmt::join(SupportedIsas(), ", "));
}

// Splits what is a number at its front; the rest is its unit. Empty where there is no number, or
// one that is negative or infinite.
std::optional<std::pair<double, std::string>> ParseQuantity(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  if (end == text.c_str() || !std::isfinite(number) || number < 0) return std::nullopt;
  return std::pair(number, std::string(end));
}

double ParseSeconds(const std::string& text) {
  constexpr std::pair<std::string_view, double> kUnits[] = {
      {"", 1}, {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"min", 60}};
  const auto quantity = ParseQuantity(text);
  for (const auto& [unit, seconds] : kUnits) {
    if (quantity && quantity->first > 0 && quantity->second == unit) {
      return quantity->first * seconds;
    }
  }
  throw CLI::ValidationError(
      "--min-time", fmt::format("'{}' is not a time such as 0.5, 2s, 500ms or 1min", text));
}

// As a fraction.
double ParsePercent(const std::string& text) {
  const auto quantity = ParseQuantity(text);
  if (quantity && (quantity->second == "%" || quantity->second.empty())) {
    return quantity->first / 100;
  }
  throw CLI::ValidationError("--fail-over",
                             fmt::format("'{}' is not a percentage such as 5%", text));
}

// Declares the options. Parsing fills the structs; the chosen command then runs.
class CommandLine {
 public:
  CommandLine() {
    app_.require_subcommand(1);
    app_.set_version_flag("--version", VersionText);
    app_.get_formatter()->column_width(34);
    app_.footer("Each command has a --help of its own, with examples.\n");
  }

  ExitStatus Run(int argc, char** argv) {
    CheckCommandName(argc, argv);
    DeclareCommands(argc, argv);
    try {
      app_.parse(Arguments(argc, argv));
    } catch (const CLI::ParseError& error) {
      return Explain(error);
    }
    const ProgressDisplay progress(common_.quiet);
    return command_();
  }

 private:
  using Command = std::function<ExitStatus()>;

  struct CommandEntry {
    const char* name;
    const char* summary;
    void (CommandLine::*declare)(CLI::App* sub);
  };

  // In the order in which --help lists them.
  static std::span<const CommandEntry> Commands() {
    static constexpr CommandEntry commands[] = {
        {"run", "Run an operator, or a DxDispatch model", &CommandLine::DeclareRun},
        {"validate", "Report every fault of a document", &CommandLine::DeclareValidate},
        {"bench", "Time operators, beside what memory allows", &CommandLine::DeclareBench},
        {"compare", "Compare two tensor files", &CommandLine::DeclareCompare},
        {"show", "Print tensor files", &CommandLine::DeclareShow},
        {"explain", "Say what feeds an output element, or what an input reaches",
         &CommandLine::DeclareExplain},
        {"ops", "List the operators, their fields, rules and types", &CommandLine::DeclareOps},
        {"schema", "Print the JSON Schema of all documents", &CommandLine::DeclareSchema},
    };
    return commands;
  }

  // The command that is named alone: declaring the options of all takes as long as a small
  // operator. Where none is named, --help or an error lists them.
  void DeclareCommands(int argc, char** argv) {
    const std::string_view first = argc > 1 ? argv[1] : "";
    const auto is_named = [&](const CommandEntry& command) { return command.name == first; };
    const auto commands = Commands();
    const bool any = std::any_of(commands.begin(), commands.end(), is_named);
    for (const CommandEntry& command : commands) {
      if (any && !is_named(command)) continue;
      (this->*command.declare)(app_.add_subcommand(command.name, command.summary));
    }
  }

  void AddCommon(CLI::App* sub, const std::string& examples, Command command) {
    sub->footer("Examples:\n" + examples);
    sub->add_flag("-q,--quiet", common_.quiet, "Print no messages but errors");
    sub->add_flag("-v,--verbose", common_.verbose, "Say what is done");
    AddChoice(
        sub, "--color", "auto, always or never", "WHEN", common_.color,
        {{"auto", ColorMode::kAuto}, {"always", ColorMode::kAlways}, {"never", ColorMode::kNever}});
    sub->callback([this, command = std::move(command)] { command_ = command; });
  }

  static void AddLevel(CLI::App* sub, const std::function<void(FeatureLevel)>& store) {
    sub->add_option_function<std::string>(
           "-L,--feature-level",
           [store](const std::string& text) {
             const auto level = ParseFeatureLevel(text);
             if (!level) {
               std::vector<std::string> names;
               for (const FeatureLevel known : FeatureLevels()) names.push_back(ToString(known));
               throw CLI::ValidationError(
                   "--feature-level", fmt::format("'{}' is not a feature level; there are {}", text,
                                                  fmt::join(names, ", ")));
             }
             store(*level);
           },
           "Judge at this feature level (default: 6_4)")
        ->type_name("LEVEL");
  }

  template <typename T, typename Choice = T>
  static void AddChoice(CLI::App* sub, const std::string& name, const std::string& description,
                        const std::string& type_name, T& value,
                        const std::vector<std::pair<std::string, Choice>>& choices) {
    sub->add_option_function<std::string>(
           name,
           [name, choices, &value](const std::string& text) {
             std::vector<std::string> names;
             for (const auto& [choice, meaning] : choices) {
               if (choice == text) value = meaning;
               names.push_back(choice);
             }
             if (std::find(names.begin(), names.end(), text) == names.end()) {
               throw CLI::ValidationError(
                   name, fmt::format("'{}' is not one of {}", text, fmt::join(names, ", ")));
             }
           },
           description)
        ->type_name(type_name);
  }

  static void AddFormat(CLI::App* sub, TextFormat& format) {
    AddChoice(sub, "--format", "text or json", "FORMAT", format,
              {{"text", TextFormat::kText}, {"json", TextFormat::kJson}});
  }

  static void AddInputPath(CLI::App* sub, std::string& folder) {
    sub->add_option("--input-path", folder,
                    "Folder of a model's input files (default: the model's)")
        ->type_name("DIR");
  }

  static void AddTolerance(CLI::App* sub, Tolerance& tolerance) {
    const CLI::Validator not_negative(
        [](std::string& text) {
          double value = 0;
          const bool valid = CLI::detail::lexical_cast(text, value) && value >= 0;
          return valid ? std::string() : fmt::format("'{}' is not a number of at least 0", text);
        },
        "");
    sub->add_option("--atol", tolerance.absolute, "Let pass |actual - expected| <= A")
        ->check(not_negative)
        ->type_name("A");
    sub->add_option("--rtol", tolerance.relative, "Let pass |actual - expected| <= R * |expected|")
        ->check(not_negative)
        ->type_name("R");
    sub->add_option("--ulp", tolerance.ulp, "Let pass up to N units in the last place")
        ->check(not_negative)
        ->type_name("N");
  }

  // From the last to the first, as the library takes them. It would take "[0, 1]" apart as a list,
  // but not with a space behind.
  static std::vector<std::string> Arguments(int argc, char** argv) {
    std::vector<std::string> arguments;
    for (int i = argc - 1; i > 0; --i) {
      arguments.emplace_back(argv[i]);
      if (arguments.back().starts_with('[')) arguments.back() += ' ';
    }
    return arguments;
  }

  // The library would only say that a command is required.
  static void CheckCommandName(int argc, char** argv) {
    if (argc < 2) return;
    const std::string_view first = argv[1];
    if (first == "-h" || first == "--help" || first == "--version") return;
    if (first.starts_with('-')) {
      throw Error(ErrorKind::kUsage,
                  fmt::format("there is no option '{}' before the command", first));
    }
    std::vector<std::string_view> names;
    for (const CommandEntry& command : Commands()) names.push_back(command.name);
    if (std::find(names.begin(), names.end(), first) != names.end()) return;
    throw Error(ErrorKind::kUsage,
                fmt::format("there is no command '{}'{}; the commands are {}", first,
                            DidYouMean(first, names), fmt::join(names, ", ")));
  }

  static void AddBits(CLI::App* sub, Tolerance& tolerance) {
    CLI::Option* bits = sub->add_flag("--bits", tolerance.bits, "Demand equal bits");
    for (const char* other : {"--atol", "--rtol", "--ulp"}) bits->excludes(other);
  }

  void DeclareRun(CLI::App* sub) {
    AddCommon(
        sub,
        "  dmlop run reduce.json                         # files as the descriptor binds them\n"
        "  dmlop run reduce.json -i x.npy -o sum.npy     # files as the command line binds them\n"
        "  dmlop run join.json -i a.npy -i b.npy -o - | dmlop show -\n"
        "  dmlop run reduce.json -i x.npy -e gpu.npy --ulp 2\n"
        "  dmlop run model.json --output-path results\n",
        [this] { return RunCommand(run_, common_); });
    sub->add_option("descriptor", run_.descriptor, "Path, - or JSON text")
        ->required()
        ->type_name("DESCRIPTOR");
    sub->add_option("-i,--input", run_.inputs, "Bind the next (or the named) input to a file")
        ->allow_extra_args(false)
        ->type_name("[NAME=]FILE");
    sub->add_option("-o,--output", run_.outputs, "Bind the next (or the named) output to a file")
        ->allow_extra_args(false)
        ->type_name("[NAME=]FILE");
    sub->add_option("-e,--expect", run_.expected, "Compare an output with a golden file")
        ->allow_extra_args(false)
        ->type_name("[NAME=]FILE");
    AddTolerance(sub, run_.tolerance);
    AddBits(sub, run_.tolerance);
    sub->add_option_function<std::string>(
           "--tolerance", [this](const std::string&) { run_.webnn_tolerance = true; },
           "webnn: what WebNN's conformance suite grants this operator")
        ->check(CLI::IsMember({"webnn"}).description(""))
        ->type_name("RULE");
    AddLevel(sub, [this](FeatureLevel level) { run_.level = level; });
    sub->add_option("-t,--threads", run_.threads, "Threads (default: all cores)")
        ->check(CLI::Range(1, 1 << 16).description(""))
        ->type_name("N");
    sub->add_option("--isa", run_.isa,
                    "Instruction set: " + fmt::format("{}", fmt::join(SupportedIsas(), ", ")))
        ->type_name("NAME");
    sub->add_flag("--full", run_.full, "Print long tensors whole");
    sub->add_option("--report", run_.report, "Write a JSON record of the run")->type_name("FILE");
    AddInputPath(sub, run_.input_folder);
    sub->add_option("--output-path", run_.output_folder,
                    "Folder for the files that a model writes (default: the current one)")
        ->type_name("DIR");
  }

  void DeclareValidate(CLI::App* sub) {
    AddCommon(sub,
              "  dmlop validate *.json\n"
              "  dmlop validate reduce.json -L 3_0 --format json\n"
              "  dmlop validate reduce.json --print-complete > complete.json\n",
              [this] { return ValidateCommand(validate_, common_); });
    sub->add_option("descriptor", validate_.descriptors, "Paths, - or JSON text")
        ->required()
        ->type_name("DESCRIPTOR");
    AddLevel(sub, [this](FeatureLevel level) { validate_.level = level; });
    AddFormat(sub, validate_.format);
    AddInputPath(sub, validate_.input_folder);
    sub->add_flag("--print-complete", validate_.print_complete,
                  "Print the descriptor, or a model's, with everything filled in")
        ->excludes("--format");
    sub->add_flag("--to-model", validate_.to_model, "Print the descriptor as a DxDispatch model")
        ->excludes("--format")
        ->excludes("--print-complete");
  }

  void DeclareBench(CLI::App* sub) {
    AddCommon(sub,
              "  dmlop bench sum.json max.json -t 1,2\n"
              "  dmlop bench sum.json -i x.npy --min-time 2s -o sum-times.json\n"
              "  dmlop bench sum.json --baseline sum-times.json --fail-over 5%\n",
              [this] { return BenchCommand(bench_, common_); });
    sub->add_option("descriptor", bench_.descriptors, "Paths, - or JSON text; models too")
        ->required()
        ->type_name("DESCRIPTOR");
    sub->add_option("-i,--input", bench_.inputs,
                    "Bind the next (or the named) input to a file (default: values made up)")
        ->allow_extra_args(false)
        ->type_name("[NAME=]FILE");
    sub->add_option("-t,--threads", bench_.threads, "Numbers of threads (default: all cores)")
        ->delimiter(',')
        ->allow_extra_args(false)
        ->check(CLI::Range(1, 1 << 16).description(""))
        ->type_name("N,...");
    AddChoice(
        sub, "--cache", "Time with caches hot, cold or both (default)", "STATE", bench_.caches,
        {{"both", BenchCaches::kBoth}, {"hot", BenchCaches::kHot}, {"cold", BenchCaches::kCold}});
    sub->add_option_function<std::string>(
           "--min-time",
           [this](const std::string& text) { bench_.min_seconds = ParseSeconds(text); },
           "Time each row at least this long, such as 2s or 500ms (default: 0.5s)")
        ->type_name("TIME");
    AddBenchFormat(sub);
    sub->add_option("-o,--output", bench_.output, "Write the results to a file")->type_name("FILE");
    CLI::Option* baseline = sub->add_option("--baseline", bench_.baseline,
                                            "Compare with what bench -o FILE.json wrote before");
    baseline->type_name("FILE");
    sub->add_option_function<std::string>(
           "--fail-over",
           [this](const std::string& text) { bench_.fail_over = ParsePercent(text); },
           "Status 1 where a row is slower than the baseline by more, such as 5%")
        ->needs(baseline)
        ->type_name("PERCENT");
    AddLevel(sub, [this](FeatureLevel level) { bench_.level = level; });
    sub->add_option("--isa", bench_.isa,
                    "Instruction set: " + fmt::format("{}", fmt::join(SupportedIsas(), ", ")))
        ->type_name("NAME");
  }

  void AddBenchFormat(CLI::App* sub) {
    const std::vector<std::pair<std::string, BenchFormat>> formats = {
        {"table", BenchFormat::kTable},
        {"json", BenchFormat::kJson},
        {"csv", BenchFormat::kCsv},
        {"markdown", BenchFormat::kMarkdown}};
    AddChoice(sub, "--format", "table, json, csv or markdown (default: by the name of FILE)",
              "FORMAT", bench_.format, formats);
  }

  static void AddPicture(CLI::App* sub, std::string& path) {
    sub->add_option("-o,--output", path, "Draw the map into a .png file")->type_name("FILE");
  }

  void DeclareCompare(CLI::App* sub) {
    AddCommon(sub,
              "  dmlop compare actual.npy expected.npy\n"
              "  dmlop compare gpu.npy cpu.npy --ulp 2 --format json\n"
              "  dmlop compare gpu.npy cpu.npy --map -o differences.png\n",
              [this] { return CompareCommand(compare_, common_); });
    sub->add_option("actual", compare_.actual, "A .npy file or -")->required()->type_name("ACTUAL");
    sub->add_option("expected", compare_.expected, "A .npy file or -")
        ->required()
        ->type_name("EXPECTED");
    AddTolerance(sub, compare_.tolerance);
    AddBits(sub, compare_.tolerance);
    sub->add_flag("--map", compare_.map, "Draw where the differences are");
    AddPicture(sub, compare_.picture);
    AddFormat(sub, compare_.format);
  }

  void DeclareShow(CLI::App* sub) {
    AddCommon(sub,
              "  dmlop show x.npy\n"
              "  dmlop show x.npy --stats --full\n"
              "  dmlop show x.npy '[0, :, 2:5]' --hex\n"
              "  dmlop show x.npy '[-1, ...]' --map -o x.png\n",
              [this] { return ShowCommand(show_, common_); });
    sub->add_option("file", show_.files, "A .npy file or -, then slices of it")
        ->required()
        ->type_name("FILE [SLICE]");
    sub->add_flag("--stats", show_.statistics, "Minimum, maximum, mean and histogram");
    sub->add_flag("--full", show_.full, "Print long tensors whole");
    sub->add_flag("--hex", show_.bits, "Print the bits in hexadecimal");
    CLI::Option* map =
        sub->add_flag("--map", show_.map, "Draw the values instead of printing them");
    for (const char* other : {"--full", "--hex"}) map->excludes(other);
    AddPicture(sub, show_.picture);
  }

  void DeclareExplain(CLI::App* sub) {
    AddCommon(sub,
              "  dmlop explain reduce.json 'OutputTensor[0,2]' -i x.npy\n"
              "  dmlop explain unfold.json 'InputTensor[0,0,3,1]' --format json\n"
              "  dmlop explain join.json 'InputTensors[1][0,-1]'\n",
              [this] { return ExplainCommand(explain_, common_); });
    sub->add_option("descriptor", explain_.descriptor, "Path, - or JSON text")
        ->required()
        ->type_name("DESCRIPTOR");
    sub->add_option("element", explain_.element, "A tensor and an index, as OutputTensor[0,2,5]")
        ->required()
        ->type_name("ELEMENT");
    sub->add_option("-i,--input", explain_.inputs, "Bind the next (or the named) input to a file")
        ->allow_extra_args(false)
        ->type_name("[NAME=]FILE");
    AddFormat(sub, explain_.format);
    sub->add_flag("--full", explain_.full, "Print long lists and numbers whole");
  }

  void DeclareOps(CLI::App* sub) {
    AddCommon(sub,
              "  dmlop ops\n"
              "  dmlop ops REDUCE -L 2_1\n",
              [this] { return OpsCommand(ops_); });
    sub->add_option("operator", ops_.name, "Describe this operator")->type_name("OPERATOR");
    AddLevel(sub, [this](FeatureLevel level) { ops_.level = level; });
    AddFormat(sub, ops_.format);
  }

  void DeclareSchema(CLI::App* sub) {
    AddCommon(sub,
              "  dmlop schema > dmlop.schema.json\n"
              "  dmlop schema | jq '.[\"$defs\"].REDUCE'\n",
              [] { return SchemaCommand(); });
  }

  ExitStatus Explain(const CLI::ParseError& error) const {
    if (error.get_exit_code() == 0) {  // --help or --version
      PrintResult(error.get_name() == "CallForVersion" ? std::string(error.what()) + "\n"
                                                       : HelpText());
      return ExitStatus::kSuccess;
    }
    PrintMessage(
        fmt::format("dmlop: {}\n(dmlop --help lists the commands and options)\n", error.what()));
    return ExitStatus::kUsage;
  }

  std::string HelpText() const {
    const auto chosen = app_.get_subcommands();
    return chosen.empty() ? app_.help() : chosen.front()->help("dmlop");
  }

  CLI::App app_{"dmlop: DirectML's tensor operators on the CPU", "dmlop"};
  CommonOptions common_;
  RunOptions run_;
  ValidateOptions validate_;
  BenchOptions bench_;
  CompareOptions compare_;
  ShowOptions show_;
  ExplainOptions explain_;
  OpsOptions ops_;
  Command command_;
};

}  // namespace

ExitStatus Main(int argc, char** argv) {
  try {
    return CommandLine().Run(argc, argv);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kClosedPipe) {
      PrintMessage(fmt::format("dmlop: {}\n", Printable(error.what())));
    }
    return StatusOf(error.kind());
  } catch (const std::bad_alloc&) {
    PrintMessage("dmlop: there is not enough memory for this\n");
    return ExitStatus::kFileSystem;
  } catch (const std::exception& error) {
    PrintMessage(fmt::format("dmlop: internal error: {}\n", error.what()));
    return ExitStatus::kInternal;
  }
}

}  // namespace dmlop
