#include <memory>

#include "app/commands.h"
#include "app/options/command_options.h"
#include "app/options/option_kinds.h"

namespace dmlop {

Command DeclareCompare(CLI::App& command, const CommonOptions& common) {
  const auto options = std::make_shared<CompareOptions>();
  AddExamples(command,
              "  dmlop compare actual.npy expected.npy\n"
              "  dmlop compare gpu.npy cpu.npy --ulp 2 --format json\n"
              "  dmlop compare gpu.npy cpu.npy --map -o differences.png\n");
  command.add_option("actual", options->actual, "A .npy file or -")
      ->required()
      ->type_name("ACTUAL");
  command.add_option("expected", options->expected, "A .npy file or -")
      ->required()
      ->type_name("EXPECTED");
  AddTolerance(command, options->tolerance);
  AddBits(command, options->tolerance);
  command.add_flag("--map", options->map, "Draw where the differences are");
  AddPicture(command, options->picture);
  AddFormat(command, options->format);
  return [options, &common] { return CompareCommand(*options, common); };
}

}  // namespace dmlop
