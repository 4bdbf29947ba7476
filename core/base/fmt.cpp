// SPDX-License-Identifier: Apache-2.0
// Compiles the parts of fmt that are not templates, once: the program then loads no library for
// them at start-up, and no other source compiles them again.
#include <fmt/format-inl.h>

namespace fmt::detail {

template auto thousands_sep_impl<char>(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;

}  // namespace fmt::detail
