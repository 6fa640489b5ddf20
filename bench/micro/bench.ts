/** What a micro bench is: a few cases of one hot file, each checked before it is timed. */
import path from 'node:path'
import { pathToFileURL } from 'node:url'

/** A module of the checkout under test, by its path below `lib/`. */
export type Lib = <Module>(file: string) => Promise<Module>

export interface Case {
  name: string
  /** That one operation passes over, where bytes are what counts. */
  bytes?: number
  /** GB/s to reach. */
  target?: number
  /** One run is so many operations (events of a stream); default 1. */
  per?: number
  /** Runs in a row at most, before `rest` is needed. */
  most?: number
  /** Throws when the subject answers wrongly. */
  check(): void | Promise<void>
  /** One run. What it returns is summed up, so that the work cannot be left out. */
  run(): number
  /** Between rounds, not timed. */
  rest?(): Promise<void>
  close?(): Promise<void>
}

/** `seed`: the same gives the same workload. */
export type Bench = (lib: Lib, seed: number) => Promise<Case[]>

export const NAMES = [
  'facts',
  'meter',
  'passing',
  'reader',
  'pick',
  'ledger',
  'plan',
  'keys',
  'errors',
  'metrics',
] as const

/** `root`: a checkout of the gateway. */
export const libOf =
  (root: string): Lib =>
  file =>
    import(pathToFileURL(path.join(root, 'lib', file)).href)

/**
 * `side`: each gets a copy of the bench's own code, because what the engine learns about a call is kept with the code,
 * and a place that calls two checkouts in turn is slower than one that calls only one.
 */
export async function load(name: string, side: string): Promise<Bench> {
  const { bench } = (await import(`./${name}.ts?side=${side}`)) as { bench: Bench }
  return bench
}
