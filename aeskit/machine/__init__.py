"""The lane machine: runs x86-64 machine code lane by lane, in numbers or over GF(2), on no CPU in particular.

- `loader.load(path)` gives an `Image`: sections laid out as a linker would, symbols, source lines.
- `decode.decode(image, address)` gives an `Instruction`: mnemonic, typed operands, mask, bytes, text.
- `state.Registers` is the state that every engine shares (silicon, emulator and this machine fill the same
  fields): `v` uint8[32, 64], `k` and `gpr` as ints, `rip`, `flags` as an RFLAGS word. `gpr` is in the order
  of the encoding: rax rcx rdx rbx rsp rbp rsi rdi r8 to r15.
- `memory.Memory` holds `Region`s: a name, an address, the bytes, what may be done with them.
- `run.Machine(image, memory)` executes: `machine.call(address)` runs a function to its return,
  `machine.step()` one instruction; `machine.registers()` and `machine.load(registers)` exchange the
  state with another engine.
- `semantics.TABLE` maps a mnemonic (without the v of VEX and EVEX) to its `Entry`: a body on byte arrays of
  shape (..., 16), and what kind of map it is, which is all that the GF(2) domain needs to know.
- `gf2` holds bytes over GF(2) as ids in an `Expressions` table; an id below 256 is that constant.
"""
