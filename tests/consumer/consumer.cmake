# SPDX-License-Identifier: Apache-2.0
#
# Run by ctest: what a user's project does with floptally, in folders of its own.

function(run)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(status)
        message(FATAL_ERROR "${ARGN}\n${output}")
    endif()
endfunction()

function(build_and_run name)
    set(here ${WORK}/${name})
    run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/${name} -B ${here} -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX}
        ${ARGN})
    run(${CMAKE_COMMAND} --build ${here})
    run(${here}/consumer)
endfunction()

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BINARY} --prefix ${WORK}/prefix)
build_and_run(find_package -DCMAKE_PREFIX_PATH=${WORK}/prefix -DWANTED_VERSION=${VERSION})
build_and_run(add_subdirectory -DFLOPTALLY_SOURCE=${SOURCE})

foreach(wrong IN ITEMS 99.0 0.0)
    execute_process(COMMAND ${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/find_package -B ${WORK}/wrong_${wrong}
                            -G ${GENERATOR} -DCMAKE_CXX_COMPILER=${CXX} -DCMAKE_PREFIX_PATH=${WORK}/prefix -DWANTED_VERSION=${wrong}
                    RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output)
    if(NOT status OR NOT output MATCHES "version: ${VERSION}")
        message(FATAL_ERROR "version ${wrong} must be refused for being ${VERSION}, not:\n${output}")
    endif()
endforeach()
