# The forms of the kernels in shaders/joint that joint.hpp uses.
set(joint_forms joint_few_rows:BLOCKS joint_few_rows:SUBGROUP joint_few_rows:SUBGROUP:BLOCKS joint_registers:BLOCKS)
