# libpawl.a and libpawl.so, of the same objects, and what installs with them.
include(CMakePackageConfigHelpers)

set(objects "")
foreach(layer base core store engine supervisor)
    list(APPEND objects $<TARGET_OBJECTS:pawl_${layer}>)
endforeach()
set(needs SQLite::SQLite3 Threads::Threads m ${CMAKE_DL_LIBS})

add_library(pawl_static STATIC ${objects})
add_library(pawl_shared SHARED ${objects})
foreach(kind static shared)
    set_target_properties(pawl_${kind} PROPERTIES
        OUTPUT_NAME pawl EXPORT_NAME ${kind} LINKER_LANGUAGE C
        ARCHIVE_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}"
        LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
    target_include_directories(pawl_${kind} PUBLIC
        "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>"
        "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>")
    target_link_libraries(pawl_${kind} PRIVATE $<BUILD_INTERFACE:pawl_flags> ${needs})
    add_library(pawl::${kind} ALIAS pawl_${kind})
endforeach()
# pawl::pawl is what a program links that does not care: inside another build the one that this build
# prefers, installed the shared one (pawlConfig.cmake.in).
if(BUILD_SHARED_LIBS)
    add_library(pawl::pawl ALIAS pawl_shared)
else()
    add_library(pawl::pawl ALIAS pawl_static)
endif()
# Before 1.0 the number of the interface is 0 and promises nothing yet.
set_target_properties(pawl_shared PROPERTIES
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})
if(NOT PAWL_SANITIZE)
    target_link_options(pawl_shared PRIVATE -Wl,--no-undefined)
endif()

# Components, which are packages elsewhere: runtime (libpawl.so.N), development, program.
if(PROJECT_IS_TOP_LEVEL)
    install(TARGETS pawl_static pawl_shared EXPORT pawlTargets
        ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT development
        LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}" COMPONENT runtime
            NAMELINK_COMPONENT development
        INCLUDES DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
    install(FILES include/pawl.h DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT development)
    # What pawl.h names, and what these name in turn: all of them.
    install(DIRECTORY docs/ DESTINATION "${CMAKE_INSTALL_DOCDIR}" COMPONENT development FILES_MATCHING PATTERN "*.md")
    install(FILES man/pawl.3 DESTINATION "${CMAKE_INSTALL_MANDIR}/man3" COMPONENT development)

    set(package "${CMAKE_INSTALL_LIBDIR}/cmake/pawl")
    configure_package_config_file(cmake/pawlConfig.cmake.in pawlConfig.cmake
        INSTALL_DESTINATION "${package}")
    write_basic_package_version_file(pawlConfigVersion.cmake COMPATIBILITY SameMinorVersion)
    install(FILES "${PROJECT_BINARY_DIR}/pawlConfig.cmake"
        "${PROJECT_BINARY_DIR}/pawlConfigVersion.cmake"
        DESTINATION "${package}" COMPONENT development)
    install(EXPORT pawlTargets NAMESPACE pawl:: DESTINATION "${package}" COMPONENT development)

    # Written when it is installed, since only then the prefix is certain (cmake --install --prefix).
    cmake_path(APPEND libdir "\${prefix}" "${CMAKE_INSTALL_LIBDIR}")
    cmake_path(APPEND includedir "\${prefix}" "${CMAKE_INSTALL_INCLUDEDIR}")
    configure_file(cmake/pawl.pc.in pawl.pc.in @ONLY)
    install(CODE "
        file(READ \"${PROJECT_BINARY_DIR}/pawl.pc.in\" text)
        file(WRITE \"${PROJECT_BINARY_DIR}/pawl.pc\" \"prefix=\${CMAKE_INSTALL_PREFIX}\\n\${text}\")
        " COMPONENT development)
    install(FILES "${PROJECT_BINARY_DIR}/pawl.pc"
        DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT development)
endif()
