# SPDX-License-Identifier: Apache-2.0
# The library as one header: two units that include it are a program, which prints what the example of the tree prints.
#     cmake -DSOURCE=… -DWORK=… -DCXX=… -DPYTHON=… -DEXAMPLE=… -P single_header.cmake

include(${CMAKE_CURRENT_LIST_DIR}/../run.cmake)

file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK}/floptally)
run(${PYTHON} ${SOURCE}/examples/single_header.py)
file(WRITE ${WORK}/floptally/floptally.hpp "${output}")
file(WRITE ${WORK}/other.cpp "#include <floptally/floptally.hpp>\nfloptally::meter* none();\nfloptally::meter* none() { return nullptr; }\n")
run(${CXX} -std=c++20 -O0 -I${WORK} ${CMAKE_CURRENT_LIST_DIR}/main.cpp -o ${WORK}/consumer)
run(${WORK}/consumer)
run(${CXX} -std=c++20 -O0 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -I${WORK}
    ${SOURCE}/examples/count_one_step.cpp ${WORK}/other.cpp -o ${WORK}/count_one_step)
run(${EXAMPLE})
set(expected "${output}")
run(${WORK}/count_one_step)
if(NOT output STREQUAL expected)
    message(FATAL_ERROR "the single header counts\n${output}the tree\n${expected}")
endif()
