// SPDX-License-Identifier: Apache-2.0
#include "app/options/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "app/files/output.h"
#include "app/text/text_width.h"

namespace dmlop {
namespace {

size_t Columns() {
  return std::min(kDefaultColumns, OutputWidth());
}

// Names in one column and their meaning in the other or, in narrow terminals, below.
std::string Row(const std::string& name, std::string_view meaning) {
  constexpr size_t kLeastForTwo = 60;
  const size_t columns = Columns();
  const size_t before = columns < kLeastForTwo ? 6 : 30;
  const std::string margin(before, ' ');
  const std::string head = "  " + WrappedText(name, columns - before, margin);
  const bool fits = head.size() + 2 <= before;
  return fmt::format("{:<{}}{}{}\n", head, fits ? before : 0, fits ? "" : "\n" + margin,
                     WrappedText(meaning, columns - before, margin));
}

// Wraps the text between its leading and trailing line breaks.
std::string Paragraph(const std::string& text) {
  constexpr size_t kMargin = 2;
  const size_t begin = std::min(text.size(), text.find_first_not_of('\n'));
  const size_t end = text.find_last_not_of('\n') + 1;
  if (begin >= end) return text;
  return text.substr(0, begin) +
         WrappedText(text.substr(begin, end - begin), Columns() - kMargin,
                     std::string(kMargin, ' ')) +
         text.substr(end);
}

class Formatter : public CLI::Formatter {
 public:
  std::string make_option(const CLI::Option* option, bool is_positional) const override {
    return Row(make_option_name(option, is_positional) + make_option_opts(option),
               option->get_description() + Needs(*option));
  }

  std::string make_option_opts(const CLI::Option* option) const override {
    if (option->get_type_size() == 0) return "";
    const bool is_many = option->get_expected_max() == CLI::detail::expected_max_vector_size;
    return " " + option->get_type_name() + (is_many ? " ..." : "");
  }

  std::string make_usage(const CLI::App* command, std::string name) const override {
    return Paragraph(CLI::Formatter::make_usage(command, name));
  }

  std::string make_description(const CLI::App* command) const override {
    return Paragraph(CLI::Formatter::make_description(command));
  }

  // Examples are commands, which must not be wrapped.
  std::string make_footer(const CLI::App* command) const override {
    const std::string text = CLI::Formatter::make_footer(command);
    return text.find("\n  ") == std::string::npos ? Paragraph(text) : text;
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return Row(command->get_name(), command->get_description());
  }

 private:
  // Names the other options that this one requires.
  static std::string Needs(const CLI::Option& option) {
    std::string text;
    for (const CLI::Option* needed : option.get_needs()) {
      text += (text.empty() ? "; with " : " and ") + needed->get_name();
    }
    return text;
  }
};

}  // namespace

std::shared_ptr<CLI::Formatter> HelpFormatter() {
  return std::make_shared<Formatter>();
}

}  // namespace dmlop
