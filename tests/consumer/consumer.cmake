# SPDX-License-Identifier: Apache-2.0
#
# Run by ctest: what a user's project does with floptally, in folders of its own.

include(${CMAKE_CURRENT_LIST_DIR}/../run.cmake)

function(build_and_run name programs)
    set(here ${WORK}/${name})
    run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/${name} -B ${here} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX}
        ${ARGN})
    run(${CMAKE_COMMAND} --build ${here} --target ${programs})
    foreach(program IN LISTS programs)
        run(${here}/${program})
    endforeach()
endfunction()
# A project that must be refused, with `what` in the message.
function(refused what)
    file(REMOVE_RECURSE ${WORK}/refused)
    execute_process(COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/find_package -B ${WORK}/refused -G ${GENERATOR}
                            -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${WORK}/prefix ${ARGN}
                    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
    string(REGEX REPLACE "[ \n]+" " " output "${output}")
    if(NOT status OR NOT output MATCHES "${what}")
        message(FATAL_ERROR "${ARGN} must be refused with \"${what}\", not:\n${output}")
    endif()
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BINARY} --prefix ${WORK}/prefix)
build_and_run(find_package "consumer;reads_a_config" -DCMAKE_PREFIX_PATH=${WORK}/prefix -DWANTED_VERSION=${VERSION})
build_and_run(add_subdirectory consumer -DFLOPTALLY_SOURCE=${SOURCE})  # that the reader links is seen when it is generated

# The tree in place of the download.
build_and_run(fetch_content consumer -DFETCHCONTENT_SOURCE_DIR_FLOPTALLY=${SOURCE})

# The lines of CMake on the pages find a clone in the folder, or what was installed; without_packages.cmake has the archive,
# tutorial.cmake builds the tutorial's, tests/cuda/page.cmake cuda.md's.
foreach(lines IN ITEMS "install.md add_subdirectory" "install.md find_package" "extending.md find_package")
    string(REPLACE " " ";" words "${lines}")
    list(GET words 0 page)
    list(GET words 1 begin)
    file(READ ${SOURCE}/docs/${page} text)
    if(NOT text MATCHES "```cmake\n(${begin}[^`]*)```")
        message(FATAL_ERROR "docs/${page} has no lines of CMake that begin with ${begin}")
    endif()
    set(here ${WORK}/${page}.${begin})
    file(WRITE ${here}/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)\nproject(page LANGUAGES CXX)\n"
         "add_executable(trainer ${CMAKE_CURRENT_LIST_DIR}/main.cpp)\n${CMAKE_MATCH_1}")
    file(CREATE_LINK ${SOURCE} ${here}/floptally SYMBOLIC)
    run(${CMAKE_COMMAND} -S ${here} -B ${here}/build -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX}
        -DCMAKE_PREFIX_PATH=${WORK}/prefix)
endforeach()


find_program(PKG_CONFIG pkg-config)
if(PKG_CONFIG)
    set(ENV{PKG_CONFIG_PATH} ${WORK}/prefix/share/pkgconfig)
    execute_process(COMMAND ${PKG_CONFIG} --cflags "floptally = ${VERSION}" OUTPUT_VARIABLE flags COMMAND_ERROR_IS_FATAL ANY
                    OUTPUT_STRIP_TRAILING_WHITESPACE)
    separate_arguments(flags)
    run(${CXX} -std=c++20 ${flags} ${CMAKE_CURRENT_LIST_DIR}/main.cpp -o ${WORK}/by_pkg_config)
    run(${WORK}/by_pkg_config)
endif()

# The package of Debian, unpacked into a root of its own.
find_program(DPKG_DEB dpkg-deb)
if(DPKG_DEB)
    run(${CPACK} -G DEB --config ${BINARY}/CPackConfig.cmake -B ${WORK}/deb)
    run(${DPKG_DEB} -x ${WORK}/deb/libfloptally-dev_${VERSION}_all.deb ${WORK}/root)
    file(REMOVE_RECURSE ${WORK}/find_package)
    build_and_run(find_package consumer -DCMAKE_PREFIX_PATH=${WORK}/root/usr -DWANTED_VERSION=${VERSION})
endif()

foreach(wrong IN ITEMS 99.0 0.0)
    refused("version: ${VERSION}" -DWANTED_VERSION=${wrong})
endforeach()
refused("no component wrong: there is reader, which needs nlohmann_json" -DWANTED_VERSION=${VERSION} -DWANTED_COMPONENT=wrong)
refused("no component reader: there is reader, which needs nlohmann_json" -DWANTED_VERSION=${VERSION}
        -DCMAKE_DISABLE_FIND_PACKAGE_nlohmann_json=ON)
