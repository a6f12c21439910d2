#include "app/cli.h"

int main(int argc, char **argv)
{
    return pawl_cli_run(argc, argv);
}
