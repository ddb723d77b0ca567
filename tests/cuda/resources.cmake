# SPDX-License-Identifier: Apache-2.0
#
# Compiles every kernel for one architecture and fails where one has a stack frame, spills registers or takes too many.

execute_process(
    COMMAND ${NVCC} -std=c++20 -O3 -Werror all-warnings -arch=${ARCHITECTURE} -I${SOURCE}/include -Xptxas -v -cubin -o every_kernel.${ARCHITECTURE}
            ${SOURCE}/tests/cuda/every_kernel.cu
    ERROR_VARIABLE report OUTPUT_VARIABLE report RESULT_VARIABLE failed)
if(failed)
    message(FATAL_ERROR "${report}")
endif()
string(REGEX MATCHALL "Function properties for [^\n]*" kernels "${report}")
list(LENGTH kernels count)
if(count LESS 20)
    message(FATAL_ERROR "the report names ${count} kernels only:\n${report}")
endif()
string(REGEX MATCHALL "Function properties for [^\n]*\n[^\n]*([^0-9]|^)[1-9][0-9]* bytes (stack frame|spill)[^\n]*" used "${report}")
if(used)
    list(JOIN used "\n" used)
    message(FATAL_ERROR "kernels that use local memory:\n${used}")
endif()
# Blocks of the kernels that add lengths, packs and rows are on a multiprocessor as often as their registers allow: 48.
# Samples one by one, whose statistics have more numbers, have 80.
string(REGEX MATCHALL "Function properties for [^\n]*\n[^\n]*\n[^\n]*Used [0-9]+ registers" kernels "${report}")
foreach(kernel IN LISTS kernels)
    string(REGEX REPLACE ".*Used ([0-9]+) registers" "\\1" registers "${kernel}")
    set(most 48)
    if(ARCHITECTURE STREQUAL "sm_75")  # with room for fewer threads
        set(most 64)
    endif()
    if(kernel MATCHES "11add_samplesI")
        set(most 80)
    endif()
    if(registers GREATER most)
        message(FATAL_ERROR "more than ${most} registers:\n${kernel}")
    endif()
    list(APPEND all_registers ${registers})
endforeach()
list(LENGTH all_registers with_registers)
if(NOT with_registers EQUAL count)
    message(FATAL_ERROR "the report says the registers of ${with_registers} kernels out of ${count}:\n${report}")
endif()
list(SORT all_registers COMPARE NATURAL)
list(GET all_registers 0 least)
list(GET all_registers -1 most)
message(STATUS "${count} kernels for ${ARCHITECTURE}, ${least} to ${most} registers, without local memory")
