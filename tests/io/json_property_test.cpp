// SPDX-License-Identifier: Apache-2.0
// Random texts, mostly close to JSON: checks which are accepted as JSON, and their values, against
// nlohmann-json.

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "core/base/text.h"
#include "core/io/json.h"
#include "tests/support/random.h"

namespace dmlop {
namespace {

using Json = nlohmann::json;

constexpr int kCases = 20'000;

std::string RandomBlank(Engine& engine) {
  constexpr const char* kBlanks[] = {"",   "",   "",      "",         "",          " ",
                                     "\n", "\t", " \r\n", "// \"x\n", "/* , ] */", "/**/"};
  return OneOf(engine, kBlanks);
}

std::string RandomString(Engine& engine) {
  constexpr const char* kParts[] = {"a",
                                    "Sizes",
                                    " ",
                                    "/",
                                    "//",
                                    "\\\"",
                                    "\\\\",
                                    "\\/",
                                    "\\n",
                                    "\\u0041",
                                    "\\u00e9",
                                    "\\u20AC",
                                    "\\ud83d\\ude00",
                                    "\xC3\xA9",
                                    "\xE2\x82\xAC",
                                    "\xF0\x9F\x98\x80",
                                    "\x7F"};
  std::string text = "\"";
  for (int i = UniformInt(engine, 0, 4); i > 0; --i) text += OneOf(engine, kParts);
  return text + "\"";
}

std::string RandomNumber(Engine& engine) {
  constexpr const char* kNumbers[] = {
      "0",     "-0",     "7",     "-12",    "4294967296",          "1.5", "-0.0", "1e2",
      "1E+02", "2.5e-3", "1e999", "1e-999", "18446744073709551616"};
  return OneOf(engine, kNumbers);
}

std::string RandomValue(Engine& engine, int depth) {
  const auto list = [&](const char* brackets, bool named) {
    std::string text(1, brackets[0]);
    const int count = UniformInt(engine, 0, 4);
    for (int i = 0; i < count; ++i) {
      if (i > 0) text += ",";
      text += RandomBlank(engine);
      if (named) {
        text += RandomString(engine);
        text += RandomBlank(engine) + ":";
        text += RandomBlank(engine);
      }
      text += RandomValue(engine, depth - 1);
      text += RandomBlank(engine);
    }
    return text + brackets[1];
  };
  const int kind = UniformInt(engine, depth > 0 ? 0 : 2, 5);
  if (kind == 0) return list("[]", false);
  if (kind == 1) return list("{}", true);
  if (kind == 2) return RandomString(engine);
  if (kind == 3) return RandomNumber(engine);
  constexpr const char* kWords[] = {"true", "false", "null"};
  return OneOf(engine, kWords);
}

// Removes a byte, inserts one, duplicates a piece or truncates the text.
void Change(Engine& engine, std::string& text) {
  constexpr std::string_view kBytes = "{}[],:\"\\/*0179eE+-.tfnaul \n\t\x1F\x7F\xC3\xA9\xF0\x80";
  const auto place = [&] {
    return static_cast<size_t>(UniformInt(engine, 0, static_cast<int>(text.size()) - 1));
  };
  if (text.empty()) return;
  const size_t at = place();
  const size_t kind = static_cast<size_t>(UniformInt(engine, 0, 3));
  if (kind == 0) text.erase(at, 1);
  if (kind == 1) text.insert(at, 1, OneOf(engine, kBytes));
  if (kind == 2) text.insert(at, text.substr(at, 5));
  if (kind == 3) text.erase(at);
}

std::string RandomText(Engine& engine) {
  std::string text = RandomBlank(engine);
  text += RandomValue(engine, 5);
  text += RandomBlank(engine);
  for (int changes = UniformInt(engine, 0, 2); changes > 0; --changes) Change(engine, text);
  return text;
}

// kOurOwn: numbers that no double holds, and trailing commas, which this program accepts.
enum class Verdict { kJson, kNoJson, kOurOwn };

Verdict VerdictOf(const std::string& text, Json& value) {
  try {
    value = Json::parse(text, nullptr, /*allow_exceptions=*/true, /*ignore_comments=*/true);
    return Verdict::kJson;
  } catch (const Json::out_of_range&) {
    return Verdict::kOurOwn;
  } catch (const Json::parse_error& error) {
    const std::string_view message = error.what();
    const bool may_be_a_comma = message.find("unexpected ']'") != message.npos ||
                                message.find("unexpected '}'") != message.npos;
    return may_be_a_comma ? Verdict::kOurOwn : Verdict::kNoJson;
  }
}

void ExpectSame(const Json& expected, JsonCursor value) {
  switch (value.kind()) {
    case JsonKind::kNull:
      EXPECT_TRUE(expected.is_null());
      break;
    case JsonKind::kBoolean:
      EXPECT_EQ(Json(value.boolean()), expected);
      break;
    case JsonKind::kInteger:
    case JsonKind::kFraction:
      EXPECT_EQ(Json::parse(value.token()), expected);
      EXPECT_EQ(value.kind() == JsonKind::kFraction,
                value.token().find_first_of(".eE") != std::string_view::npos);
      break;
    case JsonKind::kString:
      EXPECT_EQ(Json(value.string()), expected);
      EXPECT_EQ(value.token().front(), '"');
      EXPECT_EQ(Json::parse(value.token()), expected);
      break;
    case JsonKind::kArray:
      ASSERT_TRUE(expected.is_array());
      ASSERT_EQ(value.child_count(), expected.size());
      for (size_t i = 0; i < expected.size(); ++i) ExpectSame(expected[i], value.children()[i]);
      break;
    case JsonKind::kObject:
      ASSERT_TRUE(expected.is_object());
      ASSERT_GE(value.child_count(), expected.size());
      if (value.child_count() > expected.size()) break;  // a name occurs twice
      for (const JsonCursor& child : value.children()) {
        ASSERT_TRUE(expected.contains(child.key()));
        ExpectSame(expected[child.key()], child);
      }
      break;
  }
}

TEST(JsonProperty, ReadsWhatNlohmannJsonReads) {
  int refused = 0;
  for (int i = 0; i < kCases; ++i) {
    Engine engine = CaseEngine(i);
    const std::string text = RandomText(engine);
    SCOPED_TRACE(CaseTrace(i) + "\n" + text);
    Json expected;
    const Verdict verdict = VerdictOf(text, expected);
    Diagnostics diagnostics;
    const auto document = JsonDocument::Parse(text, diagnostics);
    const bool is_json = document && !document->trailing_offset();
    EXPECT_EQ(!document, diagnostics.has_errors());
    // This program requires valid characters in comments, too.
    const bool is_text = ValidCharacters(text) == text.size();
    if (verdict != Verdict::kOurOwn) {
      EXPECT_EQ(is_json, verdict == Verdict::kJson && is_text);
    }
    if (is_json && verdict == Verdict::kJson) ExpectSame(expected, document->root());
    refused += !is_json;
    if (testing::Test::HasFailure()) break;
  }
  EXPECT_GT(refused, kCases / 10);
  EXPECT_LT(refused, kCases - kCases / 10);
}

}  // namespace
}  // namespace dmlop
