/**
 * Writes the body of a request as a program has it: as an object in JavaScript, as named arguments in Python, and as JSON within the
 * single quotes of a shell.
 */
import type { Syntax } from './fill.ts'

/** Longer ones take several lines. */
const LINE = 64
const STEP = { js: '  ', python: '    ' } as const
type Programmed = keyof typeof STEP

const WORDS: Record<Programmed, Record<string, string>> = {
  js: {},
  python: { true: 'True', false: 'False', null: 'None' },
}

function literal(syntax: Programmed, value: unknown, indent: string): string {
  if (value === null || typeof value !== 'object') {
    const json = JSON.stringify(value)
    return WORDS[syntax][json] ?? json
  }
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const inner = indent + STEP[syntax]
  const nameOf = (name: string) => (syntax === 'js' && /^[a-z_]\w*$/i.test(name) ? name : JSON.stringify(name))
  const entries = (at: string) =>
    Array.isArray(value)
      ? value.map(one => literal(syntax, one, at))
      : Object.entries(value).map(([name, one]) => `${nameOf(name)}: ${literal(syntax, one, at)}`)
  const pad = open === '{' && syntax === 'js' ? ' ' : ''
  const short = `${open}${pad}${entries(indent).join(', ')}${pad}${close}`
  if (indent.length + short.length <= LINE && !short.includes('\n')) return short
  return `${open}\n${entries(inner)
    .map(one => `${inner}${one},\n`)
    .join('')}${indent}${close}`
}

/** Named arguments, in the brackets of a call. */
function named(body: object): string {
  const given = (at: string) => Object.entries(body).map(([name, value]) => `${name}=${literal('python', value, at)}`)
  const short = given('').join(', ')
  if (short.length <= LINE && !short.includes('\n')) return short
  return `\n${given(STEP.python)
    .map(one => `${STEP.python}${one},\n`)
    .join('')}`
}

/** `body` as it stands in the place of `{request}`. */
export function requestText(syntax: Syntax, body: object): string {
  if (syntax === 'js') return literal('js', body, '')
  if (syntax === 'python') return named(body)
  return JSON.stringify(body).replaceAll("'", "'\\''")
}
