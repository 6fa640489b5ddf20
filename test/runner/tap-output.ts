/** Reads the TAP that a process of tests wrote. */

export interface Result {
  /** Assertions, not tests. */
  passed: number
  failed: number
  /** The files, as tap timed them. */
  files: { file: string; s: number }[]
  /** Seconds of processor time of each file, with the processes that it started and that have ended. */
  processor: { file: string; s: number }[]
  /** What is left of the output when all that passed is taken away; empty = nothing failed. */
  failures: string
}

/** A test whose points are being read. `summary`: it stood before its points, as it does of tests that run at once. */
interface Block {
  indent: number
  lines: string[]
  summary: 'ok' | 'not ok' | null
}

interface Point {
  outcome?: 'ok' | 'not ok'
  name?: string
  ms?: string
  brace?: string
}

const POINT = /^ *(?<outcome>ok|not ok) \d+(?: - (?<name>.*?))?(?: # time=(?<ms>[\d.]+)ms(?<brace> \{)?)?$/

const PROCESSOR = /^# processor ([\d.]+) (.*)$/

export function readTap(text: string): Result {
  const result: Result = { passed: 0, failed: 0, files: [], processor: [], failures: '' }
  const root: Block = { indent: -1, lines: [], summary: null }
  const open = [root]
  const top = () => open.at(-1) as Block
  const close = (outcome: 'ok' | 'not ok') => {
    const { lines } = open.pop() as Block
    if (outcome === 'not ok') top().lines.push(...lines)
  }
  for (const line of text.split('\n')) {
    const cost = PROCESSOR.exec(line)
    if (cost !== null) {
      result.processor.push({ file: cost[2] as string, s: Number(cost[1]) })
      continue
    }
    const indent = line.search(/[^ ]/)
    const { outcome, name = '', ms, brace } = (POINT.exec(line)?.groups ?? {}) as Point
    if (line.startsWith('# Subtest: ', indent)) open.push({ indent, lines: [line], summary: null })
    else if (outcome && brace) open.push({ indent, lines: [line], summary: outcome })
    else if (line.trim() === '}' && top().indent === indent && top().summary !== null) close(top().summary as 'ok')
    else if (outcome && top().indent === indent) {
      if (indent === 0) result.files.push({ file: name, s: Number(ms) / 1000 })
      top().lines.push(line)
      close(outcome)
    } else if (outcome === 'ok') result.passed++
    else {
      if (outcome === 'not ok') result.failed++
      top().lines.push(line)
    }
  }
  while (open.length > 1) close('not ok') // the process ended early
  result.failures = result.failed === 0 ? '' : root.lines.filter(worthSaying).join('\n')
  return result
}

const worthSaying = (line: string) => !/^ *(1\.\.\d+.*)?$|^TAP version|^# (\{|time=)/.test(line)
