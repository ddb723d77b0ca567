# SPDX-License-Identifier: Apache-2.0
#
# Compiles every kernel for one architecture and fails where one has a stack frame or spills registers.

execute_process(
    COMMAND ${NVCC} -std=c++20 -O3 -arch=${ARCHITECTURE} -I${SOURCE}/include -Xptxas -v -cubin -o every_kernel.${ARCHITECTURE}
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
string(REGEX MATCHALL "Used [0-9]+ registers" registers "${report}")
list(TRANSFORM registers REPLACE "[^0-9]" "")
list(SORT registers COMPARE NATURAL)
list(GET registers 0 least)
list(GET registers -1 most)
message(STATUS "${count} kernels for ${ARCHITECTURE}, ${least} to ${most} registers, without local memory")
