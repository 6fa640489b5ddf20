/**
 * Makes text like that of coding clients: source code with quotes, tabs and backslashes, and some words that are not
 * ASCII.
 */
import type { Random } from '../../../test/support/random.ts'

const NAMES = ['reader', 'balance', 'chunk', 'index', 'settle', 'queue', 'token', 'config', 'path', 'lines', 'cache']
const WORDS = [
  'the file',
  'a test',
  'this function',
  'the "old" name',
  'an error',
  '测试',
  'naïve',
  '路径',
  'the loop 🔁',
]

const LINES: ((random: Random) => string)[] = [
  r => `  const ${r.pick(NAMES)} = await ${r.pick(NAMES)}.read("${r.pick(NAMES)}.json", ${r.int(0, 9999)})`,
  r => `\tif (${r.pick(NAMES)}.length > ${r.int(1, 512)}) return \`\${${r.pick(NAMES)}}\\n\``,
  r => `  // ${r.pick(WORDS)}: see ${r.pick(NAMES)}, line ${r.int(1, 900)}`,
  r => `import { ${r.pick(NAMES)}, ${r.pick(NAMES)} } from '../${r.pick(NAMES)}.ts'`,
  r => `  ${r.pick(NAMES)}.replace(/\\s+"(\\w{${r.int(1, 9)}})"/g, '$1') // ${r.pick(WORDS)}`,
  r => `  throw new Error("${r.pick(NAMES)} of ${r.pick(WORDS).replaceAll('"', "'")} is " + ${r.pick(NAMES)})`,
  () => '}',
  () => '',
]

/** Whole lines of code, at least `length` characters together. */
export function code(random: Random, length: number): string {
  const lines: string[] = []
  for (let total = 0; total < length; ) {
    const line = random.pick(LINES)(random)
    lines.push(line)
    total += line.length + 1
  }
  return lines.join('\n')
}

export const prose = (random: Random): string =>
  `Please change ${random.pick(WORDS)} so that ${random.pick(NAMES)} keeps ${random.pick(WORDS)}, and run it again.`

/** A piece of an answer, about as long as a few tokens. */
export const piece = (random: Random): string =>
  random.next() < 0.05 ? random.pick(['你好,', '\n', '"', '\\n', '\t']) : `${random.pick(NAMES)} ${random.int(0, 99)} `
