// What instructions do that are not in the tables of operations.hpp. Each says which fields of Instruction it uses.
#pragma once

#include "interpreter/invocation.hpp"

namespace lamina::interpreter {

// ---- Memory: memory.cpp ----

void access_chain(Invocation &v, const Instruction &i); // result: pointer; a: pointer; b: binding; list: chain
// result: value; a: pointer; b: binding; words; list: part
void load_local(Invocation &v, const Instruction &i);
void load_shared(Invocation &v, const Instruction &i);
void load_push(Invocation &v, const Instruction &i);
void load_buffer(Invocation &v, const Instruction &i);
// a: pointer; b: binding; c: value; words; list: part
void store_local(Invocation &v, const Instruction &i);
void store_shared(Invocation &v, const Instruction &i);
void store_buffer(Invocation &v, const Instruction &i);
void array_length(Invocation &v, const Instruction &i); // result; a: the first word; b: binding; c: stride in words

// ---- Parts of values: control.cpp ----

void move_words(Invocation &v, const Instruction &i);      // list: copies
void extract_dynamic(Invocation &v, const Instruction &i); // result; a: vector; b: index; words: of the vector
void insert_dynamic(Invocation &v, const Instruction &i);  // result; a: vector; b: component; c: index; words

// ---- Control flow: control.cpp ----

// Both: b: the label of this block; list: 1, or 0 for a jump back in a loop that drivers unroll.
void jump(Invocation &v, const Instruction &i);          // a: to
void jump_if(Invocation &v, const Instruction &i);       // c: condition; a: to; words: else to
void jump_by_value(Invocation &v, const Instruction &i); // c: selector; list: switch; b: as for jump
void join(Invocation &v, const Instruction &i);          // OpPhi, all of a block; list: phis
void call(Invocation &v, const Instruction &i);          // result; list: function; the copies of arguments come before
void enter(Invocation &v, const Instruction &i);         // list: function
void leave(Invocation &v, const Instruction &i);         // a: value; words: of it
void stop_at_unreachable(Invocation &v, const Instruction &i);

// ---- With others: workgroup.cpp does what they wait for ----

void wait_for_others(Invocation &v, const Instruction &i);
void flush(Invocation &v, const Instruction &i); // a: memory semantics

} // namespace lamina::interpreter
