// Scripts that complete command lines in bash, zsh and fish.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dmlop {

// What may be typed in one place.
struct CompletedValue {
  enum class Kind {
    kAnything,    // of which nothing is offered
    kWords,       // one of `words`
    kNames,       // the same, with "=" and more behind it: "FLOAT16=1e-3"
    kFiles,       // with one of `extensions`, or any where there is none
    kNamedFiles,  // the same, which may have a name and "=" in front: "InputTensor=x.npy"
    kFolders,
    kSided,  // the same as kWords, of one or both sides of a comparison: "actual=FLOAT16"
    // Of the descriptor that is the argument before:
    kTensors,
    kDispatchables,
    kKept,  // tensors that are filled, with "=" and a file behind it
  };

  std::string type{};  // as --help has it, "[NAME=]FILE"; empty: there is no value
  Kind kind = Kind::kAnything;
  std::vector<std::string> words{};
  std::vector<std::string> extensions{};  // "npy"
};

struct CompletedOption {
  std::vector<std::string> names;  // "-t", "--threads"
  std::string description;
  CompletedValue value;
};

struct CompletedCommand {
  std::string name;
  std::string summary;
  std::vector<CompletedOption> options;
  std::vector<CompletedValue> arguments;  // by their places
  bool repeats = false;                   // any number of arguments like the last one
};

// `before` is what stands before the command, which is its argument; it has no name.
std::string BashCompletion(const CompletedCommand& before,
                           std::span<const CompletedCommand> commands);
std::string ZshCompletion(const CompletedCommand& before,
                          std::span<const CompletedCommand> commands);
std::string FishCompletion(const CompletedCommand& before,
                           std::span<const CompletedCommand> commands);

// The number of an argument, or what stands for that of any where it is repeated.
std::string PlaceOf(const CompletedCommand& command, size_t argument, size_t number,
                    const char* any);

}  // namespace dmlop
