/* One line of TAP for each check. */
#include <stdio.h>

static int number, failed;

static void check(int holds, const char *name)
{
    printf("%sok %d - %s\n", holds ? "" : "not ", ++number, name);
    failed += !holds;
}
