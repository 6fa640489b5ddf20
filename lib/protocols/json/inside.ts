/**
 * Finds where a long JSON string ends, sixteen bytes at a time. A regular expression reads one character after the other, and takes longer
 * where many are escaped, as in all files and programs that agents send. So the search is WebAssembly, whose instructions compare
 * sixteen bytes at once. It is written in the words of that stack machine: a name puts the value of a local on the stack, `=name` takes
 * it from there, `:name` copies it, a number stands for itself, `load@N` reads N bytes behind the address, and all other words are
 * instructions.
 *
 * There are two searches, because one that checks escapes and control characters takes three times as long as one that looks for the end.
 */

const WINDOW = 32 * 1024
/** Where a window begins in the memory. What stands before it is zero, so that a series of backslashes ends there. */
const START = 16
/** A table that has 1 for each digit of hexadecimal numbers. */
const DIGITS = START + WINDOW + 256
/** The first window of a string, in which most have ended. */
const FIRST = 256
const ESCAPE = '\\u0000'.length

/**
 * Which bytes may follow a backslash: by the lower half of a byte the bits of the upper halves with which it may (2, 5, 6, 7), and
 * by the upper half its bit.
 */
const LOWER = [0, 0, 13, 0, 8, 8, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1]
const UPPER = [0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0]

interface Search {
  /** Numbers; the first one is the parameter. */
  numbers: string
  /** Locals of sixteen bytes. */
  vectors: string
  program: string
}

/**
 * Looks at the first `to` bytes: whole blocks, unless the text ends there. Returns the place behind the quote that ends the string; or, as its complement, the place of what
 * is not valid or not whole, or that of what has to come again with more behind it.
 *
 * A byte is escaped when an odd number of backslashes stands before it. For all bytes of a block that is found by one subtraction, whose
 * borrow runs through each series of backslashes (the method of simdjson). The last byte of a block may escape the first one of the next.
 * Masks have a bit for each byte of the block `v`, which begins at `at`.
 */
const CHECKING: Search = {
  numbers: 'to at carry slash quote low code escaped end stop hex',
  vectors: 'v',
  program: `
loop
  at load16@${START} =v
  v 0x22 splat same  v 0x5c splat same  or16  v 0x20 splat less  or16  mask  carry or
  if
    v 0x5c splat same mask =slash
    v 0x22 splat same mask =quote
    v 0x20 splat less mask =low
    slash  carry -1 xor  and =code
    code 1 shl  0xaaaa or  code sub  0xaaaa xor =code
    code  slash carry or  xor  0xffff and =escaped
    code slash and  15 shr  1 and =carry
    quote  escaped -1 xor  and =end
    LOWER  v 15 splat and16  pick  UPPER  v 4 shr16  pick  and16  0 splat same mask  escaped and
    low or  end or =stop
    v 0x75 splat same mask  escaped and
    stop  0 stop sub  and  1 sub  and =hex
    block
      loop
        hex eqz break
        at hex ctz add =code
        code load@${START + 1} load@${DIGITS}  code load@${START + 2} load@${DIGITS}  and
        code load@${START + 3} load@${DIGITS}  code load@${START + 4} load@${DIGITS}  and  and
        code 4 add to below  and eqz
        if 0 code sub return done
        hex  hex 1 sub  and =hex
        again
      done
    done
    stop
    if
      at stop ctz add :code  to below eqz
      if -1 return done
      stop  0 stop sub  and :stop  end and
      if code 1 add return done
      stop low and
      if code -1 xor return done
      0 code sub return
    done
  done
  at 16 add :at to below  more
done
carry to sub  1 sub
`,
}

/** For sixteen bytes, which of them are quotes without a backslash before them, or with two. */
const ends = (behind: number): string => `
  at load16@${START + behind} quotes same
  at load16@${START + behind - 1} slashes same  at load16@${START + behind - 2} slashes same  andnot  andnot`

/** Moves `from` back over the backslashes that stand before it. */
const BEFORE_SLASHES = `
block
  loop
    from load@${START - 1} 0x5c differ break
    from 1 sub =from
    again
  done
done`

/**
 * Looks for the end alone. Returns the place behind the quote that ends the string; -1 = there is none; -2 = nor can one follow at once, because
 * the next byte is escaped. Most quotes inside of a text have one backslash before them, and are passed over 64 bytes at a time. The
 * backslashes before another one are counted.
 */
const LOOKING: Search = {
  numbers: 'to at stop code from',
  vectors: 'quotes slashes',
  program: `
0x22 splat =quotes  0x5c splat =slashes
loop
  block
    loop
      ${ends(0)} ${ends(16)} or16 ${ends(32)} or16 ${ends(48)} or16  any break
      at 64 add :at to below  more
    done
  done
  ${ends(0)} mask =stop
  block
    loop
      stop eqz break
      at stop ctz add :code =from
      code to below eqz break
      ${BEFORE_SLASHES}
      code from sub  1 and eqz
      if code 1 add return done
      stop  stop 1 sub  and =stop
      again
    done
  done
  at 16 add :at to below  more
done
to =from
${BEFORE_SLASHES}
-1  to from sub  1 and  sub
`,
}

