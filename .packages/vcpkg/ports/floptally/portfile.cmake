# SPDX-License-Identifier: Apache-2.0
# An overlay of a clone: vcpkg install floptally --overlay-ports=.packages/vcpkg/ports
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)
set(VCPKG_BUILD_TYPE release)  # headers
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS -DFLOPTALLY_BUILD_TESTS=OFF -DFLOPTALLY_BUILD_EXAMPLES=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/floptally)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/lib")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
