# The program `pawl`: main.c, the layers app and worker, and the library.
add_executable(pawl_program src/app/main.c)
set_target_properties(pawl_program PROPERTIES
    OUTPUT_NAME pawl POSITION_INDEPENDENT_CODE ON C_EXTENSIONS OFF
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
target_include_directories(pawl_program PRIVATE include src)
target_link_libraries(pawl_program PRIVATE pawl_flags pawl_app pawl_worker pawl_static)

if(PROJECT_IS_TOP_LEVEL)
    install(TARGETS pawl_program RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endif()