const INSTRUCTIONS: Readonly<Record<string, readonly number[]>> = {
  block: [0x02, 0x40],
  loop: [0x03, 0x40],
  if: [0x04, 0x40],
  done: [0x0b],
  again: [0x0c, 0],
  more: [0x0d, 0],
  break: [0x0d, 1],
  return: [0x0f],
  eqz: [0x45],
  differ: [0x47],
  below: [0x49],
  ctz: [0x68],
  add: [0x6a],
  sub: [0x6b],
  and: [0x71],
  or: [0x72],
  xor: [0x73],
  shl: [0x74],
  shr: [0x76],
  LOWER: [0xfd, 0x0c, ...LOWER],
  UPPER: [0xfd, 0x0c, ...UPPER],
  pick: [0xfd, 0x0e],
  splat: [0xfd, 0x0f],
  same: [0xfd, 0x23],
  less: [0xfd, 0x26],
  and16: [0xfd, 0x4e],
  andnot: [0xfd, 0x4f],
  or16: [0xfd, 0x50],
  any: [0xfd, 0x53],
  mask: [0xfd, 0x64],
  shr16: [0xfd, 0x6d],
}

/** Numbers as LEB128, seven bits a byte. */
const unsigned = (value: number): number[] =>
  value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...unsigned(value >> 7)]

function leb(value: number): number[] {
  const rest = value >> 7
  const isLast = rest === (value & 0x40 ? -1 : 0)
  return isLast ? [value & 0x7f] : [(value & 0x7f) | 0x80, ...leb(rest)]
}

const LOADS: Readonly<Record<string, readonly number[]>> = { load: [0x2d, 0], load16: [0xfd, 0x00, 0] }

function instruction(word: string, locals: readonly string[]): readonly number[] {
  const local = locals.indexOf(word.replace(/^[=:]/, ''))
  if (local >= 0) return [word.startsWith('=') ? 0x21 : word.startsWith(':') ? 0x22 : 0x20, local]
  const [name = '', behind] = word.split('@')
  if (behind !== undefined) return [...(LOADS[name] as readonly number[]), ...unsigned(Number(behind))]
  return INSTRUCTIONS[word] ?? [0x41, ...leb(Number(word))]
}

const I32 = 0x7f
const V128 = 0x7b

function functionOf({ numbers, vectors, program }: Search): number[] {
  const [i32s, v128s] = [numbers.split(' '), vectors.split(' ')]
  const locals = [...i32s, ...v128s]
  const code = program
    .trim()
    .split(/\s+/)
    .flatMap(word => instruction(word, locals))
  const body = [2, i32s.length - 1, I32, v128s.length, V128, ...code, 0x0b]
  return [...unsigned(body.length), ...body]
}

/** One module: a memory of a page (64 KiB), `m`, and the searches, `c` and `l`. */
function moduleOf(searches: readonly Search[]): Uint8Array<ArrayBuffer> {
  const section = (id: number, bytes: readonly number[]) => [id, ...unsigned(bytes.length), ...bytes]
  return new Uint8Array([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 1, I32, 1, I32]),
    ...section(3, [2, 0, 0]),
    ...section(5, [1, 0, 1]),
    ...section(7, [3, 1, 0x6d, 2, 0, 1, 0x63, 0, 0, 1, 0x6c, 0, 1]),
    ...section(10, [2, ...searches.flatMap(functionOf)]),
  ])
}

/** Node's types do not name it. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array<ArrayBuffer>) => object
  Instance: new (module: object) => { exports: unknown }
}

const { m, c, l } = new WebAssembly.Instance(new WebAssembly.Module(moduleOf([CHECKING, LOOKING]))).exports as {
  m: { buffer: ArrayBuffer }
  c(to: number): number
  l(to: number): number
}
const memory = Buffer.from(m.buffer)
for (const digit of '0123456789abcdefABCDEF') memory[DIGITS + digit.charCodeAt(0)] = 1

/**
 * Returns the place behind the quote that ends a string; -1 = there is none, or the string is not valid before it, by its escapes or a control
 * character. `text`: bytes as Latin-1; `from` is inside of the string, and not behind a backslash.
 */
export function endOfLong(text: string, from: number): number {
  for (let at = from, room = FIRST; at < text.length; room = Math.min(WINDOW, room * 4)) {
    const length = Math.min(room, text.length - at)
    memory.write(text.slice(at, at + length), START, 'latin1')
    const end = c(length)
    if (end >= 0) return at + end
    const isLast = at + length === text.length
    if (isLast || ~end + ESCAPE <= length) return -1
    at += ~end
  }
  return -1
}

/** `endInBytes` returns it when the string goes on and the next byte is escaped. */
export const ESCAPING = -2

/** The same place by the bytes, of which nothing is checked; -1 = the string goes on, and ESCAPING. */
export function endInBytes(chunk: Buffer, from: number): number {
  for (let at = from, room = FIRST; at < chunk.length; room = Math.min(WINDOW, room * 4)) {
    const to = Math.min(at + room, chunk.length)
    chunk.copy(memory, START, at, to)
    const end = l(to - at)
    if (end >= 0) return at + end
    if (to === chunk.length) return end
    at = end === ESCAPING ? to + 1 : to
  }
  return -1
}

const QUOTE = 0x22

/** Whether these bytes, one piece after the other, may stand in a string: whole escapes, no control characters, no quote that would end it. */
export function mayStandInside(pieces: readonly Buffer[]): boolean {
  let held = 0
  for (const piece of pieces)
    for (let at = 0; at < piece.length; ) {
      const taken = piece.copy(memory, START + held, at, at + WINDOW - held)
      at += taken
      held += taken
      if (held < WINDOW) continue
      const whole = ~c(WINDOW)
      if (whole + ESCAPE <= WINDOW) return false
      memory.copyWithin(START, START + whole, START + WINDOW)
      held = WINDOW - whole
    }
  memory[START + held] = QUOTE
  return c(held + 1) === held + 1
}
