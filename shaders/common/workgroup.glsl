// The number of this workgroup in a grid made by Plan::spread(n). The grid may be larger than n, so a kernel must
// return if the number is n or more.
uint workgroup_number() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }
