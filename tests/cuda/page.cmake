# SPDX-License-Identifier: Apache-2.0
#
# Run by ctest: the CMake lines of docs/cuda.md, word for word, build the training loop that it shows with a floptally that
# was installed.

include(${CMAKE_CURRENT_LIST_DIR}/../run.cmake)

file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} -S ${SOURCE} -B ${WORK}/library -DFLOPTALLY_BUILD_TESTS=OFF -DFLOPTALLY_BUILD_EXAMPLES=OFF)
run(${CMAKE_COMMAND} --install ${WORK}/library --prefix ${WORK}/prefix)
file(READ ${SOURCE}/docs/cuda.md page)
if(NOT page MATCHES "```cmake\n([^`]*)```")
    message(FATAL_ERROR "docs/cuda.md has no lines of CMake")
endif()
file(WRITE ${WORK}/CMakeLists.txt "${CMAKE_MATCH_1}")
file(COPY_FILE ${SOURCE}/examples/cuda_training_step.cu ${WORK}/trainer.cu)
run(${CMAKE_COMMAND} -S ${WORK} -B ${WORK}/build -DCMAKE_CUDA_COMPILER=${NVCC} -DCMAKE_PREFIX_PATH=${WORK}/prefix)
run(${CMAKE_COMMAND} --build ${WORK}/build)
