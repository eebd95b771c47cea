/* What MuJoCo's library says of its release, said by another: 9.9.9. */
int mj_version(void);
const char *mj_versionString(void);

int mj_version(void) { return 9009009; }
const char *mj_versionString(void) { return "9.9.9"; }
