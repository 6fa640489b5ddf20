/** What a micro bench consists of: a few cases for one hot file. Each case checks its answers before it is timed. */
import path from 'node:path'
import { pathToFileURL } from 'node:url'

/** Imports a module of the checkout under test, by its path below `lib/`. */
export type Lib = <Module>(file: string) => Promise<Module>

export interface Case {
  name: string
  /** The bytes that one operation processes, for cases whose speed is told in GB/s. */
  bytes?: number
  /** The GB/s that the case should reach. */
  target?: number
  /** How many operations one run consists of (events of a stream, for example); default 1. */
  per?: number
  /** The most runs in a row before `rest` must be called. */
  most?: number
  /** Throws when the file under test answers wrongly. */
  check(): void | Promise<void>
  /** Does one run. Its results are summed up, so that the engine cannot optimize the work away. */
  run(): number
  /** Called between rounds; its time is not counted. */
  rest?(): Promise<void>
  close?(): Promise<void>
}

/** The same `seed` gives the same workload. */
export type Bench = (lib: Lib, seed: number) => Promise<Case[]>

export const NAMES = [
  'facts',
  'meter',
  'passing',
  'reader',
  'pick',
  'ledger',
  'tariff',
  'plan',
  'keys',
  'errors',
  'metrics',
  'translate',
] as const

/** `root`: the folder of a checkout of the gateway. */
export const libOf =
  (root: string): Lib =>
  file =>
    import(pathToFileURL(path.join(root, 'lib', file)).href)

/**
 * Loads a bench. Each `side` gets its own copy of the bench's code: the engine optimizes a call for what it has called
 * so far, and a call that alternates between two checkouts would be slower than one that always calls the same.
 */
export async function load(name: string, side: string): Promise<Bench> {
  const { bench } = (await import(`./${name}.ts?side=${side}`)) as { bench: Bench }
  return bench
}
