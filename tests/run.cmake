# SPDX-License-Identifier: Apache-2.0

# Runs a command of a test. What it writes is then in `output`; where it fails, so does the test, with that.
function(run)
    execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE errors)
    if(NOT status EQUAL 0)
        message(FATAL_ERROR "${ARGN}: ${status}\n${output}${errors}")
    endif()
    set(output "${output}" PARENT_SCOPE)
endfunction()
