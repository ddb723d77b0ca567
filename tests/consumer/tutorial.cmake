# SPDX-License-Identifier: Apache-2.0
#
# The project of docs/tutorial_cpp.md. Its CMakeLists.txt is the page's lines of CMake, its programs
# are the page's, and what they print is what the page shows.

include(${CMAKE_CURRENT_LIST_DIR}/../run.cmake)

file(READ ${SOURCE}/docs/tutorial_cpp.md page)
set(here ${WORK}/my_trainer)
file(MAKE_DIRECTORY ${here})
file(CREATE_LINK ${SOURCE} ${here}/floptally SYMBOLIC)

# What stands in `text` between the first `begin` and the `end` after it, and what follows.
function(between text begin end found rest)
    string(FIND "${text}" "${begin}" at)
    if(at EQUAL -1)
        message(FATAL_ERROR "docs/tutorial_cpp.md has no \"${begin}\" here:\n${text}")
    endif()
    string(LENGTH "${begin}" length)
    math(EXPR at "${at} + ${length}")
    string(SUBSTRING "${text}" ${at} -1 text)
    string(FIND "${text}" "${end}" at)
    string(SUBSTRING "${text}" 0 ${at} block)
    string(SUBSTRING "${text}" ${at} -1 text)
    set(${found} "${block}" PARENT_SCOPE)
    set(${rest} "${text}" PARENT_SCOPE)
endfunction()

# A program of the page is a file of tests/consumer/tutorial, without its licence.
foreach(program IN ITEMS count count_test config train ranks serve)
    between("${page}" "```cpp\n// ${program}.cpp\n" "```\n" lines rest)
    file(READ ${CMAKE_CURRENT_LIST_DIR}/tutorial/${program}.cpp expected)
    # REUSE-IgnoreStart
    if(NOT "// SPDX-License-Identifier: Apache-2.0\n// ${program}.cpp\n${lines}" STREQUAL "${expected}")
        message(FATAL_ERROR "docs/tutorial_cpp.md: ${program}.cpp differs from tests/consumer/tutorial/${program}.cpp")
    endif()
    # REUSE-IgnoreEnd
    file(WRITE ${here}/${program}.cpp "${lines}")
endforeach()
set(project "")
set(rest "${page}")
foreach(block RANGE 1 6)
    between("${rest}" "```cmake\n" "```\n" lines rest)
    string(APPEND project "${lines}")
endforeach()
file(WRITE ${here}/CMakeLists.txt "${project}")

# A port that is free, most likely.
string(RANDOM LENGTH 4 ALPHABET 123456789 port)
set(port 2${port})
file(READ ${here}/serve.cpp lines)
string(REPLACE "{9400}" "{${port}}" lines "${lines}")
file(WRITE ${here}/serve.cpp "${lines}")

run(${CMAKE_COMMAND} -S ${here} -B ${here}/build -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX})
run(${CMAKE_COMMAND} --build ${here}/build)
file(COPY_FILE ${SOURCE}/examples/data/mistral-7b-v0.1.json ${here}/config.json)
file(READ ${here}/config.json lines)
string(REPLACE "\"hidden_size\": 4096" "\"hidden_size\": \"4096\"" lines "${lines}")
file(WRITE ${here}/wrong.json "${lines}")
foreach(command IN ITEMS "build/count" "build/count_test" "build/config config.json" "build/train" "build/ranks"
        "build/config wrong.json" "build/config none.json")
    between("${page}" "${command}\n" "## " text rest)
    between("${text}" "```output\n" "```\n" expected rest)
    separate_arguments(words UNIX_COMMAND "${here}/${command}")
    execute_process(COMMAND ${words} WORKING_DIRECTORY ${here} OUTPUT_VARIABLE output)
    if(NOT output STREQUAL expected)
        message(FATAL_ERROR "${command}: docs/tutorial_cpp.md shows\n${expected}and it prints\n${output}")
    endif()
endforeach()

# The trainer that serves its counters: lines of the page, with the number of steps that it has done by then.
file(WRITE ${here}/read.cmake "foreach(attempt RANGE 100)
    file(DOWNLOAD http://localhost:${port} ${here}/metrics.txt STATUS status)
    file(STRINGS ${here}/metrics.txt steps REGEX \"^floptally_steps_total.*} [1-9]\")
    if(status MATCHES \"^0;\" AND steps)
        break()
    endif()
    execute_process(COMMAND ${CMAKE_COMMAND} -E sleep 0.2)
endforeach()")
file(WRITE ${here}/serve.sh "timeout 100 ${here}/build/serve >/dev/null 2>&1 &
    ${CMAKE_COMMAND} -P ${here}/read.cmake
    kill $!")
run(sh ${here}/serve.sh)
between("${page}" "After ten steps this prints\n" "## " text rest)
between("${text}" "```output\n" "```\n" expected rest)
file(STRINGS ${here}/metrics.txt output REGEX "steps_total[{]|mlp.*useful")
list(JOIN output "\n" output)
foreach(shown IN ITEMS "${expected}" "${output}\n")
    if(NOT shown MATCHES "} ([1-9][0-9]*)\n.*} ([0-9]+)\n$")
        message(FATAL_ERROR "serve: no step is counted in\n${shown}")
    endif()
    math(EXPR left "${CMAKE_MATCH_2} - ${CMAKE_MATCH_1} * 273965226393600")  # count.cpp says the MLP's FLOPs of a step
    string(REGEX REPLACE "} [0-9]+\n" "}\n" text "${shown}")
    list(APPEND compared "${left} left of\n${text}")
endforeach()
list(REMOVE_DUPLICATES compared)
if(NOT compared MATCHES "^0 left of\nfloptally_steps_total[^;]*$")
    message(FATAL_ERROR "serve: docs/tutorial_cpp.md shows\n${expected}and it serves\n${output}")
endif()
