/**
 * Finds where a long JSON string ends, sixteen bytes at a time. A regular expression reads one character after the other, and takes longer
 * where many are escaped, as in all files and programs that agents send. So the search is WebAssembly, whose instructions compare
 * sixteen bytes at once. It is written in the words of that stack machine: a name puts the value of a local on the stack, `=name` takes
 * it from there, `:name` copies it, a number stands for itself, and all other words are instructions.
 *
 * A byte is escaped when an odd number of backslashes stands before it. For all bytes of a block that is found by one subtraction, whose
 * borrow runs through each series of backslashes (the method of simdjson). The last byte of a block may escape the first one of the next.
 */

const WINDOW = 32 * 1024
/** A table that has 1 for each digit of hexadecimal numbers. */
const DIGITS = WINDOW + 256
/** The first window of a string, in which most have ended. */
const FIRST = 256
/** The longest escape. */
const ESCAPE = '\\u0000'.length

/**
 * Which bytes may follow a backslash: by the lower half of a byte the bits of the upper halves with which it may (2, 5, 6, 7), and
 * by the upper half its bit.
 */
const LOWER = [0, 0, 13, 0, 8, 8, 4, 0, 0, 0, 0, 0, 2, 0, 4, 1]
const UPPER = [0, 0, 1, 0, 0, 2, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0]

/** Parameters first. Masks have a bit for each byte of the block `v`, which begins at `at`. */
const LOCALS = 'to strict at carry slash quote low code escaped end stop hex v'.split(' ')

/**
 * Looks at the first `to` bytes: whole blocks, unless the text ends there. Returns the place behind the quote that ends the string; or, as its complement, the place of what
 * is not valid or not whole (only where `strict` is -1), or that of what has to come again with more behind it.
 */
const PROGRAM = `
loop
  at load16 =v
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
    low or  strict and  end or =stop
    v 0x75 splat same mask  escaped and  strict and
    stop  0 stop sub  and  1 sub  and =hex
    block
      loop
        hex eqz break
        at hex ctz add =code
        code 1 add load DIGITS add load  code 2 add load DIGITS add load  and
        code 3 add load DIGITS add load  code 4 add load DIGITS add load  and  and
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
  at 16 add :at  to below  more
done
carry to sub  1 sub
`

const INSTRUCTIONS: Readonly<Record<string, readonly number[]>> = {
  block: [0x02, 0x40],
  loop: [0x03, 0x40],
  if: [0x04, 0x40],
  done: [0x0b],
  again: [0x0c, 0],
  more: [0x0d, 0],
  break: [0x0d, 1],
  return: [0x0f],
  load: [0x2d, 0, 0],
  eqz: [0x45],
  below: [0x49],
  ctz: [0x68],
  add: [0x6a],
  sub: [0x6b],
  and: [0x71],
  or: [0x72],
  xor: [0x73],
  shl: [0x74],
  shr: [0x76],
  load16: [0xfd, 0x00, 0, 0],
  LOWER: [0xfd, 0x0c, ...LOWER],
  UPPER: [0xfd, 0x0c, ...UPPER],
  pick: [0xfd, 0x0e],
  splat: [0xfd, 0x0f],
  same: [0xfd, 0x23],
  less: [0xfd, 0x26],
  and16: [0xfd, 0x4e],
  or16: [0xfd, 0x50],
  mask: [0xfd, 0x64],
  shr16: [0xfd, 0x6d],
}

/** A number as LEB128, seven bits a byte. */
function leb(value: number): number[] {
  const rest = value >> 7
  const isLast = rest === (value & 0x40 ? -1 : 0)
  return isLast ? [value & 0x7f] : [(value & 0x7f) | 0x80, ...leb(rest)]
}

function instruction(word: string): readonly number[] {
  const local = LOCALS.indexOf(word.replace(/^[=:]/, ''))
  if (local >= 0) return [word.startsWith('=') ? 0x21 : word.startsWith(':') ? 0x22 : 0x20, local]
  return INSTRUCTIONS[word] ?? [0x41, ...leb(word === 'DIGITS' ? DIGITS : Number(word))]
}

/** One module: a memory of a page (64 KiB) and the function, under the names `m` and `f`. */
function moduleOf(program: string): Uint8Array<ArrayBuffer> {
  const [I32, V128] = [0x7f, 0x7b]
  const section = (id: number, bytes: readonly number[]) => [id, ...leb(bytes.length), ...bytes]
  const code = program.trim().split(/\s+/).flatMap(instruction)
  const body = [2, LOCALS.length - 3, I32, 1, V128, ...code, 0x0b]
  return new Uint8Array([
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 2, I32, I32, 1, I32]),
    ...section(3, [1, 0]),
    ...section(5, [1, 0, 1]),
    ...section(7, [2, 1, 0x6d, 2, 0, 1, 0x66, 0, 0]),
    ...section(10, [1, ...leb(body.length), ...body]),
  ])
}

/** Node's types do not name it. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array<ArrayBuffer>) => object
  Instance: new (module: object) => { exports: unknown }
}

const { m, f } = new WebAssembly.Instance(new WebAssembly.Module(moduleOf(PROGRAM))).exports as {
  m: { buffer: ArrayBuffer }
  f(to: number, strict: number): number
}
const memory = Buffer.from(m.buffer)
for (const digit of '0123456789abcdefABCDEF') memory[DIGITS + digit.charCodeAt(0)] = 1

/**
 * Returns the place behind the quote that ends a string; -1 = there is none, or the string is not valid before it. `text`: bytes as Latin-1;
 * `from` is inside of the string, and not behind a backslash. `isStrict`: escapes and control characters are checked; otherwise
 * only the end is looked for.
 */
export function endOfLong(text: string, from: number, isStrict: boolean): number {
  for (let at = from, room = FIRST; at < text.length; room = Math.min(WINDOW, room * 4)) {
    const length = Math.min(room, text.length - at)
    memory.write(text.slice(at, at + length), 'latin1')
    const end = f(length, isStrict ? -1 : 0)
    if (end >= 0) return at + end
    const isLast = at + length === text.length
    if (isLast || (isStrict && ~end + ESCAPE <= length)) return -1
    at += ~end
  }
  return -1
}
