#include "app/options/help.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "app/text/text_width.h"

namespace dmlop {
namespace {

constexpr size_t kColumns = 80;
constexpr size_t kNameColumns = 30;

// Names in one column, what they mean in the other.
std::string Row(const std::string& name, std::string_view meaning) {
  const std::string margin(kNameColumns, ' ');
  const std::string head = "  " + name;
  const bool fits = head.size() + 2 <= kNameColumns;
  return fmt::format("{:<{}}{}{}\n", head, fits ? kNameColumns : 0, fits ? "" : "\n" + margin,
                     WrappedText(meaning, kColumns - kNameColumns, margin));
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

  std::string make_subcommand(const CLI::App* command) const override {
    return Row(command->get_name(), command->get_description());
  }

 private:
  // What else has to be given.
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
