// The number of this workgroup in a grid made by Plan::spread(): the grid may be larger than n, so a kernel returns
// when the number is not below n.
uint workgroup_number() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }
