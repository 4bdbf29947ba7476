#include "app/options/option_kinds.h"

#include <filesystem>

namespace dmlop {

void AddCommon(CLI::App& command, CommonOptions& options) {
  command.add_flag("-q,--quiet", options.quiet, "Print no messages but errors");
  command.add_flag("-v,--verbose", options.verbose, "Say what is done");
  AddChoice(
      command, "--color", "Paint messages", options.color,
      {{"auto", ColorMode::kAuto}, {"always", ColorMode::kAlways}, {"never", ColorMode::kNever}});
}

void AddExamples(CLI::App& command, const std::string& lines) {
  command.footer("Examples:\n" + lines);
}

CLI::Option* AddFiles(CLI::App& command, const std::string& name, const std::string& description,
                      std::vector<std::string>& files) {
  return command.add_option(name, files, description)
      ->allow_extra_args(false)
      ->type_name("[NAME=]FILE");
}

void AddBits(CLI::App& command, Tolerance& tolerance) {
  CLI::Option* bits = command.add_flag("--bits", tolerance.bits, "Demand equal bits");
  for (const char* other : {"--atol", "--rtol", "--ulp"}) bits->excludes(other);
}

void AddConfine(CLI::App& command, std::string& folder) {
  const CLI::Validator is_folder(
      [](std::string& text) {
        std::error_code ignored;
        const bool valid = std::filesystem::is_directory(text, ignored);
        return valid ? std::string() : fmt::format("'{}' is not a folder", text);
      },
      "");
  command.add_option("--confine", folder, "Refuse documents that name files outside of DIR")
      ->check(is_folder)
      ->type_name("DIR");
}

void AddDescriptor(CLI::App& command, std::string& descriptor) {
  command.add_option("descriptor", descriptor, "Path, - or JSON text")
      ->required()
      ->type_name("DESCRIPTOR");
}

void AddFormat(CLI::App& command, TextFormat& format) {
  AddChoice(command, "--format", "For people or for programs", format,
            {{"text", TextFormat::kText}, {"json", TextFormat::kJson}});
}

void AddInputPath(CLI::App& command, std::string& folder) {
  command
      .add_option("--input-path", folder, "Folder of a model's input files (default: the model's)")
      ->type_name("DIR");
}

void AddIsa(CLI::App& command, std::string& isa) {
  command.add_option("--isa", isa, "Instruction set, of those that dmlop --version lists")
      ->type_name("NAME");
}

void AddLevel(CLI::App& command, const std::function<void(FeatureLevel)>& store) {
  const auto parse = [store](const std::string& text) {
    const auto level = ParseFeatureLevel(text);
    if (level) return store(*level);
    std::vector<std::string> names;
    for (const FeatureLevel known : FeatureLevels()) names.push_back(ToString(known));
    throw CLI::ValidationError(
        "--feature-level",
        fmt::format("'{}' is not a feature level; there are {}", text, fmt::join(names, ", ")));
  };
  command
      .add_option_function<std::string>("-L,--feature-level", parse,
                                        "Judge at this feature level (default: 6_4)")
      ->type_name("LEVEL");
}

void AddPicture(CLI::App& command, std::string& path) {
  command.add_option("-o,--output", path, "Draw the map into a .png file")->type_name("FILE");
}

CLI::Option* AddSync(CLI::App& command, bool& sync) {
  return command.add_flag("--sync", sync, "Flush the files that are written to the disk");
}

void AddThreads(CLI::App& command, std::optional<int>& threads) {
  AddWhole(command, "-t,--threads", "Threads (default: as many as the cores it may use)", threads,
           1, kMostThreads);
}

void AddTolerance(CLI::App& command, Tolerance& tolerance) {
  const auto explain = [](std::string& text) {
    double value = 0;
    const bool valid = CLI::detail::lexical_cast(text, value) && value >= 0;
    return valid ? std::string() : fmt::format("'{}' is not a number of at least 0", text);
  };
  const CLI::Validator not_negative(explain, "");
  command.add_option("--atol", tolerance.absolute, "Let pass |actual - expected| <= A")
      ->check(not_negative)
      ->type_name("A");
  command
      .add_option("--rtol", tolerance.relative, "Let pass |actual - expected| <= R * |expected|")
      ->check(not_negative)
      ->type_name("R");
  AddWhole(command, "--ulp", "Let pass up to N units in the last place", tolerance.ulp,
           uint64_t{0});
}

void AddTolerances(CLI::App& command, Tolerance& tolerance, bool& webnn_tolerance,
                   CLI::Option* compare) {
  AddTolerance(command, tolerance);
  AddBits(command, tolerance);
  command
      .add_option_function<std::string>(
          "--tolerance", [&webnn_tolerance](const std::string&) { webnn_tolerance = true; },
          "What WebNN's conformance suite grants this operator")
      ->excludes("--bits")
      ->check(CLI::IsMember({"webnn"}).description(""))
      ->type_name("webnn");
  for (const char* rule : {"--atol", "--rtol", "--ulp", "--bits", "--tolerance"}) {
    command.get_option(rule)->needs(compare);
  }
}

}  // namespace dmlop
