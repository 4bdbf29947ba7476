// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "app/commands.h"
#include "app/options/command_options.h"
#include "app/options/option_kinds.h"

namespace dmlop {
namespace {

constexpr size_t kMostListed = 1'000'000;

}  // namespace

Command DeclareCompare(CLI::App& command, const CommonOptions& common) {
  const auto options = std::make_shared<CompareOptions>();
  AddExamples(command,
              "  dmlop compare actual.npy expected.npy\n"
              "  dmlop compare gpu.npy cpu.npy --ulp 2 --format json\n"
              "  dmlop compare gpu.npy cpu.npy --map -o differences.png\n"
              "  dmlop compare gpu.bin cpu.bin --type FLOAT16 --sizes 64,64\n"
              "  dmlop compare heap.bin@0x400 cpu.npy --type FLOAT16 --sizes 64,64\n"
              "  dmlop compare gpu golden --ulp FLOAT16=1 --ulp FLOAT32=2\n");
  command.add_option("actual", options->actual, "A tensor file, a folder of them, or -")
      ->required()
      ->type_name("ACTUAL");
  command.add_option("expected", options->expected, "What is compared with: a file, a folder or -")
      ->required()
      ->type_name("EXPECTED");
  AddRawForms(command, options->raw);
  AddRules(command, options->rules);
  AddWhole(command, "--list", "List the N worst differences", options->most_listed, size_t{1},
           kMostListed);
  command.add_flag("--map", options->map, "Draw where the differences are");
  AddPicture(command, options->picture);
  AddFormat(command, options->format);
  return [options, &common] { return CompareCommand(*options, common); };
}

}  // namespace dmlop
