/** Work for the thread of exports that does what a test tells it, and counts what it does in memory that the test reads. */
import { readFileSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'

/** The places of `seen`. */
export const SEEN = { made: 0, ended: 1 } as const

export interface Told {
  seen: Int32Array
  texts: number
  characters: number
  /** What happens behind the last text. */
  atEnd?: 'fails' | 'fails for a while' | 'ends the thread' | 'finds nothing for ever'
  /** The text is the priority of the thread. */
  priority?: true
}

export const WORK = new URL(import.meta.url)
export const newSeen = (): Int32Array => new Int32Array(new SharedArrayBuffer(8))

/** The nineteenth field of the line, which begins behind the program's name. */
const priorityOf = (stat: string): string => stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16] as string

export default async function* (_: unknown, told: Told): AsyncGenerator<string> {
  const { seen, texts, characters } = told
  try {
    for (let n = 0; n < texts; n++) {
      Atomics.add(seen, SEEN.made, 1)
      yield told.priority
        ? priorityOf(readFileSync('/proc/thread-self/stat', 'utf8'))
        : String(n % 10).repeat(characters)
    }
    if (told.atEnd === 'fails') throw new Error('out of order')
    if (told.atEnd === 'fails for a while') throw new StoreUnavailable('away')
    if (told.atEnd === 'ends the thread') process.exit(1)
    while (told.atEnd === 'finds nothing for ever') {
      await turn()
      Atomics.add(seen, SEEN.made, 1)
      yield ''
    }
  } finally {
    Atomics.add(seen, SEEN.ended, 1)
  }
}
