/** What the messages and bills of several providers have in common: how they write times, and how large files are read. */
import { HOUR_MS } from '../base/clock.ts'
import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'

/** What becomes of an amount that cannot be read: it equals no order's. */
export const UNREADABLE = -1

export const digestOf = (message: Buffer | string): string => createHash('sha256').update(message).digest('hex')

const CHINA_OFFSET_MS = 8 * HOUR_MS

/** `2030-01-31 08:00:00` in China, wherever this machine stands. */
export const chinaTime = (ms: number): string =>
  new Date(ms + CHINA_OFFSET_MS).toISOString().slice(0, 19).replace('T', ' ')

/** `2030-01-31`, the day in China: that of bills, and of checks that are made once a day. */
export const chinaDay = (ms: number): string => chinaTime(ms).slice(0, 10)

/** ms since 1970 of a text that `chinaTime` writes; null when it is none. */
export function fromChinaTime(text: string | undefined): number | null {
  const m = /^(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)$/.exec(text ?? '')
  const ms = m === null ? Number.NaN : Date.parse(`${m[1]}T${m[2]}+08:00`)
  return Number.isNaN(ms) ? null : ms
}

/** After so many lines, other work of the process gets its turn. */
const LINES_AT_ONCE = 1_000
const NEWLINE = 0x0a

/** The lines of a bill that are not empty. No character of either encoding has the byte of a new line in it. */
export async function* linesOf(file: Buffer, encoding: 'utf-8' | 'gbk'): AsyncGenerator<string> {
  const decoder = new TextDecoder(encoding)
  let count = 0
  for (let start = 0; start < file.length; ) {
    const newline = file.indexOf(NEWLINE, start)
    const end = newline < 0 ? file.length : newline
    const line = decoder.decode(file.subarray(start, end)).trim()
    if (line !== '') yield line
    start = end + 1
    if (++count % LINES_AT_ONCE === 0) await setImmediate()
  }
}
