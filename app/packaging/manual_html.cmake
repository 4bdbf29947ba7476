# SPDX-License-Identifier: Apache-2.0
# Writes the pages of the manual as HTML, and an index of them. mandoc writes what a page says, and
# this script what stands around it.
#
#   cmake -D MANDOC=PROGRAM -D SOURCES=DIR -D GROUPS=NAME;... -D OUTPUT=DIR -P manual_html.cmake
#
# SOURCES has all pages and nothing else. Those of GROUPS are about operators.

cmake_minimum_required(VERSION 3.25)

# mandoc links pages of SOURCES in the first way, and all others in the second.
set(links "%N.%S.html;https://manpages.debian.org/%N.%S")

function(write_html file title body)
  file(WRITE ${OUTPUT}/${file} "<!DOCTYPE html>
<html lang=\"en\">
<head>
<meta charset=\"utf-8\">
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">
<meta name=\"color-scheme\" content=\"light dark\">
<link rel=\"stylesheet\" href=\"manual.css\">
<title>${title}</title>
</head>
<body>
${body}
</body>
</html>
")
endfunction()

# A list of the subsections of a page, such as its operators, with links to them. It is empty where
# a page has one at most.
function(list_subsections result file text)
  set(heading "<h2 class=\"Ss\" id=\"([^\"]*)\"><a [^>]*>([^<]*)</a></h2>")
  string(REGEX MATCHALL "${heading}" items "${text}")
  list(LENGTH items count)
  if(count LESS 2)
    set(items "")
  endif()
  list(TRANSFORM items REPLACE "${heading}" "<li><a href=\"${file}#\\1\">\\2</a></li>")
  list(JOIN items "\n" items)
  string(REGEX REPLACE "^(.+)$" "<nav><ul>\n\\1\n</ul></nav>\n" items "${items}")
  set(${result} "${items}" PARENT_SCOPE)
endfunction()

# Writes a page, and adds it to a list of the index.
function(write_page list page)
  string(REGEX REPLACE "\\.(.)$" "(\\1)" title ${page})
  execute_process(COMMAND ${MANDOC} -T html -O "fragment,man=${links}" ${page}
    WORKING_DIRECTORY ${SOURCES} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCH "<span class=\"Nd\">([^<]*)</span>" found "${text}")
  set(description "${CMAKE_MATCH_1}")
  string(REGEX MATCH "<td class=\"foot-date\">([^<]*)</td>" found "${text}")
  set(date "${CMAKE_MATCH_1}")
  string(REGEX MATCH "<div class=\"manual-text\">.*</div>" text "${text}")
  string(REGEX REPLACE "<a class=\"Lk\" href=\"([^\"]*\\.png)\">([^<]*)</a>"
         "<a href=\"\\1\"><img src=\"\\1\" alt=\"\\2\"><br>\\2</a>" text "${text}")
  list_subsections(contents "" "${text}")
  # They follow the name of the page and what it is about.
  string(REGEX REPLACE "(<h1 class=\"Sh\" id=\"DESCRIPTION\">)" "${contents}\\1" text "${text}")
  write_html(${page}.html "${title}" "<header><a href=\"index.html\">dmlop Manual</a> ${title}</header>
${text}
<footer>${date}</footer>")
  if(list STREQUAL "operators")
    list_subsections(contents ${page}.html "${text}")
  else()
    set(contents "")
  endif()
  set(${list} "${${list}}<dt><a href=\"${page}.html\">${title}</a></dt>
<dd>${description}
${contents}</dd>
" PARENT_SCOPE)
endfunction()

file(GLOB pages RELATIVE ${SOURCES} ${SOURCES}/*)
foreach(page IN LISTS pages)
  string(REGEX MATCH "^dmlop-(.*)\\.7$" found ${page})
  if(CMAKE_MATCH_1 IN_LIST GROUPS)
    write_page(operators ${page})
  elseif(page MATCHES "^(dmlop\\.1|dmlop-tutorial\\.7)$")
    write_page(beginning ${page})
  elseif(page MATCHES "1$")
    write_page(commands ${page})
  else()
    write_page(documents ${page})
  endif()
endforeach()
write_html(index.html "dmlop Manual" "<header>dmlop Manual</header>
<h1>Where to begin</h1>
<dl>
${beginning}</dl>
<h1>Commands</h1>
<dl>
${commands}</dl>
<h1>Documents and values</h1>
<dl>
${documents}</dl>
<h1>Operators</h1>
<dl>
${operators}</dl>")
