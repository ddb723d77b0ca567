# SPDX-License-Identifier: Apache-2.0
#
# Run by ctest: a machine with a compiler and CMake alone. The headers are installed and used, and what needs a package says
# which.

include(${CMAKE_CURRENT_LIST_DIR}/../run.cmake)

set(packages nlohmann_json fmt cxxopts Catch2 benchmark pybind11 ZLIB MPI CUDAToolkit Python3 Threads)
list(TRANSFORM packages REPLACE "(.+)" "-DCMAKE_DISABLE_FIND_PACKAGE_\\1=ON" OUTPUT_VARIABLE no_packages)
set(compiler -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX})

# Configures a user's project that is named by its folder, builds and runs its program.
function(build_and_run name)
    run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/${name} -B ${WORK}/${name} ${compiler} ${no_packages} ${ARGN})
    run(${CMAKE_COMMAND} --build ${WORK}/${name} --target consumer)
    run(${WORK}/${name}/consumer)
endfunction()
# A configuration of this tree that must fail with `sentence`.
function(refused sentence)
    file(REMOVE_RECURSE ${WORK}/refused)
    execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/refused ${ARGN} ${no_packages}
                    WORKING_DIRECTORY ${SOURCE} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
    string(REGEX REPLACE "[ \n]+" " " output "${output}")
    if(NOT status OR NOT output MATCHES "${sentence}")
        message(FATAL_ERROR "${ARGN} must be refused with \"${sentence}\", not:\n${output}")
    endif()
endfunction()

file(REMOVE_RECURSE ${WORK})

# The whole tree, as a clone has it: the options of what needs packages turn themselves off and say why.
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/build ${compiler} ${no_packages})
foreach(sentence IN ITEMS "FLOPTALLY_BUILD_TESTS is OFF, not installed: nlohmann_json, Catch2"
        "FLOPTALLY_BUILD_EXAMPLES is OFF, not installed: nlohmann_json, fmt, cxxopts")
    if(NOT output MATCHES "${sentence}")
        message(FATAL_ERROR "must say \"${sentence}\":\n${output}")
    endif()
endforeach()
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${CMAKE_COMMAND} --install ${WORK}/build --prefix ${WORK}/prefix)
build_and_run(find_package -DCMAKE_PREFIX_PATH=${WORK}/prefix -DWANTED_VERSION=${VERSION} -DWANTED_COMPONENT=)

# A release's archive, with the folder of its name in it, downloaded from a file.
set(folder ${WORK}/archive/floptally-${VERSION})
file(COPY ${SOURCE}/CMakeLists.txt ${SOURCE}/LICENSE ${SOURCE}/include DESTINATION ${folder})
file(COPY ${SOURCE}/docs/NOTICE DESTINATION ${folder}/docs)
execute_process(COMMAND ${CMAKE_COMMAND} -E tar czf ${WORK}/floptally.tar.gz floptally-${VERSION}
                WORKING_DIRECTORY ${WORK}/archive COMMAND_ERROR_IS_FATAL ANY)
build_and_run(fetch_content -DFLOPTALLY_URL=${WORK}/floptally.tar.gz)

# The lines of docs/install.md, with the archive next to the user's CMakeLists.txt.
file(READ ${SOURCE}/docs/install.md page)
if(NOT page MATCHES "```cmake\n(include.FetchContent.[^`]*)```")
    message(FATAL_ERROR "docs/install.md has no lines of FetchContent")
endif()
file(WRITE ${WORK}/page/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)\nproject(page LANGUAGES CXX)\n"
     "add_executable(trainer ${CMAKE_CURRENT_LIST_DIR}/main.cpp)\n${CMAKE_MATCH_1}")
file(COPY_FILE ${WORK}/floptally.tar.gz ${WORK}/page/floptally.tar.gz)
run(${CMAKE_COMMAND} -S ${WORK}/page -B ${WORK}/page/build ${compiler} ${no_packages})

build_and_run(add_subdirectory -DFLOPTALLY_SOURCE=${SOURCE})

# What is asked for by name, or by a preset, is an error without its package.
refused("nlohmann_json is not installed. On Debian: .ci/install" ${compiler} -DFLOPTALLY_BUILD_TESTS=ON)
refused("nlohmann_json is not installed. On Debian: .ci/install" --preset program)
list(REMOVE_ITEM no_packages -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON)
refused("Catch2 is not installed" ${compiler} -DFLOPTALLY_BUILD_TESTS=ON)
refused("fmt is not installed" ${compiler} -DFLOPTALLY_BUILD_EXAMPLES=ON)
