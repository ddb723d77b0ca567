# SPDX-License-Identifier: Apache-2.0
#
# Run by ctest: a compilation that must say something within the first ten lines that the compiler prints, or
# within as many as LINES says.
#     cmake -DEXPECTED=REGEX -P first_lines.cmake COMPILER ARGUMENTS…
#     cmake -DSLIPS=FILE -DWAY=N -P first_lines.cmake COMPILER ARGUMENTS…
# In the second form the text is that of FILE: below `INVALID == N` stand a line for g++ and one for clang++.

if(NOT DEFINED LINES)
    set(LINES 10)
endif()
set(command)
set(is_command OFF)
math(EXPR last "${CMAKE_ARGC} - 1")
foreach(i RANGE ${last})
    if(is_command)
        list(APPEND command "${CMAKE_ARGV${i}}")
    elseif("${CMAKE_ARGV${i}}" MATCHES "first_lines.cmake$")
        set(is_command ON)
    endif()
endforeach()

set(ENV{LC_ALL} C)  # plain quotation marks
execute_process(COMMAND ${command} OUTPUT_VARIABLE output ERROR_VARIABLE output)
string(REGEX REPLACE "v[0-9]+_[0-9]+::" "" output "${output}")  # the inline namespace of the version
set(first)
set(rest "${output}")
foreach(line RANGE 1 ${LINES})
    string(FIND "${rest}" "\n" end)
    if(end EQUAL -1)
        string(APPEND first "${rest}")
        break()
    endif()
    math(EXPR next "${end} + 1")
    string(SUBSTRING "${rest}" 0 ${next} printed)
    string(SUBSTRING "${rest}" ${next} -1 rest)
    string(APPEND first "${printed}")
endforeach()

if(DEFINED SLIPS)
    file(READ ${SLIPS} text)
    if(NOT text MATCHES "INVALID == ${WAY}\n *// g[+][+]: ([^\n]*)\n *// clang[+][+]: ([^\n]*)\n")
        message(FATAL_ERROR "${SLIPS}: says not what INVALID == ${WAY} prints")
    endif()
    set(EXPECTED "${CMAKE_MATCH_1}")
    list(GET command 0 compiler)
    if(compiler MATCHES "clang")
        set(EXPECTED "${CMAKE_MATCH_2}")
    endif()
    string(FIND "${first}" "${EXPECTED}" at)
elseif(first MATCHES "${EXPECTED}")
    set(at 0)
else()
    set(at -1)
endif()
if(at EQUAL -1)
    message(FATAL_ERROR "The first ${LINES} lines have no \"${EXPECTED}\":\n${output}")
endif()
