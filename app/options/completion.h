// SPDX-License-Identifier: Apache-2.0
// Scripts that complete command lines in bash, zsh and fish.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dmlop {

// The words that may be typed in one place.
struct CompletedValue {
  enum class Kind {
    kAnything,    // nothing is offered
    kWords,       // one of `words`
    kNames,       // one of `words`, followed by "=" and more: "FLOAT16=1e-3"
    kFiles,       // files with one of `extensions`, or any file if there are none
    kNamedFiles,  // the same, optionally after a name and "=": "InputTensor=x.npy"
    kFolders,
    kSided,  // the same as kWords, of one or both sides of a comparison: "actual=FLOAT16"
    // These belong to the descriptor that is the argument before:
    kTensors,
    kDispatchables,
    kKept,  // tensors that are filled, with "=" and a file behind it
  };

  std::string type{};  // as in --help, "[NAME=]FILE"; empty if there is no value
  Kind kind = Kind::kAnything;
  std::vector<std::string> words{};
  std::vector<std::string> extensions{};  // such as "npy"
};

struct CompletedOption {
  std::vector<std::string> names;  // such as "-t", "--threads"
  std::string description;
  CompletedValue value;
};

struct CompletedCommand {
  std::string name;
  std::string summary;
  std::vector<CompletedOption> options;
  std::vector<CompletedValue> arguments;  // in order of position
  bool repeats = false;                   // the last argument may be repeated
};

// `before` describes what precedes the command, which is its argument; it has no name.
std::string BashCompletion(const CompletedCommand& before,
                           std::span<const CompletedCommand> commands);
std::string ZshCompletion(const CompletedCommand& before,
                          std::span<const CompletedCommand> commands);
std::string FishCompletion(const CompletedCommand& before,
                           std::span<const CompletedCommand> commands);

// The commands, which are the words of the argument of `before`.
std::string CommandWords(const CompletedCommand& before, std::string_view separator);

// The number of an argument, or `any` if it may be repeated.
std::string PlaceOf(const CompletedCommand& command, size_t argument, size_t number,
                    const char* any);

}  // namespace dmlop
