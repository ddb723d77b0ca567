# SPDX-License-Identifier: Apache-2.0
#
# Two versions of floptally in one process: two shared objects, one of them built from a copy of the headers with another
# inline namespace and a tally with more members. A program that links both, in either order, counts with each.
#     cmake -DSOURCE=… -DWORK=… -DCXX=… [-DOTHER_NAMESPACE=v0_3] -P two_versions.cmake
#
# With OTHER_NAMESPACE=v0_3 both have one namespace: the program then runs the code of one version on the data of the other
# and ends by a signal.

include(${CMAKE_CURRENT_LIST_DIR}/../run.cmake)

if(NOT OTHER_NAMESPACE)
    set(OTHER_NAMESPACE v0_0)
endif()
file(REMOVE_RECURSE ${WORK})
file(COPY ${SOURCE}/include DESTINATION ${WORK}/other)
file(GLOB_RECURSE headers ${WORK}/other/include/*.hpp)
set(tallies 0)
foreach(header IN LISTS headers)
    file(READ ${header} text)
    string(REGEX REPLACE "inline v[0-9]+_[0-9]+" "inline ${OTHER_NAMESPACE}" changed "${text}")
    string(REGEX REPLACE "(\nclass tally [^;{]*{\n)" "\\1  public:\n    unsigned long long more[5] = {1, 2, 3, 4, 5};\n\n"
                         with_more "${changed}")
    if(NOT with_more STREQUAL changed)
        math(EXPR tallies "${tallies} + 1")
    endif()
    file(WRITE ${header} "${with_more}")
endforeach()
if(NOT tallies EQUAL 1)
    message(FATAL_ERROR "${tallies} headers define class tally, not 1")
endif()

set(this_include ${SOURCE}/include)
set(other_include ${WORK}/other/include)
foreach(version IN ITEMS this other)
    run(${CXX} -std=c++20 -O1 -fPIC -shared -I${${version}_include} -DCOUNT=count_with_${version}_version
        ${CMAKE_CURRENT_LIST_DIR}/library.cpp -o ${WORK}/lib${version}.so)
endforeach()
foreach(order IN ITEMS "this;other" "other;this")
    list(TRANSFORM order PREPEND -l OUTPUT_VARIABLE libraries)
    run(${CXX} -std=c++20 ${CMAKE_CURRENT_LIST_DIR}/main.cpp -L${WORK} ${libraries} -Wl,-rpath,${WORK} -o ${WORK}/program)
    run(${WORK}/program)
    message(STATUS "${libraries}: ${output}")
endforeach()
