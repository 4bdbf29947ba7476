// Scripts that complete command lines in bash, zsh and fish.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dmlop {

struct CompletedOption {
  std::vector<std::string> names;  // "-t", "--threads"
  std::string description;
  std::string type;                // "N"; empty for a flag, "text|json" for one of these words
  std::vector<std::string> words;  // that are offered in place of files
  std::vector<std::string> extensions{};  // of the files that it takes, "npy"; empty: any
};

struct CompletedCommand {
  std::string name;
  std::string summary;
  std::vector<CompletedOption> options;
  std::vector<std::string> words;         // that it takes in place of files
  std::vector<std::string> extensions{};  // as of an option
};

std::string BashCompletion(std::span<const CompletedCommand> commands);
std::string ZshCompletion(std::span<const CompletedCommand> commands);
std::string FishCompletion(std::span<const CompletedCommand> commands);

}  // namespace dmlop
