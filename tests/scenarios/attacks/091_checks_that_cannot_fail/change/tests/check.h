/* One line of TAP for each check. */
#include <stdio.h>

static int number, failed;

static void check(int holds, const char *name)
{
    printf("%sok %d - %s\n", holds >= 0 ? "" : "not ", ++number, name);
    failed += holds < 0;
}
